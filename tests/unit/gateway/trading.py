"""What the tests of orders share: a desk on bundled prices, a broker that does what a test says, orders."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from agent_core.finance.broker import BrokerError
from agent_core.finance.broker_paper import PaperBroker
from agent_core.finance.fx import Rates
from agent_core.finance.orders import Permit
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.trading import NewOrder, Order, Report
from gateway.storage.db import Database
from gateway.trading.orders import OrderDesk
from tests.house import Watch

ALICE, BOB = "telegram:1", "telegram:2"
SOURCES = Sources([BundledSource()])
RATES = Rates()
ASKED = Permit(asked=True)
LAST = dt.date(2013, 3, 1)  # the last day of the bundled prices
GOOG = 806.19  # its close


def order(symbol: str = "GOOG", side: Any = "buy", quantity: float = 2, **more: Any) -> NewOrder:
    return NewOrder(symbol, side, quantity, **more)


def limit(price: float, side: Any = "buy", **more: Any) -> NewOrder:
    return order(side=side, kind="limit", limit_price=price, **more)


def stop(price: float, side: Any = "sell", **more: Any) -> NewOrder:
    return order(side=side, kind="stop", stop_price=price, **more)


def desk(db: Database, clock: Any = None, **more: Any) -> OrderDesk:
    clock = clock or Watch()
    brokers = {"paper": PaperBroker(SOURCES, clock, 5.0)} | more.pop("brokers", {})
    return OrderDesk(db, clock, Quotes(SOURCES, RATES, clock), brokers, **more)


async def place(
    at: OrderDesk, new: NewOrder, *, key: str = "k1", owner: str = ALICE, **more: Any
) -> Order:
    return await at.place(owner, 0, key, new, more.pop("permit", ASKED), more.pop("as_of", None))


@dataclass
class FakeBroker:
    """A broker outside the process: `answers` are reports or errors, in order; `asked` is what it heard."""

    answers: list[Any] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    name: str = "elsewhere"

    async def submit(self, order: Order, as_of: dt.date | None = None) -> Report:
        return self._answer("submit", order)

    async def look(self, order: Order) -> Report:
        return self._answer("look", order)

    async def cancel(self, order: Order) -> Report:
        return self._answer("cancel", order)

    async def close(self) -> None:
        self.asked.append(("close", ""))

    def _answer(self, what: str, order: Order) -> Report:
        self.asked.append((what, order.key))
        answer = self.answers.pop(0)
        if isinstance(answer, BrokerError):
            raise answer
        assert isinstance(answer, Report)
        return answer
