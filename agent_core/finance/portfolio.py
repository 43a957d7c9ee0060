"""What a book is worth: positions at their last known prices, cash, gains, by account and in all. Pure.

Play money and own money are never added up. A position without a price is named and is in no total; so is one whose
currency has no rate to the currency of the totals. Gains are measured in the position's own currency against its
average cost; where prices come in another currency than the cost, no gain is given.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core.book import Holding
from agent_core.trading import PAPER, Cash, Quote, Trade

SMALLEST = 1e-9  # of a share: less is a rounding


@dataclass(frozen=True, slots=True)
class Line:
    """A position. None: not known, and `why` says why. `share` is of its book's total, in percent."""

    holding: Holding
    price: float | None = None
    day: dt.date | None = None
    source: str = ""
    currency: str = ""
    value: float | None = None
    gain: float | None = None
    gain_pct: float | None = None
    converted: float | None = None
    share: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Total:
    """One currency of one book.

    `gain` is unrealised, of the positions that have one; `realised` of the whole history.
    """

    positions: float = 0.0
    cash: float = 0.0
    gain: float = 0.0
    realised: float = 0.0
    dividends: float = 0.0


@dataclass(frozen=True, slots=True)
class Worth:
    """A book, or the play-money one. `total` is in the asked currency, None where nothing of it could be converted."""

    lines: tuple[Line, ...]
    cash: tuple[Cash, ...]
    by_currency: Mapping[str, Total]
    total: float | None
    currency: str
    unconverted: tuple[str, ...] = field(default=())


def exact(value: float) -> str:
    """A quantity or a price as it is, 1,234,567.125 or 0.50 or 780: what a person says yes to, or traded, unrounded."""
    cents = f"{value:,.2f}"
    if value != int(value) and float(cents.replace(",", "")) == value:
        return cents
    return f"{value:,.12g}" if abs(value) >= 1 or value == 0 else f"{value:.12f}".rstrip("0")


@dataclass(frozen=True, slots=True)
class Moved:
    """A position after a fill. A quantity below 0 is sold short; `cost` is the average price of what is there."""

    quantity: float
    cost: float
    realised: float


def moved(have: float, cost: float, bought: float, price: float, fee: float = 0.0) -> Moved:
    """What a fill does to a position of `have` at an average `cost`; `bought` is below 0 for a sale, and never 0.

    What opens or adds has its part of the fee in the average. What closes realises its gain after its part of the fee.
    """
    closing = min(abs(have), abs(bought)) if have * bought < 0 else 0.0
    closed = closing if have > 0 else -closing
    opened = bought + closed
    fee_closed = fee * closing / abs(bought)
    realised = (price - cost) * closed - fee_closed if closing else 0.0
    left = have - closed
    quantity = left + opened
    if abs(opened) <= SMALLEST or abs(quantity) <= SMALLEST:
        return Moved(0.0 if abs(quantity) <= SMALLEST else quantity, cost, realised)
    return Moved(quantity, (left * cost + opened * price + fee - fee_closed) / quantity, realised)


def is_paper(account: str) -> bool:
    """Whether an account holds play money."""
    return account == PAPER or account.endswith(f"-{PAPER}")


def worth(
    holdings: Sequence[Holding],
    cash: Sequence[Cash],
    trades: Iterable[Trade],
    quotes: Mapping[str, Quote],
    rates: Mapping[str, float | None],
    currency: str,
    missing: Mapping[str, str],
) -> Worth:
    """The worth of these positions and this money. `rates` converts a currency into `currency`."""
    lines = [_line(h, quotes.get(h.symbol), missing.get(h.symbol, ""), rates) for h in holdings]
    money = [_converted(c.amount, rates.get(c.currency)) for c in cash]
    known = [value for value in (*(line.converted for line in lines), *money) if value is not None]
    total = sum(known) if known else None
    without = {line.currency for line in lines if line.value is not None and line.converted is None}
    without |= {c.currency for c, value in zip(cash, money, strict=True) if value is None}
    return Worth(
        tuple(_with_share(line, total) for line in lines),
        tuple(cash),
        _by_currency(lines, cash, trades),
        total,
        currency,
        tuple(sorted(without)),
    )


def _line(
    holding: Holding, quote: Quote | None, why: str, rates: Mapping[str, float | None]
) -> Line:
    if quote is None:
        return Line(holding, currency=holding.currency, why=why or "no price")
    value = holding.quantity * quote.price
    same = not holding.currency or holding.currency == quote.currency
    paid = holding.quantity * holding.cost
    gain = value - paid if same else None
    return Line(
        holding,
        quote.price,
        quote.date,
        quote.source,
        quote.currency,
        value,
        gain,
        gain / abs(paid) * 100 if gain is not None and paid else None,
        _converted(value, rates.get(quote.currency)),
        why="" if same else f"cost in {holding.currency}, price in {quote.currency}: no gain",
    )


def _converted(value: float, rate: float | None) -> float | None:
    return None if rate is None else value * rate


def _with_share(line: Line, total: float | None) -> Line:
    if line.converted is None or not total or total <= 0:
        return line
    return replace(line, share=line.converted / total * 100)


def _by_currency(
    lines: Iterable[Line], cash: Iterable[Cash], trades: Iterable[Trade]
) -> dict[str, Total]:
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in lines:
        if line.value is not None:
            sums[line.currency]["positions"] += line.value
            sums[line.currency]["gain"] += line.gain or 0.0
    for money in cash:
        sums[money.currency]["cash"] += money.amount
    for trade in trades:
        if trade.kind == "dividend":
            sums[trade.currency]["dividends"] += trade.amount
        elif trade.realised:
            sums[trade.currency]["realised"] += trade.realised
    return {currency: Total(**values) for currency, values in sorted(sums.items())}


def net_usd(
    holdings: Iterable[Holding],
    cash: Iterable[Cash],
    quotes: Mapping[str, Quote],
    usd: Mapping[str, float | None],
) -> float:
    """About what a book is worth in US dollars: by last prices, by cost where there is none. Unknown currencies at 1.

    It grades changes (TGV-8) and limits; it is never shown as a value.
    """
    total = 0.0
    for holding in holdings:
        quote = quotes.get(holding.symbol)
        price = quote.price if quote else holding.cost
        rate = (quote.usd if quote else usd.get(holding.currency)) or 1.0
        total += holding.quantity * price * rate
    return total + sum(money.amount * (usd.get(money.currency) or 1.0) for money in cash)
