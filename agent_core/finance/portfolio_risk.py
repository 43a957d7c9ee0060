"""Diagnosis of a book: concentration, and risk of its present weights over the last year. Pure; percent where named so.

The risk figures ask: had these weights been held, unchanged, over the common days of all positions with prices? They
are made of daily returns, at the present rates of exchange; cash counts as riskless. Remarks are rules of thumb,
labelled as a heuristic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_core.finance import statistics
from agent_core.finance.bars import Bars
from agent_core.finance.correlation import correlations
from agent_core.finance.risk import Beta, beta

DAYS = 252
FEWEST_DAYS = 20
# Rules of thumb for the remarks, in percent (correlation: 0..1).
HEAVY_ONE, HEAVY_THREE, SWINGING, FELL, ALIKE, IDLE = 25.0, 60.0, 30.0, 30.0, 0.8, 50.0


@dataclass(frozen=True, slots=True)
class Alike:
    """Two positions that go together."""

    a: str
    b: str
    correlation: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """None: not enough prices. `hhi` is the Herfindahl index of the weights without cash, from 0 to 1."""

    largest: tuple[str, float] | None
    top3_pct: float
    hhi: float | None
    cash_pct: float
    volatility_pct: float | None = None
    drawdown_pct: float | None = None
    average_correlation: float | None = None
    most_alike: Alike | None = None
    beta: Beta | None = None
    days: int = 0


def diagnose(
    weights: Mapping[str, float], cash: float, bars: Mapping[str, Bars], benchmark: Bars | None
) -> Diagnosis:
    """`weights` are values of positions by symbol and `cash` the money, in one currency; `bars` reach back a year."""
    total = sum(weights.values()) + cash
    shares = {s: value / total * 100 for s, value in weights.items()} if total > 0 else {}
    ordered = sorted(shares.items(), key=lambda pair: pair[1], reverse=True)
    invested = sum(shares.values())
    found = Diagnosis(
        largest=ordered[0] if ordered else None,
        top3_pct=sum(share for _, share in ordered[:3]),
        hhi=sum((s / invested) ** 2 for s in shares.values()) if invested > 0 else None,
        cash_pct=cash / total * 100 if total > 0 else 0.0,
    )
    priced = {s: bars[s] for s in shares if s in bars}
    curve = _curve(priced, weights, cash)
    if curve is None:
        return found
    pairs = [p for p in correlations(list(priced.values())) if p.value is not None]
    most = max(pairs, key=lambda p: p.value or 0.0, default=None)
    return Diagnosis(
        found.largest,
        found.top3_pct,
        found.hhi,
        found.cash_pct,
        volatility_pct=statistics.volatility_pct(curve.close),
        drawdown_pct=statistics.max_drawdown(curve.dates, curve.close).pct,
        average_correlation=sum(p.value or 0.0 for p in pairs) / len(pairs) if pairs else None,
        most_alike=Alike(most.first, most.second, most.value or 0.0) if most else None,
        beta=None if benchmark is None else beta(curve, benchmark),
        days=len(curve),
    )


def _curve(priced: Mapping[str, Bars], weights: Mapping[str, float], cash: float) -> Bars | None:
    """The value of the book day by day: the present quantities at the closes of the common days."""
    if not priced:
        return None
    common = set.intersection(*(set(one.dates) for one in priced.values()))
    days = sorted(common)[-DAYS - 1 :]
    if len(days) <= FEWEST_DAYS:
        return None
    values = [cash] * len(days)
    for symbol, one in priced.items():
        close = dict(zip(one.dates, one.close, strict=True))
        last = one.close[-1]
        for i, day in enumerate(days):
            values[i] += weights[symbol] * close[day] / last
    if min(values) <= 0:
        return None  # a book that is worth less than nothing has no returns
    flat = tuple(values)
    first = next(iter(priced.values()))
    return Bars(
        symbol="book",
        currency=first.currency,
        source=", ".join(sorted({one.source for one in priced.values()})),
        dates=tuple(days),
        open=flat,
        high=flat,
        low=flat,
        close=flat,
        volume=(0.0,) * len(days),
    )


def remarks(found: Diagnosis, unpriced: Sequence[str], language: str) -> list[str]:
    """What the rules of thumb say, a line each."""
    zh = language == "zh"
    said: list[str] = []
    if found.largest and found.largest[1] > HEAVY_ONE:
        symbol, share = found.largest
        said.append(
            f"{symbol} 占 {share:.1f}%，单一持仓偏重（高于 {HEAVY_ONE:g}%）"
            if zh
            else f"{symbol} is {share:.1f} % of the book: one position is heavy (above {HEAVY_ONE:g} %)"
        )
    if found.top3_pct > HEAVY_THREE:
        said.append(
            f"前三大持仓占 {found.top3_pct:.1f}%，较集中"
            if zh
            else f"the three largest are {found.top3_pct:.1f} %: concentrated"
        )
    if found.volatility_pct is not None and found.volatility_pct > SWINGING:
        said.append(
            f"年化波动率 {found.volatility_pct:.1f}%，波动较大"
            if zh
            else f"yearly volatility of {found.volatility_pct:.1f} %: it swings widely"
        )
    if found.drawdown_pct is not None and found.drawdown_pct > FELL:
        said.append(
            f"区间最大回撤 {found.drawdown_pct:.1f}%"
            if zh
            else f"a drawdown of {found.drawdown_pct:.1f} % within the window"
        )
    if found.most_alike and found.most_alike.correlation > ALIKE:
        pair = found.most_alike
        said.append(
            f"{pair.a} 与 {pair.b} 相关性 {pair.correlation:.2f}，分散效果有限"
            if zh
            else f"{pair.a} and {pair.b} go together (correlation {pair.correlation:.2f}): little is spread"
        )
    if found.cash_pct > IDLE:
        said.append(f"现金占 {found.cash_pct:.1f}%" if zh else f"{found.cash_pct:.1f} % is cash")
    if unpriced:
        names = ", ".join(unpriced)
        said.append(f"没有价格，未计入：{names}" if zh else f"without a price, left out: {names}")
    return said
