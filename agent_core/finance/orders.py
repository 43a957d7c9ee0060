"""Placing orders as a tool sees it: what is checked before a person is asked, and the port of the desk that does it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_core.errors import SwarmgateError
from agent_core.trading import NewOrder, Order, Quote


class OrderRefused(SwarmgateError):
    """An order, or a change of a book, is not made; one line: what, why, and what would help."""


@dataclass(frozen=True, slots=True)
class Permit:
    """What a call may do.

    `live`: the preset has a rule for live orders; `asked`: a person has said yes to this call.
    """

    live: bool = False
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """An order that nothing stands against, priced by the last known close.

    `notional` is in the quote's currency, `usd` in US dollars. `cash` is what the account has of that currency, and
    `held` how many shares, before the order; None where the broker alone knows. `private`: whether the place of the
    turn is private, so that both may be shown there.
    """

    order: NewOrder
    quote: Quote
    broker: str
    notional: float
    usd: float
    cash: float | None
    held: float | None
    private: bool


class Desk(Protocol):
    """Places and cancels orders of persons. Each order is checked, stored and audited before a broker hears of it."""

    async def check(
        self, owner: str, turn_id: int, order: NewOrder, permit: Permit, as_of: dt.date | None
    ) -> Checked:
        """What an order would be; changes nothing. Raises OrderRefused with the limit that stands against it."""
        ...

    async def place(
        self,
        owner: str,
        turn_id: int,
        key: str,
        order: NewOrder,
        permit: Permit,
        as_of: dt.date | None,
    ) -> Order:
        """Check again and place, once for each key; how the order stands then. Raises OrderRefused.

        An order whose status is still "sending" may or may not be at the broker: it is looked after from here on.
        """
        ...

    async def cancel(self, owner: str, order_id: int) -> Order:
        """Cancel an order; how it stands then: it may have been filled before. Raises OrderRefused."""
        ...

    async def orders(self, owner: str, limit: int = 20) -> Sequence[Order]:
        """The newest orders of a person, newest first."""
        ...

    async def refresh(self, owner: str) -> None:
        """Look at a person's open orders again: what has been filled meanwhile is booked. Never raises for a broker."""
        ...
