"""Runs one backtest: loads, has it computed, draws, and answers.

Loaded with the first backtest: a gateway in which nobody asks for one does without what it stands on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from agent_core.book import Portfolio
from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_job import Asked, Outcome, Request, compute
from agent_core.finance.bars import Interval
from agent_core.finance.equity_chart import draw_equity
from agent_core.finance.indicators import WARM_UP
from agent_core.finance.rules import Rules, RulesError, read_rules
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.finance.strategies import expand
from agent_core.finance.strategy_names import NAMES, Name
from agent_core.finance.work import WorkerDied, WorkTooLong, outside
from agent_core.tools import backtest_answer, series, several
from agent_core.tools.backtest import Theme
from agent_core.tools.backtest_answer import Trial
from agent_core.tools.backtest_record import record
from agent_core.tools.series import Series, dump
from agent_core.tools.spec import Artifact, ToolContext, ToolFailure, ToolOutput

MOST_SYMBOLS = 20
FEWEST_BARS, FEWEST_TO_SPLIT = 3, 20
# Calendar days of one bar, holidays included: what is loaded before a window of coarser bars, to warm up.
_BAR_DAYS: dict[Interval, float] = {"day": 1.5, "week": 7.0, "month": 30.5}

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Options:
    """How to test, as it was asked."""

    interval: Interval
    terms: Terms
    warm_up: bool
    split: float | None
    risk_free_pct: float
    theme: Theme


def rules_of(
    strategy: Name | None, params: dict[str, Any] | None, rules: dict[str, Any] | None
) -> tuple[Rules, str]:
    """The rules as they are run, and their name. Raises ToolFailure."""
    if (strategy is None) == (rules is None):
        raise ToolFailure(f"give either strategy ({', '.join(NAMES)}) or rules, one of both")
    try:
        if strategy is not None:
            return expand(strategy, params or {})
        if params:
            raise ToolFailure("params belong to a strategy; write them into rules")
        return read_rules(rules or {}), "rules"
    except RulesError as e:
        raise ToolFailure(str(e)) from e


@dataclass(frozen=True, slots=True)
class Desk:
    """Loads, has computed, and answers one call."""

    sources: Sources
    ctx: ToolContext
    options: Options

    async def run(
        self,
        symbols: Sequence[str],
        start: str | None,
        end: str | None,
        benchmark: str | None,
        rules: Rules,
        label: str,
    ) -> Trial:
        """The backtest, done. Raises ToolFailure."""
        found = await self._loaded(symbols, start, end)
        against = (
            await series.load(self.sources, self.ctx, benchmark, start, end) if benchmark else None
        )
        assets = tuple([await self._asked(one) for one in found])
        held = (
            (against.window.by(self.options.interval),)
            if against
            else tuple(asset.history.rows(asset.start, len(asset.history)) for asset in assets)
        )
        request = Request(
            assets,
            rules,
            self.options.terms,
            held,
            self.options.warm_up,
            self.options.split,
            self.options.risk_free_pct,
        )
        self._long_enough(assets)
        self.ctx.progress("计算中" if self.ctx.language == "zh" else "computing", 0.4)
        outcome = await _computed(compute, request)
        self._defined(outcome, assets)
        return Trial(label, tuple(found), against, request, outcome, self.options.interval)

    async def answer(self, trial: Trial, book: Portfolio | None) -> ToolOutput:
        """The answer with its picture and its trades; what was cancelled before it is not kept in the book."""
        self.ctx.progress("绘图中" if self.ctx.language == "zh" else "drawing", 0.8)
        picture = await _computed(
            draw_equity, backtest_answer.picture(self.ctx, trial, self.options.theme)
        )
        stem = backtest_answer.file_stem(trial)
        line = backtest_answer.line(self.ctx.language, trial)
        files = (
            Artifact(f"{stem}.png", "image/png", picture, line),
            Artifact(f"{stem}-trades.csv", "text/csv", backtest_answer.trades_csv(trial)),
        )
        kept = await record(book, self.ctx, trial) if book else False
        fields = backtest_answer.fields(self.ctx, trial, [file.name for file in files], kept=kept)
        return ToolOutput(dump(fields), line, files)

    async def _loaded(
        self, symbols: Sequence[str], start: str | None, end: str | None
    ) -> list[Series]:
        if not 1 <= len(symbols) <= MOST_SYMBOLS:
            raise ToolFailure(f"symbols: name 1 to {MOST_SYMBOLS}")
        self.ctx.progress("读取价格" if self.ctx.language == "zh" else "loading prices", 0.1)
        found = await several.load(self.sources, self.ctx, symbols, start, end)
        if found.missing:
            raise ToolFailure(
                "; ".join(found.missing)
                + "; nothing was tested: leave it out of symbols, or mend it"
            )
        currencies = {one.window.currency for one in found.found}
        if len(currencies) > 1:
            raise ToolFailure(
                f"symbols: one account cannot hold {', '.join(sorted(currencies))} prices; "
                "test the symbols of each currency by themselves"
            )
        return found.found

    async def _asked(self, found: Series) -> Asked:
        """The bars to test on. Coarser ones need a longer history than `found` has."""
        interval = self.options.interval
        if interval == "day":
            return Asked(found.history, len(found.history) - len(found.window))
        first, last = found.window.first, found.window.as_of
        before = first - timedelta(days=_BAR_DAYS[interval] * WARM_UP)
        try:
            history = await self.sources.bars(found.symbol.id, before, last, self.ctx.as_of)
        except NoData as e:
            raise ToolFailure(str(e)) from e
        joined = history.by(interval)  # the bar that the window begins in is a bar of the window
        return Asked(joined, joined.index_until(first - timedelta(days=1)) + 1)

    def _long_enough(self, assets: Sequence[Asked]) -> None:
        longest = max(len(asset.history) - asset.start for asset in assets)
        fewest = FEWEST_TO_SPLIT if self.options.split else FEWEST_BARS
        if longest < fewest:
            raise ToolFailure(
                f"the window has {longest} bars; a backtest{' in two parts' * (fewest > FEWEST_BARS)} "
                f"needs {fewest} at least: choose an earlier start, or a shorter interval"
            )

    def _defined(self, outcome: Outcome, assets: Sequence[Asked]) -> None:
        """An indicator that has no value anywhere gives no signal: that is a mistake, and no result."""
        if len(outcome.undefined) < len(assets):
            return
        names = ", ".join(dict.fromkeys(n for found in outcome.undefined.values() for n in found))
        longest = max(len(asset.history) - asset.start for asset in assets)
        cure = "" if self.options.warm_up else ", allow warmup"
        raise ToolFailure(
            f"{names}: not one value in {longest} bars with {outcome.warm_up} before them; "
            f"choose an earlier start, a shorter period{cure}"
        )


async def _computed(function: Callable[[P], R], request: P) -> R:
    try:
        return await outside(function, request)
    except (WorkerDied, WorkTooLong) as e:
        raise ToolFailure(f"{e}: fewer symbols or a shorter window") from e
