"""Makes one strategy decision: prices, grounds, a backtest, a picture, and what is kept of it.

Loaded with the first decision: a gateway in which nobody asks for one does without what it stands on.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from agent_core.book import Event, Portfolio, Profile
from agent_core.finance import regime
from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_job import Asked, Outcome, Request, compute
from agent_core.finance.bars import Bars
from agent_core.finance.decision import SPANS, Scene, Span, decide
from agent_core.finance.horizons import Horizon, Style
from agent_core.finance.portfolio_books import Books
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import change_pct, months_before
from agent_core.finance.strategies import expand
from agent_core.finance.strategy_names import Name
from agent_core.tools import decision_words, notices, report_pictures, series
from agent_core.tools.analysis import Analysis, analyze
from agent_core.tools.calculated import calculated
from agent_core.tools.decision import CREDIBILITY
from agent_core.tools.decision_words import Made
from agent_core.tools.series import Series, dump, percent
from agent_core.tools.spec import Artifact, ToolContext, ToolFailure, ToolOutput

SOURCE = "generate_strategy_decision"
KEPT = 480  # characters of a decision that are kept
TEST_MONTHS, SPLIT = 60, 0.7
TERMS = Terms(commission_bps=5, slippage_bps=5)
FEWEST = 20  # bars; below, a backtest cannot be split

# The strategy that each style is tested by, for each horizon.
STRATEGIES: dict[tuple[Style, Horizon], tuple[Name, dict[str, Any]]] = {
    ("trend", "short"): ("ema_cross", {"fast": 10, "slow": 20}),
    ("trend", "medium"): ("sma_cross", {"fast": 20, "slow": 50}),
    ("trend", "long"): ("sma_cross", {"fast": 50, "slow": 200}),
    ("reversion", "short"): ("rsi_reversion", {"period": 7}),
    ("reversion", "medium"): ("rsi_reversion", {"period": 14}),
    ("reversion", "long"): ("rsi_reversion", {"period": 21}),
    ("breakout", "short"): ("donchian_breakout", {"entry": 20, "exit": 10}),
    ("breakout", "medium"): ("donchian_breakout", {"entry": 55, "exit": 20}),
    ("breakout", "long"): ("donchian_breakout", {"entry": 120, "exit": 55}),
}


@dataclass(frozen=True, slots=True)
class Desk:
    """Makes one decision."""

    sources: Sources
    ctx: ToolContext
    book: Portfolio | None
    books: Books | None

    async def answer(
        self, symbol: str, horizon: Horizon, style: Style, end: str | None
    ) -> ToolOutput:
        """The decision, kept, and its picture."""
        ctx = self.ctx
        self._tell("读取价格", "loading prices", 0.1)
        found = await series.load(self.sources, ctx, symbol, None, end)
        held = await self._held(found.symbol.id)
        made = await self._made(found, horizon, style, held=bool(held))
        self._tell("绘图", "drawing", 0.8)
        picture = await report_pictures.chart(ctx, found, dark=False)
        line = decision_words.line(ctx.language, made)
        kept = await self._keep(made, line)
        fields = found.head(CREDIBILITY) | _fields(ctx, made, held)
        fields |= {"artifacts": [picture.name], "kept": kept, "note": self._note(found, held)}
        fields["notice"] = notices.past(ctx.language)
        shown = Artifact(picture.name, "image/png", picture.light, picture.caption)
        return ToolOutput(dump(fields), line, (shown,))

    async def _made(self, found: Series, horizon: Horizon, style: Style, *, held: bool) -> Made:
        history, span = found.history, SPANS[horizon]
        last = history.as_of
        window = history.window(months_before(last, span.months), None)
        name, parameters = STRATEGIES[style, horizon]
        rules, label = expand(name, parameters)
        start = history.index_until(months_before(last, TEST_MONTHS)) + 1
        bars = history.rows(start, len(history))
        if len(bars) < FEWEST:
            raise ToolFailure(
                f"{found.symbol.id} has {len(bars)} bars until {last}; {FEWEST} at least are needed"
            )
        request = Request((Asked(history, start),), rules, TERMS, (bars,), split=SPLIT)
        self._tell("计算中", "computing", 0.3)
        analysis = await calculated(analyze, window, history)
        state = await calculated(regime.judge, [regime.recent(history)])
        outcome = await calculated(compute, request)
        scene = _scene(history, span, analysis, state.mood, outcome)
        return Made(
            found.symbol.id, found.window.currency, last, horizon, style, scene,
            decide(scene, horizon, style, held=held), label, outcome, last + dt.timedelta(days=span.review_days),
        )  # fmt: skip

    async def _held(self, code: str) -> bool | None:
        """Whether the person has the symbol; None where the book may not be read."""
        if self.books is None or not await self.books.private(self.ctx.turn_id):
            return None
        contents = await self.books.contents(self.ctx.owner)
        return any(one.symbol == code and one.quantity > 0 for one in contents.holdings)

    async def _keep(self, made: Made, line: str) -> bool:
        """Keep it with its date; the symbol's profile says it too (RMB-2)."""
        if self.book is None:
            return False
        now, code = self.ctx.clock.now(), made.symbol
        text = f"{line}; {decision_words.invalidation(self.ctx.language, made)}".rstrip("; ")[:KEPT]
        await self.book.put(
            self.ctx.owner, Event("decision", text, now, (code,), SOURCE, CREDIBILITY)
        )
        signal = f"{made.as_of}: {made.decision.verdict}"
        await self.book.put(self.ctx.owner, Profile(code, text, now, signal, SOURCE, CREDIBILITY))
        return True

    def _note(self, found: Series, held: bool | None) -> str:
        zh = self.ctx.language == "zh"
        unread = (
            "未读取持仓" if zh else "the book was not read, so it is not known whether it is held"
        )
        return series.joined(self.ctx, [found.note, unread if held is None else ""])

    def _tell(self, zh: str, en: str, progress: float) -> None:
        self.ctx.progress(zh if self.ctx.language == "zh" else en, progress)


