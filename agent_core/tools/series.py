"""The one way in which a tool asks for prices: a name or code becomes a symbol, two dates a window, both a `Series`.

What every answer states (source, as_of, window, currency, credibility) and the failures that every price tool shares
are made here, so that they read the same everywhere.
"""

import datetime as dt
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

from agent_core import symbols
from agent_core.finance import periods, quality
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import WARM_UP
from agent_core.finance.periods import Period
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.finance.statistics import months_before
from agent_core.symbols import Symbol
from agent_core.tools.spec import Credibility, ToolContext, ToolFailure

DEFAULT_MONTHS = 12
CANDIDATES = 5  # symbols that a name may mean
STALE = dt.timedelta(days=7)  # a long weekend is not stale
# Trading days are about 252 of 365; the rest covers holidays.
_WARM_UP_SPAN = dt.timedelta(days=math.ceil(WARM_UP * 365 / 252) + 15)


@dataclass(frozen=True, slots=True)
class Series:
    """Prices of one window, and those before it, which averages need. Neither holds anything later than the window."""

    symbol: Symbol
    window: Bars
    history: Bars
    label: str
    note: str

    def name(self, language: str) -> str:
        """The name for a person: the code, and the name where the code alone says little."""
        shown = self.symbol.display(language)
        plain = language == "en" and self.symbol.id[0].isalpha()
        return self.symbol.id if plain or shown == self.symbol.id else f"{self.symbol.id} {shown}"

    def head(self, credibility: Credibility) -> dict[str, object]:
        """The fields that every answer about one symbol begins with."""
        return {
            "symbol": self.symbol.id,
            "name": self.symbol.name,
            "name_zh": self.symbol.name_zh,
            **envelope(self.window, credibility),
            "period": self.label,
            "adjustment": self.window.adjustment,
            "note": self.note,
        }


def envelope(window: Bars, credibility: Credibility) -> dict[str, object]:
    """The fields that every answer has: where its numbers come from and how far they reach."""
    return {
        "source": window.source,
        "as_of": str(window.as_of),
        "window": {"start": str(window.first), "end": str(window.as_of)},
        "currency": window.currency,
        "credibility": credibility,
        **({"fetched_at": f"{window.fetched_at:%Y-%m-%d %H:%M} UTC"} if window.fetched_at else {}),
    }


async def load(
    sources: Sources, ctx: ToolContext, query: str, start: str | None, end: str | None
) -> Series:
    """The prices of a code or name in a window; without dates the last twelve months that there are.

    Raises ToolFailure for an unknown symbol, a date that is none, or a window without prices.
    """
    symbol = resolve(sources, ctx, query)
    try:
        period = periods.between(start, end)
    except ValueError as e:
        raise ToolFailure(str(e)) from e
    known = await _known(sources, ctx, symbol, period)
    first = period.start or _default_start(known, period)
    window = known.window(first, period.end)
    if not len(window):
        raise ToolFailure(await _outside(sources, ctx, symbol, period))
    return Series(
        symbol=symbol,
        window=window,
        history=known,
        label=periods.label(period, window.first, window.as_of),
        note=_note(ctx, window, Period(first, period.end)),
    )


def resolve(sources: Sources, ctx: ToolContext, query: str) -> Symbol:
    """The symbol of a code or name in either language. Raises ToolFailure with near names and what there is."""
    found = symbols.lookup(query) or _listed(sources, query) or _by_form(sources, query)
    if found is None:
        raise ToolFailure(_unknown(sources, ctx, query))
    return found


