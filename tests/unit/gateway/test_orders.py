"""The desk on both databases: what an order does to a book, once; limits; the three switches; the kill switch."""

import asyncio
import contextlib
import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from agent_core.book import Event, Holding
from agent_core.finance.broker import BrokerError
from agent_core.finance.orders import OrderRefused, Permit
from agent_core.finance.risk_limits import Limits
from agent_core.storage import orders as rows
from agent_core.trading import Cash, Report
from gateway.storage.db import Database
from gateway.trading import halt
from gateway.trading.orders import OrderDesk
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server
from tests.house import on_sqlite
from tests.unit.gateway.trading import (
    ALICE,
    ASKED,
    BOB,
    GOOG,
    LAST,
    FakeBroker,
    desk,
    limit,
    order,
    place,
    stop,
)

__all__ = ["database_url", "db", "postgres_server"]


async def money(at: OrderDesk, owner: str = ALICE) -> list[Cash]:
    return await at.db.read(lambda conn: rows.cash(conn, owner))


async def held(at: OrderDesk, owner: str = ALICE) -> list[Holding]:
    return await StoredPortfolio(at.db).records(owner, Holding)


# Books ------------------------------------------------------------------------------------------------------------


async def test_an_order_fills_and_is_seen_in_position_cash_history_and_events(db: Database) -> None:
    """RMB-2: a trade writes an event. The bundled prices end in 2013, so the last close stands in for the next bar."""
    at = desk(db)
    done = await place(at, order())
    assert (done.status, done.fill_price, done.filled_on, done.account) == (
        "filled",
        GOOG,
        LAST,
        "paper",
    )
    assert "no bar after 2013-03-01" in done.note
    fee = round(2 * GOOG * 0.0005, 2)
    [cash] = await money(at)
    assert (cash.account, cash.currency) == ("paper", "USD")
    assert cash.amount == pytest.approx(100_000 - 2 * GOOG - fee)
    [position] = await held(at)
    assert (position.symbol, position.quantity, position.account) == ("GOOG", 2, "paper")
    assert position.cost == pytest.approx(GOOG + fee / 2)
    bought, deposit = await db.read(lambda conn: rows.trades(conn, ALICE))
    assert (bought.kind, bought.quantity, bought.day, bought.order_id) == ("buy", 2, LAST, done.id)
    assert (deposit.kind, deposit.amount) == ("deposit", 100_000)
    [event] = await StoredPortfolio(db).records(ALICE, Event)
    assert event.kind == "trade"
    assert event.text.startswith("Bought 2 GOOG at 806.19 USD on 2013-03-01 (paper, paper)")
    assert await held(at, BOB) == []


async def test_a_sale_realises_the_gain_and_takes_the_position_away(db: Database) -> None:
    at = desk(db)
    bought = await place(at, order())
    sold = await place(at, order(side="sell"), key="k2")
    assert await held(at) == []
    last = (await db.read(lambda conn: rows.trades(conn, ALICE)))[0]
    assert last.realised == pytest.approx(-(bought.fee + sold.fee))
    assert (await money(at))[0].amount == pytest.approx(100_000 - bought.fee - sold.fee)


async def test_one_key_is_one_order_however_often_and_side_by_side(db: Database) -> None:
    """Guide "presets" 6: two clicks book one order."""
    at = desk(db)
    placed = await asyncio.gather(*(place(at, order()) for _ in range(5)))
    assert len({one.id for one in placed}) == 1
    assert [h.quantity for h in await held(at)] == [2]
    assert (await place(at, order(quantity=1))).quantity == 2


@on_sqlite
async def test_a_limit_order_waits_and_can_be_cancelled_by_its_owner_alone(db: Database) -> None:
    at = desk(db)
    waits = await place(at, limit(780.0))
    assert waits.status == "open"
    with pytest.raises(OrderRefused, match="no order"):
        await at.cancel(BOB, waits.id)
    assert (await at.cancel(ALICE, waits.id)).status == "cancelled"
    with pytest.raises(OrderRefused, match="cancelled already"):
        await at.cancel(ALICE, waits.id)
    assert await held(at) == []


async def test_a_purchase_with_both_prices_is_protected_once_it_is_filled(db: Database) -> None:
    at = desk(db)
    bought = await place(at, limit(810.0, protect=790.0))
    assert bought.status == "filled"
    [guard] = await db.read(lambda conn: rows.undone(conn, ALICE))
    assert (guard.side, guard.kind, guard.stop_price, guard.parent) == (
        "sell",
        "stop",
        790.0,
        bought.id,
    )
    await at.refresh(ALICE)
    [guard] = await db.read(lambda conn: rows.undone(conn, ALICE))
    assert guard.status == "open"


