// Files of messages: pictures that open in full size, other files by their name.

import { darkSource, h } from "/static/dom.js";
import { icon } from "/static/icons.js";
import { t } from "/static/texts.js";

export const isPicture = (file) => /^image\/(png|jpeg|gif|webp)$/.test(file.media_type);

export function sizeOf(bytes) {
  if (bytes === null || bytes === undefined) return "";
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A picture in its frame; `view(file)` opens it. Its button knows its file, for who goes through them all. */
function picture(file, view) {
  const name = file.caption || file.name;
  const image = h("img", { src: file.url, alt: name, loading: "lazy", decoding: "async" });
  const shown = h("picture", {}, darkSource(file), image);
  const button = h("button", { type: "button", class: "enlarge", "aria-label": t("enlarge", { name }) }, shown);
  button.file = file;
  button.addEventListener("click", () => view(file));
  return h("figure", {}, button, file.caption ? h("figcaption", {}, file.caption) : null);
}

export function fileView(file, view) {
  if (isPicture(file)) return picture(file, view);
  const words = file.caption ? `${file.name} · ${file.caption}` : file.name;
  const size = file.size ? h("span", { class: "size" }, sizeOf(file.size)) : null;
  const link = { class: "file", href: file.url, download: file.name, "aria-label": t("download", file) };
  return h("a", link, icon("file"), h("span", { class: "name" }, words), size);
}

/** A file that is about to be sent: small, with its picture where it is one. */
export function fileChip(file, preview) {
  const source = preview || (isPicture(file) && file.url) || "";
  const face = source ? h("img", { src: source, alt: "" }) : icon("file");
  const name = h("span", { class: "name" }, file.name);
  return h("span", { class: "chip" }, face, name, h("span", { class: "size" }, sizeOf(file.size)));
}
