"""Orders on their way to a broker: the kill switch beside them, looks that nobody asks for, shorts, odd prices."""

import asyncio
import datetime as dt
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.book import Holding
from agent_core.finance.bars import Bars
from agent_core.finance.broker import BrokerError
from agent_core.finance.orders import OrderRefused, Permit
from agent_core.finance.portfolio import moved
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.risk_limits import Limits
from agent_core.finance.sources.chain import Sources
from agent_core.storage import orders as rows
from agent_core.storage import orders_audit
from agent_core.trading import NewOrder, Order, Report
from gateway.people import access
from gateway.storage.db import Database
from gateway.storage.tables import Person
from gateway.trading import halt
from gateway.trading.book import Start
from gateway.trading.orders import OrderDesk
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server
from tests.house import on_sqlite, until
from tests.unit.gateway.order_house import THE_TEAM, house, keeper
from tests.unit.gateway.trading import (
    ALICE,
    BOB,
    GOOG,
    LAST,
    RATES,
    SOURCES,
    FakeBroker,
    desk,
    limit,
    order,
    place,
    stop,
)

pytestmark = pytest.mark.statements

__all__ = ["database_url", "db", "postgres_server"]
LIVE = Permit(live=True, asked=True)
NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)


@dataclass
class SlowBroker:
    """Has an order only once `go` is set: until then it is on its way."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    there: set[str] = field(default_factory=set)
    name: str = "elsewhere"

    async def submit(self, order: Order, as_of: Any = None) -> Report:
        self.asked.set()
        await self.go.wait()
        self.there.add(order.key)
        return Report("open", ref="5")

    async def look(self, order: Order) -> Report:
        return Report("open", ref="5") if order.key in self.there else Report("sending")

    async def cancel(self, order: Order) -> Report:
        if order.key not in self.there:
            return Report("sending")
        self.there.discard(order.key)
        return Report("cancelled", ref="5")

    async def close(self) -> None:
        """Nothing is held."""


async def test_a_switch_thrown_while_an_order_is_on_its_way_leaves_none_at_the_broker(
    db: Database,
) -> None:
    """The broker has it a moment later: it is taken back then, and not taken for one that never arrived."""
    broker = SlowBroker()
    at = desk(db, brokers={"live": broker})
    placing = asyncio.create_task(place(at, limit(780.0, mode="live"), permit=LIVE))
    await broker.asked.wait()
    await halt.halt(db, BOB, "", at.clock.now())
    looking = asyncio.create_task(at.look_after())
    await asyncio.sleep(0.02)  # whatever the look does beside the order, it may do now
    broker.go.set()
    await asyncio.gather(placing, looking)
    assert (broker.there, await db.read(rows.undone)) == (set(), [])


@on_sqlite
async def test_a_switch_thrown_before_an_order_is_handed_over_keeps_it_here(db: Database) -> None:
    """Between the row of an order and the word to its broker."""
    broker = FakeBroker([])
    at = desk(db, brokers={"live": broker})

    class Thrown(OrderDesk):
        async def _hand_over(self, order: Order, broker: Any, as_of: Any) -> Order:
            await halt.halt(db, BOB, "", at.clock.now())
            return await super()._hand_over(order, broker, as_of)

    late = Thrown(at.db, at.clock, at.quotes, at.brokers)
    after = await place(late, limit(780.0, mode="live"), permit=LIVE)
    assert (after.status, after.note, broker.asked) == ("cancelled", halt.STOPPED, [])
    assert (await db.read(orders_audit.verify)).broken == ()


@on_sqlite
async def test_an_order_that_may_be_on_its_way_is_not_said_to_be_cancelled(db: Database) -> None:
    broker = FakeBroker([BrokerError("no answer"), Report("sending"), Report("sending")])
    at = desk(db, brokers={"live": broker})
    sent = await place(at, limit(780.0, mode="live"), permit=LIVE)
    with pytest.raises(OrderRefused, match="may be on its way to elsewhere"):
        await at.cancel(ALICE, sent.id)
    assert [o.status for o in await at.orders(ALICE)] == ["sending"]
    at.clock.seconds += 700  # type: ignore[attr-defined]
    assert (await at.cancel(ALICE, sent.id)).status == "cancelled"


@on_sqlite
async def test_a_broker_that_cannot_be_asked_to_cancel_is_told_of_in_a_line(db: Database) -> None:
    broker = FakeBroker([Report("open", ref="5"), BrokerError("no answer")])
    at = desk(db, brokers={"live": broker})
    sent = await place(at, limit(780.0, mode="live"), permit=LIVE)
    with pytest.raises(OrderRefused, match="was not cancelled: no answer; try again"):
        await at.cancel(ALICE, sent.id)


@on_sqlite
async def test_an_order_that_its_broker_had_and_tells_no_more_of_is_not_said_to_be_lost(
    db: Database,
) -> None:
    """Some brokers forget what was done yesterday: it may well have been filled."""
    broker = FakeBroker([Report("open", ref="5"), Report("sending")])
    at = desk(db, brokers={"live": broker})
    await place(at, limit(780.0, mode="live"), permit=LIVE)
    at.clock.seconds += 86_400  # type: ignore[attr-defined]
    await at.refresh(ALICE)
    [after] = await at.orders(ALICE)
    assert (after.status, after.note[:29]) == ("open", "elsewhere tells no more of it")


@on_sqlite
async def test_an_order_that_is_left_open_is_looked_after_without_anybody_asking(
    db: Database,
) -> None:
    """The keeper had nothing to do and waited without an end: placing an order wakes it."""
    broker = FakeBroker([Report("open", ref="5"), Report("filled", 805.0, LAST, ref="5")])
    at = desk(db, brokers={"live": broker})
    async with house(db, desk=at, the_team=THE_TEAM) as it:
        looks = keeper(it, at)
        await looks.start()
        await it.quiet()
        await place(at, limit(780.0, mode="live"), permit=LIVE)
        await until(lambda: len(broker.asked) == 2)
        await looks.stop()
    assert [o.status for o in await at.orders(ALICE)] == ["filled"]


@on_sqlite
async def test_a_halt_file_takes_back_what_is_open_as_soon_as_it_is_there(
    db: Database, tmp_path: Path
) -> None:
    """Nobody asks, and the next look would be hours away: the switch stops all orders at once."""
    broker = FakeBroker(
        [Report("open", ref="5"), Report("open", ref="5"), Report("cancelled", ref="5")]
    )
    file = tmp_path / halt.FILE
    at = desk(db, brokers={"live": broker}, halt_file=file)
    async with house(db, desk=at, the_team=THE_TEAM) as it:
        looks = keeper(it, at)
        await looks.start()
        await place(at, limit(780.0, mode="live"), permit=LIVE)
        await until(lambda: len(broker.asked) == 2 and it._naps)
        file.touch()
        await until(lambda: broker.asked[-1][0] == "cancel")
        await looks.stop()
    assert [o.status for o in await at.orders(ALICE)] == ["cancelled"]


@on_sqlite
async def test_who_was_shut_out_orders_nothing_even_where_somebody_else_says_yes(
    db: Database,
) -> None:
    at = desk(db)
    values = {"id": ALICE, "name": "alice", "access": "allowed", "role": "user", "language": ""}
    person = Person.__table__  # type: ignore[attr-defined]
    await db.write(lambda conn: conn.execute(person.insert().values(**values, created_at=NOON)))
    await db.write(lambda conn: access.revoke(conn, ALICE))
    with pytest.raises(OrderRefused, match="has no access any more"):
        await place(at, order())
    assert await at.orders(ALICE) == []


@pytest.mark.parametrize("new", [limit(600.0), limit(590.0, protect=500.0), stop(600.0, "buy")])
@on_sqlite
async def test_a_run_of_a_past_day_leaves_no_order_to_be_filled_by_later_bars(
    db: Database, new: NewOrder
) -> None:
    """Nothing later than as_of reaches an answer: neither at once nor when somebody looks again."""
    at = desk(db)
    with pytest.raises(OrderRefused, match="no order waits"):
        await place(at, new, as_of=dt.date(2012, 6, 29))
    assert await at.orders(ALICE) == []


# Shorts -----------------------------------------------------------------------------------------------------------


@on_sqlite
async def test_what_a_real_broker_sold_short_is_kept_at_its_price_and_can_be_bought_back(
    db: Database,
) -> None:
    """A broker may hold shares that the book knows nothing of. The gain is that of the sale over the purchase."""
    sold = Report("filled", 810.0, LAST, 1.0, ref="1")
    bought = Report("filled", 800.0, LAST, 1.0, ref="2")
    at = desk(db, brokers={"live": FakeBroker([sold, bought])})
    await place(at, order(side="sell", mode="live"), permit=LIVE)
    [short] = await StoredPortfolio(db).records(ALICE, Holding)
    assert (short.quantity, short.cost) == (-2, 809.5)
    await place(at, order(mode="live"), key="k2", permit=LIVE)
    assert await StoredPortfolio(db).records(ALICE, Holding) == []
    trades = await db.read(lambda conn: rows.trades(conn, ALICE))
    assert [t.realised for t in trades] == [18.0, 0.0]


@on_sqlite
async def test_shares_that_a_stop_protects_are_not_sold_a_second_time_beside_it(
    db: Database,
) -> None:
    """The broker would fill both, and the account would be short without anybody having meant it."""
    bought, open_ = Report("filled", 800.0, LAST, ref="1"), Report("open", ref="2")
    broker = FakeBroker([bought, open_, Report("cancelled", ref="2"), Report("open", ref="3")])
    at = desk(db, brokers={"live": broker})
    await place(at, order(mode="live"), permit=LIVE)
    guard = await place(at, stop(750.0, mode="live"), key="k2", permit=LIVE)
    with pytest.raises(OrderRefused, match=r"2 of the 2 GOOG are on sale already by order 2"):
        await place(at, order(side="sell", mode="live"), key="k3", permit=LIVE)
    await at.cancel(ALICE, guard.id)
    assert (
        await place(at, order(side="sell", mode="live"), key="k4", permit=LIVE)
    ).status == "open"


@pytest.mark.parametrize(
    ("before", "fill", "after"),
    [
        ((10, 100.0), (10, 120.0, 0), (20, 110.0, 0)),
        ((10, 100.0), (-4, 120.0, 2), (6, 100.0, 78)),
        ((10, 100.0), (-10, 120.0, 0), (0, 100.0, 200)),
        ((10, 100.0), (-15, 120.0, 3), (-5, 119.8, 198)),
        ((-10, 100.0), (-10, 120.0, 0), (-20, 110.0, 0)),
        ((-10, 100.0), (15, 90.0, 0), (5, 90.0, 100)),
        ((0, 0.0), (-10, 100.0, 5), (-10, 99.5, 0)),
    ],
)
def test_a_fill_moves_a_position_as_figured_by_hand(
    before: tuple[float, float], fill: tuple[float, float, float], after: tuple[float, float, float]
) -> None:
    found = moved(*before, *fill)
    assert (found.quantity, found.cost, found.realised) == pytest.approx(after)


# Prices -----------------------------------------------------------------------------------------------------------


class _Odd:
    """The bundled prices, the last close replaced."""

    name = "odd"

    def __init__(self, close: float) -> None:
        self._close = close

    async def bars(self, symbol: str, start: Any, end: Any) -> Bars:
        found = await SOURCES.bars(symbol, start, end)
        return replace(found, close=[*list(found.close)[:-1], self._close])


@pytest.mark.parametrize("price", [0.0, -37.63, float("nan"), float("inf")])
@on_sqlite
async def test_no_order_is_judged_by_a_price_that_is_none(db: Database, price: float) -> None:
    """Worth nothing, an order of any size would keep every limit."""
    at = desk(db, limits=Limits(None, None, None, None))
    at.quotes = Quotes(Sources([_Odd(price)]), RATES, at.clock)
    for new in (order(quantity=1e9), limit(1.0), stop(1.0)):
        with pytest.raises(OrderRefused, match="which is none"):
            await place(at, new)
    assert await db.read(rows.undone) == []


class _Hong(_Odd):
    """The bundled prices as if in another currency and of a month after the rates of exchange end."""

    name = "hong"

    async def bars(self, symbol: str, start: Any, end: Any) -> Bars:
        found = await SOURCES.bars(symbol, None, None)
        fixed = (await RATES.history("EUR", "HKD"))[-1].date
        by = fixed + dt.timedelta(days=30) - found.as_of
        dates = tuple(day + by for day in found.dates[-200:])
        late = found.rows(len(found) - 200, len(found))
        return replace(late, dates=dates, currency="HKD").window(start, end)


@on_sqlite
async def test_orders_in_another_currency_are_judged_while_the_newest_rates_are_of_last_month(
    db: Database,
) -> None:
    """Rates come with a package and end with its month; live prices go on. Limits need the size alone."""
    at = desk(db, start=Start(1_000_000.0, "HKD"), limits=Limits(None, None, 25.0, None))
    at.quotes = Quotes(Sources([_Hong(0.0)]), RATES, at.clock)
    checked = await at.check(ALICE, 0, order(quantity=10), Permit(), None)
    assert checked.quote.currency == "HKD"
    assert checked.usd == pytest.approx(10 * GOOG / 7.8, rel=0.05)  # the dollar's peg
    with pytest.raises(OrderRefused, match=r"symbol_pct: .* of 12\d,\d{3}"):
        await at.check(ALICE, 0, order(quantity=350), Permit(), None)
