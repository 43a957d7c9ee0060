// Building elements without markup strings.

/** h("p", {class: "note", onclick}, "text", child, ...): null children are left out. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** The form of a picture for dark pages, as the first child of its <picture>; null where it has none. */
export function darkSource(file) {
  return file.dark ? h("source", { srcset: file.dark, media: "(prefers-color-scheme: dark)" }) : null;
}

const DATE = /\d{4}-\d{2}-\d{2}/g;

/** Keep each date in `root` on one line: browsers break at its hyphens. Returns `root`. */
export function datesTogether(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    if (text.parentElement?.closest("pre, code, a")) continue;
    for (const found of [...text.data.matchAll(DATE)].reverse()) {
      text.splitText(found.index + found[0].length);
      const date = text.splitText(found.index);
      date.replaceWith(h("span", { class: "date" }, date.data));
    }
  }
  return root;
}

/** Let who listens to the page hear `words`; what they do now is not interrupted. */
export function announce(words) {
  byId("announce").textContent = words;
}

export const byId = (id) => document.getElementById(id);
