"""What dividends and splits do to a position of the paper account, by what its history says was held. Pure.

A dividend is paid on its ex-date to who held the share before it; a split turns each share of before into `ratio`. Both
are told by the price source alone. What was done before stands in the history, so that each share is paid and split
once, however often this is asked: a fill of an earlier day that is booked late is made up for, and nothing else.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from agent_core.book import Holding
from agent_core.finance.bars import Bars
from agent_core.finance.portfolio import SMALLEST
from agent_core.trading import Trade

# Sources may date one and the same event a day or two apart; no share pays or splits twice within so few days.
SAME = dt.timedelta(days=3)
_SIGN = {"buy": 1.0, "sell": -1.0, "correction": 1.0, "split": 1.0}


@dataclass(frozen=True, slots=True)
class Action:
    """A dividend of `value` for each share as it stood on `day`, or a split into `value` shares."""

    kind: Literal["dividend", "split"]
    day: dt.date
    value: float


def actions_of(bars: Bars) -> list[Action]:
    """What the bars tell of, up to their last day, oldest first; a split before a dividend of its day.

    Where prices are in shares of today (`applied`), so are dividends: here each is for a share of its own day.
    """
    splits = (*bars.splits, *bars.applied)
    found = [Action("split", split.date, split.ratio) for split in splits]
    for paid in bars.dividends:
        since = prod(split.ratio for split in bars.applied if split.date > paid.date)
        found.append(Action("dividend", paid.date, paid.amount * since))
    known = (one for one in found if one.day <= bars.as_of)
    return sorted(known, key=lambda one: (one.day, one.kind == "dividend"))


def due(
    position: Holding | None, history: Sequence[Trade], actions: Sequence[Action]
) -> list[Trade]:
    """The lines that the history lacks, in their order; `at` is that of the last line before them.

    `history` has the lines of this account and symbol. A dividend's line has the shares that it is for as `quantity`
    and what each is paid as `price`; a split's has the shares that came or went, and the ratio.
    """
    if position is None and not history:
        return []
    quantity = position.quantity if position else 0.0
    known, lacking = list(history), list[Trade]()
    account = position.account if position else history[0].account
    symbol = position.symbol if position else history[0].symbol
    currency = (position.currency if position else "") or (history[0].currency if history else "")
    for action in actions:
        shares = _concerned(action, quantity, position, known)
        before = [t for t in known if t.kind == action.kind and _same(t, action)]
        if before and all(t.day != action.day for t in before):
            continue  # done, by a source that dates it otherwise
        done = sum(t.quantity for t in before)
        added = shares * (action.value - 1) if action.kind == "split" else shares
        if abs(added - done) <= SMALLEST * max(1.0, abs(added)):
            continue
        if before and (_unexplained(quantity, known) or not all(t.quantity for t in before)):
            continue  # imported, or entered by hand: what there is counts as done
        if action.kind == "split" and (position is None or _set_since(action, known)):
            continue
        line = Trade(
            kind=action.kind,
            account=account,
            currency=currency,
            at=dt.datetime.min.replace(tzinfo=dt.UTC),
            day=action.day,
            symbol=symbol,
            quantity=added - done,
            price=action.value,
        )
        if action.kind == "dividend":
            line = replace(line, amount=round((added - done) * action.value, 2))
        else:
            quantity += added - done
        known.append(line)
        lacking.append(line)
    return lacking


def _concerned(
    action: Action, quantity: float, position: Holding | None, known: Sequence[Trade]
) -> float:
    """How many shares were held before the day of the action: those of now, without what came since.

    What the history does not explain was imported: it counts from the day after that on which it was entered.
    """
    later = sum(_change(t) for t in known if _counts_after(t, action))
    entered = position.updated_at.date() if position else dt.date.max
    if action.day <= entered:
        later += _unexplained(quantity, known)
    left = quantity - later
    return left if left > SMALLEST else 0.0


def _unexplained(quantity: float, known: Sequence[Trade]) -> float:
    """How many shares are there of which the history does not say whence."""
    found = quantity - sum(_change(t) for t in known)
    return found if abs(found) > SMALLEST * max(1.0, abs(quantity)) else 0.0


def _counts_after(trade: Trade, action: Action) -> bool:
    """Whether a line came with or after the action. A dividend is paid for the shares that a split of its day made."""
    if trade.kind == "split" and action.kind == "dividend":
        return trade.day > action.day
    if trade.kind == action.kind == "split" and _same(trade, action):
        return True
    return trade.day >= action.day


def _change(trade: Trade) -> float:
    return _SIGN.get(trade.kind, 0.0) * trade.quantity


def _same(trade: Trade, action: Action) -> bool:
    return abs(trade.day - action.day) <= SAME


def _set_since(action: Action, known: Sequence[Trade]) -> bool:
    """Whether the person has entered the position anew since then: then it is in the shares that they see."""
    return any(t.kind == "correction" and t.quantity and t.day >= action.day for t in known)


def splits_since(history: Sequence[Trade], day: dt.date) -> list[Action]:
    """The splits after `day` that the history knows, oldest first: a fill of that day is in shares of before them."""
    ratios = {t.day: t.price for t in history if t.kind == "split" and t.day > day}
    return [Action("split", on, ratio) for on, ratio in sorted(ratios.items())]