@on_sqlite
async def test_an_order_of_a_past_day_sees_no_later_bar(db: Database) -> None:
    """Nothing later than as_of reaches an answer: the bars that follow are there, and not looked at."""
    day = dt.date(2012, 6, 29)
    done = await place(desk(db), order(), as_of=day)
    assert (done.status, done.filled_on, done.fill_price) == ("filled", day, 580.07)


# Limits -----------------------------------------------------------------------------------------------------------

BROKEN: list[tuple[Any, Limits, str]] = [
    (order(quantity=20), Limits(), "order_usd"),
    (order(quantity=3), Limits(day_usd=2_000), "day_usd"),
    (order(quantity=3), Limits(symbol_pct=2), "symbol_pct"),
    (limit(80.619), Limits(), "price_band_pct: 80.619 is 90.0 % off"),
    (stop(8061.9, "buy"), Limits(), "price_band_pct: 8061.9 is 900.0 % off"),
]


@pytest.mark.parametrize(("new", "limits", "said"), BROKEN)
@on_sqlite
async def test_a_limit_refuses_by_name_with_a_cure_before_and_at_execution(
    db: Database, new: Any, limits: Limits, said: str
) -> None:
    at = desk(db, limits=limits)
    with pytest.raises(OrderRefused, match=said):
        await at.check(ALICE, 0, new, ASKED, None)
    with pytest.raises(OrderRefused, match=said):
        await place(at, new)
    assert await db.read(lambda conn: rows.latest(conn, ALICE, 9)) == []


async def test_the_day_limit_counts_what_was_placed_before(db: Database) -> None:
    at = desk(db, limits=Limits(day_usd=3_000))
    await place(at, order(quantity=2))
    with pytest.raises(OrderRefused, match=r"1,612\.38 USD were ordered today"):
        await place(at, order(quantity=2), key="k2")
    await place(at, order(quantity=2), key="k3", owner=BOB)
    at.clock.seconds += 86_400  # type: ignore[attr-defined]
    assert (await place(at, order(quantity=1), key="k4")).status == "filled"


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (order(side="sell"), "has 0 GOOG"),
        (stop(820.0), "below the last price"),
        (stop(780.0, "buy"), "above the last price"),
        (limit(800, protect=801), "protecting stop"),
        (order("TSLA"), "no prices of TSLA"),
        (order(account="default"), "the account of paper orders is paper"),
    ],
)
@on_sqlite
async def test_what_makes_no_sense_is_refused(db: Database, new: Any, said: str) -> None:
    with pytest.raises(OrderRefused, match=said):
        await place(desk(db), new)


@on_sqlite
async def test_cash_that_is_on_order_is_not_spent_twice(db: Database) -> None:
    at = desk(db, limits=Limits(None, None, None, None))
    await place(at, limit(780.0, quantity=100))
    with pytest.raises(OrderRefused, match=r"22,000\.00 free"):
        await place(at, order(quantity=50), key="k2")


# Three switches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("brokers", "permit", "said"),
    [
        ({}, Permit(live=True, asked=True), "live orders are off"),
        (
            {"live": FakeBroker()},
            Permit(live=False, asked=True),
            "this preset places no live orders",
        ),
        ({"live": FakeBroker()}, Permit(live=True, asked=False), "needs a person's yes"),
    ],
)
@on_sqlite
async def test_a_live_order_needs_all_three_switches(
    db: Database, brokers: Any, permit: Permit, said: str
) -> None:
    """Issue 7.6: settings, preset and person must agree; each one alone stops it."""
    with pytest.raises(OrderRefused, match=said):
        await place(desk(db, brokers=brokers), order(mode="live"), permit=permit)


async def test_with_all_three_a_live_order_reaches_its_broker_and_is_booked_apart(
    db: Database,
) -> None:
    broker = FakeBroker([Report("filled", 806.0, LAST, 1.0, ref="77")])
    at = desk(db, brokers={"live": broker})
    done = await place(at, order(mode="live"), permit=Permit(live=True, asked=True))
    assert (done.status, done.account, done.broker_ref) == ("filled", "elsewhere-live", "77")
    assert broker.asked == [("submit", "k1")]
    assert [(h.account, h.quantity) for h in await held(at)] == [("elsewhere-live", 2)]
    assert await money(at) == []  # what is in the account only the broker knows


