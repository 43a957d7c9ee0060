// A picture in full size. The dialog element keeps the focus inside and closes on Escape.

import { byId, darkSource } from "/static/dom.js";

const dialog = byId("viewer");

export function viewPicture(file) {
  const image = dialog.querySelector("img");
  image.parentElement.querySelector("source")?.remove();
  const dark = darkSource(file);
  if (dark) image.before(dark);
  image.src = file.url;
  image.alt = file.caption || file.name;
  dialog.querySelector("figcaption").textContent = file.caption || file.name;
  dialog.showModal();
}

byId("viewer-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target.tagName !== "IMG") dialog.close();
});
