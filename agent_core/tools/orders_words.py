"""What a person reads of orders, in English and Chinese: before they say yes, and afterwards."""

from collections.abc import Mapping
from typing import Literal

from agent_core.finance.orders import Checked
from agent_core.finance.portfolio import exact
from agent_core.trading import Order

Language = Literal["en", "zh"]
_WORDS: Mapping[str, tuple[str, str]] = {
    "buy": ("Buy", "买入"),
    "sell": ("Sell", "卖出"),
    "market": ("at the market", "市价"),
    "limit": ("limit {level}", "限价 {level}"),
    "stop": ("stop {level}", "止损触发价 {level}"),
    "protect": (
        "then a protecting stop order to sell at {level}",
        "成交后挂保护性止损卖单 {level}",
    ),
    "order": (
        "**{side} {quantity} {symbol}**, {kind}",
        "**{side} {symbol} {quantity}**，{kind}",
    ),
    "worth": (
        "Worth about {notional} {currency}{usd} at the last close {price} of {date} ({source})",
        "按 {date} 收盘价 {price}（{source}）约 {notional} {currency}{usd}",
    ),
    "in_usd": (" ({usd} USD)", "（{usd} 美元）"),
    "paper": ("Account {account}: play money", "账户 {account}：模拟资金"),
    "live": ("⚠️ Account {account}: REAL MONEY", "⚠️ 账户 {account}：真实资金"),
    "cash": (
        "Cash {before} → about {after} {currency}; {symbol} {held} → {will}",
        "现金 {before} → 约 {after} {currency}；{symbol} {held} → {will}",
    ),
    "next": (
        "Filled at the earliest by the first bar after {date}",
        "最早按 {date} 之后的首根K线成交",
    ),
    "close": (
        "The prices end on {date}: that close stands in for the next bar",
        "行情止于 {date}：以该日收盘价代替下一根K线",
    ),
    "cancel": ("Cancel order {id}", "撤销订单 {id}"),
    "filled": (
        "Order {id}: {side} {quantity} {symbol} filled at {price} {currency} on {date}",
        "订单 {id}：{side} {symbol} {quantity}，{date} 以 {price} {currency} 成交",
    ),
    "state": (
        "Order {id}: {side} {quantity} {symbol}, {status}",
        "订单 {id}：{side} {symbol} {quantity}，{status}",
    ),
    "s_sending": ("not confirmed yet", "尚未确认"),
    "s_open": ("open", "等待成交"),
    "s_filled": ("filled", "已成交"),
    "s_cancelled": ("cancelled", "已撤销"),
    "s_refused": ("refused", "被拒绝"),
}


def _say(code: str, language: Language, /, **values: object) -> str:
    return _WORDS[code][language == "zh"].format(**values)


def preview_text(checked: Checked, language: Language) -> str:
    """An order before it is placed. Cash and position are shown in private alone."""
    order, quote = checked.order, checked.quote
    kind = _say(order.kind, language, level=_level(order.level or 0.0))
    foreign = quote.currency != "USD"
    usd = _say("in_usd", language, usd=_number(checked.usd)) if foreign else ""
    lines = [
        _say(
            "order", language, side=_say(order.side, language), quantity=exact(order.quantity),
            symbol=order.symbol, kind=kind,
        ),
        _say(
            "worth", language, notional=_number(checked.notional), currency=quote.currency,
            usd=usd, price=_number(quote.price), date=quote.date, source=quote.source,
        ),
    ]  # fmt: skip
    if order.protect is not None:
        lines.append(_say("protect", language, level=_level(order.protect)))
    lines.append(_say(order.mode, language, account=order.account))
    if checked.private and checked.cash is not None and checked.held is not None:
        sign = 1 if order.side == "buy" else -1
        lines.append(
            _say(
                "cash", language, before=_number(checked.cash),
                after=_number(checked.cash - sign * checked.notional), currency=quote.currency,
                symbol=order.symbol, held=exact(checked.held), will=exact(checked.held + sign * order.quantity),
            )
        )  # fmt: skip
    lines.append(_say("next" if quote.live else "close", language, date=quote.date))
    return "\n".join(f"- {line}" if n else line for n, line in enumerate(lines))


def cancel_text(order: Order, language: Language) -> str:
    """What is to be cancelled."""
    return f"**{_say('cancel', language, id=order.id)}**\n- {line_of(order, language)}"


def line_of(order: Order, language: Language) -> str:
    """How an order stands, in a line."""
    told = {
        "id": order.id,
        "side": _say(order.side, language),
        "quantity": exact(order.quantity),
        "symbol": order.symbol,
    }
    if order.status == "filled" and order.fill_price is not None:
        price = _level(order.fill_price)
        done = {"price": price, "currency": order.currency, "date": order.filled_on}
        return _say("filled", language, **told, **done)
    return _say("state", language, **told, status=_say(f"s_{order.status}", language))


def level_of(order: Order, language: Language) -> str:
    """How an order waits: at the market, or the price that it names."""
    return _say(order.kind, language, level=_level(order.level or 0.0))


def _level(value: float) -> str:
    """A price that is said yes to, or was paid: with its cents, and with all that it has beyond them."""
    cents = _number(value)
    return cents if float(cents.replace(",", "")) == value else exact(value)


def _number(value: float) -> str:
    """1,234.50; small prices with four significant digits."""
    return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.4g}"
