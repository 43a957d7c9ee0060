"""A price source of bars written by hand, and a call of a tool over it or over the bundled prices."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_core.finance.bars import Bars
from agent_core.finance.sources.source import NoData
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec

TODAY = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


@dataclass(frozen=True)
class MadeSource:
    """Has exactly these series."""

    series: tuple[Bars, ...] = ()
    name: str = "made"

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(bars.symbol for bars in self.series)

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        found = next((bars for bars in self.series if bars.symbol == symbol), None)
        window = found.window(start, end) if found else None
        if not window:
            raise NoData(f"no prices of {symbol}", self.name, "ask for another")
        return window


class Still:
    """A clock that stands."""

    def now(self) -> dt.datetime:
        return TODAY

    def monotonic(self) -> float:
        return 0.0


def weekdays(count: int, last: dt.date = dt.date(2026, 1, 2)) -> tuple[dt.date, ...]:
    """The last weekdays up to a day."""
    found: list[dt.date] = []
    day = last
    while len(found) < count:
        if day.weekday() < 5:
            found.append(day)
        day -= dt.timedelta(days=1)
    return tuple(reversed(found))


async def run(
    tools: Sequence[ToolSpec],
    name: str,
    language: Literal["en", "zh"] = "en",
    as_of: str | None = None,
    **args: Any,
) -> ToolOutput:
    """What the tool of this name answers."""
    spec = next(spec for spec in tools if spec.name == name)
    day = dt.date.fromisoformat(as_of) if as_of else None
    ctx = ToolContext("telegram:1", "s", 1, "c1", language, Still(), day)
    return await spec.call(ctx, args)


async def answer(tools: Sequence[ToolSpec], name: str, **args: Any) -> dict[str, Any]:
    """Its fields."""
    fields: dict[str, Any] = json.loads((await run(tools, name, **args)).content)
    return fields
