// Copying, with a word that it was done, for the eyes and for who listens.

import { announce } from "/static/dom.js";
import { t } from "/static/texts.js";

const SHOWN = 1500; // ms that a button says "Copied"

/** Copy `text`; where there is no clipboard, as on plain http away from localhost, select what `root` shows. */
export async function copy(text, root, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    getSelection().selectAllChildren(root);
    return;
  }
  announce(t("copied"));
  button.classList.add("done");
  button.setAttribute("data-said", t("copied"));
  setTimeout(() => button.classList.remove("done"), SHOWN);
}
