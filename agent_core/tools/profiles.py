"""get_stock_profiles: what is known of each symbol: its names, its prices, and what the person's own book says."""

from collections.abc import Sequence
from typing import Literal, Protocol

from agent_core.book import Profile, least
from agent_core.finance.bars import Bars
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import months_before, return_pct, volatility_pct
from agent_core.symbols import Symbol
from agent_core.tools import answers, series, several
from agent_core.tools.series import Series, dump, percent, price
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

MOST = 10
TEXT = 400  # characters of a kept profile that are shown
CREDIBILITY: Literal["objective fact"] = "objective fact"


class OwnProfiles(Protocol):
    """The profiles that a person's book holds."""

    async def profiles(self, owner: str, turn_id: int, symbols: Sequence[str]) -> Sequence[Profile]:
        """Those of `owner` for these symbols that may be read where the turn runs: in a group none (DESIGN.md 3)."""
        ...


def profile_tools(sources: Sources, book: OwnProfiles | None) -> list[ToolSpec]:
    """The tools of this file. Without a book only names and prices are known."""

    @tool(title={"en": "Stock profiles", "zh": "股票档案"}, timeout=30, output=answers.Profiles)
    async def get_stock_profiles(ctx: ToolContext, symbols: list[str]) -> ToolOutput:
        """What is known of up to 10 symbols.

        Names, market, currency, a summary of the last year's prices, and the person's own kept profile with its date
        and credibility, if there is one.

        Args:
            symbols: Codes or names in English or Chinese.
        """
        if not 1 <= len(symbols) <= MOST:
            raise ToolFailure(f"ask for 1 to {MOST} symbols")
        known, missing = _resolved(sources, ctx, symbols)
        if not known:
            raise ToolFailure("; ".join(missing))
        ids = [symbol.id for symbol in known]
        kept = await book.profiles(ctx.owner, ctx.turn_id, ids) if book else ()
        own = {p.symbol: p for p in kept if not ctx.as_of or p.updated_at.date() <= ctx.as_of}
        items, priced = [], []
        for symbol in known:
            item, found = await _item(sources, ctx, symbol, own.get(symbol.id))
            items.append(item)
            priced += [found] if found else []
        fields = _envelope(priced, own) | {
            "items": items,
            "missing": missing,
            "note": series.joined(ctx, several.Several(priced, []).notes),
        }
        return ToolOutput(dump(fields), _line(ctx, known, own))

    return [get_stock_profiles]


def _resolved(
    sources: Sources, ctx: ToolContext, asked: Sequence[str]
) -> tuple[list[Symbol], list[str]]:
    known: dict[str, Symbol] = {}
    missing = []
    for name in asked:
        try:
            symbol = series.resolve(sources, ctx, name)
        except ToolFailure as e:
            missing.append(str(e))
        else:
            known.setdefault(symbol.id, symbol)
    return list(known.values()), missing


async def _item(
    sources: Sources, ctx: ToolContext, symbol: Symbol, own: Profile | None
) -> tuple[dict[str, object], Series | None]:
    item: dict[str, object] = {
        "symbol": symbol.id,
        "name": symbol.name,
        "name_zh": symbol.name_zh,
        "also": list(symbol.aliases[:4]),
        "market": symbol.market,
        "currency": symbol.currency,
        "own_profile": _own(own) if own else None,
    }
    try:
        found = await series.load(sources, ctx, symbol.id, None, None)
    except ToolFailure as e:
        return item | {"prices": None, "no_prices": str(e)}, None
    return item | {"prices": _prices(found)}, found


def _prices(found: Series) -> dict[str, object]:
    bars = found.history
    year = bars.window(months_before(bars.as_of, 12), None)
    return {
        "source": bars.source,
        "as_of": str(bars.as_of),
        "currency": bars.currency,
        "last_close": price(bars.close[-1]),
        "return_1m_pct": percent(return_pct(bars, 1)),
        "return_1y_pct": percent(return_pct(bars, 12)),
        "high_1y": price(max(year.high)),
        "low_1y": price(min(year.low)),
        "volatility_pct_annual": percent(volatility_pct(year.close)),
        "average_volume_3m": _volume(bars),
    }


def _volume(bars: Bars) -> int:
    part = bars.window(months_before(bars.as_of, 3), None)
    return round(sum(part.volume) / len(part))


def _own(profile: Profile) -> dict[str, object]:
    return {
        "text": profile.text[:TEXT],
        "signal": profile.signal or None,
        "updated_at": f"{profile.updated_at:%Y-%m-%d}",
        "source": profile.source or None,
        "credibility": profile.credibility,
    }


def _envelope(priced: Sequence[Series], own: dict[str, Profile]) -> dict[str, object]:
    """The least credible part decides for all (CRD-2)."""
    level = least(CREDIBILITY, *(profile.credibility for profile in own.values()))
    head: dict[str, object]
    if priced:
        head = several.envelope([one.window for one in priced], level)
    else:
        head = {"source": "", "as_of": None, "window": None, "currency": None, "credibility": level}
    named = ["symbol table", head["source"], "own book" if own else ""]
    head["source"] = ", ".join(str(part) for part in named if part)
    return head


def _line(ctx: ToolContext, known: Sequence[Symbol], own: dict[str, Profile]) -> str:
    ids = ", ".join(symbol.id for symbol in known)
    if ctx.language == "zh":
        return f"档案：{ids}" + (f"（自己的档案 {len(own)} 份）" if own else "")
    return f"profiles: {ids}" + (f" ({len(own)} of one's own)" if own else "")
