// Messages that were said anew: what they took the place of is folded up above them, with all that came after it.

import { h } from "/static/dom.js";
import { t } from "/static/texts.js";

/** A message that is a command is not said anew: it did something. */
export const isCommand = (text) => /^[/!][a-z]/i.test(text);

/**
 * The id of a message that says `id` anew. It follows from it, so that two clicks, two tabs or a reload make one
 * message: the server takes each id once.
 */
export function anewKey(id) {
  const [, base, count] = /^(.*)-r(\d{1,4})$/.exec(id) || [null, id, "0"];
  return `${base}-r${Number(count) + 1}`;
}

/**
 * `items` ({id, again}) in order, as {id} for what is in sight and {ids, of} for what is folded above message `of`.
 * One that says anew what is not there folds nothing.
 */
export function arranged(items) {
  const shown = [];
  for (const { id, again } of items) {
    const from = again ? shown.findIndex((entry) => entry.id === again) : -1;
    if (from >= 0) {
      const older = shown[from - 1]?.of === again ? from - 1 : from; // what the earlier version had folded already
      const folded = shown.splice(older).flatMap((entry) => entry.ids || [entry.id]);
      shown.push({ ids: folded, of: id });
    }
    shown.push({ id });
  }
  return shown;
}

/** The fold. It stays open or closed as the reader leaves it. */
export class Fold {
  constructor() {
    this.words = h("span");
    this.body = h("div", { class: "versions" });
    this.root = h("details", { class: "earlier" }, h("summary", {}, this.words), this.body);
  }

  show(nodes) {
    this.words.textContent = t("earlier_version", { n: nodes.length });
    place(this.body, nodes);
  }
}

/** Make `nodes` the first children of `root` in this order; what is in its place already is not touched. */
export function place(root, nodes) {
  let next = root.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else root.insertBefore(node, next);
  }
}
