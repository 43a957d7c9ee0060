"""Replies of several replicas on one PostgreSQL: in order for each place, each once, none left by a dead one."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Iterator

import pytest
from sqlalchemy import text

from channels.errors import FloodLimited, Refused
from channels.types import Address
from gateway.outbound import parked
from gateway.outbound.adoption import Adoption
from gateway.outbound.draft import Draft
from gateway.outbound.outbox import REPLY, put
from gateway.outbound.replicas import ROLE, own_before
from gateway.outbound.sender import Sender
from gateway.roles.advisory import AdvisoryRoles
from gateway.roles.duties import Duties, Duty
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from gateway.storage.tables import OutboxStatus
from tests.databases import PreparedPostgres, for_sqlalchemy
from tests.house import Watch, until
from tests.loopback import Loopback

pytestmark = [pytest.mark.postgres, pytest.mark.statements, pytest.mark.timeout(60)]
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Gate:
    """A sleep for the platform's sake, which ends when the test says so; others are short."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.waits = 0

    async def __call__(self, seconds: float) -> None:
        if seconds < 5:
            await asyncio.sleep(0.01)
            return
        self.waits += 1
        await self.open.wait()


class Replica:
    """One process: its database, its sign of life, and its senders to the one platform."""

    def __init__(self, url: str, channel: Loopback) -> None:
        self.url = url
        self.channel = channel
        self.gate = Gate()
        self.db: Database
        self.senders: Sender

    async def start(self) -> None:
        self.db = await open_database(self.url)
        self.roles = AdvisoryRoles(self.url, self.db.replica, beat=0.1)
        await self.roles.start()
        self.senders = Sender(self.db, Watch(), lambda _: self.channel, self.gate, shared=True)
        adoption = Adoption(self.db, self.senders, self.gate)
        self.roles.on_wake(ROLE, adoption.wake)
        self.duties = Duties(self.roles, [Duty(ROLE, adoption.start, adoption.stop)])
        await self.senders.start()

    async def dies(self) -> None:
        """At once: nothing more is sent, and its connection is gone."""
        await self.senders.stop(0.0)
        await self.duties.stop()
        await self.roles.stop()

    async def close(self) -> None:
        await self.dies()
        await self.db.close()

    async def put(self, words: str, turn: int, chat: str = "1") -> int:
        draft = Draft(turn, REPLY, "telegram:1", Address("telegram", "777", chat), words)
        row_id = await self.db.write(lambda conn: put(conn, draft, NOW))
        self.senders.send(self.senders.letter(row_id, draft))
        return row_id

    async def status(self, row_id: int) -> OutboxStatus:
        query = text(f"select status from outbox where id = {row_id}")
        return OutboxStatus(await self.db.read(lambda conn: conn.execute(query).scalar_one()))


@pytest.fixture
def address(prepared_postgres: PreparedPostgres) -> Iterator[str]:
    found = prepared_postgres.take()
    yield found
    prepared_postgres.give_back(found)


@pytest.fixture
async def pair(address: str) -> AsyncIterator[tuple[Replica, Replica]]:
    channel = Loopback()
    one, two = (Replica(for_sqlalchemy(address), channel) for _ in range(2))
    await one.start()
    await two.start()
    yield one, two
    await one.close()
    await two.close()


async def test_a_reply_waits_for_the_earlier_one_of_another_replica(pair: tuple[Replica, Replica]):
    one, two = pair
    one.channel.fail("1", FloodLimited(30.0))
    await one.put("first", 1)
    await until(lambda: one.gate.waits == 1)
    second = await two.put("second", 2)
    await two.put("elsewhere", 3, "2")
    await until(lambda: two.channel.texts("2") == ["elsewhere"])
    before = asyncio.create_task(two.senders.passed(Address("telegram", "777", "1")))
    await asyncio.sleep(0.2)
    assert two.channel.texts("1") == []
    assert not before.done()
    one.gate.open.set()
    await before
    assert one.channel.texts("1") == ["first", "second"]
    assert await two.status(second) is OutboxStatus.SENT


