"""A gateway's intake on a database of its own, for tests that hand very many bodies to a channel."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from channels.types import Inbound
from gateway.storage.schema import open_database
from tests.house import House, settings
from tests.loopback import Loopback

T = TypeVar("T")
OPEN = {
    "access": {"default": "allow"},
    "sessions": {"rate_limit": {"messages_per_minute": 1_000_000}},
    "groups": {"mention": "required"},
}
CPU_SECONDS = 5.0  # of one body: a second would do, and a body that hangs needs for ever


class Errors(logging.Handler):
    """What was logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self._lines.append(f"{record.name}: {record.getMessage()} {record.exc_info}")

    def take(self) -> list[str]:
        """What came since the last look."""
        found, self._lines = self._lines, []
        return found


@contextmanager
def errors() -> Iterator[Errors]:
    """Hears errors for as long as it is open."""
    heard = Errors()
    logging.getLogger().addHandler(heard)
    try:
        yield heard
    finally:
        logging.getLogger().removeHandler(heard)


class Idle:
    """An engine that takes nothing up: what is stored stays as it was stored."""

    shared = False

    def wake(self, conversation_id: str, author: str) -> None:
        """Nothing."""

    def announce(self, conn: Connection, conversation_id: str, author: str) -> bool:
        """Nothing."""
        return False

    def busy(self) -> int:
        """Nothing runs."""
        return 0

    async def cancel(self, conversation_id: str) -> bool:
        """Nothing runs."""
        return False

    async def start(self) -> None:
        """Nothing."""

    async def stop(self, patience: float) -> None:
        """Nothing."""


class Store:
    """The intake of a house whose engine stands still, and what it was handed."""

    def __init__(self, house: House, errors: Errors) -> None:
        self.house = house
        self.errors = errors
        self.got: list[Inbound] = []

    async def emit(self, inbound: Inbound) -> None:
        """What a channel is given to emit to."""
        self.got.append(inbound)
        await self.house.intake.accept(inbound)

    def taken(self) -> list[Inbound]:
        """What came in since the last look."""
        found, self.got = self.got, []
        return found

    async def owners(self) -> set[str]:
        """Whose rows there are."""
        return {row[0] for row in await self.house.all("select distinct author from inbox")}


class Bench:
    """Runs what is asynchronous from a test that Hypothesis drives."""

    def __init__(self, runner: asyncio.Runner, stack: AsyncExitStack) -> None:
        self._runner = runner
        self._stack = stack

    def run(self, made: Awaitable[T]) -> T:
        async def wait() -> T:
            return await made

        return self._runner.run(wait())

    def enter(self, manager: Any) -> Any:
        """Open it until the end of the test."""
        return self.run(self._stack.enter_async_context(manager))

    def timed(self, made: Awaitable[T]) -> T:
        """Run it; asserts that it cost no more CPU than a body may."""
        began = time.process_time()
        found = self.run(made)
        assert time.process_time() - began < CPU_SECONDS, "a body kept the process busy"
        return found


@contextmanager
def bench() -> Iterator[Bench]:
    """A loop of one's own."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            yield Bench(runner, stack)
        finally:
            runner.run(stack.aclose())


@contextmanager
def store(on: Bench, folder: Path, channel: Loopback, **rules: Any) -> Iterator[Store]:
    """An intake over SQLite."""
    db = on.run(open_database(f"sqlite:///{folder / 'fuzz.db'}"))
    open_to_all = settings(**OPEN | rules)
    try:
        house = on.run(
            _house(
                lambda: House(db, [], channel=channel, rules=open_to_all, engine=lambda _: Idle())
            )
        )
        with errors() as heard:
            yield Store(house, heard)
    finally:
        on.run(db.close())


async def _house(make: Callable[[], House]) -> House:
    return make()
