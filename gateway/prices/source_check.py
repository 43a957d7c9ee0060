"""What `swarmgate check` finds about data sources: missing extras, wrong files, silent servers.

Nobody is asked unless the operator wants it.
"""

import datetime as dt
from typing import Any

from agent_core.finance.sources import kinds
from agent_core.finance.sources.folder import FolderSource
from agent_core.finance.sources.kinds import BrokenSource, SourceKind
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from gateway.prices.source_house import build
from gateway.problems import Problem
from gateway.settings.settings import Settings

# One symbol that each of our live sources has.
PROBES = {"baostock": "600519.SH", "akshare": "600519.SH", "ccxt": "BTC-USD"}
PROBE = "AAPL"
SPAN = dt.timedelta(days=14)
PLACE = "data.sources"


async def source_problems(
    settings: Settings, clock: Clock, *, ask: bool
) -> list[tuple[str, Problem]]:
    """The problems, each with the name of its source.

    With `ask` each live source is asked for a price of the last two weeks, or for a filing.
    """
    found: list[tuple[str, Problem]] = []
    for name in settings.data.sources:
        try:
            kind = kinds.kind(name)
            source = build(settings, kind, clock)
        except BrokenSource as error:
            found.append(_problem(settings, name, str(error), "install or update its package"))
            continue
        if kind.missing is not None:
            cure = f"pip install 'swarmgate[{kind.extra}]'"
            found.append(_problem(settings, name, f"needs the package {kind.missing}", cure))
        elif isinstance(source, FolderSource):
            found += await _files(settings, source)
        elif ask and kind.live:
            found += await _asked(settings, kind, source, clock)
    return found


async def _files(settings: Settings, source: FolderSource) -> list[tuple[str, Problem]]:
    path = settings.data.folder.path
    if path is not None and not path.is_dir():
        return [_problem(settings, source.name, f"there is no folder {path}", "make it")]
    found: list[tuple[str, Problem]] = []
    for symbol in source.symbols:
        try:
            await source.bars(symbol, None, None)
        except NoData as error:
            found.append(_problem(settings, source.name, error.what, error.cure))
    return found


async def _asked(
    settings: Settings, kind: SourceKind, source: Any, clock: Clock
) -> list[tuple[str, Problem]]:
    symbol, today = PROBES.get(kind.name, PROBE), clock.now().date()
    try:
        if hasattr(source, "bars"):
            await source.bars(symbol, today - SPAN, today)
        elif hasattr(source, "filings"):
            await source.filings(symbol, (), None)
    except NoData as error:
        return [_problem(settings, kind.name, error.what, error.cure)]
    return []


def _problem(settings: Settings, name: str, message: str, cure: str) -> tuple[str, Problem]:
    return name, settings.refuse(PLACE, f"{name}: {message}", cure).problems[0]
