"""What the demo planner may quote where a contract asks for fields, all of it as a tool returned it.

Lines of its own answer, what other agents handed over, and the fields of results.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_core.models.demo_answer import DISCLAIMERS
from agent_core.models.demo_ask import Language
from agent_core.models.demo_facts import DEMO_LINE
from agent_core.models.demo_turn import Turn, fields_of

_AGENT = re.compile(r"\[[a-z][\w-]*: [a-z_]+\]|Results of other agents:|Conversation:")
_RULER = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+")
ALIASES = {
    "price": "last_close",
    "close": "last_close",
    "change": "change_pct",
    "date": "as_of",
    "entry": "last_close",
    "stop": "support",
    "target": "resistance",
    "quantity": "units",
    "limit_price": "entry",
}


@dataclass(slots=True)
class Known:
    """What may be quoted. `lines` are used up in order; `results` are the fields of each result."""

    lines: list[str]
    results: list[Mapping[str, Any]]
    sources: list[str]
    language: Language
    most: int
    used: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, text: str, turn: Turn, language: Language, most: int) -> "Known":
        """Everything that the turn has: the plain answer's lines, what was handed over, the results."""
        results = [o.data for o in turn.outcomes if not o.is_error and o.data]
        lines = list(_lines(text)) if turn.outcomes else []
        handed, sources = list(_handed(turn.background)), list[str]()
        for result in results:
            _add(sources, result.get("source"))
        for line in text.splitlines() + turn.background.splitlines():
            if (
                found := re.search(r"(?:source|来源) ([^·*]+)", line)
                if DEMO_LINE.match(line)
                else None
            ):
                for name in found[1].split(", "):
                    _add(sources, name.strip())
        return cls(lines + [h for h in handed if h not in lines], results, sources, language, most)

    @property
    def symbols(self) -> Iterator[str]:
        """The symbols that results are about, or that they list, in order."""
        for result in self.results:
            lists = (value for value in result.values() if isinstance(value, list))
            for row in (result, *(row for rows in lists for row in rows)):
                if isinstance(row, Mapping) and row.get("symbol"):
                    yield str(row["symbol"])

    def line(self, pattern: re.Pattern[str] | None = None) -> str | None:
        """The next line, each given once; or the first that the pattern finds, given before or not."""
        for line in self.lines:
            if line not in self.used if pattern is None else pattern.search(line):
                self.used.add(line)
                return line
        return None

    def value(self, name: str, place: Mapping[str, Any] | None) -> Any:
        """What a result calls so; of `place` alone where it is given. None where nothing does."""
        for result in (place,) if place is not None else self.results:
            for key in (name, ALIASES.get(name.lower(), name)):
                if result.get(key) is not None:
                    return result[key]
        return None


def _lines(text: str) -> Iterator[str]:
    """What a plain answer states, a line each, facts before remarks; without its closing lines."""
    remarks: list[str] = []
    rows = text.splitlines()
    for at, row in enumerate(rows):
        line = row.strip()
        headed = at + 1 < len(rows) and _RULER.fullmatch(rows[at + 1].strip())
        if not line or headed or _RULER.fullmatch(line) or DEMO_LINE.match(line):
            continue
        if line in DISCLAIMERS:
            continue
        if line.startswith("> "):
            remarks.append(_bare(line[2:]))
        elif line.startswith("|"):
            yield ", ".join(cell.strip() for cell in line.strip("|").split("|"))
        else:
            yield _bare(line)
    yield from remarks


def _bare(line: str) -> str:
    return re.sub(r"^[-*] |\*\*|`", "", line).strip()


def _handed(background: str) -> Iterator[str]:
    """What other agents handed over, line by line; of JSON its texts."""
    rows = [row for row in background.splitlines() if not _AGENT.fullmatch(row.strip())]
    for row in rows:
        if row.lstrip().startswith("{"):
            yield from _texts(fields_of(row))
    yield from _lines("\n".join(row for row in rows if not row.lstrip().startswith("{")))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)


def _add(values: list[str], value: object) -> None:
    if value and str(value) not in values:
        values.append(str(value))
