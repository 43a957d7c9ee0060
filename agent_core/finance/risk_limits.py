"""Limits of orders that the settings set, whoever asks and whatever was approved. Pure; amounts in US dollars.

They are judged when a person is asked, and again in the transaction that stores the order.
"""

from dataclasses import dataclass

from agent_core.trading import NewOrder, Quote


@dataclass(frozen=True, slots=True)
class Limits:
    """None: without this limit.

    `symbol_pct` is a share of the account's net value, `price_band_pct` of the last price.
    """

    order_usd: float | None = 10_000.0
    day_usd: float | None = 50_000.0
    symbol_pct: float | None = 25.0
    price_band_pct: float | None = 10.0


@dataclass(frozen=True, slots=True)
class Standing:
    """An account before an order: its net value, what it has and has on order of the symbol, what was ordered today."""

    net_usd: float
    symbol_usd: float
    today_usd: float


def broken(
    limits: Limits, order: NewOrder, quote: Quote, notional: float, standing: Standing
) -> str:
    """The limits that an order breaks, each with its cure, in one line; "" for none. `notional` is in US dollars."""
    found = [
        _band(limits.price_band_pct, order, quote),
        _order(limits.order_usd, notional),
        _day(limits.day_usd, notional, standing.today_usd),
        _symbol(limits.symbol_pct, order, notional, standing),
    ]
    return "; ".join(line for line in found if line)


def _band(limit: float | None, order: NewOrder, quote: Quote) -> str:
    """Fat fingers: a price far from the last one. A stop that protects may lie as far below as its owner likes."""
    protects = order.kind == "stop" and order.side == "sell"
    if limit is None or order.level is None or protects:
        return ""
    off = abs(order.level / quote.price - 1) * 100
    if off <= limit:
        return ""
    return (
        f"price_band_pct: {order.level:g} is {off:.1f} % off the last price {quote.price:g} of {quote.date}, at most "
        f"{limit:g} %; name a nearer price"
    )


def _order(limit: float | None, notional: float) -> str:
    if limit is None or notional <= limit:
        return ""
    return f"order_usd: the order is worth {notional:,.2f} USD, at most {limit:,.2f}; order fewer"


def _day(limit: float | None, notional: float, today: float) -> str:
    if limit is None or notional + today <= limit:
        return ""
    return (
        f"day_usd: {today:,.2f} USD were ordered today and this order is worth {notional:,.2f}, at most {limit:,.2f} a "
        "day; order fewer or wait for tomorrow"
    )


def _symbol(limit: float | None, order: NewOrder, notional: float, standing: Standing) -> str:
    if limit is None or order.side == "sell":
        return ""
    after = standing.symbol_usd + notional
    share = after / standing.net_usd * 100 if standing.net_usd > 0 else 100.0
    if share <= limit:
        return ""
    return (
        f"symbol_pct: {order.symbol} would be {share:.1f} % of the account ({after:,.2f} of "
        f"{standing.net_usd:,.2f} USD), at most {limit:g} %; order fewer"
    )
