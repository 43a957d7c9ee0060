"""Persons' books as the tools read and change them: the port of the keeper of positions, cash, history and orders."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_core.book import Holding
from agent_core.finance.portfolio_change import Item, Plan
from agent_core.trading import Cash, Order, Trade


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a person has: `trades` newest first, `orders` those that are not over."""

    holdings: tuple[Holding, ...] = ()
    cash: tuple[Cash, ...] = ()
    trades: tuple[Trade, ...] = ()
    orders: tuple[Order, ...] = ()


class Books(Protocol):
    """Keeps the books of all persons; what belongs to another owner is as good as missing."""

    async def private(self, turn_id: int) -> bool:
        """Whether a turn runs where nobody but its person reads: a book is not for a group (DESIGN.md 3.4)."""
        ...

    async def contents(self, owner: str) -> Contents:
        """What a person has now."""
        ...

    async def plan(self, owner: str, items: Sequence[Item], as_of: dt.date | None) -> Plan:
        """What a change would do; changes nothing. Raises OrderRefused."""
        ...

    async def carry_out(
        self, owner: str, items: Sequence[Item], source: str, *, bound: str, twice: bool
    ) -> Plan:
        """Plan again and do it, in one transaction.

        Raises OrderRefused where the book is not what the yes was given to (`bound`), or where the plan takes two
        yeses and there was one (TGV-8).
        """
        ...
