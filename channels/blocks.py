"""Which lines of a Markdown text belong together: fences, tables, and the text between them.

A scanner of lines, not a parser: linear in any input. It follows the renderer's dialect (`channels/markdown.py`):
CommonMark with GFM tables, without indented code, so that a fence may stand at any indentation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from channels.grid import cells, column_widths, width

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Quote and list markers before the content of a line.
_LEAD = re.compile(r"(?:[ \t]*+(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*+[ \t]*+")
_MARKER = re.compile(r"[-*+]|\d{1,9}[.)]")
_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")
_INTERRUPTS = re.compile(
    r"[ \t]*+(?:>|#{1,6}[ \t\n]|[-*+][ \t]|\d{1,9}[.)][ \t]|```|~~~|-{3,}\s*$)"
)


@dataclass(frozen=True, slots=True)
class Prose:
    """Anything but fences and tables."""

    text: str


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence as written. `reopen` and `closing` are lines for parts that it is cut into."""

    text: str
    opening: str
    body: str
    after: str  # what follows the closing mark on its line
    closed: bool
    reopen: str
    closing: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table as written; paddings are the characters that aligned columns add to what the source measures."""

    text: str
    head: str
    rows: tuple[str, ...]
    head_padding: int
    row_paddings: tuple[int, ...]
    padding: int
    opening: str  # the head as written; `head` has no list marker


Block = Prose | Fence | Table


def blocks(text: str) -> Iterator[Block]:
    """Blocks in order; their texts joined are the text."""
    return _Scanner(_LINE.findall(text)).run()


@dataclass(slots=True)
class _Scanner:
    lines: list[str]
    at: int = 0
    items: list[int] = field(default_factory=list)  # content columns of the open list items

    def run(self) -> Iterator[Block]:
        plain: list[str] = []
        while self.at < len(self.lines):
            block = self._fence() or self._table()
            if block is None:
                plain.append(self.lines[self.at])
                self._note_list(self.lines[self.at])
                self.at += 1
                continue
            if plain:
                yield Prose("".join(plain))
                plain = []
            yield block
        if plain:
            yield Prose("".join(plain))

    def _note_list(self, line: str) -> None:
        """Keep `items` as the line leaves them."""
        if not line.strip():
            return
        lead = _lead(line)
        indent = _columns(lead) - len(lead.lstrip())
        while self.items and self.items[-1] > indent:
            self.items.pop()
        if ">" not in lead and lead.strip():
            self.items.append(_columns(lead))

    def _fence(self) -> Fence | None:
        line = self.lines[self.at]
        if "```" not in line and "~~~" not in line:
            return None
        lead = _lead(line)
        match = _FENCE.match(line, len(lead))
        if match is None or (match[1][0] == "`" and "`" in match[2]):
            return None
        self._note_list(line)
        mark, quotes = match[1], lead.count(">")
        column = max((item for item in self.items if item <= _columns(lead)), default=0)
        end = self.at + 1
        closed = False
        while end < len(self.lines) and not _leaves(self.lines[end], quotes, column):
            closed = _closes(self.lines[end], mark, quotes)
            end += 1
            if closed:
                break
        found = _build_fence(self.lines[self.at : end], lead, mark, match[2], closed)
        self.at = end
        return found

    def _table(self) -> Table | None:
        if self.at + 1 >= len(self.lines):
            return None
        first, second = self.lines[self.at], self.lines[self.at + 1]
        if "|" not in first or not is_delimiter(second):
            return None
        lead = _lead(first)
        quotes = lead.count(">")
        if len(cells(first[len(lead) :])) != len(cells(_unquoted(second))):
            return None
        self._note_list(first)
        end = self.at + 2
        while end < len(self.lines) and _is_row(self.lines[end], quotes):
            end += 1
        found = _build_table(self.lines[self.at : end], lead)
        self.at = end
        return found


def _lead(line: str) -> str:
    match = _LEAD.match(line)
    return match.group() if match else ""


def _columns(lead: str) -> int:
    return len(lead.expandtabs(4))


def _leaves(line: str, quotes: int, column: int) -> bool:
    """The line is outside of the quote or list item that a fence stands in."""
    if quotes:
        return line.lstrip(" \t")[:1] != ">"
    bare = line.lstrip(" \t")
    return bool(bare.strip()) and _columns(line[: len(line) - len(bare)]) < column


def _closes(line: str, mark: str, quotes: int) -> bool:
    bare = line.strip(" \t>\r\n" if quotes else " \t\r\n")
    return len(bare) >= len(mark) and not bare.strip(mark[0])


def _build_fence(lines: list[str], lead: str, mark: str, info: str, closed: bool) -> Fence:
    body = "".join(lines[1 : len(lines) - closed])
    inner = _MARKER.sub(lambda marker: " " * len(marker.group()), lead)
    # A piece of a line cut inside must not look like the end of the fence.
    runs = re.findall(re.escape(mark[0]) + "{3,}", body)
    longest = max(map(len, runs), default=0)
    own = mark[0] * max(len(mark), longest + 1) if longest >= len(mark) else mark
    last = lines[-1] if closed else ""
    return Fence(
        text="".join(lines),
        opening=lines[0].replace(mark, own, 1),
        body=body,
        after=last[len(last.rstrip()) :],
        closed=closed,
        reopen=f"{inner}{own}{info.rstrip()}\n",
        closing=inner + own,
    )


def _unquoted(line: str) -> str:
    return line.lstrip(" \t>")


def is_delimiter(line: str) -> bool:
    """The line can be the rule under a table's head; for one of one cell, GFM asks for no pipe in it."""
    bare = _unquoted(line).strip()
    if "-" not in bare or len(bare) < 2 or bare.strip("|-: \t"):
        return False
    return all(re.fullmatch(r":?-+:?", cell) for cell in cells(bare))


def _is_row(line: str, quotes: int) -> bool:
    if quotes:
        return line.lstrip(" \t")[:1] == ">" and bool(_unquoted(line).strip())
    return bool(line.strip()) and _INTERRUPTS.match(line) is None


def _build_table(lines: list[str], lead: str) -> Table:
    inner = _MARKER.sub(lambda marker: " " * len(marker.group()), lead)
    top = cells(lines[0][len(lead) :])
    grid = [_joined(cells(_unquoted(line)), len(top)) for line in lines[2:]]
    widths = column_widths([top, *grid])
    paddings = tuple(_padding(row, widths) for row in grid)
    head_padding = _padding(top, widths) + sum(widths) + 2 * len(widths)
    return Table(
        text="".join(lines),
        head=inner + lines[0][len(lead) :] + lines[1],
        rows=tuple(lines[2:]),
        head_padding=head_padding,
        row_paddings=paddings,
        padding=head_padding + sum(paddings),
        opening=lines[0] + lines[1],
    )


def _padding(row: list[str], widths: list[int]) -> int:
    spaces = sum(max(0, size - width(cell)) for size, cell in zip(widths, row, strict=False))
    return spaces + 2 * len(widths)


def _joined(row: list[str], count: int) -> list[str]:
    """Cells beyond the head's are shown in the last one."""
    return row if len(row) <= count else [*row[: count - 1], " | ".join(row[count - 1 :])]
