"""Tables as text: cells of a row, widths on a terminal, columns aligned with spaces."""

import re
import unicodedata
from collections.abc import Sequence

WIDEST = 40  # a column is never padded beyond this; longer cells stick out
GAP = "  "
_BAR = re.compile(r"\\.|\|", re.DOTALL)


def cells(row: str) -> list[str]:
    r"""The cells of a GFM row, stripped, escaped bars (`\\|`) kept as written; outer bars are optional."""
    row = row.strip()
    cuts = [match.start() for match in _BAR.finditer(row) if match.group() == "|"]
    found = [row[a + 1 : b].strip() for a, b in zip([-1, *cuts], [*cuts, len(row)], strict=True)]
    if cuts and cuts[0] == 0:
        del found[0]
    if len(cuts) > (1 if row == "|" else 0) and cuts[-1] == len(row) - 1:
        del found[-1]
    return found


def width(text: str) -> int:
    """Columns on a terminal: two for East Asian wide characters and emoji, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in {"W", "F"}:
        return 2
    return 0 if unicodedata.category(char) in {"Mn", "Me", "Cf"} else 1


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width that each column is padded to, at most WIDEST."""
    count = max((len(row) for row in rows), default=0)
    return [max(min(width(row[i]), WIDEST) for row in rows if i < len(row)) for i in range(count)]


def aligned(rows: Sequence[Sequence[str]], aligns: Sequence[str] = ()) -> list[str]:
    """Lines of a table whose first row is its head; `aligns` holds "left", "right" or "center" for each column."""
    widths = column_widths(rows)
    sides = [*aligns, *[""] * (len(widths) - len(aligns))]
    lines = [
        GAP.join(_pad(cell, widths[i], sides[i]) for i, cell in enumerate(row)).rstrip()
        for row in rows
    ]
    lines.insert(1, GAP.join("─" * size for size in widths))
    return lines


def turned(rows: Sequence[Sequence[str]], room: int) -> list[list[str]] | None:
    """The table with rows and columns swapped, where only so its lines fit into `room` columns and it gets no longer.

    None: show it as it is. A comparison of a few things by many properties turns into one line a property.
    """
    count = max(map(len, rows), default=0)
    swapped = [[row[i] if i < len(row) else "" for row in rows] for i in range(count)]
    before, after = aligned(rows), aligned(swapped)
    if max(map(width, before), default=0) <= room or max(map(width, after), default=0) > room:
        return None
    return swapped if len("\n".join(after)) <= len("\n".join(before)) else None


def _pad(cell: str, size: int, side: str) -> str:
    room = max(0, size - width(cell))
    left = {"right": room, "center": room // 2}.get(side, 0)
    return " " * left + cell + " " * (room - left)
