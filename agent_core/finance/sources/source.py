"""What a price source is. Whatever brings prices (a file, a vendor's client) stands behind this port."""

import datetime as dt
from typing import Protocol, runtime_checkable

from agent_core.errors import SwarmgateError
from agent_core.finance.bars import Bars


class NoData(SwarmgateError):
    """A source has no prices for what was asked.

    Attributes:
        what: What is missing, such as "no prices of TSLA".
        where: The source, or the sources, that were asked.
        cure: What to ask instead.
    """

    def __init__(self, what: str, where: str, cure: str) -> None:
        super().__init__(f"{what} (source: {where}); {cure}")
        self.what = what
        self.where = where
        self.cure = cure


class PriceSource(Protocol):
    """Prices by symbol."""

    @property
    def name(self) -> str:
        """A short name, shown in every answer."""
        ...

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """Daily bars of `start` to `end`, both included; None leaves that side open.

        `symbol` is a canonical id (agent_core/symbols.py). Prices are as traded with `splits` stated, or adjusted by
        the source with `splits` empty. The result has at least one bar. Raises NoData when there is none, also when the
        source cannot be reached. Blocks nothing; cancelling it leaves nothing behind.
        """
        ...


@runtime_checkable
class Listed(Protocol):
    """A source that can say what it has."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that it has prices of, in a stable order."""
        ...
