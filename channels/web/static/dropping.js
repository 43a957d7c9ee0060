// Files that are dragged onto the page and let go there.

import { byId } from "/static/dom.js";

/** `take(files)` gets what was dropped, wherever on the page. */
export function acceptDrops(take) {
  const veil = byId("drop");
  const brings = (event) => event.dataTransfer?.types.includes("Files") && !document.querySelector("dialog[open]");
  let inside = 0; // entering a child comes before leaving its parent
  const show = (count) => {
    inside = Math.max(0, count);
    veil.hidden = !inside;
  };
  addEventListener("dragenter", (event) => brings(event) && show(inside + 1));
  addEventListener("dragleave", (event) => brings(event) && show(inside - 1));
  addEventListener("dragover", (event) => brings(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    show(0);
    take(event.dataTransfer.files);
  });
}
