"""The text of a web page: its main part by trafilatura where that is installed, else all of its visible words.

Runs in a process of its own (reading.py): a page is made by strangers and may be costly to read.
"""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Literal

By = Literal["trafilatura", "plain"]
_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object", "head"})
_ASIDE = frozenset({"nav", "footer", "form", "aside"})
_BLOCKS = frozenset(
    {
        *("address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre"),
        *("section", "table", "tr", "ul"),
    }
)
_VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr"),
    }
)
DEEP = 2_000  # elements within a hidden one; more are not told apart


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says. `date` is the day that it claims to be of, YYYY-MM-DD, "" for none."""

    title: str
    text: str
    by: By
    date: str = ""


def read_page(html: str) -> Page:
    """Title and text of a page. Never raises for broken markup; the text may be empty."""
    plain = _Plain()
    plain.feed(html)
    plain.close()
    trafilatura = _library()
    return (
        Page(plain.title, plain.text, "plain")
        if trafilatura is None
        else _main_part(trafilatura, html, plain)
    )


def _library() -> Any:
    """The package trafilatura, or None where it is not installed, or not with all that it needs."""
    try:
        import trafilatura
    except ImportError:
        return None
    return trafilatura


def _main_part(trafilatura: Any, html: str, plain: "_Plain") -> Page:
    found = trafilatura.bare_extraction(html, with_metadata=True, include_comments=False)
    text = getattr(found, "text", None) or ""
    if not text.strip():
        return Page(
            plain.title, plain.text, "plain"
        )  # a page without what it takes for a main part
    title, date = getattr(found, "title", None), getattr(found, "date", None)
    return Page(str(title or plain.title), text.strip(), "trafilatura", str(date or ""))


class _Plain(HTMLParser):
    """All words that a browser would show, blocks on lines of their own; without menus, forms and footers."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._words: list[str] = []
        self._hidden: list[str] = []
        self._title: list[str] = []
        self._in_title = False

    @property
    def title(self) -> str:
        """On one line."""
        return " ".join("".join(self._title).split())

    @property
    def text(self) -> str:
        """Lines without surplus white space."""
        lines = (" ".join(line.split()) for line in "".join(self._words).splitlines())
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self._title:
            self._in_title = True
        elif tag == "body":
            self._hidden.clear()  # an unclosed head hides no page
        elif self._hidden or tag in _SILENT or tag in _ASIDE or _is_hidden(attrs):
            if len(self._hidden) < DEEP and tag not in _VOID:
                self._hidden.append(tag)  # all within it, so that its own end is told from theirs
        elif tag in _BLOCKS:
            self._words.append("\n")
        elif tag in {"td", "th"}:
            self._words.append(" | " if self._words and not self._words[-1].endswith("\n") else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        elif tag in _BLOCKS:
            self._words.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._hidden:
            self._words.append(data)


def _is_hidden(attrs: list[tuple[str, str | None]]) -> bool:
    """Words that no reader sees are a favourite place for instructions to machines."""
    known = dict(attrs)
    style = (known.get("style") or "").replace(" ", "").lower()
    return "hidden" in known or "display:none" in style or "visibility:hidden" in style
