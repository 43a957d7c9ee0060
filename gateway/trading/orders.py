"""The desk: checks orders, stores them, hands them to brokers, books what these report. See agent_core.finance.orders.

An order goes through two transactions. The first holds the kill switch, judges the limits, and stores the order with
its step in the audit; only then does the broker hear of it, by the order's key; the second books what the broker said.
An order that a crash leaves in between is "sending": the next look asks the broker what it knows of the key.

One word with a broker about an order at a time, and none is handed over that was taken back meanwhile: so a switch that
is thrown while an order is on its way finds it at the broker, or keeps it here.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from agent_core.finance.broker import Broker, BrokerError
from agent_core.finance.orders import Checked, OrderRefused, Permit
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.risk_limits import Limits
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.storage import orders as rows
from agent_core.trading import LIVE, PAPER, UNDONE, Mode, NewOrder, Order, Report
from gateway.storage.db import Database, settled
from gateway.trading import book as orders_book
from gateway.trading import check as orders_check
from gateway.trading import halt
from gateway.trading.actions import CorporateActions
from gateway.trading.book import Start
from gateway.trading.check import Marks
from gateway.trading.tell import Told

log = logging.getLogger(__name__)
LOST_AFTER = dt.timedelta(minutes=10)
LOST = "the broker never had it"
GONE = "{broker} tells no more of it; look there, and cancel or book it by hand"
FORGOTTEN = "its person was forgotten before it was handed over"
ON_ITS_WAY = "order {id} may be on its way to {broker}, which does not have it yet; try again in {minutes} minutes"
NO_ANSWER = "order {id} was not cancelled: {why}; try again"
NO_LIVE = {
    "settings": "live orders are off; an operator sets trading.live and a broker in the settings",
    "preset": "this preset places no live orders: it has no approval rule for place_order with `mode: live`",
    "yes": "a live order needs a person's yes to this very order",
    "past": "a live order cannot be placed in a run that is bound to a day of the past (as_of)",
}

NO_WAIT = (
    "not placed: in a run that is bound to a day of the past (as_of) no order waits, as only later bars could fill it; "
    "place a market order"
)


@dataclass(slots=True)
class OrderDesk:
    """See agent_core.finance.orders.Desk. `brokers` by mode; `halt_file` stops all where it exists.

    `wake` asks whoever looks after open orders to do it now. `actions` books dividends and splits, before anything that
    came after them.
    """

    db: Database
    clock: Clock
    quotes: Quotes
    brokers: Mapping[Mode, Broker]
    limits: Limits = field(default_factory=Limits)
    start: Start = field(default_factory=Start)
    halt_file: Path | None = None
    wake: Callable[[], None] = lambda: None
    actions: CorporateActions | None = None
    _talks: WeakValueDictionary[int, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    # Placing ------------------------------------------------------------------------------------------------------

    async def check(
        self, owner: str, turn_id: int, order: NewOrder, permit: Permit, as_of: dt.date | None
    ) -> Checked:
        """See Desk."""
        order, broker = self._addressed(order, replace(permit, asked=True), as_of)
        marks = await self._marks(owner, order, as_of)

        def work(conn: Connection) -> Checked:
            if stopped := halt.why(conn, self.halt_file):
                raise OrderRefused(stopped)
            return self._judged(conn, owner, order, broker, marks, turn_id)

        return await self.db.write(work)

    async def place(
        self,
        owner: str,
        turn_id: int,
        key: str,
        order: NewOrder,
        permit: Permit,
        as_of: dt.date | None,
    ) -> Order:
        """See Desk."""
        order, broker = self._addressed(order, permit, as_of)
        if self.actions is not None and broker.name == PAPER:
            await self.actions.apply(owner, order.symbol)
        marks = await self._marks(owner, order, as_of)

        def work(conn: Connection) -> tuple[Order, bool]:
            stopped = halt.why(conn, self.halt_file)
            if (known := rows.by_key(conn, owner, key)) is not None:
                return known, False
            if stopped:
                raise OrderRefused(stopped)
            if broker.name == PAPER:
                orders_book.open_paper(conn, owner, self.start, self.clock.now())
            checked = self._judged(conn, owner, order, broker, marks, turn_id)
            fresh = _stored(checked, key, turn_id, self.clock.now())
            return orders_book.placed(conn, owner, fresh, self.clock.now()), True

        stored, is_new = await self.db.write(work)
        if not is_new:
            return stored
        after = stored
        try:
            after = await self._hand_over(stored, broker, as_of)
        finally:
            if after.status in (*UNDONE, "filled"):  # also where the call was cancelled
                self.wake()
        return after

    async def _hand_over(self, order: Order, broker: Broker, as_of: dt.date | None) -> Order:
        try:
            async with self._talk(order):
                return await self._submit(order, broker, as_of)
        except BrokerError as e:
            log.warning("order_unclear", extra={"order": order.id, "reason": str(e)})
            return replace(order, note=str(e))

    def _talk(self, order: Order) -> asyncio.Lock:
        """Held while a broker is asked about an order."""
        return self._talks.setdefault(order.id, asyncio.Lock())

    async def _submit(self, order: Order, broker: Broker, as_of: dt.date | None = None) -> Order:
        """Hand an order over, unless it is over or nothing may be ordered by now."""

        def begin(conn: Connection) -> Order | None:
            stopped = halt.why(conn, self.halt_file)
            found = rows.find(conn, order.owner, order.id)
            if found is None:
                return replace(order, status="cancelled", note=FORGOTTEN)
            if stopped and found.status in UNDONE:
                back = Report("cancelled", note=halt.STOPPED)
                return orders_book.book(conn, found, back, self.clock.now(), halted=stopped)
            return None if found.status in UNDONE else found

        over = await self.db.write(begin)
        if over is not None:
            return over
        return await self._book(order, await broker.submit(order, as_of))

    def _addressed(
        self, order: NewOrder, permit: Permit, as_of: dt.date | None
    ) -> tuple[NewOrder, Broker]:
        """The order with its account, and its broker. The three switches of live orders are judged here."""
        if order.mode == "live":
            switches = {
                "settings": "live" in self.brokers,
                "preset": permit.live,
                "yes": permit.asked,
                "past": as_of is None,
            }
            off = next((name for name, on in switches.items() if not on), "")
            if off:
                raise OrderRefused(f"not placed: {NO_LIVE[off]}")
        if as_of is not None and (order.level or order.protect):
            raise OrderRefused(NO_WAIT)
        broker = self.brokers[order.mode]
        account = PAPER if broker.name == PAPER else f"{broker.name}-{order.mode}"
        if order.account not in {account, PAPER, LIVE}:
            raise OrderRefused(
                f"not placed: the account of {order.mode} orders is {account}; leave `account` out"
            )
        return replace(order, account=account), broker

    def _judged(
        self,
        conn: Connection,
        owner: str,
        order: NewOrder,
        broker: Broker,
        marks: Marks,
        turn_id: int,
    ) -> Checked:
        today = self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return orders_check.judged(
            conn,
            owner,
            order,
            marks,
            self.limits,
            broker=broker.name,
            start=self.start,
            today=today,
            turn_id=turn_id,
        )

    async def _marks(self, owner: str, order: NewOrder, as_of: dt.date | None) -> Marks:
        """The prices by which an order is judged. Raises OrderRefused where its own symbol has none."""
        symbols = await self.db.read(lambda conn: orders_check.symbols_of(conn, owner, order))
        try:
            quote = await self.quotes.quote(order.symbol, as_of)
        except NoData as e:
            raise OrderRefused(f"not placed: {e}") from e
        others, _ = await self.quotes.quotes(symbols - {order.symbol}, as_of)
        currencies = await self.db.read(lambda conn: orders_check.currencies_of(conn, owner))
        on = quote.date
        usd = {c: await self.quotes.dollars(c, on) for c in {*currencies, self.start.currency}}
        return Marks(quote, {**others, order.symbol: quote}, usd)

    # Looking after -------------------------------------------------------------------------------------------------

    async def cancel(self, owner: str, order_id: int) -> Order:
        """See Desk."""
        order = await self.db.read(lambda conn: rows.find(conn, owner, order_id))
        if order is None:
            raise OrderRefused(f"you have no order {order_id}; portfolio lists the open ones")
        if order.status not in {"sending", "open"}:
            raise OrderRefused(f"order {order_id} is {order.status} already")
        try:
            after = await self._take_back(order)
        except BrokerError as e:
            raise OrderRefused(NO_ANSWER.format(id=order_id, why=e)) from e
        if after.status == "sending":
            minutes = f"{LOST_AFTER.total_seconds() / 60:.0f}"
            raise OrderRefused(ON_ITS_WAY.format(id=order_id, broker=order.broker, minutes=minutes))
        return after

    async def orders(self, owner: str, limit: int = 20) -> Sequence[Order]:
        """See Desk."""
        return await self.db.read(lambda conn: rows.latest(conn, owner, limit))

    async def refresh(self, owner: str) -> None:
        """See Desk."""
        await self.look_after(owner)

    async def look_after(self, owner: str | None = None) -> list[Order]:
        """Book dividends and splits, and look at all open orders (of one person): fills are booked.

        While halted, every order is taken back.

        Returns what has been filled. A broker that cannot be asked is asked again next time.
        """

        def begin(conn: Connection) -> tuple[str, list[Order]]:
            undone = rows.undone(conn, owner)
            return (halt.why(conn, self.halt_file) if undone else ""), undone

        if self.actions is not None:
            await self.actions.apply(owner)
        # A write: it waits for whoever throws the switch just now.
        halted, undone = await self.db.write(begin)
        filled: list[Order] = []
        for order in undone:
            try:
                after = await (self._take_back(order) if halted else self._look(order))
            except BrokerError as e:
                log.warning("order_unclear", extra={"order": order.id, "reason": str(e)})
                continue
            if after.status == "filled" != order.status:
                filled.append(after)
        return filled

    async def _look(self, order: Order) -> Order:
        broker = self._broker_of(order)
        async with self._talk(order):
            report = await broker.look(order)
            if report.status == "sending":
                if order.broker_ref:  # it had it: what became of it is not known here
                    report = Report("open", note=GONE.format(broker=order.broker))
                elif order.parent:  # a protecting order: made here, so it is handed over here
                    return await self._submit(order, broker)
                elif self._is_lost(order):
                    report = Report("refused", note=LOST)
            return await self._book(order, report)

    async def _take_back(self, order: Order) -> Order:
        """Cancel at the broker. What may still be on its way there stays "sending", and is taken back later."""
        async with self._talk(order):
            report = await self._broker_of(order).cancel(order)
            if report.status == "sending":
                if order.broker_ref:
                    report = Report("open", note=GONE.format(broker=order.broker))
                elif self._is_lost(order):
                    report = Report("cancelled", note=LOST)
            return await self._book(order, report)

    def _is_lost(self, order: Order) -> bool:
        """Whether an order that its broker does not have can no longer be on its way there."""
        return self.clock.now() - order.placed_at > LOST_AFTER

    def _broker_of(self, order: Order) -> Broker:
        found = self.brokers.get(order.mode)
        if found is None or found.name != order.broker:
            raise BrokerError(
                f"order {order.id} is at {order.broker} ({order.mode}), which the settings no longer name; name it "
                "again under trading.broker, or cancel it there"
            )
        return found

    async def _book(self, order: Order, report: Report) -> Order:
        """Book a report. What a broker said has happened: a cancelled caller waits until it is written."""
        teller = self.actions.teller if self.actions is not None else None

        def work(conn: Connection) -> tuple[Order, list[Told]]:
            stopped = halt.why(conn, self.halt_file)
            before = rows.find(conn, order.owner, order.id) or order
            after = orders_book.book(conn, order, report, self.clock.now(), halted=stopped)
            changed = after.split_on != before.split_on and after.status == "open"
            return after, teller.write_split(conn, after) if teller and changed else []

        after, told = await settled(self.db, work)
        if teller is not None:
            teller.send(told)
        if after.protect is not None and after.status == "filled":
            self.wake()  # the protecting order is to be handed over
        return after

    async def close(self) -> None:
        """Close the brokers."""
        await asyncio.gather(*(broker.close() for broker in self.brokers.values()))


def _stored(checked: Checked, key: str, turn_id: int, now: dt.datetime) -> Order:
    """A new order as a row."""
    order, quote = checked.order, checked.quote
    return Order(
        key=key,
        symbol=order.symbol,
        side=order.side,
        quantity=order.quantity,
        kind=order.kind,
        account=order.account,
        mode=order.mode,
        broker=checked.broker,
        currency=quote.currency,
        reference=quote.price,
        market_date=quote.date,
        notional_usd=checked.usd,
        placed_at=now,
        limit_price=order.limit_price,
        stop_price=order.stop_price,
        protect=order.protect,
        turn_id=turn_id,
    )
