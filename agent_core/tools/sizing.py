"""position_size: how many units to trade so that a stop costs a fixed share of the account."""

import math
from dataclasses import dataclass
from typing import Literal

from agent_core.finance.fx import SOURCE as RATES_SOURCE
from agent_core.finance.fx import NoRate, Rate, Rates
from agent_core.finance.sizing import Lots, Plan, Size, size
from agent_core.finance.sources.chain import Sources
from agent_core.symbols import Symbol
from agent_core.tools import answers, notices, series
from agent_core.tools.series import Series, dump, percent, price
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
MOST_RISK_PCT, HIGH_RISK_PCT = 20.0, 3.0
TARGETS = (1, 2, 3)
_COIN = Lots(1e-6, 1e-6)
_SHARE = Lots(1, 1)


@dataclass(frozen=True, slots=True)
class _Trade:
    """What is traded: its symbol and prices where they are known, the currency, and how the market counts."""

    symbol: Symbol | None
    prices: Series | None
    currency: str
    lots: Lots
    lots_note: str


def sizing_tools(sources: Sources, rates: Rates | None = None) -> list[ToolSpec]:
    """The tools of this file, on these sources. `rates` is made when it is not given."""
    exchange = rates or Rates()

    @tool(
        title={"en": "Position size", "zh": "仓位计算"},
        timeout=20,
        credibility=CREDIBILITY,
        output=answers.Sized,
    )
    async def position_size(
        ctx: ToolContext,
        account: float,
        stop: float,
        entry: float | None = None,
        risk_pct: float = 1.0,
        symbol: str | None = None,
        side: Literal["long", "short"] | None = None,
        account_currency: str | None = None,
        fee_pct: float = 0.0,
        fee_per_order: float = 0.0,
        lot: float | None = None,
        max_position_pct: float = 100.0,
    ) -> ToolOutput:
        """How many shares to trade so that a stop loses a fixed share of the account, fees included; whole lots only.

        A calculation, not an order. The position is also kept within the account: no leverage.

        Args:
            account: Value of the account.
            stop: Stop price; below the entry for a long position, above it for a short one.
            entry: Entry price; the last close of the symbol when left out.
            risk_pct: Percent of the account that the stop may cost, above 0 up to 20.
            symbol: Code or name; sets currency and lots (A shares: 100).
            side: Checked against entry and stop where given.
            account_currency: ISO code; the price's currency when left out. Converted by the ECB reference rate.
            fee_pct: Fee of each order, in percent of its value.
            fee_per_order: Fee of each order as an amount in the price's currency.
            lot: Units of a lot, where the market's own is not meant.
            max_position_pct: Largest value of the position, in percent of the account.
        """
        _check(account, risk_pct, fee_pct, fee_per_order, lot, max_position_pct)
        trade = await _trade(sources, ctx, symbol, entry, account_currency, lot)
        at = _entry(trade, entry)
        _check_stop(at, stop, side)
        rate = await _rate(exchange, ctx, trade, account_currency)
        plan = Plan(
            account=account * (rate.value if rate else 1.0),
            risk=risk_pct / 100,
            entry=at,
            stop=stop,
            fee=fee_pct / 100,
            fee_per_order=fee_per_order,
            most=max_position_pct / 100,
        )
        found = size(plan, trade.lots)
        fields = _fields(ctx, trade, plan, found, rate, entry is None)
        return ToolOutput(dump(fields), _line(ctx, trade, plan, found))

    return [position_size]


