"""The walk over markdown-it tokens: what stands where; how it looks is the dialect's matter.

Pieces are built from the inside out on a stack, without recursion. Blank lines between blocks are as in the source.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from channels.dialects import Dialect, Mark, PlainText
from channels.grid import cells

if TYPE_CHECKING:
    from markdown_it.token import Token

_MARKS: dict[str, Mark] = {"strong": "bold", "em": "italic", "s": "strike"}


class Walker:
    """Renders one text in one dialect."""

    def __init__(self, dialect: Dialect, source: str) -> None:
        self._dialect = dialect
        self._lines = source.split("\n")
        self._stack: list[list[str]] = [[]]
        self._fresh = True  # nothing stands before the next block in its container
        self._items = 0
        self._quotes = 0
        self._marks: Counter[Mark] = Counter()
        self._urls: list[str] = []

    def render(self, tokens: Sequence["Token"]) -> str:
        """The whole text."""
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                index = self._table(tokens, index)
            else:
                handler = self._BLOCKS.get(token.type)
                if handler:
                    handler(self, token)
            index += 1
        return "".join(self._stack[0]).strip("\n")

    def _add(self, piece: str) -> None:
        if piece:
            self._stack[-1].append(piece)

    def _begin(self, token: "Token", depth: int) -> None:
        """What stands between this block and the one before it."""
        if self._fresh:
            self._fresh = False
            return
        line = token.map[0] if token.map else 0
        blank = line > 0 and not self._lines[line - 1].strip(" \t>")
        self._add(("\n\n" if blank else "\n") + self._dialect.indent * depth)

    def _paragraph_open(self, token: "Token") -> None:
        self._begin(token, self._items)

    def _heading_open(self, token: "Token") -> None:
        self._begin(token, self._items)
        self._marks["bold"] += 1
        self._stack.append([])

    def _heading_close(self, token: "Token") -> None:
        self._marks["bold"] -= 1
        pieces = self._stack.pop()
        self._stack[-1].extend(self._dialect.heading(int(token.tag[1:]), pieces))

    def _item_open(self, token: "Token") -> None:
        self._begin(token, self._items)
        self._items += 1
        marker = f"{token.info}{token.markup}" if token.info else self._dialect.bullet
        self._add(marker + " ")
        self._fresh = True

    def _item_close(self, _: "Token") -> None:
        self._items -= 1
        self._fresh = False

    def _quote_open(self, token: "Token") -> None:
        self._begin(token, self._items)
        self._quotes += 1
        self._stack.append([])
        self._fresh = True

    def _quote_close(self, _: "Token") -> None:
        self._quotes -= 1
        self._fresh = False
        pieces = self._stack.pop()
        self._stack[-1].extend(pieces if self._quotes else self._dialect.quote(pieces))

    def _fence(self, token: "Token") -> None:
        if not token.content.strip():
            return
        self._begin_pre(token)
        self._add(self._dialect.pre(token.content.rstrip("\n"), token.info))

    def _begin_pre(self, token: "Token") -> None:
        if self._fresh and self._items:
            self._fresh = False
            self._add("\n")
        else:
            self._begin(token, 0)

    def _rule(self, token: "Token") -> None:
        self._begin(token, self._items)
        self._add(self._dialect.rule)

    def _inline(self, token: "Token") -> None:
        for child in token.children or ():
            handler = self._INLINES.get(child.type)
            if handler:
                handler(self, child)
            else:
                self._add(self._dialect.text(child.content))

    def _code(self, token: "Token") -> None:
        show = self._dialect.text if self._urls else self._dialect.code
        self._add(show(token.content))

    def _break(self, _: "Token") -> None:
        self._add("\n")

    def _image(self, token: "Token") -> None:
        text = self._dialect.text(token.content)
        if self._urls:
            self._add(text)
        else:
            self._stack[-1].extend(self._dialect.link([text], str(token.attrGet("src") or "")))

    def _mark_open(self, token: "Token") -> None:
        self._marks[_MARKS[token.tag]] += 1
        self._stack.append([])

    def _mark_close(self, token: "Token") -> None:
        kind = _MARKS[token.tag]
        self._marks[kind] -= 1
        pieces = self._stack.pop()
        self._stack[-1].extend(pieces if self._marks[kind] else self._dialect.mark(kind, pieces))

    def _link_open(self, token: "Token") -> None:
        self._urls.append(str(token.attrGet("href") or ""))
        self._stack.append([])

    def _link_close(self, _: "Token") -> None:
        pieces, url = self._stack.pop(), self._urls.pop()
        # An address in angles may stand inside a link; the outer one wins.
        self._stack[-1].extend(pieces if self._urls else self._dialect.link(pieces, url))

    def _table(self, tokens: Sequence["Token"], start: int) -> int:
        """Render the table that starts here; the index of its last token."""
        self._begin_pre(tokens[start])
        rows: list[list[str]] = []
        aligns: list[str] = []
        index, line = start, 0
        while tokens[index].type != "table_close":
            token = tokens[index]
            if token.type == "tr_open":
                rows.append([])
                line = token.map[0] if token.map else 0
            elif token.type == "th_open":
                aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
            elif token.type == "inline":
                rows[-1].append(self._cell(token))
            elif token.type == "tr_close":
                self._keep_excess(rows[-1], line)
            index += 1
        self._add(self._dialect.table(rows, aligns))
        return index

    def _cell(self, token: "Token") -> str:
        inner = Walker(PlainText(), "")
        inner._inline(token)
        return "".join(inner._stack[0])

    def _keep_excess(self, row: list[str], line: int) -> None:
        """GFM drops cells beyond the head's; a person wants to see them."""
        source = self._lines[line].lstrip(" \t>")
        found = cells(source)
        if len(found) > len(row) > 0:
            row[-1] = " | ".join([row[-1], *found[len(row) :]]).replace("\\|", "|")

    _BLOCKS: ClassVar[dict[str, Callable[["Walker", "Token"], None]]] = {
        "paragraph_open": _paragraph_open,
        "heading_open": _heading_open,
        "heading_close": _heading_close,
        "list_item_open": _item_open,
        "list_item_close": _item_close,
        "blockquote_open": _quote_open,
        "blockquote_close": _quote_close,
        "fence": _fence,
        "hr": _rule,
        "inline": _inline,
    }
    _INLINES: ClassVar[dict[str, Callable[["Walker", "Token"], None]]] = {
        "code_inline": _code,
        "softbreak": _break,
        "hardbreak": _break,
        "image": _image,
        "strong_open": _mark_open,
        "strong_close": _mark_close,
        "em_open": _mark_open,
        "em_close": _mark_close,
        "s_open": _mark_open,
        "s_close": _mark_close,
        "link_open": _link_open,
        "link_close": _link_close,
    }