async def test_a_reply_that_is_taken_up_twice_is_sent_once(pair: tuple[Replica, Replica]):
    """Its own sender may find what was taken over before it is handed to it."""
    one, _ = pair
    draft = Draft(1, REPLY, "telegram:1", Address("telegram", "777", "1"), "first")
    await one.db.write(lambda conn: put(conn, draft, NOW))
    later = 1_000_000
    rows = await one.db.read(lambda conn: own_before(conn, str(draft.address), later))
    assert len(rows) == 1
    one.senders.take_over(rows)
    one.senders.take_over(rows)
    await until(lambda: not one.senders.pending())
    assert one.channel.texts("1") == ["first"]


async def test_what_a_dead_replica_left_is_sent_by_another_in_order_and_once(
    pair: tuple[Replica, Replica],
):
    one, two = pair
    await one.duties.start()
    await until(lambda: one.roles.holds(ROLE))
    await two.duties.start()
    one.channel.fail("1", FloodLimited(30.0))
    left = [await one.put("first", 1), await one.put("second", 2)]
    await until(lambda: one.gate.waits == 1)
    await two.put("third", 3)  # its turn ran here, while the first two could not go
    await one.dies()
    await until(lambda: len(two.channel.texts("1")) == 3)
    await until(lambda: not two.senders.pending())
    assert two.channel.texts("1") == ["first", "second", "third"]
    assert [await two.status(row) for row in left] == [OutboxStatus.SENT] * 2


async def test_the_start_of_a_replica_takes_nothing_from_a_living_one(
    pair: tuple[Replica, Replica],
):
    one, two = pair
    one.channel.fail("1", FloodLimited(30.0))
    await one.put("slow", 1)
    await until(lambda: one.gate.waits == 1)
    await two.senders.start()
    await two.duties.start()
    await until(lambda: two.roles.holds(ROLE))
    await asyncio.sleep(0.3)
    assert two.senders.pending() == 0
    one.gate.open.set()
    await until(lambda: not one.senders.pending())
    assert one.channel.texts("1") == ["slow"]


async def test_one_that_only_seemed_dead_does_not_send_what_was_taken_over(
    pair: tuple[Replica, Replica],
):
    one, two = pair
    one.channel.fail("1", FloodLimited(30.0))
    await one.put("held up", 1)
    await one.put("behind it", 2)
    await until(lambda: one.gate.waits == 1)
    await one.roles.stop()  # its sign of life is gone, it is not
    await two.duties.start()
    await until(lambda: two.channel.texts("1") == ["held up", "behind it"])
    await until(lambda: not two.senders.pending())
    one.senders._tasks["telegram:777:1"].cancel()  # what it waits for never comes
    await until(lambda: not one.senders._tasks)
    await one.put("its own", 3)
    await until(lambda: not one.senders.pending())
    assert one.channel.texts("1") == ["held up", "behind it", "its own"]


async def test_a_released_reply_is_sent_by_whoever_takes_up_what_is_nobodys(
    pair: tuple[Replica, Replica],
):
    """`swarmgate outbox resend`: told by NOTIFY, with no gateway on the operator's machine."""
    one, two = pair
    one.channel.fail("1", Refused("no"))
    row = await one.put("refused once", 1)
    await until(lambda: not one.senders.pending())
    assert await one.status(row) is OutboxStatus.PARKED
    await two.duties.start()
    await until(lambda: two.roles.holds(ROLE))
    shell = await open_database(two.url)
    assert await shell.write(lambda conn: parked.release(conn, parked.Filter(row=row)))
    await shell.close()
    await until(lambda: two.channel.texts("1") == ["refused once"])
    await until(lambda: not two.senders.pending())
    assert await two.status(row) is OutboxStatus.SENT


async def test_an_own_reply_that_was_never_handed_over_holds_nothing_up(
    pair: tuple[Replica, Replica],
):
    """Its turn was cut off between the commit and the hand-over: it is found, and goes first."""
    one, _ = pair
    draft = Draft(1, REPLY, "telegram:1", Address("telegram", "777", "1"), "forgotten")
    await one.db.write(lambda conn: put(conn, draft, NOW))
    await one.put("the next", 2)
    await until(lambda: not one.senders.pending())
    assert one.channel.texts("1") == ["forgotten", "the next"]
