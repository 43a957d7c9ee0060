"""A line of recalled context, which cannot be written without its label (CRD-1, CRD-2)."""

import datetime as dt
import hashlib
from dataclasses import dataclass

from agent_core.book import level_of
from agent_core.compaction.head import harmless
from agent_core.text import clip, one_line

SOURCE_CHARS = 60


@dataclass(frozen=True, slots=True)
class Item:
    """Something stored, to be quoted in one line.

    `level` is one of agent_core.book.LEVELS; what is none is mixed. `ref` is another name of it, which recall uses too.
    """

    text: str
    source: str
    level: str
    at: dt.datetime
    ref: str = ""

    @property
    def line(self) -> str:
        """The line, with date, source and level before the words."""
        return f"- [{label(self.at, self.source, self.level)}] {quoted(self.text)}"

    @property
    def ids(self) -> tuple[str, ...]:
        """By which a conversation knows the line again: the line as it stands, and `ref`."""
        return (key(self.line), self.ref) if self.ref else (key(self.line),)


def label(at: dt.datetime, source: str, level: str) -> str:
    """`2026-01-05 · source · level`, the day in UTC."""
    told = quoted(clip(one_line(source), SOURCE_CHARS)).replace("]", "］")
    return f"{at.astimezone(dt.UTC):%Y-%m-%d} · {told} · {level_of(level)}"


def quoted(text: str) -> str:
    """A stored text as one line, in which tags and headings of ours are none."""
    return harmless(one_line(text))


def key(text: str) -> str:
    """A short name of a text: equal for equal texts."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
