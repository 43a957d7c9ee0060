"""All sources of fundamentals and of filings in their order: the first one that has the company answers."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from agent_core.finance.fundamentals import (
    Filing,
    FilingsSource,
    Fundamentals,
    FundamentalsSource,
    Period,
)
from agent_core.finance.sources.allowed import allowed
from agent_core.finance.sources.guarded import Guard
from agent_core.finance.sources.source import NoData

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Guarded:
    """A source and the guard of its server."""

    source: object
    guard: Guard
    name: str


class Reports:
    """A chain of sources; names are unique. A preset's `data.sources` hold here too."""

    def __init__(self, chain: Sequence[Guarded] = ()) -> None:
        self._all = tuple(chain)

    async def fundamentals(
        self, symbol: str, period: Period, as_of: dt.date | None
    ) -> Fundamentals:
        """What the first source has. Raises NoData with every source's reason, or what to enable."""

        def ask(source: FundamentalsSource) -> Awaitable[Fundamentals]:
            return source.fundamentals(symbol, period, as_of)

        enable = "enable yfinance (pip install 'swarmgate[finance]') or edgar under data.sources"
        missing = NoData(f"no fundamentals of {symbol}", "none", enable)
        return await self._first("fundamentals", ask, missing)

    async def filings(
        self, symbol: str, forms: Sequence[str], as_of: dt.date | None
    ) -> tuple[str, list[Filing]]:
        """The source and its filings. Raises NoData with every source's reason, or what to enable."""

        async def ask(source: FilingsSource) -> tuple[str, list[Filing]]:
            return source.name, await source.filings(symbol, forms, as_of)

        enable = "enable edgar under data.sources, with a contact in data.edgar.contact"
        missing = NoData(f"no filings of {symbol}", "none", enable)
        return await self._first("filings", ask, missing)

    async def _first(self, has: str, ask: Callable[[Any], Awaitable[T]], missing: NoData) -> T:
        reasons: list[NoData] = []
        for entry in allowed(self._all):
            if not hasattr(entry.source, has):
                continue
            try:
                return await entry.guard.ask(partial(ask, entry.source))
            except NoData as reason:
                reasons.append(reason)
        if not reasons:
            raise missing
        if len(reasons) == 1:
            raise reasons[0]
        cure = "; ".join(reason.as_one_of_many for reason in reasons)
        raise NoData(missing.what, ", ".join(reason.where for reason in reasons), cure)
