"""A change of a book as a plan: what each position and each amount is before and after, and how much it weighs. Pure.

Nothing is changed here. The same plan is made when a person is asked and again in the transaction that carries it out;
`bound` is a digest of everything it stands on, so that a yes to one state of the book is none to another (MSC-3).
"""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent_core.book import Holding
from agent_core.finance.orders import OrderRefused
from agent_core.finance.portfolio import SMALLEST, exact, moved
from agent_core.trading import Cash, Trade

Action = Literal["set", "buy", "sell", "remove", "set_cash", "dividend"]
HEAVY = 0.05  # of the net value: from there on one yes is not enough (TGV-8)


@dataclass(frozen=True, slots=True)
class Item:
    """One change.

    set: the position is `quantity` at an average cost of `price`. buy, sell: `quantity` was traded at `price`; the cash
    changes where the account has that currency. remove: the position goes. set_cash: the account has `amount`.
    dividend: `amount` was paid for the symbol, into the cash where there is some.
    """

    action: Action
    symbol: str = ""
    quantity: float = 0.0
    price: float = 0.0
    amount: float = 0.0
    currency: str = ""
    account: str = "default"
    name: str = ""
    relation: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """An item with what it does: the position or the cash before and after, and its weight in US dollars."""

    item: Item
    before: Holding | None = None
    after: Holding | None = None
    cash_before: float | None = None
    cash_after: float | None = None
    weight_usd: float = 0.0

    @property
    def destroys(self) -> bool:
        """Whether a position is gone afterwards that was there."""
        return self.before is not None and self.after is None


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in their order, the trades to note, and what it all weighs.

    `share` is the sum of all weights over the net value, None where the book is worth nothing yet.
    """

    steps: tuple[Step, ...]
    trades: tuple[Trade, ...]
    share: float | None
    bound: str

    @property
    def heavy(self) -> bool:
        """Whether one yes is not enough: a position goes, or one item or all together weigh more than HEAVY."""
        return any(step.destroys for step in self.steps) or (self.share or 0.0) > HEAVY


@dataclass(slots=True)
class _State:
    """The book while items are applied to it."""

    holdings: dict[tuple[str, str], Holding]
    cash: dict[tuple[str, str], float]
    now: dt.datetime
    source: str


def plan(
    items: Sequence[Item],
    holdings: Sequence[Holding],
    cash: Sequence[Cash],
    *,
    net_usd: float,
    usd: Mapping[str, float | None],
    prices: Mapping[str, float],
    now: dt.datetime,
    source: str,
) -> Plan:
    """What `items` do to this book, in their order. Raises OrderRefused for one that cannot be done.

    `usd` is what one unit of a currency is in US dollars, `prices` the last known ones, which weigh a position.
    """
    state = _State(
        {(h.account, h.symbol): h for h in holdings},
        {(c.account, c.currency): c.amount for c in cash},
        now,
        source,
    )
    steps: list[Step] = []
    trades: list[Trade] = []
    for number, item in enumerate(items, 1):
        try:
            step, trade = _apply(item, state)
        except OrderRefused as e:
            raise OrderRefused(f"item {number}: {e}") from e
        steps.append(replace(step, weight_usd=_weight(step, usd, prices)))
        trades += [trade] if trade else []
    weight = sum(step.weight_usd for step in steps)
    bound = _digest(items, holdings, cash)
    return Plan(tuple(steps), tuple(trades), weight / net_usd if net_usd > 0 else None, bound)


def _apply(item: Item, state: _State) -> tuple[Step, Trade | None]:
    if item.action == "set_cash":
        return _set_cash(item, state), None
    key = (item.account, item.symbol)
    before = state.holdings.get(key)
    if item.action == "dividend":
        was, now = _pay(item, state, item.amount)
        return Step(item, before, before, was, now), _trade(item, state, item.amount)
    after, amount, realised = _position(item, before, state.now)
    was, now = _pay(item, state, amount)
    if after is None:
        state.holdings.pop(key, None)
    else:
        state.holdings[key] = after
    traded = item.action in {"buy", "sell"}
    trade = (
        _trade(item, state, amount, realised) if traded else _correction(item, state, before, after)
    )
    return Step(item, before, after, was, now), trade


def _position(
    item: Item, before: Holding | None, now: dt.datetime
) -> tuple[Holding | None, float, float]:
    """The position afterwards, what it does to the cash, and the realised gain."""
    currency = item.currency or (before.currency if before else "")
    have, cost = (before.quantity, before.cost) if before else (0.0, 0.0)
    if item.action == "remove":
        if before is None:
            raise OrderRefused(
                f"there is no {item.symbol} in the account {item.account}; see portfolio for what there is"
            )
        return None, 0.0, 0.0
    if before and before.currency and currency != before.currency:
        raise OrderRefused(
            f"{item.symbol} is kept in {before.currency}, not in {currency}; use {before.currency}"
        )
    paid = item.quantity * item.price
    if item.action == "sell":
        if item.quantity > have + SMALLEST:
            raise OrderRefused(
                f"there are {exact(have)} {item.symbol} to sell, not {exact(item.quantity)}; sell at most {exact(have)}"
            )
        left = have - item.quantity
        after = (
            replace(before, quantity=left, updated_at=now) if before and left > SMALLEST else None
        )
        return after, paid, paid - item.quantity * cost
    fresh = before or Holding(item.symbol, 0.0, 0.0, now, account=item.account)
    noted = replace(
        fresh,
        currency=currency,
        updated_at=now,
        name=item.name or fresh.name,
        relation=item.relation or fresh.relation,
        note=item.note or fresh.note,
    )
    if item.action == "set":
        return replace(noted, quantity=item.quantity, cost=item.price), 0.0, 0.0
    made = moved(have, cost, item.quantity, item.price)
    if made.quantity == 0:  # what was sold short is bought back
        return None, -paid, made.realised
    return replace(noted, quantity=made.quantity, cost=made.cost), -paid, made.realised


def _pay(item: Item, state: _State, amount: float) -> tuple[float | None, float | None]:
    """Change the cash where the account keeps some of that currency: before and after."""
    key = (item.account, item.currency)
    if not amount or key not in state.cash:
        return None, None
    before = state.cash[key]
    state.cash[key] = before + amount
    return before, state.cash[key]


def _set_cash(item: Item, state: _State) -> Step:
    key = (item.account, item.currency)
    before = state.cash.get(key)
    state.cash[key] = item.amount
    return Step(item, cash_before=before, cash_after=item.amount)


def _trade(item: Item, state: _State, amount: float, realised: float = 0.0) -> Trade:
    return Trade(
        kind=item.action,  # type: ignore[arg-type]
        account=item.account,
        currency=item.currency,
        at=state.now,
        day=state.now.date(),
        amount=amount,
        symbol=item.symbol,
        quantity=item.quantity,
        price=item.price,
        realised=realised,
        source=state.source,
    )


def _correction(item: Item, state: _State, before: Holding | None, after: Holding | None) -> Trade:
    """A position that was set or removed: no trade took place, but the history says when the book was changed."""
    have, will = (before.quantity if before else 0.0), (after.quantity if after else 0.0)
    known = after or before
    return Trade(
        kind="correction",
        account=item.account,
        currency=known.currency if known else item.currency,
        at=state.now,
        day=state.now.date(),
        symbol=item.symbol,
        quantity=will - have,
        price=after.cost if after else 0.0,
        source=state.source,
    )


def _weight(step: Step, usd: Mapping[str, float | None], prices: Mapping[str, float]) -> float:
    """How much of the book a step moves, in US dollars: the change of a position at its price, else of the cash."""
    item = step.item
    if item.action in {"set_cash", "dividend"}:
        before = step.cash_before or 0.0
        moved = abs((step.cash_after or 0.0) - before) if item.action == "set_cash" else item.amount
        return moved * (usd.get(item.currency) or 1.0)
    have = step.before.quantity if step.before else 0.0
    will = step.after.quantity if step.after else 0.0
    known = step.after or step.before
    currency = known.currency if known else item.currency
    rate = usd.get(currency) or 1.0
    price = prices.get(item.symbol) or item.price or (known.cost if known else 0.0)
    recost = abs(step.after.cost - step.before.cost) if step.after and step.before else 0.0
    return (abs(will - have) * price + (recost * will if item.action == "set" else 0.0)) * rate


def _digest(items: Sequence[Item], holdings: Sequence[Holding], cash: Sequence[Cash]) -> str:
    """Of the items, and of the positions and the cash that they touch, as these are now."""
    keys = {(item.account, item.symbol) for item in items if item.symbol}
    accounts = {item.account for item in items}
    state = {
        "items": [[getattr(item, name) for name in Item.__slots__] for item in items],
        "positions": sorted(
            [h.account, h.symbol, h.quantity, h.cost, h.currency]
            for h in holdings
            if (h.account, h.symbol) in keys
        ),
        "cash": sorted([c.account, c.currency, c.amount] for c in cash if c.account in accounts),
    }
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
