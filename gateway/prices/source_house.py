"""The data sources of this installation, made from the settings: guarded, kept, in order."""

import logging
from dataclasses import dataclass
from typing import Any

from agent_core.finance.sources import kinds
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.guarded import Guard, GuardedSource
from agent_core.finance.sources.kept import KeptSource, SeriesStore
from agent_core.finance.sources.kinds import BrokenSource, SourceKind
from agent_core.finance.sources.reports import Guarded, Reports
from agent_core.finance.sources.source import PriceSource
from agent_core.ports import Clock
from gateway.settings.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceHouse:
    """What tools stand on: prices, fundamentals and filings, by the same names and in the same order."""

    prices: Sources
    reports: Reports


def source_house(settings: Settings, clock: Clock, store: SeriesStore | None) -> SourceHouse:
    """All enabled sources. Imports no vendor's client and asks nobody.

    A source of another package that cannot be made is logged and left out; `swarmgate check` tells it too.
    """
    prices: list[PriceSource] = []
    reports: list[Guarded] = []
    for name in settings.data.sources:
        try:
            kind = kinds.kind(name)
            source = build(settings, kind, clock)
        except BrokenSource as error:
            log.warning("source_not_made", extra={"source": name, "why": str(error)})
            continue
        guard = _guard(settings, kind, clock)
        if kind.offers("bars"):
            prices.append(_price_source(settings, kind, source, guard, clock, store))
        reports.append(Guarded(source, guard, name))
    return SourceHouse(Sources(prices, clock), Reports(reports))


def build(settings: Settings, kind: SourceKind, clock: Clock) -> Any:
    """One source with its options. Raises BrokenSource."""
    options = settings.data.options_of(kind.name)
    if kind.name == "yfinance":
        options["cache_dir"] = settings.data_dir / "yfinance"
    return kind.build(clock, options)


def _price_source(
    settings: Settings,
    kind: SourceKind,
    source: PriceSource,
    guard: Guard,
    clock: Clock,
    store: SeriesStore | None,
) -> PriceSource:
    if not kind.live:
        return source
    guarded = GuardedSource(source, guard)
    if store is None or not settings.data.cache:
        return guarded
    return KeptSource(guarded, store, clock, max_age=settings.data.max_age)


def _guard(settings: Settings, kind: SourceKind, clock: Clock) -> Guard:
    return Guard(
        kind.name,
        clock,
        per_minute=settings.data.per_minute.get(kind.name, kind.per_minute),
        timeout=kind.timeout,
    )
