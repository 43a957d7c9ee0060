"""What each platform's markup looks like. The walker hands over inner pieces first, so nothing here parses.

A piece is a string that is already in the dialect. `Solid` pieces take no marks around them.
"""

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import ClassVar, Literal

from channels.grid import aligned, turned

Mark = Literal["bold", "italic", "strike"]

_SCHEME = re.compile(r"(?:https?|tg)://\S|mailto:\S", re.IGNORECASE)
PHONE = 40  # columns of a monospaced block
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}", re.ASCII)


class Solid(str):
    """Inline code: stands on its own between marks."""

    __slots__ = ()


class Pre(Solid):
    """A block of code or a table: stands outside of quotes as well."""

    __slots__ = ()


class Dialect(ABC):
    """How one platform writes each thing."""

    indent: ClassVar[str] = "  "
    bullet: ClassVar[str] = "•"
    rule: ClassVar[str] = "———"

    @abstractmethod
    def text(self, text: str) -> str:
        """Plain text, escaped."""

    @abstractmethod
    def code(self, text: str) -> str:
        """Inline code."""

    @abstractmethod
    def pre(self, text: str, info: str) -> str:
        """A block of code; `info` is what stands behind the fence."""

    @abstractmethod
    def mark(self, kind: Mark, pieces: list[str]) -> list[str]:
        """Marked pieces; the walker never nests a mark in itself."""

    def heading(self, level: int, pieces: list[str]) -> list[str]:
        """A heading of level 1 to 6."""
        return self.mark("bold", pieces)

    @abstractmethod
    def link(self, pieces: list[str], url: str) -> list[str]:
        """A link; `pieces` holds no other link and no code."""

    @abstractmethod
    def quote(self, pieces: list[str]) -> list[str]:
        """A quote, never inside another."""

    def table(self, rows: Sequence[Sequence[str]], aligns: Sequence[str]) -> str:
        """A table of plain cells, the first row its head."""
        return self.pre("\n".join(aligned(rows, aligns)), "")


class PlainText(Dialect):
    """No markup at all."""

    def text(self, text: str) -> str:
        """As it is."""
        return text

    def code(self, text: str) -> str:
        """As it is."""
        return Solid(text)

    def pre(self, text: str, info: str) -> str:
        """As it is."""
        return Pre(text)

    def mark(self, kind: Mark, pieces: list[str]) -> list[str]:
        """As they are."""
        return pieces

    def link(self, pieces: list[str], url: str) -> list[str]:
        """The text, then the address in parentheses."""
        return _with_address(self, pieces, url)

    def quote(self, pieces: list[str]) -> list[str]:
        """Each line behind an angle."""
        return ["> " + "".join(pieces).strip("\n").replace("\n", "\n> ")]


class TelegramHtml(Dialect):
    """The HTML of core.telegram.org/bots/api#html-style.

    There, code and pre neither contain nor stand inside other entities, and quotes do not nest: marks are closed
    before code and opened again after it. Nested lists are indented by an em space: one character a level, wide
    enough in a proportional font.
    """

    indent = "\u2003"
    _TAGS: ClassVar[dict[Mark, str]] = {"bold": "b", "italic": "i", "strike": "s"}

    def text(self, text: str) -> str:
        """Escaped where the dialect has something to escape."""
        return html.escape(text, quote=False)

    def code(self, text: str) -> str:
        """Never inside a mark."""
        return Solid(f"<code>{self.text(text)}</code>") if text.strip() else text

    def pre(self, text: str, info: str) -> str:
        """Never inside a quote."""
        language = _LANGUAGE.match(info.strip())
        body = self.text(text)
        if language:
            body = f'<code class="language-{language.group()}">{body}</code>'
        return Pre(f"<pre>{body}</pre>")

    def table(self, rows: Sequence[Sequence[str]], aligns: Sequence[str]) -> str:
        """A phone shows about 40 columns of a block: a wide table of few rows is turned."""
        swapped = turned(rows, PHONE)
        if swapped is None:
            return super().table(rows, aligns)
        return super().table(swapped, ["", *["right"] * len(rows[1:])])

    def mark(self, kind: Mark, pieces: list[str]) -> list[str]:
        """Around all but code."""
        tag = self._TAGS[kind]
        return _around(pieces, Solid, lambda inner: f"<{tag}>{inner}</{tag}>")

    def link(self, pieces: list[str], url: str) -> list[str]:
        """Where the platform opens such an address; else its text and the address."""
        if not _SCHEME.match(url):
            return _with_address(self, pieces, url)
        inner = "".join(pieces)
        address = html.escape(url.replace(" ", "%20"))
        return [f'<a href="{address}">{inner if inner.strip() else self.text(url)}</a>']

    def quote(self, pieces: list[str]) -> list[str]:
        """Around all but blocks of code."""
        return _around(pieces, Pre, lambda inner: f"<blockquote>{inner}</blockquote>")


def _with_address(dialect: Dialect, pieces: list[str], url: str) -> list[str]:
    """The text of a link that cannot be one, with its address unless that says nothing new."""
    shown = dialect.text(url)
    inner = "".join(pieces)
    if not inner.strip():
        return [shown]
    if not url or url.startswith("#") or shown == inner:
        return pieces
    return [*pieces, f" ({shown})"]


def _around(pieces: list[str], outside: type[Solid], wrap: Callable[[str], str]) -> list[str]:
    """Each stretch of pieces wrapped, those of the type `outside` left between; whitespace at the ends stays out."""
    result: list[str] = []
    for solid, run in groupby(pieces, lambda piece: isinstance(piece, outside)):
        if solid:
            result.extend(run)
            continue
        inner = "".join(run)
        bare = inner.strip()
        if not bare:
            result.append(inner)
            continue
        lead = len(inner) - len(inner.lstrip())
        result.append(inner[:lead] + wrap(bare) + inner[lead + len(bare) :])
    return result
