"""Market tools: find a symbol, its prices over time, and an overview of several."""

from typing import Literal

from agent_core import symbols as table
from agent_core.finance.bars import Bars, Interval
from agent_core.finance.fx import SOURCE as RATES_SOURCE
from agent_core.finance.fx import Rates
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import change_pct, return_pct
from agent_core.tools import answers, series, several
from agent_core.tools.series import Series, dump, percent, price, signed
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

MAX_ROWS = 60  # keeps an answer below the 8,000 characters of EVT-6
MAX_MATCHES = 10
MAX_OVERVIEW = 12
CREDIBILITY: Literal["objective fact"] = "objective fact"


def market_tools(sources: Sources, rates: Rates | None = None) -> list[ToolSpec]:
    """The tools of this file, on these sources. `rates` is made when it is not given."""
    exchange = rates or Rates()
    return [_search(sources), _history(sources, exchange), _overview(sources)]


def _search(sources: Sources) -> ToolSpec:
    @tool(
        title={"en": "Symbol search", "zh": "证券搜索"},
        timeout=10,
        deterministic=True,
        output=answers.Matches,
    )
    async def search_stock_by_name(ctx: ToolContext, query: str) -> ToolOutput:
        """Find the code of a share, fund or crypto pair, and whether it has prices. Sectors (白酒) are no symbols.

        Args:
            query: A name or code, in English or Chinese.
        """
        found = table.search(query, MAX_MATCHES)
        matches = [
            {
                "symbol": s.id,
                "name": s.name,
                "name_zh": s.name_zh,
                "market": s.market,
                "currency": s.currency,
                "has_data": sources.has(s.id),
            }
            for s in found
        ]
        fields: dict[str, object] = {
            "query": query,
            "matches": matches,
            "source": "symbol table",
            "as_of": None,
            "window": None,
            "currency": None,
            "credibility": CREDIBILITY,
            "note": _search_note(ctx, query, len(found), sources),
        }
        shown = ", ".join(s.id for s in found) or ("无结果" if ctx.language == "zh" else "nothing")
        return ToolOutput(dump(fields), f"{query}: {shown}")

    return search_stock_by_name


def _search_note(ctx: ToolContext, query: str, found: int, sources: Sources) -> str:
    if found:
        return ""
    zh, have = ctx.language == "zh", ", ".join(sources.symbols)
    if query.strip().lower() in table.THEMES:
        if zh:
            return f"{query} 是行业或主题，不是证券；请给出公司名称。有数据的是：{have}"
        return f"{query} is a theme, not a symbol: name a company. There are prices of {have}"
    return f"没有匹配；有数据的是：{have}" if zh else f"no match; there are prices of {have}"


def _history(sources: Sources, rates: Rates) -> ToolSpec:
    @tool(title={"en": "Price history", "zh": "历史行情"}, timeout=30, output=answers.History)
    async def get_market_history(
        ctx: ToolContext,
        symbol: str,
        start: str | None = None,
        end: str | None = None,
        interval: Literal["day", "week", "month"] | None = None,
        currency: str | None = None,
    ) -> ToolOutput:
        """Prices of one symbol over a window: closes, change, high, low, average volume, bars.

        change_pct: first to last close. change_from_previous_close_pct: from the close before the window, as yearly
        returns are quoted. Without dates: the last 12 months.

        Args:
            symbol: Code or name.
            start: YYYY-MM-DD, or a year, quarter or month (2012-Q1).
            end: Likewise.
            interval: Of a bar; left out: by the window.
            currency: Convert into this one (ISO code).
        """
        found = await series.load(sources, ctx, symbol, start, end)
        bars = await several.converted(rates, found.window, currency)
        fields = found.head(CREDIBILITY) | {"currency": bars.currency} | _figures(bars)
        if bars.currency == found.window.currency:
            fields |= _before(found)
        else:
            fields |= {"converted_from": found.window.currency, "rates": RATES_SOURCE}
        fields |= _rows(bars, interval or _interval(len(bars)))
        change = percent(change_pct(bars.close[0], bars.close[-1]))
        line = f"{found.name(ctx.language)} {found.label}: {signed(change)}"
        return ToolOutput(dump(fields), line)

    return get_market_history


