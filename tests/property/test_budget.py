"""Whatever calls meet in a pot, it never settles more than its size (issue "5 of 8", item 5)."""

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.databases import create_database
from tests.property.ledger_turns import SESSIONS, TURNS, Runtime, Step, check, ended

steps = st.builds(
    lambda what, turn, session, worst, part, tokens: Step(
        what, turn, session, worst, worst * part // 100, tokens
    ),
    st.sampled_from(
        ["call", "call", "call", "retry", "fallback", "fail", "crash", "unseen", "end"]
    ),
    st.integers(1, 3),
    st.sampled_from(SESSIONS),
    st.integers(1, 400),
    st.integers(0, 100),
    st.integers(1, 60),
)


@asynccontextmanager
async def empty(url: str, count: int = 1) -> AsyncIterator[list[Database]]:
    """So many connections to the ledger of a database, which is empty."""

    def clear(conn: Connection) -> None:
        for table in ("budget_pot", "budget_hold"):
            conn.execute(text(f"delete from {table}"))

    databases = [await open_database(url) for _ in range(count)]
    try:
        await databases[0].write(clear)
        yield databases
    finally:
        for db in databases:
            await db.close()


@pytest.fixture(scope="module")
def sqlite_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that all examples use, one after the other: to make its schema takes longer than an example."""
    return f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'test.db'}"


@settings(max_examples=40, deadline=None)
@given(happened=st.lists(steps, max_size=30))
def test_no_order_of_calls_retries_crashes_and_ends_overspends(
    sqlite_url: str, happened: list[Step]
) -> None:
    async def work() -> None:
        async with empty(sqlite_url) as (db,):
            runtime = Runtime(db)
            for step in happened:
                await runtime.run(step)
                await check(db)
            await ended(db)

    asyncio.run(work())


def apart(happened: list[Step]) -> list[list[Step]]:
    """The steps of each session in order, for tasks that run side by side; a turn ends and dies as a whole."""
    alone = {"crash", "end"}
    tasks: dict[tuple[int, str], list[Step]] = {}
    for step in happened:
        if step.what not in alone:
            tasks.setdefault((step.turn, step.session), []).append(step)
    return list(tasks.values())


async def side_by_side(databases: list[Database], happened: list[Step]) -> None:
    """Each turn belongs to one process; its sessions run in parallel, and so do the turns."""
    runtimes = [Runtime(db) for db in databases]

    async def run(steps_of_session: list[Step]) -> None:
        for step in steps_of_session:
            await runtimes[step.turn % len(runtimes)].run(step)
            await check(runtimes[0].db)

    for runtime in runtimes:
        for turn in TURNS:
            runtime.purse(turn)
    async with asyncio.TaskGroup() as group:
        for session in apart(happened):
            group.create_task(run(session))
    await ended(databases[0])


@settings(max_examples=25, deadline=None)
@given(happened=st.lists(steps, min_size=5, max_size=30))
def test_parallel_sub_agents_never_overspend(sqlite_url: str, happened: list[Step]) -> None:
    async def work() -> None:
        async with empty(sqlite_url) as databases:
            await side_by_side(databases, happened)

    asyncio.run(work())


@pytest.fixture(scope="module")
def postgres_url(postgres_server: str) -> str:
    """A database that all examples use, one after the other."""
    address = create_database(postgres_server)
    return address.replace("postgresql://", "postgresql+psycopg://", 1)


@pytest.mark.postgres
@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(happened=st.lists(steps, min_size=10, max_size=40))
def test_two_pools_of_connections_never_overspend(postgres_url: str, happened: list[Step]) -> None:
    """Many interleavings at little cost: what keeps two pools apart is in the rows alone."""

    async def work() -> None:
        async with empty(postgres_url, 2) as databases:
            await side_by_side(databases, happened)

    asyncio.run(work())


@dataclass
class Process:
    """One of two processes; `kills` are the payments, counted over its lives, at which it is killed.

    `told` and `open`: nano-dollars that it has said to have settled, and that it was settling when it was killed.
    """

    url: str
    left: list[Step]
    kills: set[int]
    told: int = 0
    open: int = 0
    payments: int = 0

    async def live(self, ready: asyncio.Barrier) -> None:
        """Start until all steps are taken."""
        first = True
        while self.left:
            command = [sys.executable, "-m", "tests.property.ledger_turns", self.url]
            pipe = asyncio.subprocess.PIPE
            run = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
            assert run.stdin is not None
            assert run.stdout is not None
            try:
                assert await run.stdout.readline() == b"ready\n"
                if first:
                    await ready.wait()
                first = False
                run.stdin.write(json.dumps([asdict(step) for step in self.left]).encode() + b"\n")
                await run.stdin.drain()
                await self._follow(run)
            finally:
                if run.returncode is None:
                    run.kill()
                    await run.wait()

    async def _follow(self, run: asyncio.subprocess.Process) -> None:
        """Read what it says to its end, and kill it where it is to be killed, while it pays."""
        paying = 0
        killed = False
        assert run.stdout is not None
        async for line in run.stdout:
            word, _, amount = line.decode().strip().partition(" ")
            if word == "pays":
                paying = int(amount)
                self.payments += 1
                if self.payments in self.kills and not killed:
                    killed = True
                    run.kill()
            elif word == "paid":
                self.told += paying
                paying = 0
            else:
                self.left.pop(0)
        self.open += paying
        code = await run.wait()
        assert code == (-9 if killed else 0)


def drawn(seed: int, process: int) -> list[Step]:
    """What happens in a process: small steps, so that the pots fill up slowly and both are at it to the end."""
    rng = random.Random(f"{seed} {process}")
    what = ["call", "call", "call", "retry", "fallback", "fail", "crash", "unseen", "end"]
    return [
        Step(
            rng.choice(what),
            rng.choice([1, 2]) + 2 * process,
            rng.choice(SESSIONS),
            worst := rng.randint(1, 80),
            rng.randint(0, worst),
            rng.randint(1, 12),
        )
        for _ in range(40)
    ]


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_two_processes_on_one_database_never_overspend_also_when_they_are_killed(
    postgres_url: str, seed: int
) -> None:
    """Each has two turns, one of either person; so they meet in the pots of both people and of the installation."""
    address = postgres_url.replace("postgresql+psycopg://", "postgresql://", 1)
    rng = random.Random(seed)
    async with empty(postgres_url) as (db,):
        two = [Process(address, drawn(seed, n), {rng.randint(2, 12)}) for n in (0, 1)]
        ready = asyncio.Barrier(2)
        async with asyncio.TaskGroup() as group:
            for process in two:
                group.create_task(process.live(ready))
        await check(db)
        await ended(db)
        spent: Counter[str] = Counter()
        for row in await check(db):
            spent[row.kind] += row.usd
        assert spent["day"] == spent["user_day"] > 0
        told = sum(process.told for process in two)
        assert told <= spent["day"] <= told + sum(process.open for process in two)
        assert all(process.kills <= set(range(1, process.payments + 1)) for process in two)
