"""The audit of orders is a chain: what is changed, left out or added behind its back is found."""

import asyncio

import pytest
from sqlalchemy import text

from agent_core.finance.orders import Permit
from agent_core.storage.orders_audit import Verdict, verify
from agent_core.trading import Report
from gateway.memory import forget
from gateway.storage.db import Database
from gateway.trading import halt
from tests.databases import database_url, db, postgres_server
from tests.house import on_sqlite
from tests.unit.gateway.order_house import house
from tests.unit.gateway.trading import ALICE, BOB, FakeBroker, desk, limit, order, place

pytestmark = pytest.mark.statements

__all__ = ["database_url", "db", "postgres_server"]


async def some(db: Database) -> Verdict:
    """Two persons' orders: filled, cancelled, open; and the switch thrown and released."""
    at = desk(db)
    await place(at, order(), key="k1")
    await place(at, limit(780.0), key="k2", owner=BOB)
    await halt.halt(db, BOB, "a test", at.clock.now())
    await db.write(lambda conn: halt.resume(conn, BOB, at.clock.now()))
    await place(at, limit(780.0), key="k3")
    return await db.read(verify)


async def change(db: Database, statement: str) -> Verdict:
    await db.write(lambda conn: conn.exec_driver_sql(statement) and None)
    return await db.read(verify)


async def test_every_step_is_in_the_chain_and_the_chain_holds(db: Database) -> None:
    found = await some(db)
    assert found.broken == ()
    # placed + filled, placed + open + cancelled, halt, resume, placed + open
    assert (found.rows, found.erased, len(found.head)) == (9, 0, 64)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            """update order_audit set body = replace(body, '"quantity":2.0', '"quantity":9.0') where n = 1""",
            "row 1 was changed after it was written",
        ),
        ("delete from order_audit where n = 3", "row 3 is missing"),
        (
            "update order_audit set owner = 'x', previous = digest where n = 4",
            "row 4 does not follow",
        ),
        ("update order_audit set digest = hash where n = 2", "row 2 has another hash"),
        ("delete from order_audit where n >= 8", "order 3 has no step in the audit"),
        ("delete from trade_order where id = 2", "order 2 is in the audit, and its row is gone"),
        ("update trade_order set quantity = 99 where id = 1", "order 1 is not as its last step"),
        (
            "update trade_order set status = 'filled' where id = 2",
            "order 2 is not as its last step",
        ),
    ],
)
@on_sqlite
async def test_tampering_is_found(db: Database, statement: str, said: str) -> None:
    await some(db)
    found = await change(db, statement)
    assert any(said in line for line in found.broken), found.broken


async def test_who_is_forgotten_leaves_hashes_and_nothing_else(db: Database) -> None:
    """ARC-8: the chain of the others still holds, and no word of the person is left."""
    before = await some(db)
    now = desk(db).clock.now()
    report = await db.write(lambda conn: forget.everything(conn, ALICE, now))
    counted = {name: report.before[name] for name in ("orders", "trades", "cash", "order_audit")}
    assert counted == {"orders": 2, "trades": 2, "cash": 1, "order_audit": 4}
    assert report.left == 0
    found = await db.read(verify)
    assert (found.broken, found.erased, found.head) == ((), 4, before.head)
    rows = await db.read(
        lambda conn: conn.execute(text("select owner, body from order_audit")).all()
    )
    assert not [row for row in rows if ALICE in row.body or row.owner == ALICE]


@on_sqlite
async def test_who_threw_the_switch_can_be_forgotten_and_it_stays_thrown(db: Database) -> None:
    at = desk(db)
    await halt.halt(db, ALICE, "mine", at.clock.now())
    await db.write(lambda conn: forget.everything(conn, ALICE, at.clock.now()))
    why = await db.write(lambda conn: halt.why(conn, None))
    assert "halted by forgotten" in why
    assert "mine" not in why


async def test_steps_written_side_by_side_are_one_chain(db: Database) -> None:
    """Orders of many persons, cancellations and the switch at once: each row follows the one before it."""
    at = desk(db)
    orders = [
        asyncio.create_task(place(at, limit(780.0, quantity=1), key=f"k{n}", owner=f"telegram:{n}"))
        for n in range(12)
    ]
    done = await asyncio.gather(*orders[:6])
    cancelled = [at.cancel(o.owner, o.id) for o in done]
    await asyncio.gather(*cancelled, *orders[6:])
    await halt.halt(db, BOB, "", at.clock.now())
    found = await db.read(verify)
    assert (found.broken, found.rows) == ((), 12 * 3 + 1)


@on_sqlite
async def test_who_has_orders_at_a_broker_is_not_forgotten_before_they_are_cancelled(
    db: Database,
) -> None:
    """They would go on there, and nobody would know of them or could take them back."""
    at = desk(db, brokers={"live": FakeBroker([Report("open", ref="5"), Report("cancelled")])})
    sent = await place(at, limit(780.0, mode="live"), permit=Permit(live=True, asked=True))
    now = at.clock.now()
    with pytest.raises(forget.AtBroker, match=r"the orders 1 are open at a broker; cancel"):
        await db.write(lambda conn: forget.everything(conn, ALICE, now))
    async with house(db, desk=at) as it:
        await it.say("/forget everything")
        await it.quiet()
        assert (
            "Nothing was deleted: your orders 1 are open at a broker" in it.channel.texts("1")[-1]
        )
    await at.cancel(ALICE, sent.id)
    assert (await db.write(lambda conn: forget.everything(conn, ALICE, now))).left == 0
