"""All price sources in their order: the first one that has the symbol, and reaches to the day asked for, answers.

This is the one gate through which prices reach tools, so it is here that `as_of` is enforced, that splits are applied
as they were known at `as_of`, and that a preset's `data.sources` hold.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from agent_core.finance.bars import Adjust, Bars
from agent_core.finance.sources.allowed import allowed
from agent_core.finance.sources.source import Listed, NoData, PriceSource, Selective
from agent_core.ports import Clock

SHORT = dt.timedelta(days=7)  # a long weekend is no gap


class Sources:
    """A chain of sources. Names are unique; the order is the settings' order (`data.sources`).

    A source whose prices end more than a week before the last day asked for (today, where none is) gives way to one
    further on that has later ones; so prices of 2013 hide none of today. Without a clock there is no today.
    """

    def __init__(self, chain: Sequence[PriceSource], clock: Clock | None = None) -> None:
        if len({source.name for source in chain}) != len(chain):
            raise ValueError("two price sources have the same name")
        self._all = tuple(chain)
        self._clock = clock

    @property
    def _chain(self) -> tuple[PriceSource, ...]:
        return allowed(self._all)

    @property
    def names(self) -> tuple[str, ...]:
        """The sources' names, in order; during a tool call those that it may see."""
        return tuple(source.name for source in self._chain)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Every symbol that a listing source has, sorted."""
        listed = (source.symbols for source in self._chain if isinstance(source, Listed))
        return tuple(sorted({symbol for symbols in listed for symbol in symbols}))

    def has(self, symbol: str) -> bool | None:
        """Whether there are prices of the symbol; None when only asking would tell."""
        if symbol in self.symbols:
            return True
        known = (isinstance(s, Listed) or not _may_have(s, symbol) for s in self._chain)
        return False if all(known) else None

    async def bars(
        self,
        symbol: str,
        start: dt.date | None,
        end: dt.date | None,
        as_of: dt.date | None = None,
        adjust: Adjust = "splits",
    ) -> Bars:
        """Daily bars of `start` to `end`, adjusted as asked, nothing later than `as_of`; at least one bar.

        Raises NoData when no source has any, with every source's reason.
        """
        last = min((day for day in (end, as_of) if day is not None), default=None)
        reasons: list[NoData] = []
        best: Bars | None = None
        for source in self._chain:
            if not _may_have(source, symbol):
                continue
            try:
                found = self._so_far((await source.bars(symbol, start, last)).until(as_of))
            except NoData as reason:
                reasons.append(reason)
                continue
            if not len(found.window(start, last)):
                cure = "ask for another window"
                reasons.append(NoData(f"no prices of {symbol}", source.name, cure))
            elif best is None or found.as_of > best.as_of:
                best = found
            if best is not None and self._reaches(best, last):
                break
        if best is None:
            raise self._nothing(symbol, reasons)
        return best.window(start, last).adjusted(adjust)

    def _so_far(self, bars: Bars) -> Bars:
        """Without the splits that are only announced: until their day a share is what it was."""
        if self._clock is None:
            return bars
        today = self._clock.now().date()
        if len(bars):
            today = max(today, bars.as_of)  # it may be tomorrow already where the market is
        if all(split.date <= today for split in bars.splits):
            return bars
        return replace(bars, splits=tuple(s for s in bars.splits if s.date <= today))

    def _reaches(self, bars: Bars, last: dt.date | None) -> bool:
        wanted = last
        if self._clock is not None:
            today = self._clock.now().date()
            wanted = today if last is None else min(last, today)
        return wanted is None or wanted - bars.as_of <= SHORT

    def _nothing(self, symbol: str, reasons: list[NoData]) -> NoData:
        if len(reasons) == 1:
            return reasons[0]
        cure = "; ".join(reason.as_one_of_many for reason in reasons)
        asked = (source.name for source in self._chain if _may_have(source, symbol))
        return NoData(
            f"no prices of {symbol}",
            ", ".join(asked) or "none",
            cure or "enable a price source under data.sources",
        )


def _may_have(source: PriceSource, symbol: str) -> bool:
    return not isinstance(source, Selective) or source.may_have(symbol)
