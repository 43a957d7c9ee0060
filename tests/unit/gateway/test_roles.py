"""Roles that one replica has at a time (DESIGN.md 4), on a real PostgreSQL; and the embedded ones."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gateway.roles.advisory import AdvisoryRoles
from gateway.roles.duties import Duties, Duty
from gateway.roles.roles import OwnRoles, Roles
from gateway.storage.db import DatabaseError
from tests.databases import PreparedPostgres, for_sqlalchemy

pytestmark = [pytest.mark.postgres, pytest.mark.statements, pytest.mark.timeout(60)]
ROOT = Path(__file__).parents[3]


class Body:
    """What a role does: notes when it runs."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.runs = False
        self.ends = asyncio.Event()

    async def __call__(self) -> None:
        self.log.append(f"{self.name} began")
        self.runs = True
        try:
            await self.ends.wait()
        finally:
            self.runs = False
            self.log.append(f"{self.name} ended")


async def until(so: Callable[[], bool], within: float = 10.0) -> float:
    """Wait until something is so; how long that took, in seconds."""
    began = time.monotonic()
    async with asyncio.timeout(within):
        while not so():
            await asyncio.sleep(0.01)
    return time.monotonic() - began


@pytest.fixture
def address(prepared_postgres: PreparedPostgres) -> Iterator[str]:
    found = prepared_postgres.take()
    yield found
    prepared_postgres.give_back(found)


@pytest.fixture
async def pair(address: str) -> AsyncIterator[tuple[AdvisoryRoles, AdvisoryRoles]]:
    one, two = (AdvisoryRoles(for_sqlalchemy(address), number) for number in (1, 2))
    await one.start()
    await two.start()
    yield one, two
    await one.stop()
    await two.stop()


