"""Several symbols in one answer: loaded one by one, those without prices named, one envelope for all, one currency.

What is missing is said and never filled in: an answer about three of four symbols names the fourth and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core.finance.bars import Bars
from agent_core.finance.fx import NoRate, Rates
from agent_core.finance.sources.chain import Sources
from agent_core.tools import series
from agent_core.tools.series import Series
from agent_core.tools.spec import Credibility, ToolContext, ToolFailure


@dataclass(frozen=True, slots=True)
class Several:
    """The series that there are, in the order asked, and one line for each that could not be had."""

    found: list[Series]
    missing: list[str]

    @property
    def notes(self) -> list[str]:
        """What must be known of each symbol's window, with its symbol; a note that several share stands once."""
        by_note: dict[str, list[str]] = {}
        for one in self.found:
            if one.note:
                by_note.setdefault(one.note, []).append(one.symbol.id)
        return [f"{', '.join(ids)}: {note}" for note, ids in by_note.items()]


async def load(
    sources: Sources,
    ctx: ToolContext,
    wanted: Sequence[str],
    start: str | None = None,
    end: str | None = None,
) -> Several:
    """The prices of each code or name once. Raises ToolFailure where none of them has any."""
    found: dict[str, Series] = {}
    missing: list[str] = []
    for query in dict.fromkeys(wanted):
        try:
            one = await series.load(sources, ctx, query, start, end)
        except ToolFailure as e:
            missing.append(str(e))
        else:
            found.setdefault(one.symbol.id, one)
    if not found:
        raise ToolFailure("; ".join(missing) or nothing(ctx))
    return Several(list(found.values()), missing)


def nothing(ctx: ToolContext) -> str:
    """What to say where there is no universe, and its cure."""
    if ctx.language == "zh":
        return "没有任何证券：数据源没有列出证券；请指定 symbols，或在设置的 data.sources 中加入有数据的来源"
    return (
        "there is no universe: no price source lists any symbol; name symbols, "
        "or enable a source that has some in data.sources of the settings"
    )


def envelope(windows: Sequence[Bars], credibility: Credibility) -> dict[str, object]:
    """The fields that every answer has, for one or more windows: sources and currencies that differ are joined.

    `fetched_at`, of live prices alone, is the oldest of them.
    """
    first = min(window.first for window in windows)
    last = max(window.as_of for window in windows)
    fetched = min((w.fetched_at for w in windows if w.fetched_at), default=None)
    return {
        "source": ", ".join(dict.fromkeys(window.source for window in windows)),
        "as_of": str(last),
        "window": {"start": str(first), "end": str(last)},
        "currency": ", ".join(dict.fromkeys(window.currency for window in windows)),
        "credibility": credibility,
        **({"fetched_at": f"{fetched:%Y-%m-%d %H:%M} UTC"} if fetched else {}),
    }


async def converted(rates: Rates, bars: Bars, currency: str | None) -> Bars:
    """The same bars in another currency, by the reference rate of each day. Raises ToolFailure where there is none."""
    wanted = (currency or bars.currency).strip().upper()
    if wanted == bars.currency:
        return bars
    try:
        by_day = await rates.series(bars.currency, wanted, bars.dates)
    except NoRate as e:
        raise ToolFailure(str(e)) from e
    return replace(bars.scaled([rate.value for rate in by_day]), currency=wanted)


def mixed(ctx: ToolContext, windows: Sequence[Bars], cure: bool = True) -> str:
    """A line that says that currencies differ; "" where they do not. `cure`: the tool has a `currency` to give."""
    currencies = list(dict.fromkeys(window.currency for window in windows))
    if len(currencies) < 2:
        return ""
    named = ", ".join(currencies)
    if ctx.language == "zh":
        return f"货币不同（{named}）：各自按本币计算" + ("；要换算请给出 currency" if cure else "")
    said = f"currencies differ ({named}): each is measured in its own"
    return f"{said}; give `currency` to convert" if cure else said
