// Pictures in full size, one after another. The dialog element keeps the focus inside and gives it back.

import { byId, darkSource } from "/static/dom.js";
import { t } from "/static/texts.js";

const dialog = byId("viewer");
const image = dialog.querySelector("img");

let pictures = [];
let at = 0;

/** Show `file`; the arrows go through `all`, the pictures of the chat in order. */
export function viewPicture(file, all) {
  pictures = all.includes(file) ? all : [file];
  at = pictures.indexOf(file);
  const several = pictures.length > 1;
  for (const id of ["viewer-before", "viewer-next", "viewer-count"]) byId(id).hidden = !several;
  show();
  dialog.showModal();
}

function show() {
  const file = pictures[at];
  image.parentElement.querySelector("source")?.remove();
  const dark = darkSource(file);
  if (dark) image.before(dark);
  image.src = file.url;
  image.alt = file.caption || file.name;
  dialog.querySelector("figcaption").textContent = file.caption || file.name;
  byId("viewer-count").textContent = t("picture_of", { n: at + 1, all: pictures.length });
  const link = byId("viewer-download");
  link.href = file.url;
  link.download = file.name;
}

function go(steps) {
  if (pictures.length < 2) return;
  at = (at + steps + pictures.length) % pictures.length;
  show();
}

byId("viewer-close").addEventListener("click", () => dialog.close());
byId("viewer-before").addEventListener("click", () => go(-1));
byId("viewer-next").addEventListener("click", () => go(1));
dialog.addEventListener("click", (event) => {
  if (!event.target.closest("img, button, a")) dialog.close();
});
dialog.addEventListener("keydown", (event) => {
  if (event.key === "ArrowLeft") go(-1);
  else if (event.key === "ArrowRight") go(1);
});
