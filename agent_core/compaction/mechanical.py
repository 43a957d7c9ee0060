"""A summary without a model: symbols, what was asked last, what was answered last (CMP-17). Deterministic and bounded.

It stands in where no model can be asked or none gives a usable answer, so that a conversation stays bounded even when
every summary fails.

Lossless copy: the rows. Tool pairs: excerpts are quotations, no pair is touched. The original: the rows behind the cut
(MSC-10).
"""

from collections.abc import Sequence
from itertools import zip_longest

from agent_core import text
from agent_core.compaction import headings, signs
from agent_core.compaction.anchors import spoken
from agent_core.models import tokens
from agent_core.models.stream import mend
from agent_core.types import Row, RowKind

MAX_CHARS = 1_200  # CMP-17, as all numbers here
MAX_SYMBOLS = 12
_SYMBOL_ROWS, _SYMBOL_CHARS = (
    200,
    500,
)  # where symbols are looked for at most, so that it stays quick
_LAST = {RowKind.USER: (6, 180), RowKind.ASSISTANT: (6, 220), RowKind.RESULT: (4, 220)}
_LABELS = {
    "en": ("Symbols", "Recent questions", "Main conclusions", "Recent tool results", "Also noted"),
    "zh": ("涉及标的", "最近的问题", "主要结论", "最近的工具结果", "另需记住"),
}


def summary(rows: Sequence[Row], limit: int = MAX_CHARS) -> str:
    """The rows in at most `limit` characters, in the language of the conversation; "" where they say nothing.

    Where not everything fits, the newest of each kind comes first.
    """
    last = {kind: _last(rows, kind) for kind in _LAST}
    labels = _labels("".join(last[RowKind.USER] + last[RowKind.ASSISTANT]))
    named = _symbols(rows)
    head = f"{labels[0]}: {', '.join(named)}" if named else ""
    room = limit - len(head) - sum(len(label) + 3 for label in labels[1:4])
    kept: dict[RowKind, list[str]] = {kind: [] for kind in _LAST}
    for group in zip_longest(*(reversed(items) for items in last.values())):
        for kind, item in zip(_LAST, group, strict=True):
            if item and len(item) + 3 <= room:
                kept[kind].insert(0, item)
                room -= len(item) + 3
    parts = [head] if head else []
    for label, items in zip(labels[1:4], kept.values(), strict=True):
        if items:
            parts.append(f"{label}:\n" + "\n".join(f"- {item}" for item in items))
    return "\n".join(parts)[:limit]


def update(previous: str, rows: Sequence[Row], limit: int) -> str:
    """An earlier summary with what the rows add, in at most about `limit` tokens by estimate.

    The earlier text keeps its form. Where it has sections, the new stands under Critical Context.
    """
    new = summary(rows, min(MAX_CHARS, max(limit * 2, 200)))
    if not previous.strip():
        return new
    room = max(limit - tokens.of_text(new), limit // 2)
    return add(headings.shorten(previous, room), new)


def add(said: str, lines: str) -> str:
    """A summary with more lines under Critical Context; a summary without sections gets them at its end."""
    if not lines:
        return said
    if headings.missing(said):
        return f"{said}\n\n{lines}" if said else lines
    sections = headings.parsed(said)
    body = sections[headings.CRITICAL]
    sections[headings.CRITICAL] = f"{body}\n{lines}" if body not in headings.EMPTY else lines
    return headings.written(sections)


def noted(items: Sequence[str], language_of: str) -> str:
    """Lines that name what a summary left out; "" for none."""
    if not items:
        return ""
    return f"{_labels(language_of)[4]}:\n" + "\n".join(f"- {item}" for item in items)


def _labels(said: str) -> tuple[str, ...]:
    return _LABELS["zh" if text.is_chinese(said) else "en"]


def _last(rows: Sequence[Row], kind: RowKind) -> list[str]:
    count, chars = _LAST[kind]
    found: list[str] = []
    for row in reversed(rows):
        if row.kind is kind and (said := text.one_line(mend(spoken(row)[: chars * 8]))):
            found.append(text.clip(said, chars))
            if len(found) == count:
                break
    return found[::-1]


def _symbols(rows: Sequence[Row]) -> list[str]:
    """The symbols that were named last, the newest at the end."""
    found: dict[str, None] = {}
    for row in reversed(rows[-_SYMBOL_ROWS:]):
        for code in signs.codes(spoken(row), _SYMBOL_CHARS):
            found.setdefault(code)
        if len(found) >= MAX_SYMBOLS:
            break
    return list(found)[:MAX_SYMBOLS][::-1]