def cut_off(address: str) -> None:
    """End every standing connection from the server's side, as a restart of it does."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
            " and application_name = 'swarmgate replica'"
        )


async def ended(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_one_of_two_replicas_has_a_role_and_the_other_follows_at_once_when_it_is_given_up(
    pair: tuple[AdvisoryRoles, AdvisoryRoles],
):
    log: list[str] = []
    first, second = Body("first", log), Body("second", log)
    one = asyncio.create_task(pair[0].run("poller", first))
    await until(lambda: first.runs)
    two = asyncio.create_task(pair[1].run("poller", second))
    await asyncio.sleep(0.3)
    assert not second.runs
    assert (pair[0].holds("poller"), pair[1].holds("poller")) == (True, False)

    await ended(one)
    assert await until(lambda: second.runs) < 1.0  # told, not found by the next beat
    assert log == ["first began", "first ended", "second began"]
    await ended(two)


async def test_roles_of_different_names_may_be_held_by_different_replicas(
    pair: tuple[AdvisoryRoles, AdvisoryRoles],
):
    log: list[str] = []
    first, second = Body("first", log), Body("second", log)
    one = asyncio.create_task(pair[0].run("telegram:1", first))
    two = asyncio.create_task(pair[1].run("telegram:2", second))
    await until(lambda: first.runs and second.runs)
    await ended(one, two)


async def test_a_body_is_cancelled_when_the_connection_is_lost_and_never_runs_twice(
    pair: tuple[AdvisoryRoles, AdvisoryRoles], address: str
):
    log: list[str] = []
    bodies = [Body("one", log), Body("two", log)]
    tasks = [
        asyncio.create_task(roles.run("poller", body))
        for roles, body in zip(pair, bodies, strict=True)
    ]
    await until(lambda: any(body.runs for body in bodies))
    held = next(body for body in bodies if body.runs)
    before = len(log)
    await asyncio.to_thread(cut_off, address)
    await until(lambda: len(log) > before)
    assert log[before] == f"{held.name} ended"
    await until(lambda: any(body.runs for body in bodies))
    assert [line.split()[1] for line in log] == ["began", "ended"] * (len(log) // 2) + ["began"]
    await ended(*tasks)


async def test_a_role_is_given_up_when_its_body_returns_or_breaks(
    pair: tuple[AdvisoryRoles, AdvisoryRoles],
):
    async def breaks() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await pair[0].run("poller", breaks)
    log: list[str] = []
    body = Body("two", log)
    body.ends.set()
    await pair[1].run("poller", body)
    assert log == ["two began", "two ended"]
    assert not pair[1].holds("poller")


async def test_a_wake_reaches_the_holder_from_any_replica(
    pair: tuple[AdvisoryRoles, AdvisoryRoles],
):
    woken: list[str] = []
    pair[0].on_wake("timer", lambda: woken.append("one"))
    pair[1].on_wake("timer", lambda: woken.append("two"))
    body = Body("one", [])
    task = asyncio.create_task(pair[0].run("timer", body))
    await until(lambda: body.runs)
    pair[1].wake("timer")
    assert await until(lambda: bool(woken)) < 1.0
    await asyncio.to_thread(pair[0].wake, "timer")  # a statement's thread
    await until(lambda: len(woken) == 2)
    assert woken == ["one", "one"]
    await ended(task)


async def test_what_a_replica_tells_is_heard_by_the_others_alone(
    pair: tuple[AdvisoryRoles, AdvisoryRoles],
):
    """So a page of the web chat loads its session anew when another replica has answered."""
    heard: list[str] = []
    pair[0].hear("web", lambda what: heard.append(f"one {what}"))
    pair[1].hear("web", lambda what: heard.append(f"two {what}"))
    pair[0].tell("web", "a session")
    pair[1].tell("web", "b")
    await until(lambda: len(heard) == 2)
    assert sorted(heard) == ["one b", "two a session"]


async def test_a_duty_that_breaks_is_begun_anew(pair: tuple[AdvisoryRoles, AdvisoryRoles]):
    tries: list[str] = []
    slept: list[float] = []

    async def start() -> None:
        tries.append("start")
        if len(tries) == 1:
            raise OSError("the database is away")

    async def stop() -> None:
        tries.append("stop")

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    duties = Duties(pair[0], [Duty("timer", start, stop)], sleep)
    await duties.start()
    await until(lambda: len(tries) == 3)
    assert pair[0].holds("timer")
    await duties.stop()
    assert tries == ["start", "stop", "start", "stop"]
    assert slept == [5.0]
    assert not pair[0].holds("timer")


async def test_without_a_server_a_start_says_so(address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gateway.roles.advisory.FIRST_S", 0.3)
    nowhere = AdvisoryRoles("postgresql+psycopg://nobody@127.0.0.1:1/none", 1)
    with pytest.raises(DatabaseError, match="is it running"):
        await nowhere.start()


async def test_an_embedded_gateway_has_every_role_at_once():
    roles: Roles = OwnRoles()
    await roles.start()
    woken: list[str] = []
    roles.on_wake("timer", lambda: woken.append("timer"))
    body = Body("own", [])
    task = asyncio.create_task(roles.run("timer", body))
    await until(lambda: body.runs)
    assert roles.holds("timer")
    await asyncio.to_thread(roles.wake, "timer")
    await until(lambda: woken == ["timer"])
    await ended(task)
    assert not roles.holds("timer")


HOLDER = """
import asyncio, sys
from gateway.roles.advisory import AdvisoryRoles

async def body():
    print("held", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("lost", flush=True)

async def main():
    roles = AdvisoryRoles(sys.argv[1], 7)
    await roles.start()
    await roles.run("poller", body)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "most"), [(signal.SIGKILL, 4.0), (signal.SIGSTOP, 10.0)])
async def test_a_role_moves_within_ten_seconds_of_its_owners_death(
    address: str, number: signal.Signals, most: float
):
    """A process that is stopped keeps its connection open: it is found by its silence. Awake again, it lets go."""
    url = for_sqlalchemy(address)
    holder = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        HOLDER,
        url,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    survivor, body = AdvisoryRoles(url, 8), Body("survivor", [])
    await survivor.start()
    task = asyncio.create_task(survivor.run("poller", body))
    await asyncio.sleep(0.5)
    assert not body.runs
    try:
        holder.send_signal(number)
        took = await until(lambda: body.runs, 15.0)
        print(f"\n  {number.name}: taken over after {took:.2f} s")
        assert took < most
        if number is signal.SIGSTOP:
            holder.send_signal(signal.SIGCONT)
            async with asyncio.timeout(2):
                assert await holder.stdout.readline() == b"lost\n"
            assert body.runs
    finally:
        if holder.returncode is None:
            holder.kill()
        await holder.wait()
        await ended(task)
        await survivor.stop()
