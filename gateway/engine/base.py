"""The engine's port: who runs which conversation when. What a turn does is not its business.

Only ids cross this seam (guide "engine", 8), and the connection of a transaction that brings rows. An engine runs one
turn at a time in a conversation, conversations side by side up to a cap, fair among people, and lets no message wait
while its conversation and a slot are free.
"""

from enum import StrEnum
from typing import Protocol

from sqlalchemy import Connection

BACKOFF = (0.5, 2.0, 10.0, 30.0)  # seconds between tries when a step breaks by itself


class Progress(StrEnum):
    """What one step on a conversation came to."""

    IDLE = "idle"  # nothing left to do
    AGAIN = "again"  # a row was done; there may be more
    LEFT = "left"  # taken over or drained: somebody else goes on


class Runner(Protocol):
    """Runs the next open row of a conversation; implemented by `gateway/turns/runner.py`."""

    async def step(self, conversation_id: str) -> Progress:
        """Do the next row: a turn (begun or gone on with) or a lane command. Cancellation cuts it off where it is."""
        ...

    async def close_stopped(self, conversation_id: str) -> None:
        """After a step was cancelled because a person asked to stop: end its turn, from what is stored.

        A turn that nobody asked to stop (it began in the same moment) stays open; the next `step` goes on with it.
        """
        ...

    async def open(self) -> list[tuple[str, str]]:
        """(conversation, principal) of all conversations with open rows, oldest first."""
        ...

    def fresh(self, conversation_id: str) -> None:
        """Rows have arrived in this conversation; a step that runs may take them in."""
        ...


class Engine(Protocol):
    """Runs conversations. `shared`: other processes run conversations of the same database, too."""

    shared: bool

    async def start(self) -> None:
        """Begin, and take up what was left open and nobody runs."""
        ...

    def wake(self, conversation_id: str, principal: str) -> None:
        """Rows are waiting in this conversation, whoever runs it. Call it after their commit; returns at once."""
        ...

    def announce(self, conn: Connection, conversation_id: str, principal: str) -> bool:
        """Say it as the last statement of the transaction that brings them; its commit wakes.

        False where that cannot be, or is not worth it: then call `wake` after the commit.
        """
        ...

    async def cancel(self, conversation_id: str) -> bool:
        """Stop the running turn of a conversation, wherever it runs; true when one was running.

        Returns when it has ended, or after some seconds where another process does not say so.
        """
        ...

    def busy(self) -> int:
        """How many turns run now in this process."""
        ...

    async def stop(self, grace: float) -> None:
        """Drain: no new turns, `grace` seconds for running ones, then they are left for whoever goes on."""
        ...
