"""Which data sources there are: ours, and those of other packages (entry-point group "swarmgate.sources").

Everything is named by import path and imported when asked for, so that only enabled sources load their client.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from agent_core.ports import Clock

GROUP = "swarmgate.sources"


class BrokenSource(Exception):
    """A source is named but cannot be made: its package is broken, or its options are wrong."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of data source. Another package's entry point names one of these.

    Attributes:
        name: The name in `data.sources` and in every answer.
        source: "module:Class", called with the options; with the clock before them where it is `live`. It offers what
            it has: prices (PriceSource), fundamentals, filings.
        live: It asks somebody else, so it is guarded and what it answers is kept.
        extra: The extra that brings its client, "" for none.
        modules: The packages of that client, for `swarmgate check`.
        per_minute: Requests a minute that it may be asked, unless the settings say otherwise.
        timeout: Seconds for one question; less than tools have, or nobody would learn that the source is down.
        about: What it has, in a few words.
    """

    name: str
    source: str
    live: bool = True
    extra: str = ""
    modules: tuple[str, ...] = ()
    per_minute: float = 60.0
    timeout: float = 20.0
    about: str = ""

    @property
    def missing(self) -> str | None:
        """The first package of its client that is not installed, or None. Imports nothing."""
        return next((name for name in self.modules if find_spec(name) is None), None)

    def offers(self, what: str) -> bool:
        """Whether the source has a method: bars, fundamentals, filings, listing. Raises BrokenSource."""
        return hasattr(self._class(), what)

    def build(self, clock: Clock, options: Mapping[str, Any]) -> Any:
        """The source. Raises BrokenSource."""
        made, given = self._class(), (clock,) if self.live else ()
        try:
            return made(*given, **options)
        except Exception as error:
            raise BrokenSource(f"data source {self.name}: cannot be made ({error})") from error

    def _class(self) -> Any:
        module, _, attribute = self.source.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            message = f"data source {self.name}: cannot load {self.source} ({error})"
            raise BrokenSource(message) from error


_HERE = "agent_core.finance.sources"
BUILT_IN = {
    kind.name: kind
    for kind in (
        SourceKind(
            "bundled",
            f"{_HERE}.bundled:BundledSource",
            live=False,
            about="AAPL, GOOG, IBM, MSFT to 2013-03-01",
        ),
        SourceKind(
            "folder",
            f"{_HERE}.folder:FolderSource",
            live=False,
            about="your own CSV or Parquet files",
        ),
        SourceKind(
            "ecb",
            f"{_HERE}.ecb:EcbSource",
            live=False,
            about="currency pairs, daily, from the installed reference rates",
        ),
        SourceKind(
            "yfinance",
            f"{_HERE}.yahoo:YahooSource",
            extra="finance",
            modules=("yfinance",),
            per_minute=30,
            about="world shares, coins, currencies; fundamentals",
        ),
        SourceKind(
            "stooq",
            f"{_HERE}.stooq:StooqSource",
            per_minute=20,
            about="US and Hong Kong shares, currencies",
        ),
        SourceKind(
            "baostock",
            f"{_HERE}.baostock_source:BaostockSource",
            extra="finance-cn",
            modules=("baostock",),
            about="shares of Shanghai and Shenzhen",
        ),
        SourceKind(
            "akshare",
            f"{_HERE}.akshare_source:AkshareSource",
            extra="finance-cn",
            modules=("akshare",),
            per_minute=20,
            about="mainland and Hong Kong shares",
        ),
        SourceKind(
            "ccxt",
            f"{_HERE}.ccxt_source:CcxtSource",
            extra="crypto",
            modules=("ccxt",),
            about="coins from one exchange",
        ),
        SourceKind(
            "edgar",
            f"{_HERE}.edgar:EdgarSource",
            per_minute=300,
            about="US filings and what they report",
        ),
    )
}


def names() -> list[str]:
    """The names of all kinds, sorted. Imports nothing."""
    return sorted({*BUILT_IN, *_foreign()})


def kind(name: str) -> SourceKind:
    """One kind; ours win over others' of the same name. Raises KeyError for none, BrokenSource."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    entry = _foreign()[name]
    try:
        found = entry.load()
    except Exception as error:
        raise BrokenSource(f"data source {name}: cannot load {entry.value} ({error})") from error
    if not isinstance(found, SourceKind):
        raise BrokenSource(f"data source {name}: {entry.value} is no SourceKind")
    return found


def _foreign() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
