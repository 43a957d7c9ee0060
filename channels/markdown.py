"""Markdown for each platform: one walker over markdown-it tokens, one dialect class per platform.

The dialect read is CommonMark with GFM tables and strikethrough, as models write it in chats: raw HTML, indented
code, underlined headings and link references are plain text, so that nothing a model writes disappears. Text that
ends anywhere (a reply in the making) renders like any other. No renderer raises.
"""

import functools
import re
from typing import TYPE_CHECKING

from channels.dialects import Dialect, PlainText, TelegramHtml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Without any of these a text is its own rendering.
_MARKUP = re.compile(r"[*_`~\[\]<&\\#|]|^[ \t]|^[-+>]|^\d+[.)]|[ \t]\n|\n\n\n", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_NESTING = 40


def to_telegram(text: str) -> str:
    """HTML as Telegram's parse_mode takes it: b, i, s, a, code, pre, blockquote; never longer, when shown, than `text`.

    (Tables apart, whose columns are aligned: `split` counts them so.) Empty for text without anything visible.
    """
    return render(text, TelegramHtml())


def to_plain(text: str) -> str:
    """The same text without markup, for terminals and for platforms that refuse the marked-up form."""
    return render(text, PlainText())


def render(text: str, dialect: Dialect) -> str:
    """The text in a dialect. Empty for text without anything visible; never raises."""
    text = _clean(text)
    if not _MARKUP.search(text):
        return dialect.text(text.strip())
    try:
        from channels.walker import Walker

        tokens = _parser().parse(text)
        if any(token.level >= _MAX_NESTING - 1 for token in tokens):
            return dialect.text(text.strip())  # the parser skips what is nested deeper
        shown = Walker(dialect, text).render(tokens)
    except Exception:  # noqa: BLE001 - a parser's bug must not cost a person the answer
        return dialect.text(text.strip())
    return shown if shown.strip() else ""


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    from channels.flanking import emphasis

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"]).disable(["code", "lheading", "reference"])
    parser.inline.ruler.at("emphasis", emphasis)
    # Dialects choose the schemes, and platforms take addresses as a person writes them.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser
