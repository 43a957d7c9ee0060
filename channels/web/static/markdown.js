// Markdown to DOM, safely, block by block: while an answer grows, only its last block is made anew.

import { marked } from "/static/vendor/marked.js";
import DOMPurify from "/static/vendor/purify.js";
import { codeFrame } from "/static/code.js";
import { datesTogether, h } from "/static/dom.js";
import { t } from "/static/texts.js";

const ALLOWED = {
  ALLOWED_TAGS: [
    "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote",
    "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "input",
  ],
  ALLOWED_ATTR: ["href", "title", "align", "start", "type", "checked", "disabled", "data-language"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ADD_URI_SAFE_ATTR: ["align", "start", "type", "checked", "disabled"], // else held against the pattern above
  RETURN_DOM_FRAGMENT: true,
};

const escapeHtml = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

marked.use({
  gfm: true,
  breaks: true, // a line that ends ends here too, as in other chats
  renderer: {
    code({ text, lang }) {
      const language = /^[\w+#.-]{1,20}/.exec(lang || "")?.[0] || "";
      return `<pre><code data-language="${escapeHtml(language)}">${escapeHtml(text)}\n</code></pre>`;
    },
    // Markup in an answer is shown as it stands; models write <br> in table cells and mean it.
    html({ text }) {
      return /^<br\s*\/?>$/i.test(text.trim()) ? "<br>" : escapeHtml(text);
    },
    // A foreign picture would tell its server who reads this: a link instead.
    image({ href, text }) {
      return `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`;
    },
  },
});

function finish(fragment) {
  datesTogether(fragment);
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": t("table") });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const pre of fragment.querySelectorAll("pre")) {
    const mark = document.createComment("");
    pre.replaceWith(mark); // a frame takes its block in, and then its place
    mark.replaceWith(codeFrame(pre, pre.querySelector("code")?.dataset.language || ""));
  }
  return fragment;
}

/** One growing Markdown text in `root`. */
export class MarkdownView {
  constructor(root) {
    this.root = root;
    this.blocks = []; // {raw, nodes}
  }

  show(text) {
    const tokens = marked.lexer(text);
    let same = 0;
    while (same < tokens.length && same < this.blocks.length && this.blocks[same].raw === tokens[same].raw) same++;
    for (const block of this.blocks.splice(same)) block.nodes.forEach((node) => node.remove());
    for (const token of tokens.slice(same)) {
      const one = [token];
      one.links = tokens.links;
      const fragment = finish(DOMPurify.sanitize(marked.parser(one), ALLOWED));
      this.blocks.push({ raw: token.raw, nodes: [...fragment.childNodes] });
      this.root.append(fragment);
    }
  }
}
