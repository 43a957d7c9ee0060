"""What a broker is: whatever takes orders, the paper broker or the client of a real one, stands behind this port."""

import datetime as dt
from typing import Protocol

from agent_core.errors import SwarmgateError
from agent_core.trading import Order, Report


class BrokerError(SwarmgateError):
    """A broker could not be asked, or gave no clear answer: whether it has the order is unknown.

    One line, with a cure.
    """


class Broker(Protocol):
    """Takes orders for one kind of money. An order's `key` is its id at the broker: the same key is the same order."""

    @property
    def name(self) -> str:
        """A short name, shown in every answer."""
        ...

    async def submit(self, order: Order, as_of: dt.date | None = None) -> Report:
        """Hand an order over; how it stands then. An order that the broker has already is not placed again.

        What the broker does not want is a report "refused". `as_of` bounds the prices that a simulated broker may see.
        Raises BrokerError when it is not known whether the broker has it. Cancelling leaves that open, too.
        """
        ...

    async def look(self, order: Order) -> Report:
        """How an order stands now; "sending" where the broker has none of this key. Raises BrokerError."""
        ...

    async def cancel(self, order: Order) -> Report:
        """Take an order back; how it stands then: it may have been filled before. Raises BrokerError.

        "sending" where the broker has none of this key: it may be on its way still.
        """
        ...

    async def close(self) -> None:
        """Close connections; harmless when repeated."""
        ...
