// A block of code: its language, its colours, a button that copies it.

import DOMPurify from "/static/vendor/purify.js";
import { copy } from "/static/clipboard.js";
import { h } from "/static/dom.js";
import { iconButton } from "/static/icons.js";
import { t } from "/static/texts.js";

const LONGEST = 30_000; // characters that are coloured: longer ones would hold the page up
const COLOURS = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };

let highlighter = null; // fetched with the first block that names its language
let fetching = null;

/** A frame around `pre`; `language` as the answer names it, or empty. */
export function codeFrame(pre, language) {
  const code = pre.querySelector("code") || pre;
  const button = iconButton("copy", t("copy_code"), () => copy(code.textContent, pre, button));
  pre.tabIndex = 0;
  pre.setAttribute("role", "group"); // not a landmark: an answer may hold many
  pre.setAttribute("aria-label", language ? t("code_in", { language }) : t("code"));
  if (language) colour(code, language);
  return h("div", { class: "code" }, h("div", { class: "code-bar" }, h("span", {}, language), button), pre);
}

function colour(code, language) {
  if (code.textContent.length > LONGEST) return;
  if (highlighter) {
    paint(code, language);
    return;
  }
  fetching ||= import("/static/vendor/highlight.js").then((module) => { highlighter = module.default; });
  // without it the code is plain, which is no less true
  fetching.then(() => code.isConnected && paint(code, language)).catch(() => { fetching = null; });
}

function paint(code, language) {
  if (!highlighter.getLanguage(language)) return;
  const { value } = highlighter.highlight(code.textContent, { language, ignoreIllegals: true });
  code.replaceChildren(DOMPurify.sanitize(value, COLOURS));
}
