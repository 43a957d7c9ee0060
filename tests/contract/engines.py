"""The engines under test, and a Runner over lists that notes its orders."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from sqlalchemy import Connection, text

from channels.types import Address, Author, Inbound
from gateway.clock import SystemClock
from gateway.engine.base import BACKOFF, Engine, Progress
from gateway.engine.local import LocalEngine
from gateway.inbound import conversation, inbox
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from gateway.storage.tables import InboxStatus
from tests.house import House, until

Make = Callable[..., Awaitable["Rig"]]
Rigs = AbstractAsyncContextManager[Callable[..., Awaitable["Rig"]]]


class Book:
    """A Runner over lists: each conversation has rows; a step takes the first one, as the real one does.

    `gate` holds every step up while it is clear. A row that raises stands again after `breaks` failures.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[str]] = defaultdict(list)
        self.current: dict[str, str] = {}
        self.done: list[tuple[str, str]] = []
        self.stopped: list[tuple[str, str]] = []
        self.cut: list[str] = []
        self.running: set[str] = set()
        self.most = 0
        self.overlaps = 0
        self.breaks: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.closing = asyncio.Event()
        self.closing.set()
        self.late: Callable[[str], None] = lambda _: None
        self.pause = 0.0
        self.tries: list[float] = []
        self.heard: set[str] = set()

    async def step(self, conversation_id: str) -> Progress:
        if conversation_id in self.running:
            self.overlaps += 1
        self.running.add(conversation_id)
        self.most = max(self.most, len(self.running))
        try:
            return await self._row(conversation_id)
        except asyncio.CancelledError:
            self.cut.append(conversation_id)
            raise
        finally:
            self.running.discard(conversation_id)

    async def _row(self, conversation_id: str) -> Progress:
        await asyncio.sleep(self.pause)
        if not self.rows[conversation_id]:
            self.late(conversation_id)
            await asyncio.sleep(0)
            return Progress.IDLE
        row = self.rows[conversation_id][0]
        self.current[conversation_id] = row
        await self.gate.wait()
        if self.breaks.get(row, 0) > 0:
            self.breaks[row] -= 1
            self.tries.append(time.monotonic())
            raise RuntimeError("this step is broken")
        self._finish(conversation_id)
        self.done.append((conversation_id, row))
        return Progress.AGAIN

    def _finish(self, conversation_id: str) -> None:
        self.rows[conversation_id].pop(0)
        self.current.pop(conversation_id)

    async def close_stopped(self, conversation_id: str) -> None:
        await self.closing.wait()
        if row := self.current.get(conversation_id):
            self._finish(conversation_id)
            self.stopped.append((conversation_id, row))

    async def open(self) -> list[tuple[str, str]]:
        return [(c, self.owners.get(c, "alice")) for c, rows in self.rows.items() if rows]

    def fresh(self, conversation_id: str) -> None:
        self.heard.add(conversation_id)

    def order(self, conversation_id: str) -> list[str]:
        return [row for c, row in self.done if c == conversation_id]


class Rig:
    """An engine with its book. `db`: where the shared engine finds rows that were left."""

    def __init__(self, engine: Engine, book: Book, db: Database | None = None) -> None:
        self.engine = engine
        self.book = book
        self.db = db

    def post(self, conversation_id: str, row: str, principal: str = "alice") -> None:
        """A row is committed, then the engine is told."""
        self.book.rows[conversation_id].append(row)
        self.book.owners.setdefault(conversation_id, principal)
        self.engine.wake(conversation_id, principal)

    async def quiet(self) -> None:
        await until(lambda: not any(self.book.rows.values()) and not self.engine.busy())

    async def end(self) -> None:
        self.book.gate.set()
        self.book.closing.set()
        await self.engine.stop(1.0)


@asynccontextmanager
async def local_rigs() -> AsyncIterator[Callable[..., Awaitable[Rig]]]:
    """Embedded engines; stopped at the end."""
    rigs: list[Rig] = []

    async def make(
        max_running: int = 8,
        *,
        book: Book | None = None,
        backoff: Sequence[float] = BACKOFF,
        left: Mapping[str, list[str]] | None = None,
    ) -> Rig:
        book = book or Book()
        book.rows |= left or {}
        rig = Rig(LocalEngine(book, max_running=max_running, backoff=backoff), book)
        rigs.append(rig)
        await rig.engine.start()
        return rig

    try:
        yield make
    finally:
        for rig in rigs:
            await rig.end()


@asynccontextmanager
async def shared_rigs(url: str) -> AsyncIterator[Callable[..., Awaitable[Rig]]]:
    """Shared engines on one PostgreSQL, each with connections of its own, as if in a process of its own."""
    from gateway.engine.procrastinate import ProcrastinateEngine
    from gateway.engine.recovery import Beats

    rigs: list[Rig] = []

    async def make(
        max_running: int = 8,
        *,
        book: Book | None = None,
        backoff: Sequence[float] = BACKOFF,
        left: Mapping[str, list[str]] | None = None,
        beats: tuple[float, float] = (0.2, 1.0),
    ) -> Rig:
        book = book or Book()
        db = await open_database(url)
        for lane, rows in (left or {}).items():
            place = await db.write(lambda conn: leave(conn, lane))  # noqa: B023
            book.rows[place] += rows
        engine = ProcrastinateEngine(
            book,
            db,
            url,
            SystemClock(),
            max_running=max_running,
            beats=Beats(*beats),
            backoff=backoff,
        )
        rig = Rig(engine, book, db)
        rigs.append(rig)
        await engine.start()
        return rig

    try:
        yield make
    finally:
        for rig in rigs:
            await rig.end()
            assert rig.db is not None
            await rig.db.close()


def leave(conn: Connection, lane: str, principal: str = "telegram:1") -> str:
    """An open row that no job stands for; in which conversation."""
    address, now = Address("telegram", "1", lane), SystemClock().now()
    inbound = Inbound(address, f"m:{lane}", Author("1"), "hello", now)
    found = conversation.ensure(conn, address, private=True, owner=principal, now=now)
    inbox.insert_row(conn, inbound, found.id, principal, InboxStatus.NEW, now)
    return found.id


def shared_by(url: str, beats: tuple[float, float] = (0.3, 2.0)) -> Callable[[House], Engine]:
    """Makes the shared engine of a House."""
    from gateway.engine.procrastinate import ProcrastinateEngine
    from gateway.engine.recovery import Beats

    def made(house: House) -> Engine:
        most = house.settings.sessions.max_running
        return ProcrastinateEngine(
            house.runner, house.db, url, house.clock, max_running=most, beats=Beats(*beats)
        )

    return made


async def count(rig: Rig, where: str = "true") -> int:
    """How many jobs there are."""
    assert rig.db is not None
    query = text(f"select count(*) from procrastinate_jobs where {where}")
    return await rig.db.read(lambda conn: conn.execute(query).scalar_one())


async def none_waits(rig: Rig) -> None:
    """Until no job is left at all."""
    async with asyncio.timeout(20):
        while await count(rig):
            await asyncio.sleep(0.02)


async def two(make: Make, **more: object) -> tuple[Rig, Rig]:
    """Two engines over one book."""
    first = await make(**more)
    return first, await make(book=first.book, **more)
