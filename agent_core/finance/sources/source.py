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

    @property
    def as_one_of_many(self) -> str:
        """The reason in a list of reasons, where what is missing has been said."""
        return f"{self.where}: {self.cure}"


class SourceDown(NoData):
    """A source itself failed: it is not reached, too slow, over its limit, or answers with something that is no data.

    Attributes:
        retry_after: Seconds in which it wants to be left alone, where it says so.
    """

    def __init__(
        self, what: str, where: str, cure: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(what, where, cure)
        self.retry_after = retry_after

    @property
    def as_one_of_many(self) -> str:
        """See NoData; here what went wrong is the news."""
        return f"{self.what}, {self.cure}"


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
        source cannot be reached (SourceDown). Blocks nothing; what a cancelled call leaves behind ends by the source's
        own time-out.
        """
        ...


@runtime_checkable
class Listed(Protocol):
    """A source that can say what it has."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that it has prices of, in a stable order."""
        ...


@runtime_checkable
class Selective(Protocol):
    """A source that can say by the form of a symbol that it has none such; it is then not asked."""

    def may_have(self, symbol: str) -> bool:
        """False: there are certainly no prices of the symbol here."""
        ...
