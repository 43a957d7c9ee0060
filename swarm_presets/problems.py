"""What is wrong with a preset: codes, where, and how to mend it; as text for people and as JSON for tools.

SW0xx syntax, SW1xx shape, SW2xx references, SW3xx meaning (guide "presets", 8).
"""

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from swarm_presets.positions import Span

MAX_LISTED = 24  # allowed words that are listed
MAX_EXCERPT = 160  # characters of a line that are shown

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. Lines and columns count from 1; `cure` is one line.

    `file` is the name shown to people, `path` the file itself; `other` is the second place that a finding is about.
    """

    code: str
    message: str
    file: str
    line: int
    column: int
    cure: str
    severity: Severity = "error"
    length: int = field(default=1, compare=False)
    excerpt: str = field(default="", compare=False)
    path: str = field(default="", compare=False)
    other: Span | None = field(default=None, compare=False)


def problem(
    code: str,
    message: str,
    span: Span,
    cure: str,
    *,
    severity: Severity = "error",
    other: Span | None = None,
) -> Problem:
    """A finding at a place."""
    return Problem(
        code=code,
        message=message,
        file=span.source.name,
        line=span.line,
        column=span.column,
        cure=cure,
        severity=severity,
        length=span.length,
        excerpt=span.source.line(span.line),
        path=span.source.path or span.source.name,
        other=other,
    )


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    found = get_close_matches(word, sorted(known), n=1, cutoff=0.7)
    return found[0] if found else None


def suggest(word: str, known: Iterable[str], none: str) -> str:
    """A cure for an unknown word: the one that was probably meant, else all there are, else `none`."""
    words = sorted(known)
    if match := nearest(word, words):
        return f"did you mean `{match}`?"
    more = ", …" if len(words) > MAX_LISTED else ""
    return f"allowed: {', '.join(words[:MAX_LISTED])}{more}" if words else none


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Each finding once, by file, line and column."""
    return sorted(dict.fromkeys(problems), key=lambda p: (p.file, p.line, p.column, p.code))


def render(problems: Iterable[Problem]) -> str:
    """The findings as text, each with its line and carets; empty when there are none."""
    return "\n".join(_block(p) for p in in_order(problems))


def to_json(problems: Iterable[Problem]) -> str:
    """The findings as a JSON list of objects."""
    keys = ("code", "severity", "message", "file", "line", "column", "cure")
    rows = [{key: getattr(p, key) for key in keys} for p in in_order(problems)]
    return json.dumps(rows, ensure_ascii=False, indent=2)


def _block(p: Problem) -> str:
    head = f"{p.severity}[{p.code}]: {_printable(p.message)}\n"
    block = head + _excerpt(p, "-->")
    if p.other is not None:
        there = problem(p.code, "", p.other, "sealed here")
        block += _excerpt(there, ":::")
    return block


def _excerpt(p: Problem, arrow: str) -> str:
    width = max(4, len(str(p.line)))
    shown, column = _window(p.excerpt, p.column)
    before, marked = shown[: column - 1], shown[column - 1 : column - 1 + p.length]
    # A caret for each column of what is marked; what ends before the caret does is marked to its full length.
    carets = "^" * (sum(map(_width, marked)) + p.length - len(marked))
    pad = "".join("\t" if c == "\t" else " " * _width(c) for c in before)
    return (
        f"  {arrow} {p.file}:{p.line}:{p.column}\n"
        f"{p.line:>{width}} | {_printable(shown)}\n"
        f"{'':>{width}} | {pad}{carets} {_printable(p.cure)}\n"
    )


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, and the column within it."""
    if len(line) <= MAX_EXCERPT:
        return line, column
    start = max(0, column - 1 - MAX_EXCERPT // 3)
    part = line[start : start + MAX_EXCERPT]
    return (f"…{part[1:]}" if start else part), column - start


def _printable(text: str) -> str:
    """Without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _width(char: str) -> int:
    """Columns that a terminal gives to a character: two for Han and other wide ones."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