def _scene(
    history: Bars, span: Span, found: Analysis, mood: regime.Mood, outcome: Outcome
) -> Scene:
    close, before = history.close, history.rows(len(history) - 1 - span.bars, len(history) - 1)
    whole = len(before) == span.bars
    whole_test = not outcome.undefined
    parts = outcome.parts if whole_test else ()
    return Scene(
        bars=len(history),
        close=close[-1],
        atr=found.indicators["atr14"],
        direction=found.trend.direction,
        sma200=found.indicators["sma200"],
        change_pct=change_pct(before.close[0], close[-1]) if whole else None,
        rsi=found.indicators["rsi14"],
        channel=(min(before.low), max(before.high)) if whole else None,
        levels=found.levels,
        mood=mood,
        phase=found.diagnosis.phase,
        tested=outcome.figures if whole_test else None,
        after_split=parts[1] if parts else None,
        long_at_end=any(side > 0 for side in outcome.run.stance.values()),
    )


def _fields(ctx: ToolContext, made: Made, held: bool | None) -> dict[str, object]:
    found = made.decision
    return {
        "horizon": made.horizon,
        "style": made.style,
        "decision": found.verdict,
        "held": held,
        "confidence": found.confidence,
        "confidence_rule": f"{found.agree} of {found.told} grounds agree; high from 4 of 5 on with the backtest, "
        "medium from half on",
        "grounds": decision_words.grounds(ctx.language, made),
        "plan": decision_words.plan_fields(made),
        "invalidation": decision_words.invalidation(ctx.language, made),
        "review_by": str(made.review_by),
        "levels_of_months": SPANS[made.horizon].months,
        "backtest": _tested(made),
    }


def _tested(made: Made) -> dict[str, object]:
    whole, parts = made.outcome.figures, made.outcome.parts
    fields: dict[str, object] = {
        "strategy": made.label,
        "window": {"start": str(whole.first), "end": str(whole.last)},
        "costs_bps": {"commission": TERMS.commission_bps, "slippage": TERMS.slippage_bps},
        "return_pct": percent(whole.curve.total_return_pct),
        "holding_pct": percent(whole.benchmark.total_return_pct),
        "max_drawdown_pct": percent(whole.curve.drawdown.pct),
        "trades": whole.deals.closed,
    }
    if parts:
        after = parts[1]
        fields["out_of_sample"] = {
            "start": str(after.first),
            "return_pct": percent(after.curve.total_return_pct),
            "holding_pct": percent(after.benchmark.total_return_pct),
            "excess_pct": percent(after.excess_pct),
        }
    return fields
