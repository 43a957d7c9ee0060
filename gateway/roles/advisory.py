"""Roles of replicas on one PostgreSQL: each is an advisory lock on the replica's standing connection (line.py).

Who asks first has it. It is free when its holder gives it up, which the others are told, when the holder's connection
ends, and when the holder has been silent for eight seconds; the others ask again with each beat. So a role moves within
two seconds of a kill, and within ten of anything.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from zlib import crc32

from gateway.outbound.replicas import ROLE as OUTBOX
from gateway.roles.line import BEAT_S, Connection, Line
from gateway.roles.roles import Body
from gateway.storage.db import DatabaseError
from gateway.storage.replica import ALIVE, REPLICAS

log = logging.getLogger(__name__)
ROLES = 0x53775201  # "Sw", "R", an arbitrary first half of our lock keys
FREED, WAKE = "role-freed", "role-wake"
FIRST_S = 10.0

_TRY = "select key, pg_try_advisory_lock(%s, key) from unnest(%s::int[]) as key"
_LIVE = "select pg_try_advisory_lock(%s, %s)"
_FREE = "select pg_advisory_unlock(%s, key) from unnest(%s::int[]) as key"


def key_of(name: str) -> int:
    """The second half of a role's lock key."""
    return crc32(name.encode()) & 0x7FFFFFFF


@dataclass(slots=True)
class _Claim:
    """A role that this process wants. `done`: no body runs for it."""

    name: str
    held: asyncio.Event = field(default_factory=asyncio.Event)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)


class AdvisoryRoles:
    """See gateway.roles.roles.Roles."""

    shared = True

    def __init__(
        self,
        url: str,
        replica: int,
        *,
        beat: float = BEAT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._replica = replica
        self._living: set[int] = set()
        self.line = Line(url, self, beat=beat, sleep=sleep)
        self._claims: dict[str, _Claim] = {}
        self._leaving: dict[str, asyncio.Event] = {}  # to be unlocked; set once it is
        self._calls: dict[str, Callable[[], None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.line.on(FREED, lambda _: self.line.hurry())
        self.line.on(WAKE, self._woken)

    async def start(self) -> None:
        """See Roles."""
        self._loop = asyncio.get_running_loop()
        if not await self.line.start(FIRST_S):
            await self.line.stop()
            raise DatabaseError(
                "database: cannot be reached for the roles of replicas; is it running?"
            )

    async def run(self, name: str, body: Body) -> None:
        """See Roles."""
        if name in self._claims:
            raise RuntimeError(f"the role {name} is asked for already")
        claim = self._claims[name] = _Claim(name)
        claim.done.set()
        self.line.hurry()
        try:
            while True:
                await claim.held.wait()
                if claim.held.is_set() and await self._work(claim, body):  # it may be lost again
                    return
        finally:
            del self._claims[name]
            if claim.held.is_set():
                await self._give_up(name)

    async def _work(self, claim: _Claim, body: Body) -> bool:
        """Run the body until it ends (true) or the role is lost (false)."""
        claim.done.clear()
        work = asyncio.ensure_future(body())
        lost = asyncio.ensure_future(claim.lost.wait())
        try:
            await asyncio.wait([work, lost], return_when=asyncio.FIRST_COMPLETED)
            ended = work.done()
        finally:
            for task in (work, lost):
                task.cancel()
            await asyncio.wait([work, lost])
            claim.done.set()
        if ended or not claim.lost.is_set():
            work.result()
            return True
        if not work.cancelled() and (error := work.exception()) is not None:
            log.warning("role_ended_badly", exc_info=error, extra={"role": claim.name})
        return False

    async def _give_up(self, name: str) -> None:
        unlocked = self._leaving.setdefault(name, asyncio.Event())
        self.line.hurry()
        await asyncio.shield(unlocked.wait())

    def holds(self, name: str) -> bool:
        """See Roles."""
        claim = self._claims.get(name)
        return claim is not None and claim.held.is_set()

    def on_wake(self, name: str, call: Callable[[], None]) -> None:
        """See Roles."""
        self._calls[name] = call

    def wake(self, name: str) -> None:
        """See Roles."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, name)

    def _wake(self, name: str) -> None:
        if self.holds(name):
            self._calls[name]()
        else:
            self.line.tell(WAKE, name)

    def _woken(self, name: str) -> None:
        if self.holds(name) and name in self._calls:
            self._calls[name]()

    def hear(self, topic: str, call: Callable[[str], None]) -> None:
        """See Roles."""

        def others(note: str) -> None:
            sender, _, what = note.partition(" ")
            if sender != str(self._replica):
                call(what)

        self.line.on(topic, others)

    def tell(self, topic: str, what: str) -> None:
        """See Roles."""
        self.line.tell(topic, f"{self._replica} {what}")

    async def stop(self) -> None:
        """See Roles. Whoever runs a role is cancelled before: a role's body does not outlive it."""
        await self.line.stop()

    # The line's attendant ---------------------------------------------------------------------------------

    async def up(self, connection: Connection) -> None:
        """See Attendant. From now on this replica is alive for the others (gateway/storage/replica.py)."""
        await connection.execute(_LIVE, (REPLICAS, self._replica))

    async def beat(self, connection: Connection) -> None:
        """See Attendant."""
        await self._free(connection)
        wanted = {key_of(c.name): c for c in self._claims.values() if not c.held.is_set()}
        found = await connection.execute(_TRY, (ROLES, list(wanted)))
        for key, taken in await found.fetchall():
            if taken:
                self._took(wanted[int(str(key))])
        if self.holds(OUTBOX):
            await self._count(connection)

    async def _count(self, connection: Connection) -> None:
        """Wake who takes up what a replica leaves that is gone since the last beat."""
        found = await connection.execute(ALIVE.encode())
        living = {int(str(number)) for (number,) in await found.fetchall()}
        gone, self._living = self._living - living, living
        if gone:
            log.info("replica_gone", extra={"replicas": len(gone)})
            self._wake(OUTBOX)

    def _took(self, claim: _Claim) -> None:
        if (
            self._claims.get(claim.name) is not claim
        ):  # it was given up while the answer was on its way
            self._leaving.setdefault(claim.name, asyncio.Event())
            self.line.hurry()
            return
        log.info("role_taken", extra={"role": claim.name})
        claim.lost.clear()
        claim.held.set()

    async def _free(self, connection: Connection) -> None:
        leaving = dict(self._leaving)
        if not leaving:
            return
        await connection.execute(_FREE, (ROLES, [key_of(name) for name in leaving]))
        self.line.tell(FREED)
        for name, unlocked in leaving.items():
            del self._leaving[name]
            unlocked.set()

    async def down(self) -> None:
        """See Attendant. Bodies are over when this returns."""
        for unlocked in self._leaving.values():
            unlocked.set()
        self._leaving.clear()
        held = [claim for claim in self._claims.values() if claim.held.is_set()]
        for claim in held:
            log.warning("role_lost", extra={"role": claim.name})
            claim.held.clear()
            claim.lost.set()
        for claim in held:
            await claim.done.wait()
