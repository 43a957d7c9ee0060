"""Looks after open orders and paper positions: at the start, when woken, and four times a day while there are any.

A bar of a day can come at any hour of ours, as markets close around the clock; an order waits for it without anybody
asking. A fill, a dividend or a split that nobody was waiting for is told in the person's private conversation, once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from agent_core.storage import holders
from agent_core.storage import orders as rows
from agent_core.trading import PAPER, Order
from gateway.outbound.sender import Sender
from gateway.rounds import Rounds
from gateway.storage.db import Database
from gateway.trading import halt
from gateway.trading.orders import LOST_AFTER, OrderDesk
from gateway.trading.tell import Teller, Told

log = logging.getLogger(__name__)
LOOK_S = 6 * 3_600.0
RETRY_S = 60.0


@dataclass(slots=True)
class OrderKeeper:
    """The one task that waits; started and stopped by the process."""

    db: Database
    desk: OrderDesk
    senders: Sender
    language: str = "auto"
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _loop: asyncio.AbstractEventLoop | None = None
    _rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        self._rounds = Rounds(
            "orders",
            self._round,
            waits="orders_wait",
            retry_s=RETRY_S,
            sleep=self.sleep,
            longest_nap_s=LOOK_S,
            ends_nap=self._thrown,
        )

    def wake(self) -> None:
        """Look at once, from any thread. It waits for a transaction that throws the switch just now."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._rounds.wake)

    async def start(self) -> None:
        """Take up what an earlier process left, then wait."""
        self._loop = asyncio.get_running_loop()
        if self.desk.actions is not None:
            self.desk.actions.teller = self._teller
        self._rounds.start()

    async def leave(self) -> None:
        """End the waiting; a report that came is still booked. Harmless where it was not started."""
        self._loop = None
        await self._rounds.stop()

    async def stop(self) -> None:
        """`leave`, and close the brokers: nothing is ordered in this process any more."""
        await self.leave()
        await self.desk.close()

    async def _round(self) -> float | None:
        await self.look()
        return self._pause(*await self.db.read(_ahead))

    def _pause(self, undone: Sequence[Order], held: bool) -> float | None:
        """Seconds to the next look. What may be on its way to a broker is asked for soon."""
        if not undone:
            return LOOK_S if held else None
        since = self.desk.clock.now() - 2 * LOST_AFTER
        sent = any(o.status == "sending" and o.placed_at > since for o in undone)
        return RETRY_S if sent else LOOK_S

    async def look(self) -> None:
        """Look at all open orders, and tell of what was filled."""
        filled = await self.desk.look_after()
        if not filled:
            return
        teller = self._teller

        def work(conn: Connection) -> list[Told]:
            return [told for order in filled for told in teller.write_fill(conn, order)]

        teller.send(await self.db.write(work))

    @property
    def _teller(self) -> Teller:
        return Teller(self.senders, self.desk.clock, self.language)

    def _thrown(self) -> Awaitable[None] | None:
        """What waits for the file of the kill switch, unless it is there."""
        file = self.desk.halt_file
        return None if file is None or file.exists() else _appears(file)


def _ahead(conn: Connection) -> tuple[list[Order], bool]:
    """What is open, and whether the paper account of anybody holds what may pay or split."""
    return rows.undone(conn), holders.any_holder(conn, PAPER)


async def _appears(file: Path) -> None:
    """Wait for the file of the kill switch; for ever where it cannot be watched for."""
    try:
        await halt.appears(file)
    except OSError as error:  # the folder is gone, or the system has no watches left
        log.warning("halt_file_not_watched", extra={"reason": str(error)})
        await asyncio.Event().wait()
