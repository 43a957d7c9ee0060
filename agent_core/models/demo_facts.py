"""Where the numbers of an answer come from, and the Markdown pieces that its sections share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_core.models.demo_turn import Outcome, Turn
from agent_core.models.demo_words import Key

DEMO_LINE = re.compile(r"^\*(?:demo planner|演示 demo)\b.*\*$")
Fields = Mapping[str, Any]


@dataclass
class Facts:
    """Where the quoted numbers come from, for the last line."""

    sources: list[str] = field(default_factory=list)
    windows: list[str] = field(default_factory=list)
    days: list[str] = field(default_factory=list)
    quoted: bool = False  # prices stand in the answer

    def __bool__(self) -> bool:
        return self.quoted

    def take(self, data: Fields) -> None:
        """Note source, window and day of a result."""
        self.quoted = True
        for values, value in (
            (self.sources, data.get("source")),
            (self.windows, window_of(data)),
            (self.days, data.get("as_of")),
        ):
            _add(values, value)

    def take_source(self, data: Fields) -> None:
        """Note the source of a result without prices."""
        _add(self.sources, data.get("source"))

    def take_line(self, line: str) -> None:
        """Note what the last line of another answer says."""
        patterns: tuple[tuple[list[str], str], ...] = (
            (self.sources, r"(?:source|来源) ([^·]+)"),
            (self.windows, r"(?:window|区间) ([^·]+)"),
            (self.days, r"(?:as of|截至) ([^·]+)"),
        )
        for values, pattern in patterns:
            if match := re.search(pattern, line.strip("*")):
                for value in match[1].split(", "):
                    _add(values, value.strip())

    def lines(self) -> tuple[tuple[Key, list[str]], ...]:
        """Keys of the texts with their values."""
        return ("source", self.sources), ("window", self.windows), ("as_of", self.days)


def _add(values: list[str], value: object) -> None:
    if value and str(value) not in values:
        values.append(str(value))


def window_of(data: Fields) -> str:
    """First and last day of a result."""
    window = data.get("window")
    if not isinstance(window, dict):
        return ""
    return " … ".join(str(day) for day in (window.get("start"), window.get("end")) if day)


def good(turn: Turn, name: str) -> list[Outcome]:
    """Results of a tool that have fields."""
    return [o for o in turn.of(name) if o.data]


def table_row(cells: Sequence[object]) -> str:
    """A row of a Markdown table; what is missing is a dash."""
    shown = ("–" if cell is None else str(cell).replace("|", "/") for cell in cells)
    return f"| {' | '.join(shown)} |"


def listed(lines: Sequence[str]) -> str:
    """A lead sentence, a blank line, the bullets: without the blank line some renderers join them."""
    return lines[0] + ("\n\n" + "\n".join(lines[1:]) if lines[1:] else "")
