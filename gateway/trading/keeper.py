"""Looks after open orders: at the start, when one is left open, four times a day while there are any, and when woken.

A bar of a day can come at any hour of ours, as markets close around the clock; an order waits for it without anybody
asking. A fill that nobody was waiting for is told in the person's private conversation, once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from agent_core.storage import orders as rows
from agent_core.tools.orders_notes import told
from agent_core.tools.orders_words import line_of
from agent_core.trading import Order
from gateway.inbound import conversation
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people import links
from gateway.people.identity import Language, known, language_of
from gateway.storage.db import Database
from gateway.texts.texts import say
from gateway.trading import halt
from gateway.trading.orders import LOST_AFTER, OrderDesk

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
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Look at once, from any thread. It waits for a transaction that throws the switch just now."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._changed.set)

    async def start(self) -> None:
        """Take up what an earlier process left, then wait."""
        self._loop = asyncio.get_running_loop()
        self.desk.wake = self.wake
        self._task = asyncio.create_task(self._run(), name="orders")

    async def stop(self) -> None:
        """End the waiting; a report that came is still booked. Harmless where it was not started."""
        self._loop = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        await self.desk.close()

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self.look()
                until = self._pause(await self.db.read(rows.undone))
            except Exception:  # the database is away; orders are looked after when it is back
                log.exception("orders_wait")
                until = RETRY_S
            await self._wait(until)

    def _pause(self, undone: Sequence[Order]) -> float | None:
        """Seconds to the next look. What may be on its way to a broker is asked for soon."""
        if not undone:
            return None
        since = self.desk.clock.now() - 2 * LOST_AFTER
        sent = any(o.status == "sending" and o.placed_at > since for o in undone)
        return RETRY_S if sent else LOOK_S

    async def look(self) -> None:
        """Look at all open orders, and tell of what was filled."""
        filled = await self.desk.look_after()
        if not filled:
            return
        for letter in await self.db.write(lambda conn: self._letters(conn, filled)):
            self.senders.send(self.senders.letter(*letter))

    def _letters(self, conn: Connection, filled: Sequence[Order]) -> list[tuple[int, Draft]]:
        found = (self._letter(conn, order) for order in filled)
        now = self.desk.clock.now()
        return [(outbox.put(conn, draft, now), draft) for draft in found if draft is not None]

    def _letter(self, conn: Connection, order: Order) -> Draft | None:
        place = links.place_of(conn, order.owner)
        lane = conversation.find(conn, place) if place else None
        owner = known(conn, order.owner)
        if lane is None or owner.revoked:
            return None
        language: Language = language_of("", None, self.language, owner.language)
        said = say("order_done", language, line=line_of(order, language))
        text = f"{said} {told(order.note, language)}".strip()
        return Draft(order.turn_id, f"order:{order.id}", order.owner, lane.address, text)

    async def _wait(self, seconds: float | None) -> None:
        changed = asyncio.create_task(self._changed.wait())
        waits: set[asyncio.Future[Any]] = {changed}
        if seconds is not None:
            waits.add(asyncio.ensure_future(self.sleep(seconds)))
            file = self.desk.halt_file
            if file is not None and not file.exists():
                waits.add(asyncio.ensure_future(_thrown(file)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


async def _thrown(file: Path) -> None:
    """Wait for the file of the kill switch; for ever where it cannot be watched for."""
    try:
        await halt.appears(file)
    except OSError as error:  # the folder is gone, or the system has no watches left
        log.warning("halt_file_not_watched", extra={"reason": str(error)})
        await asyncio.Event().wait()
