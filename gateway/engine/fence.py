"""The right to write in one conversation, and the patience to wait a database outage out (guide "engine", 2).

`conversation.epoch` fences: a run that was taken over can append nothing, nor can its child sessions. An outage is
waited out for 30 s with the work in memory, so no finished model call is repeated.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from agent_core.errors import Fenced, Reload
from agent_core.ports import Clock
from agent_core.storage.statements import last_seq
from gateway.inbound import conversation
from gateway.redact import Redactor
from gateway.storage.db import Database

log = logging.getLogger(__name__)
T = TypeVar("T")
PATIENCE_S = 30.0
RETRY_S = 0.25
AWAY = (OperationalError, InterfaceError, PoolTimeoutError)


@dataclass(slots=True)
class Fence:
    """Writes of one run of a conversation, as long as its epoch stands.

    `redactor` replaces secrets in everything that the run's journals write.
    """

    db: Database
    clock: Clock
    conversation_id: str
    epoch: int
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    redactor: Redactor = field(default_factory=Redactor)

    def check(self, conn: Connection) -> None:
        """Raise Fenced when somebody else has begun a run since."""
        if conversation.epoch_of(conn, self.conversation_id) != self.epoch:
            raise Fenced(self.conversation_id)

    async def write(self, work: Callable[[Connection], T], session_id: str, after: int) -> T:
        """Run `work`, which appends behind row `after` of a session, in one fenced transaction.

        Raises Fenced, Reload when an earlier try went through unseen, and what the database says when it is away for
        longer than 30 s.
        """

        def fenced(conn: Connection) -> T:
            self.check(conn)
            return work(conn)

        until = self.clock.monotonic() + PATIENCE_S
        while True:
            try:
                return await self.db.write(fenced)
            except IntegrityError:
                # The row is there already: another run's, or of an earlier try of ours.
                if self._is_over(until) or await self._look(session_id, after):
                    raise  # neither: the row itself cannot be stored
            except AWAY as e:
                if self._is_over(until):
                    raise
                log.warning("database_wait", extra={"session": session_id, "reason": str(e)})
            await self.sleep(RETRY_S)
            await self._look(session_id, after)

    def _is_over(self, until: float) -> bool:
        return self.clock.monotonic() > until

    async def _look(self, session_id: str, after: int) -> bool:
        """Raise Fenced or Reload when the table has moved on; false when it cannot be seen."""

        def work(conn: Connection) -> tuple[int, int]:
            return conversation.epoch_of(conn, self.conversation_id), last_seq(conn, session_id)

        try:
            epoch, seq = await self.db.read(work)
        except AWAY:
            return False  # still away; the next try tells
        if epoch != self.epoch:
            raise Fenced(self.conversation_id)
        if seq > after:
            raise Reload(session_id)
        return True
