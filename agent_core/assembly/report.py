"""What a request consists of, section by section (ASM-13): written to the trace, shown by `/why`, asserted on by evals.

Tokens are estimates, already multiplied by what the provider's own counts taught (TOK-10).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from agent_core.ports import Breakpoint


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a request. `cut`: something that was once longer, or left out, stands here in short."""

    name: str
    chars: int
    tokens: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A request in figures. `marks` are (message index, life) of the cache marks; `rows` is how many the view has."""

    model: str
    policy: str
    window: int
    threshold: int
    tokens: int
    sections: tuple[Section, ...]
    marks: tuple[tuple[int, str], ...] = ()
    messages: int = 0
    rows: int = 0
    summary: bool = False

    @property
    def fill(self) -> float:
        """The share of the window that the request takes, 0 … 1 and above."""
        return self.tokens / self.window if self.window else 0.0

    def to_json(self) -> dict[str, Any]:
        """As it is stored in the trace."""
        whole = {name: getattr(self, name) for name in _REPORT}
        parts = [{name: getattr(s, name) for name in _SECTION} for s in self.sections]
        return whole | {"sections": parts}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Report":
        """The report that `to_json` wrote; keys of a newer version are left aside."""
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in data.items() if k in known}
        values["sections"] = tuple(Section(**s) for s in values.get("sections", ()))
        values["marks"] = tuple((at, life) for at, life in values.get("marks", ()))
        return cls(**values)


_REPORT = tuple(f.name for f in fields(Report))
_SECTION = tuple(f.name for f in fields(Section))


def marks_of(breakpoints: Sequence[Breakpoint]) -> tuple[tuple[int, str], ...]:
    """Breakpoints as a report keeps them."""
    return tuple((mark.at, mark.ttl) for mark in breakpoints)