def _before(found: Series) -> dict[str, object]:
    """The close before the window, where there is one."""
    index = found.history.index_until(found.window.first) - 1
    if index < 0:
        return {}
    close = found.history.close[index]
    return {
        "previous_close": {"value": price(close), "date": str(found.history.dates[index])},
        "change_from_previous_close_pct": percent(change_pct(close, found.window.close[-1])),
    }


def _figures(bars: Bars) -> dict[str, object]:
    top = max(range(len(bars)), key=bars.high.__getitem__)
    bottom = min(range(len(bars)), key=bars.low.__getitem__)
    return {
        "first_close": price(bars.close[0]),
        "last_close": price(bars.close[-1]),
        "change_pct": percent(change_pct(bars.close[0], bars.close[-1])),
        "high": {"value": price(bars.high[top]), "date": str(bars.dates[top])},
        "low": {"value": price(bars.low[bottom]), "date": str(bars.dates[bottom])},
        "average_volume": round(sum(bars.volume) / len(bars)),
        "trading_days": len(bars),
    }


def _interval(days: int) -> Interval:
    if days <= MAX_ROWS:
        return "day"
    return "week" if days <= MAX_ROWS * 5 else "month"


def _rows(bars: Bars, interval: Interval) -> dict[str, object]:
    rows, per_row = bars.by(interval).thinned(MAX_ROWS)
    table = [
        {
            "date": str(rows.dates[i]),
            "open": price(rows.open[i]),
            "high": price(rows.high[i]),
            "low": price(rows.low[i]),
            "close": price(rows.close[i]),
            "volume": round(rows.volume[i]),
        }
        for i in range(len(rows))
    ]
    return {"interval": interval, "intervals_per_row": per_row, "bars": table}


def _overview(sources: Sources) -> ToolSpec:
    @tool(title={"en": "Market overview", "zh": "市场概览"}, timeout=30, output=answers.Overview)
    async def get_market_overview(ctx: ToolContext, symbols: list[str] | None = None) -> ToolOutput:
        """Last close, day change and returns over 1 and 3 months and 1 year of several symbols.

        Without symbols: the first 12 with data. null: too short.

        Args:
            symbols: Codes or names, at most 12.
        """
        if symbols and len(symbols) > MAX_OVERVIEW:
            raise ToolFailure(
                f"{len(symbols)} symbols are too many; ask for at most {MAX_OVERVIEW}"
            )
        wanted = symbols or list(sources.symbols[:MAX_OVERVIEW])
        loaded = await several.load(sources, ctx, wanted)
        fields = several.envelope([one.window for one in loaded.found], CREDIBILITY) | {
            "items": [_item(one) for one in loaded.found],
            "missing": loaded.missing,
            "note": series.joined(ctx, [*loaded.notes, "" if symbols else _rest(ctx, sources)]),
        }
        shown = (f"{one.symbol.id} {price(one.window.close[-1])}" for one in loaded.found)
        return ToolOutput(dump(fields), " · ".join(shown))

    return get_market_overview


def _rest(ctx: ToolContext, sources: Sources) -> str:
    """That there are more symbols than an overview shows; "" where there are not."""
    count = len(sources.symbols)
    if count <= MAX_OVERVIEW:
        return ""
    if ctx.language == "zh":
        return f"共有 {count} 只有数据，这里只列出前 {MAX_OVERVIEW} 只；其他请指定 symbols，或用 screen_stocks"
    return f"{MAX_OVERVIEW} of {count} symbols with data; name others, or use screen_stocks"


def _item(one: Series) -> dict[str, object]:
    bars = one.history
    day = change_pct(bars.close[-2], bars.close[-1]) if len(bars) > 1 else None
    return {
        "symbol": one.symbol.id,
        "name": one.symbol.name,
        "name_zh": one.symbol.name_zh,
        "last_close": price(bars.close[-1]),
        "currency": bars.currency,
        "day_change_pct": percent(day),
        "return_1m_pct": percent(return_pct(bars, 1)),
        "return_3m_pct": percent(return_pct(bars, 3)),
        "return_1y_pct": percent(return_pct(bars, 12)),
        "as_of": str(bars.as_of),
    }
