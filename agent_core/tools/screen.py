"""screen_stocks: which symbols of the available universe keep given bounds, in an order."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent_core.finance import screen
from agent_core.finance.bars import Bars
from agent_core.finance.screen import DAYS, MOST_DAYS, Left, Measure, Row, Wanted
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.finance.work import outside
from agent_core.tools import answers, notices, series, several
from agent_core.tools.series import dump, percent, price
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
DEFAULT_SHOWN, MOST_SHOWN, MOST_LEFT = 10, 30, 20
CHUNK = 50  # symbols that are measured in one go: what is loaded at once, and how often progress is told
MOST_RULES = 8
_TWO_DAYS = frozenset(("rsi", "volatility_pct", "above_sma_pct", "distance_to_high_pct"))

_WHY = {
    "too few bars": "K线不足",
    "no volume": "没有成交量",
    "stale": "价格过旧",
    "no prices": "没有价格",
}


class Rule(BaseModel):
    """A bound on one measure; at least one of min and max, both included."""

    model_config = ConfigDict(extra="forbid")

    measure: Measure
    days: int | None = Field(None, ge=1, le=MOST_DAYS)
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> "Rule":
        if self.min is None and self.max is None:
            raise ValueError(f"{self.measure} has no bound: give min or max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"{self.measure}: min {self.min:g} is above max {self.max:g}")
        return self


class Sort(BaseModel):
    """The measure to rank by."""

    model_config = ConfigDict(extra="forbid")

    measure: Measure
    days: int | None = Field(None, ge=1, le=MOST_DAYS)
    descending: bool = True


def screen_tools(sources: Sources) -> list[ToolSpec]:
    """The tools of this file, on these sources."""

    @tool(
        title={"en": "Screening", "zh": "选股筛选"},
        timeout=600,
        background=True,
        credibility=CREDIBILITY,
        output=answers.Screened,
    )
    async def screen_stocks(
        ctx: ToolContext,
        rules: list[Rule] | None = None,
        sort: Sort | None = None,
        symbols: list[str] | None = None,
        limit: int = DEFAULT_SHOWN,
    ) -> ToolOutput:
        """Filter and rank all symbols with data, or those given, by bounds on measures of their last prices.

        Measures, with their usual days: return_pct 63, distance_to_high_pct 252 (0 at the high), rsi 14,
        volatility_pct 63 (yearly), above_sma_pct 50, volume_ratio 50. Says what was left out and why.

        Args:
            rules: Bounds that all must hold; none to rank only.
            sort: Measure to rank by; the first rule's when left out, else return_pct over 63 days.
            symbols: Codes or names to screen; the whole universe when left out.
            limit: Rows to show, at most 30.
        """
        wanted, by = _wanted(rules or [], sort)
        universe, left = await _universe(sources, ctx, symbols)
        rows = await _measured(sources, ctx, universe, wanted, left)
        if not rows:
            raise ToolFailure(_nobody(ctx, left))
        kept = screen.ranked(
            [r for r in rows if not r.failed], by.label, sort.descending if sort else True
        )
        shown = kept[: max(1, min(limit, MOST_SHOWN))]
        fields = _fields(ctx, wanted, by, sort, rows, kept, shown, left)
        return ToolOutput(dump(fields), _line(ctx, by, rows, kept, shown))

    return [screen_stocks]


def _wanted(rules: Sequence[Rule], sort: Sort | None) -> tuple[list[Wanted], Wanted]:
    """What to measure: the rules in their order, and the measure to rank by, without bounds, last."""
    if len(rules) > MOST_RULES:
        raise ToolFailure(f"{len(rules)} rules are too many; give at most {MOST_RULES}")
    bounded = [Wanted(r.measure, _days(r.measure, r.days), r.min, r.max) for r in rules]
    if sort is not None:
        by = Wanted(sort.measure, _days(sort.measure, sort.days))
    elif bounded:
        by = Wanted(bounded[0].measure, bounded[0].days)
    else:
        by = Wanted("return_pct", DAYS["return_pct"])
    return [*bounded, by], by


def _days(measure: Measure, days: int | None) -> int:
    if days == 1 and measure in _TWO_DAYS:
        raise ToolFailure(f"{measure} over 1 day says nothing; give 2 days or more")
    return days or DAYS[measure]


async def _universe(
    sources: Sources, ctx: ToolContext, asked: Sequence[str] | None
) -> tuple[list[str], list[Left]]:
    """Symbol ids to look at, each once, and names that are none. Raises ToolFailure for an empty universe."""
    if asked is None:
        if not sources.symbols:
            raise ToolFailure(several.nothing(ctx))
        return list(sources.symbols), []
    if not asked:
        raise ToolFailure("`symbols` is empty: name some, or leave it out to screen all with data")
    ids: list[str] = []
    left: list[Left] = []
    for name in asked:
        try:
            ids.append(series.resolve(sources, ctx, name).id)
        except ToolFailure as e:
            left.append(Left(name, "no prices", str(e)))
    return list(dict.fromkeys(ids)), left


async def _measured(
    sources: Sources, ctx: ToolContext, ids: Sequence[str], wanted: list[Wanted], left: list[Left]
) -> list[Row]:
    """The rows of all that could be judged; the others are added to `left`."""
    need = screen.tail_needed(wanted)
    verdicts: list[Row | Left] = []
    for begin in range(0, len(ids), CHUNK):
        said = f"{begin}/{len(ids)}"
        ctx.progress(
            f"已筛选 {said}" if ctx.language == "zh" else f"screened {said}", begin / len(ids)
        )
        loaded: list[Bars] = []
        for symbol in ids[begin : begin + CHUNK]:
            try:
                bars = await sources.bars(symbol, None, None, ctx.as_of)
            except NoData as e:
                verdicts.append(Left(symbol, "no prices", str(e)))
            else:
                loaded.append(bars.rows(len(bars) - need, len(bars)))
        if loaded:
            verdicts += await outside(screen.judge, loaded, wanted)
    verdicts = screen.without_stale(verdicts)
    left += [v for v in verdicts if isinstance(v, Left)]
    return [v for v in verdicts if isinstance(v, Row)]


def _fields(
    ctx: ToolContext,
    wanted: Sequence[Wanted],
    by: Wanted,
    sort: Sort | None,
    rows: Sequence[Row],
    kept: Sequence[Row],
    shown: Sequence[Row],
    left: Sequence[Left],
) -> dict[str, object]:
    broken = {one.label: sum(1 for row in rows if row.failed == one.label) for one in wanted}
    return {
        "source": ", ".join(dict.fromkeys(row.source for row in rows)),
        "as_of": str(max(row.as_of for row in rows)),
        "window": None,
        "currency": ", ".join(dict.fromkeys(row.currency for row in rows)),
        "credibility": CREDIBILITY,
        "rules": [_rule(one) for one in wanted[:-1]],
        "sorted_by": by.label
        + (" descending" if sort is None or sort.descending else " ascending"),
        "screened": len(rows),
        "matched": len(kept),
        "shown": len(shown),
        "rows": [_row(rank, row) for rank, row in enumerate(shown, 1)],
        "failed_first_at": {label: count for label, count in broken.items() if count},
        "left_out": [_left(ctx, one) for one in left[:MOST_LEFT]],
        "left_out_count": len(left),
        "note": series.joined(ctx, _remarks(ctx, rows, kept, wanted[:-1])),
        "notice": notices.past(ctx.language),
    }


def _rule(one: Wanted) -> dict[str, object]:
    return {"measure": one.label, "min": one.least, "max": one.most}


def _row(rank: int, row: Row) -> dict[str, object]:
    return {
        "rank": rank,
        "symbol": row.symbol,
        "close": price(row.close),
        "currency": row.currency,
        "as_of": str(row.as_of),
        **{label: percent(value) for label, value in row.figures.items()},
    }


def _left(ctx: ToolContext, one: Left) -> dict[str, str]:
    why = _WHY[one.why] if ctx.language == "zh" else one.why
    return {"symbol": one.symbol, "why": why, "detail": one.detail[:160]}


def _remarks(
    ctx: ToolContext, rows: Sequence[Row], kept: Sequence[Row], rules: Sequence[Wanted]
) -> list[str]:
    zh = ctx.language == "zh"
    said = []
    if not rules:
        said.append("没有给出条件，全部列入排序" if zh else "no bound was given: all are ranked")
    if not kept:
        said.append(
            "没有证券同时满足所有条件；failed_first_at 说明各条件各排除多少"
            if zh
            else "no symbol keeps all bounds; failed_first_at counts what each excluded"
        )
    if len({row.currency for row in rows}) > 1:
        said.append("收益按各自本币计算" if zh else "returns are each in the symbol's own currency")
    newest = max(row.as_of for row in rows)
    if (ctx.as_of or ctx.clock.now().date()) - newest > series.STALE:
        said.append(
            f"最新价格为 {newest}，不是今天的"
            if zh
            else f"the newest prices are of {newest}, not of today"
        )
    return said


def _nobody(ctx: ToolContext, left: Sequence[Left]) -> str:
    """Nothing could be judged: why, for the first few."""
    named = "; ".join(f"{one.symbol}: {one.why} ({one.detail})" for one in left[:3])
    if ctx.language == "zh":
        return f"没有可筛选的证券：{named}。请换用有数据的证券或更短的天数"
    return f"no symbol could be screened: {named}. Name symbols with data, or use fewer days"


def _line(
    ctx: ToolContext, by: Wanted, rows: Sequence[Row], kept: Sequence[Row], shown: Sequence[Row]
) -> str:
    top = ", ".join(f"{row.symbol} {percent(row.figures[by.label])}" for row in shown[:5])
    if ctx.language == "zh":
        return f"{len(rows)} 只中 {len(kept)} 只符合" + (f"：{top}（{by.label}）" if top else "")
    return f"{len(kept)} of {len(rows)} match" + (f": {top} ({by.label})" if top else "")