def _check(
    account: float,
    risk_pct: float,
    fee_pct: float,
    fee_per_order: float,
    lot: float | None,
    max_position_pct: float,
) -> None:
    """Refuse what makes no sense. Raises ToolFailure with the bound."""
    bounds = (
        ("account", account, 0.0, math.inf),
        ("risk_pct", risk_pct, 0.0, MOST_RISK_PCT),
        ("lot", 1.0 if lot is None else lot, 0.0, math.inf),
        ("max_position_pct", max_position_pct, 0.0, 100.0),
    )
    for name, value, above, most in bounds:
        if not (math.isfinite(value) and above < value <= most):
            upper = f" and at most {most:g}" if math.isfinite(most) else ""
            raise ToolFailure(f"{name} {value:g} makes no sense: it must be above {above:g}{upper}")
    if not (math.isfinite(fee_pct) and 0 <= fee_pct < 10):
        raise ToolFailure(
            f"fee_pct {fee_pct:g} makes no sense: it is percent, 0 or more and below 10"
        )
    if not (math.isfinite(fee_per_order) and fee_per_order >= 0):
        raise ToolFailure(f"fee_per_order {fee_per_order:g} makes no sense: it must be 0 or more")


def _check_stop(entry: float, stop: float, side: str | None) -> None:
    for name, value in (("entry", entry), ("stop", stop)):
        if not (math.isfinite(value) and value > 0):
            raise ToolFailure(f"{name} {value:g} makes no sense: a price must be above 0")
    if stop == entry:
        raise ToolFailure(
            f"the stop {stop:g} equals the entry: without a distance there is no size"
        )
    meant = "long" if stop < entry else "short"
    if side and side != meant:
        where = "below" if side == "long" else "above"
        raise ToolFailure(
            f"the stop of a {side} position lies {where} its entry: {stop:g} against {entry:g}"
        )


async def _trade(
    sources: Sources,
    ctx: ToolContext,
    query: str | None,
    entry: float | None,
    account_currency: str | None,
    lot: float | None,
) -> _Trade:
    """What is traded; prices are asked for only where an entry or the currency is not known without them."""
    if not query:
        lots = _SHARE if lot is None else Lots(lot, lot)
        return _Trade(None, None, (account_currency or "").strip().upper(), lots, "")
    symbol = series.resolve(sources, ctx, query)
    prices = None
    if (entry is None or not symbol.currency) and sources.has(symbol.id) is not False:
        prices = await series.load(sources, ctx, query, None, None)
    currency = prices.window.currency if prices else symbol.currency
    lots, note = _lots(ctx, symbol) if lot is None else (Lots(lot, lot), "")
    return _Trade(symbol, prices, currency, lots, note)


def _lots(ctx: ToolContext, symbol: Symbol) -> tuple[Lots, str]:
    """How an exchange counts: its rule for the symbol's board, and what must be said about it."""
    zh = ctx.language == "zh"
    if symbol.market == "SH" and symbol.id.startswith(("688", "689")):
        return Lots(200, 1), (
            "科创板：200股起，每1股递增" if zh else "STAR market: 200 shares, then by one"
        )
    if symbol.market == "BJ":
        return Lots(100, 1), (
            "北交所：100股起，每1股递增" if zh else "Beijing exchange: 100 shares, then by one"
        )
    if symbol.market in {"SH", "SZ"}:
        return Lots(100, 100), ("A股每手100股" if zh else "A shares trade in lots of 100")
    if symbol.market == "HK":
        return _SHARE, (
            "港股每手股数因公司而异，这里未知，按1股计算；请给出 lot"
            if zh
            else "the board lot differs by company in Hong Kong and is not known here: counted by one; give `lot`"
        )
    return (_COIN if symbol.market == "CRYPTO" else _SHARE), ""


def _entry(trade: _Trade, entry: float | None) -> float:
    if entry is not None:
        return entry
    if trade.prices is None:
        raise ToolFailure(
            "give `entry`: without prices of a symbol there is no last close to enter at"
        )
    return trade.prices.window.close[-1]


async def _rate(
    rates: Rates, ctx: ToolContext, trade: _Trade, account_currency: str | None
) -> Rate | None:
    """What one unit of the account's currency is worth in the price's; None where they are the same or not known."""
    theirs = (account_currency or trade.currency).strip().upper()
    if theirs == trade.currency or not trade.currency:
        return None
    day = ctx.as_of or ctx.clock.now().date()
    if trade.prices is not None:
        day = min(day, trade.prices.window.as_of)
    try:
        return await rates.rate(theirs, trade.currency, day)
    except NoRate as e:
        raise ToolFailure(str(e)) from e