def dump(fields: dict[str, object]) -> str:
    """Compact JSON; NaN and infinities become null (EVT-6)."""
    return json.dumps(_finite(fields), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def joined(ctx: ToolContext, remarks: Iterable[str]) -> str:
    """Remarks as one line; empty ones are left out."""
    return ("；" if ctx.language == "zh" else "; ").join(filter(None, remarks))


def price(value: float | None) -> float | None:
    """A price as shown: cents; below ten four decimals, as rates of currencies have; below one four digits."""
    if value is None or not math.isfinite(value):
        return None
    if abs(value) < 1:
        return float(f"{value:.4g}")
    return round(value, 2 if abs(value) >= 10 else 4)


def units(value: float) -> float:
    """A number of shares as shown: 12 and not 12.0; parts of a share as they are."""
    return int(value) if value == int(value) else value


def percent(value: float | None) -> float | None:
    """Percent as shown: two decimals; never minus zero."""
    return None if value is None or not math.isfinite(value) else round(value, 2) + 0.0


def signed(value: float | None) -> str:
    """Percent for a person's line: +6.31 %."""
    return "n/a" if value is None else f"{value:+.2f} %"


async def _known(sources: Sources, ctx: ToolContext, symbol: Symbol, period: Period) -> Bars:
    """All bars up to the window's end, from far enough before its start."""
    begin = None if period.start is None else period.start - _WARM_UP_SPAN
    try:
        return await sources.bars(symbol.id, begin, period.end, ctx.as_of)
    except NoData as e:
        if sources.has(symbol.id):
            raise ToolFailure(await _outside(sources, ctx, symbol, period)) from e
        raise ToolFailure(_missing(sources, ctx, symbol, e)) from e


def _default_start(known: Bars, period: Period) -> dt.date:
    return months_before(period.end or known.as_of, DEFAULT_MONTHS)


def _listed(sources: Sources, query: str) -> Symbol | None:
    """A code that only a source knows."""
    code = query.strip().upper()
    return Symbol(code, code, code, "", "", ()) if code in sources.symbols else None


def _by_form(sources: Sources, query: str) -> Symbol | None:
    """A code that nobody lists, where there is a source that may have it all the same."""
    found = symbols.coded(query)
    return found if found is not None and sources.has(found.id) is None else None


def _note(ctx: ToolContext, window: Bars, wanted: Period) -> str:
    """What a reader must know about the window: it was cut, or it is old. Empty when nothing is amiss."""
    zh = ctx.language == "zh"
    notes = []
    if wanted.start and window.first - wanted.start > STALE:
        notes.append(f"数据从 {window.first} 开始" if zh else f"data begins only on {window.first}")
    if wanted.end and min(wanted.end, ctx.as_of or wanted.end) - window.as_of > STALE:
        notes.append(f"数据止于 {window.as_of}" if zh else f"data ends on {window.as_of}")
    present = ctx.as_of or ctx.clock.now().date()
    most = STALE if ctx.max_age is None else dt.timedelta(seconds=ctx.max_age)
    if wanted.end is None and present - window.as_of > most:
        notes.append(
            f"{window.source} 中最新的价格是 {window.as_of} 的，不是今天的"
            if zh
            else f"the newest price in {window.source} is of {window.as_of}, not of today"
        )
    if window.stale and window.fetched_at:
        when = f"{window.fetched_at:%Y-%m-%d %H:%M} UTC"
        notes.append(
            f"{window.source} 现在无法访问，这是 {when} 取得的价格"
            if zh
            else f"{window.source} cannot be asked now: these prices were fetched at {when}"
        )
    notes += quality.remarks(quality.check(window), ctx.language)
    return joined(ctx, notes)


async def _outside(sources: Sources, ctx: ToolContext, symbol: Symbol, period: Period) -> str:
    wanted = f"{period.start or '…'} – {period.end or '…'}"
    try:
        whole = await sources.bars(symbol.id, None, None, ctx.as_of)
    except NoData:
        zh, en = f"在 {ctx.as_of} 之前没有价格", f"there are none before {ctx.as_of}"
    else:
        zh, en = _nearest(whole, period)
    if ctx.language == "zh":
        return f"{symbol.id} 在 {wanted} 没有价格；{zh}"
    return f"no prices of {symbol.id} for {wanted}; {en}"


def _nearest(whole: Bars, period: Period) -> tuple[str, str]:
    """What to ask for instead, in both languages: the days around a holiday or a gap, else the span that there is."""
    before = whole.index_until(period.start) if period.start else -1
    if 0 <= before < len(whole) - 1:
        days = f"{whole.dates[before]}", f"{whole.dates[before + 1]}"
        return (
            f"当时没有交易，最近的交易日是 {days[0]} 和 {days[1]}",
            f"nothing was traded then; the nearest days with prices are {days[0]} and {days[1]}",
        )
    span = f"{whole.first} – {whole.as_of}"
    return f"现有数据：{span}，请改用其中的日期", f"there are prices of {span}: ask for these"


def _missing(sources: Sources, ctx: ToolContext, symbol: Symbol, reason: NoData) -> str:
    have = ", ".join(sources.symbols)
    # where only asking would have told, the reasons of those who were asked say more than a list
    if not have or sources.has(symbol.id) is None:
        return f"没有 {symbol.id} 的价格。{reason}" if ctx.language == "zh" else str(reason)
    if ctx.language == "zh":
        return f"没有 {symbol.id}（{symbol.name_zh}）的价格（数据源：{reason.where}）；有数据的是：{have}"
    return f"no prices of {symbol.id} ({symbol.name}) in {reason.where}; there are prices of {have}"


def _unknown(sources: Sources, ctx: ToolContext, query: str) -> str:
    """Near names are candidates that a model can offer to the person with ask_user."""
    found = symbols.search(query, CANDIDATES)
    near = ", ".join(f"{s.id} ({s.display(ctx.language)})" for s in found)
    have = ", ".join(sources.symbols) or "—"
    if ctx.language == "zh":
        asks = "请用 ask_user 让用户选择；" if len(found) > 1 else ""
        guess = f"是否指 {near}？{asks}" if near else ""
        return f"没有名为 {query!r} 的证券；{guess}有数据的是：{have}"
    asks = "let the person choose with ask_user; " if len(found) > 1 else ""
    guess = f"did you mean {near}? {asks}" if near else ""
    return f"no symbol is named {query!r}; {guess}there are prices of {have}"


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
