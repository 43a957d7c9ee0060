"""All price sources in their order: the first one that has the symbol answers.

This is the one gate through which prices reach tools, so it is here that `as_of` is enforced, and that splits are
applied as they were known at `as_of`.
"""

import datetime as dt
from collections.abc import Sequence

from agent_core.finance.bars import Bars
from agent_core.finance.sources.source import Listed, NoData, PriceSource


class Sources:
    """A chain of sources. Names are unique; the order is the settings' order (`data.sources`)."""

    def __init__(self, chain: Sequence[PriceSource]) -> None:
        if len({source.name for source in chain}) != len(chain):
            raise ValueError("two price sources have the same name")
        self._chain = tuple(chain)

    @property
    def names(self) -> tuple[str, ...]:
        """The sources' names, in order."""
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
        return False if all(isinstance(s, Listed) for s in self._chain) else None

    async def bars(
        self, symbol: str, start: dt.date | None, end: dt.date | None, as_of: dt.date | None = None
    ) -> Bars:
        """Daily bars of `start` to `end`, split-adjusted, nothing later than `as_of`; at least one bar.

        Raises NoData when no source has any, with every source's reason.
        """
        last = min((day for day in (end, as_of) if day is not None), default=None)
        reasons: list[NoData] = []
        for source in self._chain:
            try:
                found = await source.bars(symbol, start, last)
            except NoData as reason:
                reasons.append(reason)
                continue
            known = found.until(as_of).window(start, last)
            if len(known):
                return known.adjusted()
            reasons.append(NoData(f"no prices of {symbol}", source.name, "ask for another window"))
        raise self._nothing(symbol, reasons)

    def _nothing(self, symbol: str, reasons: list[NoData]) -> NoData:
        if len(reasons) == 1:
            return reasons[0]
        cure = "; ".join(f"{reason.where}: {reason.cure}" for reason in reasons)
        return NoData(f"no prices of {symbol}", ", ".join(self.names) or "none", cure)