def _fields(
    ctx: ToolContext, trade: _Trade, plan: Plan, found: Size, rate: Rate | None, at_close: bool
) -> dict[str, object]:
    sign = 1 if plan.side == "long" else -1
    distance = abs(plan.entry - plan.stop)
    targets = {f"{r}R": price(plan.entry + sign * r * distance) for r in TARGETS}
    return _head(trade, rate) | {
        "side": plan.side,
        "account": price(plan.account),
        "entry": price(plan.entry),
        "stop": price(plan.stop),
        "units": _units(found.units),
        "lot": {"least": trade.lots.least, "step": trade.lots.step},
        "position_value": price(found.value),
        "position_pct_of_account": percent(found.value / plan.account * 100),
        "risk_budget": price(plan.account * plan.risk),
        "loss_at_stop": price(found.loss_at_stop),
        "loss_pct_of_account": percent(found.loss_at_stop / plan.account * 100),
        "fees": price(found.fees),
        "limited_by": "risk_pct" if found.limited_by == "risk" else "max_position_pct",
        "targets": {name: value for name, value in targets.items() if (value or 0) > 0},
        "note": series.joined(ctx, _remarks(ctx, trade, plan, found, at_close)),
        "notice": notices.past(ctx.language),
    }


def _head(trade: _Trade, rate: Rate | None) -> dict[str, object]:
    head: dict[str, object]
    if trade.prices is not None:
        head = trade.prices.head(CREDIBILITY) | {"period": None}
    else:
        head = {
            "symbol": trade.symbol.id if trade.symbol else None,
            "source": "figures given",
            "as_of": None,
            "window": None,
            "currency": trade.currency or None,
            "credibility": CREDIBILITY,
        }
    if rate is not None:
        head["account_converted"] = {
            "from": rate.base,
            "rate": round(rate.value, 6),
            "date": str(rate.date),
            "source": RATES_SOURCE,
        }
    return head


def _remarks(ctx: ToolContext, trade: _Trade, plan: Plan, found: Size, at_close: bool) -> list[str]:
    zh = ctx.language == "zh"
    said = [trade.lots_note]
    if at_close and trade.prices is not None:
        day = trade.prices.window.as_of
        said.append(f"以 {day} 收盘价入场" if zh else f"entry at the close of {day}")
        said.append(trade.prices.note)
    if not found.units:
        one = price(trade.lots.least * plan.cost_of_one + 2 * plan.fee_per_order)
        said.append(
            f"一手都不合适：最小一手在止损时损失 {one}"
            if zh
            else f"not one lot fits: the smallest would lose {one} at the stop"
        )
    if plan.risk * 100 > HIGH_RISK_PCT:
        said.append(
            f"单笔风险 {plan.risk * 100:g}% 偏高，常见为 0.5%–2%"
            if zh
            else f"{plan.risk * 100:g} % at risk in one trade is high; 0.5 to 2 % is usual"
        )
    return said


def _units(units: float) -> float:
    return int(units) if units == int(units) else round(units, 6)


def _line(ctx: ToolContext, trade: _Trade, plan: Plan, found: Size) -> str:
    zh = ctx.language == "zh"
    name = (
        trade.prices.name(ctx.language) if trade.prices else trade.symbol.id if trade.symbol else ""
    )
    units, money = _units(found.units), price(found.loss_at_stop)
    side = {"long": "做多", "short": "做空"}[plan.side] if zh else plan.side
    said = (
        f"{side} {units}，止损时损失 {money} {trade.currency}"
        if zh
        else f"{side} {units}, {money} {trade.currency} at risk"
    ).rstrip()
    return f"{name}: {said}" if name else said
