"""Splitting Markdown at a platform's limit: whole blocks first, then lines, sentences, words, graphemes.

Pure and deterministic, so that the outbox can resume by part number. One pass over the lines finds fences and tables
(`channels/blocks.py`), one pass packs them; no step looks back further than one part, so the time is linear.
"""

from bisect import bisect_right
from collections.abc import Callable

from channels.blocks import Block, Fence, Table, blocks, is_delimiter
from channels.boundaries import CODE, LINES, PROSE, Level, cut, is_heading, quote_prefix

Measure = Callable[[str], int]
ROOM = 12  # for the number under a part
_SLACK = 64  # whitespace at the end of a part does not count


def utf16_len(text: str) -> int:
    """Length in UTF-16 code units, as Telegram counts."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split(text: str, limit: int, measure: Measure = len) -> list[str]:
    """Markdown parts, in order, each with `measure(part) <= limit`; none for blank text.

    A fence or table that fits into one part is kept whole. A longer fence is closed and opened again with its info
    string, a longer table repeats its head; a table is counted as wide as it is when its columns are aligned. Links,
    inline code and graphemes are cut only where one alone is over the limit. Whitespace at a cut is dropped outside
    of fences; nothing else is.

    `measure` counts at least 1 for each code point and does not grow by joining (`len`, `utf16_len`, UTF-8 bytes).
    Raises ValueError for a limit under 1. A single code point over the limit is a part of its own.
    """
    if limit < 1:
        raise ValueError(f"a limit of {limit} leaves no room")
    if not text.strip():
        return []
    if len(text) <= limit and "|" not in text and measure(text) <= limit:
        return [_trim(text)]
    parts = _pack(text, limit, measure)
    return [piece for part in parts for piece in _within(part, limit, measure)]


def _pack(text: str, limit: int, measure: Measure) -> list[str]:
    packer = _Packer(limit, measure)
    for block in blocks(text):
        packer.add(block)
    packer.flush()
    return packer.parts


def _within(part: str, limit: int, measure: Measure) -> list[str]:
    """The part, cut again where a cut has made a table of it: rows before a row of rules read as a head."""
    if "|" not in part:
        return [part]
    padding = sum(block.padding for block in blocks(part) if isinstance(block, Table))
    if not padding or measure(part) + padding <= limit:
        return [part]
    pieces = _pack(part, limit, measure)
    if len(pieces) < 2:
        return pieces
    return [end for piece in pieces for end in _within(piece, limit, measure)]


def numbered(text: str, limit: int, measure: Measure = len) -> list[str]:
    """Parts as `split` makes them; several of them say which one each is, so that nobody takes a part for the whole."""
    parts = split(text, limit, measure)
    if len(parts) < 2:
        return parts
    return with_numbers(split(text, limit - ROOM, measure))


def with_numbers(parts: list[str]) -> list[str]:
    """Each part with its number and how many there are, in at most ROOM characters."""
    return [f"{part}\n\n({number}/{len(parts)})" for number, part in enumerate(parts, 1)]


def _trim(text: str) -> str:
    """Without blank lines before and whitespace after; the first line keeps its indentation."""
    text = text.rstrip()
    lead = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, lead) + 1 :]


class _Packer:
    """Fills parts. `_head` opens and `_tail` closes each part that a fence, table or quote runs across."""

    def __init__(self, limit: int, measure: Measure) -> None:
        self.parts: list[str] = []
        self._limit = limit
        self._measure = measure
        self._buffer: list[str] = []
        self._used = 0
        self._head = ""
        self._tail = ""
        self._opened = ""  # the head that this part began with

    def add(self, block: Block) -> None:
        """Put one block in, whole where it fits."""
        text = block.text
        extra = block.padding if isinstance(block, Table) else 0
        if isinstance(block, Fence | Table):
            if self._keeps(text, extra):
                return
            if len(text) <= self._limit and self._measure(text.rstrip()) + extra <= self._limit:
                self.flush(carry=self._limit - self._measure(text.rstrip()) - extra)
                self._push(text, extra)
                return
        if isinstance(block, Fence):
            self._add_fence(block)
        elif isinstance(block, Table):
            self._add_table(block)
        else:
            self._fill(text, PROSE)

    def flush(self, carry: int = 0) -> None:
        """End the part. A heading at its end moves on with what it heads, if it measures at most `carry`."""
        body = "".join(self._buffer)
        moved = ""
        if carry > 0 and not self._head:
            body, moved = self._without_heading(body, carry)
        if body[len(self._opened) :].strip():
            if self._tail:
                joint = "" if body.endswith("\n") else "\n"
                self.parts.append(body + joint + self._tail)
            else:
                self.parts.append(_trim(body))
        self._opened = self._head
        self._buffer, self._used = [], 0
        self._push(self._head or moved)

    def _without_heading(self, body: str, carry: int) -> tuple[str, str]:
        start = body.rstrip().rfind("\n") + 1
        heading = body[start:]
        if start and is_heading(heading) and self._measure(heading) <= carry:
            return body[:start], heading
        return body, ""

    def _push(self, text: str, extra: int = 0) -> None:
        if text:
            self._buffer.append(text)
            self._used += self._measure(text) + extra

    def _keeps(self, text: str, extra: int = 0) -> bool:
        """Push it if it fits into this part."""
        room = self._room()
        bare = text.removesuffix("\n") if self._tail else text.rstrip()
        if len(text) > room + _SLACK or self._measure(bare) + extra > room:
            return False
        self._push(text, extra)
        return True

    def _room(self) -> int:
        tail = self._measure(self._tail) + 1 if self._tail else 0
        return self._limit - self._used - tail

    def _fresh(self) -> bool:
        """Nothing but the repeated head is in this part."""
        return len(self._buffer) <= bool(self._opened)

    def _close(self, tail: str = "") -> None:
        """End the block that runs across parts."""
        if self._opened and self._fresh():
            self._buffer, self._used = [], 0
        else:
            self._push(tail)
        self._head = self._tail = self._opened = ""

    def _add_fence(self, fence: Fence) -> None:
        overhead = self._measure(fence.reopen) + self._measure(fence.closing) + 1
        if overhead * 2 > self._limit:
            self._fill(fence.text, CODE)
            return
        if self._room() < overhead + self._limit // 4:
            self.flush(carry=self._limit // 4)
        self._push(fence.opening)
        self._head, self._tail = fence.reopen, fence.closing
        self._fill(fence.body, CODE)
        self._close(fence.closing + fence.after if fence.closed else "")

    def _add_table(self, table: Table) -> None:
        head = self._measure(table.head) + table.head_padding
        if head > self._limit:  # the head's line and its rule apart, so that neither is aligned
            for line in (*table.opening.splitlines(keepends=True), *table.rows):
                if is_delimiter(line):
                    self.flush()
                self._fill(line, LINES)
            self.flush()  # what follows must not make a head of the last row
            return
        if self._room() < head + self._limit // 4:
            self.flush(carry=self._limit - head)
        self._push(table.opening, table.head_padding)
        self._head = table.head if head * 2 <= self._limit else ""
        for row, padding in zip(table.rows, table.row_paddings, strict=True):
            if not self._keeps(row, padding):
                self.flush()
                self._used += table.head_padding if self._head else 0
                if not self._keeps(row, padding):
                    self._cut_row(row, table)
        self._close()

    def _cut_row(self, row: str, table: Table) -> None:
        """A row too long for a part under its head stands under none: nothing is aligned with what is left of it."""
        again = self._head
        self._close()
        self._fill(row, LINES)
        self._head = again
        self.flush()
        self._used += table.head_padding if again else 0

    def _fill(self, text: str, levels: tuple[Level, ...]) -> None:
        """Pack running text, cutting at the best level that the window offers."""
        start = 0
        while start < len(text) and not (
            len(text) - start <= self._room() + _SLACK and self._keeps(text[start:])
        ):
            stop = self._next_cut(text, start, levels)
            if stop == start:
                self.flush(carry=self._limit // 4)
                continue
            self._push(text[start:stop])
            if levels is PROSE:
                self._head = quote_prefix(text, start, stop, self._head, self._limit // 4)
            self.flush()
            start = stop
        if levels is PROSE:
            self._close()

    def _next_cut(self, text: str, start: int, levels: tuple[Level, ...]) -> int:
        """Where this part ends; `start` when the text had better begin a new one."""
        room, fresh = self._room(), self._fresh()
        end = self._reach(text, start, room)
        if end > start:
            # A part that is well filled is worth a cut between lines, but not one inside a sentence.
            if levels is not CODE and not fresh and room * 2 < self._limit:
                levels = LINES[:1] if levels is LINES else levels[:2]
            stop = cut(text, start, end, levels, force=fresh)
            if stop > start:
                return stop
        return start + 1 if fresh else start

    def _reach(self, text: str, start: int, room: int) -> int:
        """The furthest end with measure(text[start:end]) <= room."""
        if room <= 0:
            return start
        end = min(len(text), start + room)
        if self._measure(text[start:end]) <= room:
            return end
        steps = range(start + 1, end + 1)
        return start + bisect_right(steps, room, key=lambda to: self._measure(text[start:to]))
