"""Whatever calls meet in a pot, it never settles more than its size (issue "5 of 8", item 5)."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from agent_core.budget.ledger import Purse, Settled, refs
from agent_core.budget.pots import Payer, Pot, Rules
from agent_core.ports import Need
from agent_core.storage import ledger
from agent_core.storage.ledger import Hold, PotRow
from agent_core.types import Usage
from gateway.db import Database
from gateway.schema import open_database
from tests.databases import create_database

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
USD, TOKENS = 1_000, 400
POTS = (
    Pot("run", usd=600),
    Pot("user_day", usd=700, tokens=TOKENS),
    Pot("day", usd=USD),
)
SESSIONS = ("s", "s/1", "s/2", "s/3")


@dataclass(frozen=True)
class Step:
    """One thing that happens to a session of a turn. `worst` and `real` in nano-dollars; real ≤ worst."""

    what: str
    turn: int
    session: str
    worst: int
    real: int
    tokens: int


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


@dataclass
class Runtime:
    """Turns of two people as the runtime drives them: a call is only made once it is set aside."""

    db: Database
    purses: dict[int, Purse] = field(default_factory=dict)
    inside: set[tuple[int, str]] = field(default_factory=set)

    def purse(self, turn: int) -> Purse:
        if turn not in self.purses:
            payer = Payer(f"telegram:{turn % 2}", "telegram:777:1", turn)
            self.purses[turn] = Purse(Rules(POTS), payer, loaded=False)
        return self.purses[turn]

    async def run(self, step: Step) -> None:
        self.purse(step.turn)
        match step.what:
            case "crash":
                self.purses.pop(step.turn)  # what it knew is lost; the next run looks
            case "end":
                await self._settle(step, Usage(), last=True)
                self.purses.pop(step.turn, None)
            case "fail":
                await self._reserve(step, step.worst)  # no answer: nothing is settled
            case "retry":
                await self._reserve(step, step.worst)
                await self._pay(step, step.worst)
            case "fallback":
                await self._reserve(step, step.worst)
                await self._pay(step, step.worst + 50, real=step.real)  # a dearer model
            case "unseen":
                await self._pay(step, step.worst, twice=True)
            case _:
                await self._pay(step, step.worst)

    async def _pay(
        self, step: Step, worst: int, *, real: int | None = None, twice: bool = False
    ) -> None:
        if await self._reserve(step, worst, twice=twice):
            cost = step.real if real is None else real
            usage = Usage(step.tokens, 0, usd=cost / 1e9)
            await self._settle(step, usage, last=False, twice=twice)

    async def _reserve(self, step: Step, worst: int, *, twice: bool = False) -> bool:
        purse, need = self.purse(step.turn), Need("m", step.tokens, worst / 1e9)
        if purse.covers(step.session, need, NOW):
            return True
        made = None
        for _ in range(1 + twice):  # a commit whose answer was lost is made again
            made = await self.db.write(lambda c: purse.reserve(c, step.session, need, NOW))
            if not isinstance(made, Hold):
                return False
        assert isinstance(made, Hold)
        purse.kept(step.session, made, NOW)
        return True

    async def _settle(self, step: Step, usage: Usage, *, last: bool, twice: bool = False) -> None:
        purse = self.purse(step.turn)
        done: Settled | None = None
        for _ in range(1 + twice):
            done = await self.db.write(
                lambda c: purse.settle(c, step.session, usage, NOW, last=last)
            )
        if done is not None:
            purse.kept(step.session, done.hold)


def rows_of(conn: Connection) -> list[PotRow]:
    payers = [Payer(f"telegram:{turn % 2}", "telegram:777:1", turn) for turn in (1, 2, 3)]
    wanted = {ref for payer in payers for ref in refs(POTS, payer, NOW, "UTC")}
    return ledger.pots_of(conn, sorted(wanted, key=str))


async def check(db: Database) -> list[PotRow]:
    """Spent and set aside together never go beyond a pot, and nothing is below nothing."""
    rows = await db.read(rows_of)
    sizes = {pot.kind: pot for pot in POTS}
    for row in rows:
        pot = sizes[row.kind]  # type: ignore[index]
        assert row.usd + row.usd_held <= (pot.usd or 0)
        assert pot.tokens is None or row.tokens + row.tokens_held <= pot.tokens
        assert min(row.usd, row.usd_held, row.tokens, row.tokens_held) >= 0
    return rows


async def ended(db: Database) -> None:
    """When every turn has ended, nothing is set aside any more."""
    runtime = Runtime(db)
    for turn in (1, 2, 3):
        await runtime.run(Step("end", turn, "s", 0, 0, 0))
    for row in await check(db):
        assert (row.usd_held, row.tokens_held) == (0, 0)


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
        for turn in (1, 2, 3):
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
def test_two_processes_on_one_database_never_overspend(
    postgres_url: str, happened: list[Step]
) -> None:
    """Two pools of connections, as two processes have them: what keeps them apart is in the rows alone."""

    async def work() -> None:
        async with empty(postgres_url, 2) as databases:
            await side_by_side(databases, happened)

    asyncio.run(work())
