"""What run_backtest says: fields for the model, one line and a picture for the person, the trades as CSV."""

import csv
import io
from dataclasses import asdict, dataclass
from typing import Literal

from agent_core.finance.backtest_account import Trade
from agent_core.finance.backtest_figures import Curve, Figures, published_row
from agent_core.finance.backtest_job import Outcome, Request
from agent_core.finance.bars import Interval
from agent_core.finance.equity_chart import EquityRequest, Titles
from agent_core.tools import notices, several
from agent_core.tools.backtest import CREDIBILITY
from agent_core.tools.series import Series, joined, percent, price, signed
from agent_core.tools.spec import ToolContext

SHOWN_TRADES = 5
TITLE_LENGTH = 40  # characters of a picture's title; beyond, several symbols are only counted
STANCE = {
    "en": {1: "long", 0: "flat", -1: "short"},
    "zh": {1: "做多", 0: "空仓", -1: "做空"},
}
_BARS = {
    "en": {"day": "daily", "week": "weekly", "month": "monthly"},
    "zh": {"day": "日线", "week": "周线", "month": "月线"},
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A backtest that was done. `against`: the benchmark where it is another symbol."""

    label: str
    found: tuple[Series, ...]
    against: Series | None
    request: Request
    outcome: Outcome
    interval: Interval

    @property
    def codes(self) -> str:
        """The symbols, the first few by name."""
        ids = [one.symbol.id for one in self.found]
        return ", ".join(ids[:4]) + (f" +{len(ids) - 4}" if len(ids) > 4 else "")

    @property
    def held(self) -> str:
        """The benchmark's symbols."""
        return self.against.symbol.id if self.against else self.codes


def fields(ctx: ToolContext, trial: Trial, files: list[str], *, kept: bool) -> dict[str, object]:
    """What the model reads; the keys of Answer."""
    found, outcome = trial.outcome.figures, trial.outcome
    windows = [one.window for one in trial.found]
    parts = [_figures(part) for part in outcome.parts]
    rules = trial.request.rules.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {
        "symbols": [
            {
                "symbol": one.symbol.id,
                "name": one.symbol.name,
                "name_zh": one.symbol.name_zh,
                "stance_at_end": STANCE["en"][outcome.run.stance[one.symbol.id]],
            }
            for one in trial.found
        ],
        **several.envelope(windows, CREDIBILITY),
        "adjustment": "; ".join(dict.fromkeys(window.adjustment for window in windows)),
        "strategy": trial.label,
        "rules": rules,
        "settings": _settings(trial),
        "result": _figures(found)
        | {
            "final_equity": price(outcome.run.equity[-1]),
            "fees": price(outcome.run.fees),
            "dividends": price(outcome.run.dividends),
        },
        "benchmark": {"hold": trial.held, **_curve(found.benchmark)},
        "excess_return_pct": percent(found.excess_pct),
        "published_row": {
            name: percent(value) for name, value in asdict(published_row(found)).items()
        },
        "in_sample": parts[0] if parts else None,
        "out_of_sample": parts[1] if parts else None,
        "last_trades": [_trade(trade) for trade in outcome.run.trades[-SHOWN_TRADES:]],
        "artifacts": files,
        "kept": kept,
        "note": joined(ctx, _notes(ctx, trial)),
        "notice": notices.past(ctx.language),
    }


def _settings(trial: Trial) -> dict[str, object]:
    request, terms = trial.request, trial.request.terms
    return {
        "interval": trial.interval,
        "fill": "next open",
        "cash": terms.cash,
        "fraction": request.rules.fraction,
        "weighting": terms.weighting,
        "commission_bps": terms.commission_bps,
        "commission_per_order": terms.commission_per_order,
        "slippage_bps": terms.slippage_bps,
        "whole_shares": terms.whole_shares,
        "warmup": request.warm_up,
        "warmup_bars": trial.outcome.warm_up,
        "walk_forward": request.split,
        "risk_free_pct": request.risk_free_pct,
        "sharpe_deviation": "population",
    }


def _curve(curve: Curve) -> dict[str, object]:
    return {
        "return_pct": percent(curve.total_return_pct),
        "annual_return_pct": percent(curve.annual_return_pct),
        "volatility_pct_annual": percent(curve.volatility_pct),
        "sharpe": percent(curve.sharpe),
        "sortino": percent(curve.sortino),
        "max_drawdown_pct": percent(curve.drawdown.pct),
        "calmar": percent(curve.calmar),
    }


def _figures(found: Figures) -> dict[str, object]:
    deals, drawdown = found.deals, found.curve.drawdown
    return {
        "window": {"start": str(found.first), "end": str(found.last)},
        "bars": found.bars,
        **_curve(found.curve),
        "drawdown_peak": None if drawdown.peak is None else str(drawdown.peak),
        "drawdown_trough": None if drawdown.trough is None else str(drawdown.trough),
        "benchmark_return_pct": percent(found.benchmark.total_return_pct),
        "trades": deals.closed,
        "open_trades": deals.open,
        "win_rate_pct": percent(deals.win_rate_pct),
        "profit_factor": percent(deals.profit_factor),
        "average_trade_pct": percent(deals.average_pct),
        "best_trade_pct": percent(deals.best_pct),
        "worst_trade_pct": percent(deals.worst_pct),
        "average_bars_held": percent(deals.average_bars),
        "exposure_pct": percent(found.exposure_pct),
        "turnover_per_year": percent(found.turnover),
    }


def _trade(trade: Trade) -> dict[str, object]:
    return {
        "symbol": trade.symbol,
        "side": trade.side,
        "entered": str(trade.entered),
        "entry_price": price(trade.entry_price),
        "left": str(trade.left),
        "exit_price": price(trade.exit_price),
        "profit_pct": percent(trade.profit_pct),
        "reason": trade.reason,
    }


def trades_csv(trial: Trial) -> bytes:
    """Every trade, one a row; prices and quantities unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = (
        "symbol", "side", "entered", "entry_price", "left", "exit_price", "quantity", "profit", "profit_pct", "bars",
        "reason",
    )  # fmt: skip
    writer.writerow(names)
    for trade in trial.outcome.run.trades:
        writer.writerow([getattr(trade, name) for name in names])
    return out.getvalue().encode()


def line(language: str, trial: Trial) -> str:
    """One line for the person."""
    found = trial.outcome.figures
    curve, deals = found.curve, found.deals
    result, held = signed(curve.total_return_pct), signed(found.benchmark.total_return_pct)
    fall = f"{curve.drawdown.pct:.2f} %"
    span = f"{found.first} … {found.last}"
    if language == "zh":
        still = f"，另有 {deals.open} 笔未平仓" * bool(deals.open)
        return (
            f"回测 {trial.label}，{trial.codes}，{span}：{result}，持有 {trial.held} {held}，"
            f"最大回撤 {fall}，{deals.closed} 笔交易{still}"
        )
    still = f", {deals.open} still open" * bool(deals.open)
    return (
        f"Backtest {trial.label} on {trial.codes}, {span}: {result}, holding {trial.held} {held}, "
        f"maximum drawdown {fall}, {deals.closed} trade{'s' * (deals.closed != 1)}{still}"
    )


def picture(ctx: ToolContext, trial: Trial, theme: Literal["light", "dark"]) -> EquityRequest:
    """What to draw."""
    outcome = trial.outcome
    return EquityRequest(
        dates=outcome.run.dates,
        equity=outcome.run.equity,
        benchmark=outcome.benchmark,
        en=_titles(trial, "en"),
        zh=_titles(trial, "zh"),
        split=outcome.parts[1].first if outcome.parts else None,
        language=ctx.language,
        theme=theme,
    )


def _titles(trial: Trial, language: Literal["en", "zh"]) -> Titles:
    found, bars = trial.outcome.figures, _BARS[language][trial.interval]
    sources = ", ".join(dict.fromkeys(one.window.source for one in trial.found))
    names = trial.found[0].name(language) if len(trial.found) == 1 else trial.codes
    if len(trial.found) > 1 and len(trial.label) + len(names) > TITLE_LENGTH:
        names = f"{len(trial.found)} {'只证券' if language == 'zh' else 'symbols'}"
    title = f"{trial.label} · {names}"
    if language == "zh":
        below = f"回测 {found.first} – {found.last}，{bars}，来源：{sources}"
        return Titles(title, below, f"持有 {trial.held}")
    below = f"backtest {found.first} – {found.last}, {bars}, source: {sources}"
    return Titles(title, below, f"Hold {trial.held}")


def file_stem(trial: Trial) -> str:
    """Letters, digits, dots, dashes and underscores only, such as backtest-GOOG-2012-01-03_2012-12-31."""
    found = trial.outcome.figures
    stem = f"backtest-{trial.codes.replace(', ', '-')}-{found.first}_{found.last}"
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "_" for c in stem)


def _notes(ctx: ToolContext, trial: Trial) -> list[str]:
    """What a reader must know of the test."""
    zh, run, outcome = ctx.language == "zh", trial.outcome.run, trial.outcome
    notes = several.Several(list(trial.found), []).notes
    if trial.against is not None:
        notes += several.Several([trial.against], []).notes
        notes += [several.mixed(ctx, [trial.found[0].window, trial.against.window])]
    terms = trial.request.terms
    if not (terms.commission_bps or terms.commission_per_order or terms.slippage_bps):
        notes.append("未计佣金与滑点" if zh else "no commission and no slippage is counted")
    if not run.dividends and not any(one.window.dividends for one in trial.found):
        notes.append(
            "未计股息" if zh else "no dividends are known to the source, so none are counted"
        )
    for code, names in outcome.undefined.items():
        said = ", ".join(names)
        notes.append(
            f"{code}：{said} 没有值" if zh else f"{code}: {said} has no value in the window"
        )
    if run.waited:
        notes.append(
            f"因当日无成交量而顺延的委托：{run.waited} 次" if zh
            else f"bars without volume on which an order had to wait: {run.waited}"
        )  # fmt: skip
    if run.unfilled:
        notes.append(
            f"有 {run.unfilled} 次因现金不足未能建仓" if zh
            else f"entries left out for want of cash: {run.unfilled}"
        )  # fmt: skip
    if run.ruined:
        notes.append(
            f"账户于 {run.ruined} 亏光，回测到此为止" if zh
            else f"the account lost everything on {run.ruined} and the test ends there"
        )  # fmt: skip
    if any(trade.side == "short" for trade in run.trades):
        notes.append("未计融券成本" if zh else "borrowing for short sales costs nothing here")
    return [note for note in notes if note]
