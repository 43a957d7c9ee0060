// The line drawings of small buttons, on a field of 24 by 24.

import { h } from "/static/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  copy: "M9 9h10v11H9zM5 15V4h10",
  done: "M5 13l4.500 4.500L19 7",
  edit: "M5 19h3.500L19 8.500 15.500 5 5 15.500zM13 7.500L16.500 11",
  retry: "M19 12a7 7 0 1 1-2.200-5.100M19 4v4h-4",
  close: "M6 6l12 12M18 6L6 18",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon-${name}`);
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** A button that shows a drawing and says `label`; a copying one has a tick for when it is done. */
export function iconButton(name, label, onclick) {
  const button = h("button", { type: "button", class: "small", "aria-label": label, title: label, onclick }, icon(name));
  if (name === "copy") button.append(icon("done"));
  return button;
}
