"""Who keeps time: when it looks again, what wakes it, and what a look that fails does."""

import asyncio
from collections.abc import Awaitable

import pytest

from gateway.rounds import LONGEST_NAP_S, Rounds
from tests.house import until


class Keeper:
    """Looks are counted, and answer what the test says; naps end when the test says so."""

    def __init__(self, *answers: float | Exception | None) -> None:
        self.answers = list(answers)
        self.looks = 0
        self.naps: list[float] = []
        self.over = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.thrown: asyncio.Event | None = None
        self.rounds = Rounds(
            "keeper",
            self.look,
            waits="keeper_waits",
            retry_s=5.0,
            sleep=self.sleep,
            ends_nap=self.ends_nap,
        )

    async def look(self) -> float | None:
        self.looks += 1
        await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await self.over.wait()
        self.over.clear()

    def ends_nap(self) -> Awaitable[object] | None:
        return None if self.thrown is None else self.thrown.wait()


async def test_it_looks_at_the_start_and_again_when_more_is_due() -> None:
    keeper = Keeper(60.0, None)
    keeper.rounds.start()
    await until(lambda: keeper.naps == [60.0])
    keeper.over.set()
    await until(lambda: keeper.looks == 2 and not keeper.rounds.busy)
    assert keeper.naps == [60.0]  # nothing is due: it does not sleep, it waits to be woken
    keeper.rounds.wake()
    await until(lambda: keeper.looks == 3)
    await keeper.rounds.stop()


async def test_a_wake_in_the_middle_of_a_look_is_a_look_more() -> None:
    keeper = Keeper()
    keeper.gate.clear()
    keeper.rounds.start()
    await until(lambda: keeper.looks == 1)
    keeper.rounds.wake()
    assert keeper.rounds.busy
    keeper.gate.set()
    await until(lambda: keeper.looks == 2 and not keeper.rounds.busy)
    await keeper.rounds.stop()


async def test_a_look_that_fails_is_told_and_made_again(caplog: pytest.LogCaptureFixture) -> None:
    keeper = Keeper(OSError("the database is away"), 60.0)
    keeper.rounds.start()
    await until(lambda: keeper.naps == [5.0])
    assert "keeper_waits" in caplog.text
    keeper.over.set()
    await until(lambda: keeper.naps == [5.0, 60.0])
    await keeper.rounds.stop()


async def test_no_nap_is_negative_or_longer_than_an_hour() -> None:
    """The clock may be set while it sleeps, or have been set while it looked."""
    keeper = Keeper(-3.0, 86_400.0)
    keeper.rounds.start()
    await until(lambda: keeper.naps == [0.0])
    keeper.over.set()
    await until(lambda: keeper.naps == [0.0, LONGEST_NAP_S])
    await keeper.rounds.stop()


async def test_something_else_may_end_a_nap() -> None:
    keeper = Keeper(60.0)
    keeper.thrown = asyncio.Event()
    keeper.rounds.start()
    await until(lambda: keeper.naps == [60.0])
    keeper.thrown.set()
    await until(lambda: keeper.looks == 2)
    await keeper.rounds.stop()


async def test_a_stop_ends_a_look_and_a_start_begins_anew() -> None:
    keeper = Keeper(None)
    keeper.gate.clear()
    keeper.rounds.start()
    await until(lambda: keeper.looks == 1)
    await keeper.rounds.stop()
    await keeper.rounds.stop()
    assert not keeper.rounds.busy
    keeper.gate.set()
    keeper.rounds.start()
    await until(lambda: keeper.looks == 2 and not keeper.rounds.busy)
    await keeper.rounds.stop()