@on_sqlite
async def test_an_order_that_was_filled_in_part_is_booked_with_that_part(db: Database) -> None:
    broker = FakeBroker([Report("filled", 806.0, LAST, ref="77", quantity=1.0)])
    at = desk(db, brokers={"live": broker})
    done = await place(at, order(mode="live"), permit=Permit(live=True, asked=True))
    assert (done.quantity, [h.quantity for h in await held(at)]) == (1.0, [1.0])


async def test_an_answer_that_was_lost_is_asked_for_and_nothing_is_placed_twice(
    db: Database,
) -> None:
    """TGV-10: after a crash or a time-out the broker is asked what it knows of the key."""
    lost = BrokerError("no answer")
    broker = FakeBroker([lost, Report("open", ref="5"), Report("filled", 800.0, LAST, ref="5")])
    at = desk(db, brokers={"live": broker})
    sent = await place(at, order(mode="live"), permit=Permit(live=True, asked=True))
    assert (sent.status, sent.note) == ("sending", "no answer")
    await at.refresh(ALICE)
    await at.refresh(ALICE)
    await at.refresh(ALICE)
    assert [what for what, _ in broker.asked] == ["submit", "look", "look"]
    assert [h.quantity for h in await held(at)] == [2]


@on_sqlite
async def test_an_order_that_never_arrived_ends_after_a_while(db: Database) -> None:
    broker = FakeBroker([BrokerError("no answer"), Report("sending"), Report("sending")])
    at = desk(db, brokers={"live": broker})
    sent = await place(at, order(mode="live"), permit=Permit(live=True, asked=True))
    await at.refresh(ALICE)
    at.clock.seconds += 700  # type: ignore[attr-defined]
    await at.refresh(ALICE)
    [after] = await at.orders(ALICE)
    assert (after.id, after.status, after.note) == (sent.id, "refused", "the broker never had it")


# The kill switch ---------------------------------------------------------------------------------------------------


async def test_the_switch_stops_orders_cancels_open_ones_and_outlives_a_restart(
    db: Database,
) -> None:
    at = desk(db)
    waits = await place(at, limit(780.0))
    stopped = await halt.halt(db, BOB, "odd prices", at.clock.now())
    assert (stopped.cancelled, stopped.left) == (1, 0)
    again = desk(db)  # as after a restart: the switch is in the database
    for attempt in (again.check(ALICE, 0, order(), ASKED, None), place(again, order(), key="k2")):
        with pytest.raises(
            OrderRefused, match=r"halted by telegram:2 since .* \(odd prices\).*/halt off"
        ):
            await attempt
    [after] = await again.orders(ALICE)
    assert (after.id, after.status) == (waits.id, "cancelled")
    assert await db.write(lambda conn: halt.resume(conn, BOB, at.clock.now()))
    assert (await place(again, order(), key="k3")).status == "filled"


@on_sqlite
async def test_the_file_stops_orders_and_takes_back_open_ones(db: Database, tmp_path: Path) -> None:
    file = tmp_path / halt.FILE
    at = desk(db, halt_file=file)
    await place(at, limit(780.0))
    file.touch()
    with pytest.raises(OrderRefused, match="the file HALT in data_dir"):
        await place(at, order(), key="k2")
    await at.refresh(ALICE)
    assert [o.status for o in await at.orders(ALICE)] == ["cancelled"]
    file.unlink()
    assert (await place(at, order(), key="k3")).status == "filled"


async def test_orders_at_a_real_broker_are_taken_back(db: Database) -> None:
    broker = FakeBroker([Report("open", ref="5"), Report("cancelled", ref="5")])
    at = desk(db, brokers={"live": broker})
    await place(at, limit(780.0, mode="live"), permit=Permit(live=True, asked=True))
    stopped = await halt.halt(db, BOB, "", at.clock.now())
    assert (stopped.cancelled, stopped.left) == (0, 1)
    await at.look_after()
    assert [o.status for o in await at.orders(ALICE)] == ["cancelled"]
    assert broker.asked[-1][0] == "cancel"


async def test_an_order_and_the_switch_at_the_same_moment_leave_nothing_open(db: Database) -> None:
    """The order is stored first and then cancelled, or finds the switch thrown: never neither."""
    at = desk(db)

    async def try_one(n: int) -> None:
        with contextlib.suppress(OrderRefused):
            await place(at, limit(780.0, quantity=1), key=f"k{n}")

    await asyncio.gather(*(try_one(n) for n in range(4)), halt.halt(db, BOB, "", at.clock.now()))
    assert await db.read(rows.undone) == []
    assert await held(at) == []
