"""The operator's table of symbols: fetched from data sources that can list what they have, and used from then on."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core import symbols, symbols_file
from agent_core.errors import SwarmgateError
from agent_core.finance.sources import kinds
from agent_core.finance.sources.kinds import BrokenSource
from agent_core.ports import Clock
from agent_core.symbols import Symbol
from gateway.prices.source_house import build
from gateway.settings.settings import Settings

log = logging.getLogger(__name__)

FILE = "symbols.csv"
TIMEOUT = 120.0  # seconds for one source: its list may have many pages


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What came of one source: how many symbols, or why none (`problem`)."""

    source: str
    symbols: int = 0
    problem: str = ""


def table_of(settings: Settings) -> Path:
    """Where the table is kept."""
    return settings.data_dir / FILE


def use_fetched(settings: Settings) -> None:
    """Use the table if there is one. One that cannot be read is logged and left out. Blocks."""
    table = table_of(settings)
    if not table.exists():
        return
    try:
        symbols.use(table)
    except (ValueError, OSError) as error:
        log.warning("symbols_not_read", extra={"file": str(table), "why": str(error)})


def listing_sources(settings: Settings) -> tuple[str, ...]:
    """The enabled sources that can list what they have. A source that cannot be loaded is none."""
    found = []
    for name in settings.data.sources:
        try:
            if kinds.kind(name).offers("listing"):
                found.append(name)
        except BrokenSource:
            continue
    return tuple(found)


async def refresh(settings: Settings, clock: Clock, names: Sequence[str]) -> list[Refreshed]:
    """Fetch the lists of these sources and write the table. What a source that fails has given before stays."""
    results: list[Refreshed] = []
    fresh: dict[str, list[Symbol]] = {}
    for name in names:
        try:
            source = build(settings, kinds.kind(name), clock)
            fresh[name] = await _listed(source)
            results.append(Refreshed(name, len(fresh[name])))
        except (SwarmgateError, BrokenSource) as error:
            results.append(Refreshed(name, problem=str(error)))
        except TimeoutError:
            results.append(
                Refreshed(name, problem=f"no answer within {TIMEOUT:g} s; try again later")
            )
    if fresh:
        await asyncio.to_thread(_write, table_of(settings), fresh)
    return results


async def _listed(source: Any) -> list[Symbol]:
    async with asyncio.timeout(TIMEOUT):
        found: list[Symbol] = await source.listing()
    if not found:
        raise SwarmgateError("its list is empty; try again later")
    return found


def _write(table: Path, fresh: dict[str, list[Symbol]]) -> None:
    try:
        before = symbols_file.fetched(table)
    except ValueError:
        before = []  # a broken table is made anew
    rows = {row["id"]: row for row in before if row["source"] not in fresh}
    for name, found in fresh.items():
        for symbol in found:
            rows.setdefault(symbol.id, _row(symbol, name))
    table.parent.mkdir(parents=True, exist_ok=True)
    symbols_file.write(table, (rows[key] for key in sorted(rows)))


def _row(symbol: Symbol, source: str) -> dict[str, str]:
    return {
        "id": symbol.id,
        "market": symbol.market,
        "currency": symbol.currency,
        "name": symbol.name or symbol.id,
        "name_zh": symbol.name_zh or symbol.name or symbol.id,
        "source": source,
    }
