"""Memory kept in order once a day: what is over goes to the archive, then the unimportant, then long texts shrink.

One switch for all of it (`memory.tiers`), so that shortening without clearing up cannot be configured (GCX-2, C-16).
The order is that of GCX-1: clearing up, its log, then shortening, whose failure is noted and disturbs nothing else.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from agent_core.memory import gc, tiers
from agent_core.memory.gc import Action
from agent_core.memory.lifecycle import clean_up
from agent_core.memory.tiers import STANDING, Level
from agent_core.ports import Clock
from agent_core.storage import memories, upkeep
from agent_core.storage.upkeep import Entry
from gateway.storage.db import Database

log = logging.getLogger(__name__)
EVERY_S = 86_400.0
FIRST_S = 120.0  # after retention: a start has better things to do
OWNERS = 100  # read at a time


@dataclass(frozen=True, slots=True)
class Shorter:
    """A memory that is due for a level: its text now and then."""

    id: int
    kind: str
    level: Level
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for one owner. Made without changing anything (GCX-4)."""

    owner: str
    actions: tuple[Action, ...]
    shorter: tuple[Shorter, ...]


def plan_for(
    owner: str,
    found: Sequence[Entry],
    now: dt.datetime,
    rules: gc.Rules = gc.DEFAULT,
    lengths: tiers.Tiers = tiers.DEFAULT,
) -> Plan:
    """What is to be done with an owner's live memories. Pure, and works for some milliseconds: not for the loop."""
    actions = gc.plan(found, now, rules)
    gone = {action.id for action in actions}
    shorter = []
    for entry in found:
        if entry.id in gone or entry.kind in STANDING:
            continue
        level = tiers.due(entry.level, entry.used_at, now, lengths)
        if level is not None:
            about = [code.rpartition(":")[2] for code in entry.codes]
            text = tiers.shortened(entry.text, level, about, lengths)
            text = (
                text if len(text) < len(entry.text) else entry.text
            )  # never longer for being shortened
            shorter.append(Shorter(entry.id, entry.kind, level, entry.text, text))
    return Plan(owner, tuple(actions), tuple(shorter))


def _clean_up(conn: Connection, *, owner: str, now: dt.datetime) -> int:
    return clean_up(conn, owner, now)


class MemoryUpkeep:
    """The one task that keeps memories in order. `sleep` takes seconds."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        rules: gc.Rules = gc.DEFAULT,
        lengths: tiers.Tiers = tiers.DEFAULT,
    ) -> None:
        self._db = db
        self._clock = clock
        self._sleep = sleep
        self._rules = rules
        self._lengths = lengths
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; nothing is done within the first two minutes."""
        self._task = asyncio.create_task(self._run(), name="memory-upkeep")

    async def stop(self) -> None:
        """End the waiting; a transaction that runs is not cut off half way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def plans(self, owner: str | None = None) -> list[Plan]:
        """What would be done now, for one owner or all; changes nothing (GCX-4)."""
        found = [await self._plan(who) for who in await self._owners(owner)]
        return [plan for plan in found if plan.actions or plan.shorter]

    async def sweep(self, owner: str | None = None) -> dict[str, int]:
        """Do it now, owner by owner, each in small transactions. Returns how much of each kind was done."""
        done: dict[str, int] = {"outdated": 0, "archived": 0, "deleted": 0, "shortened": 0}
        for who in await self._owners(owner):
            now = self._clock.now()
            done["outdated"] += await self._db.write(partial(_clean_up, owner=who, now=now))
            plan = await self._plan(who)
            await self._clear(plan, done)
            done["shortened"] += await self._shorten(plan)
        return done

    async def _owners(self, owner: str | None) -> list[str]:
        if owner is not None:
            return [owner]
        found: list[str] = []
        while True:
            after = found[-1] if found else ""
            more = await self._db.read(partial(memories.owners, after=after, limit=OWNERS))
            found += more
            if len(more) < OWNERS:
                return found

    async def _plan(self, owner: str) -> Plan:
        now = self._clock.now()
        found = await self._db.read(lambda conn: upkeep.entries(conn, owner))
        return await asyncio.to_thread(plan_for, owner, found, now, self._rules, self._lengths)

    async def _clear(self, plan: Plan, done: dict[str, int]) -> None:
        if not plan.actions:
            return
        now = self._clock.now()
        doomed = [a.id for a in plan.actions if a.act == "delete"]
        aside = [a.id for a in plan.actions if a.act == "archive"]

        def work(conn: Connection) -> tuple[int, int]:
            archived = upkeep.archive(conn, plan.owner, aside, now)
            return archived, upkeep.remove(conn, plan.owner, doomed)

        archived, deleted = await self._db.write(work)
        done["archived"] += archived
        done["deleted"] += deleted
        for action in plan.actions:  # figures alone: a log is read by others than the owner
            log.info(
                "memory_gc",
                extra={
                    "owner": plan.owner,
                    "memory": action.id,
                    "kind": action.kind,
                    "act": action.act,
                    "importance": round(action.importance, 4),
                    "why": action.why,
                },
            )

    async def _shorten(self, plan: Plan) -> int:
        count = 0
        for item in plan.shorter:
            try:
                count += await self._db.write(partial(self._write, owner=plan.owner, item=item))
            except upkeep.NotKept as error:  # the text stays as it is (TIR-7)
                log.error("memory_not_kept", extra={"memory": item.id, "reason": str(error)})  # noqa: TRY400 - says all
            except Exception:
                log.debug("memory_not_shortened", extra={"memory": item.id}, exc_info=True)
            else:
                kept = round(tiers.retention(item.before, item.after), 3)
                log.debug(
                    "memory_shortened",
                    extra={"memory": item.id, "level": item.level, "retention": kept},
                )
        return count

    def _write(self, conn: Connection, *, owner: str, item: Shorter) -> bool:
        now = self._clock.now()
        return upkeep.shorten(conn, owner, item.id, item.before, item.level, item.after, now)

    async def _run(self) -> None:
        wait = FIRST_S
        while True:
            await self._sleep(wait)
            wait = EVERY_S
            try:
                done = await self.sweep()
            except Exception:  # the database is away; tomorrow is another day
                log.exception("memory_upkeep_waits")
            else:
                if any(done.values()):
                    log.info("memory_upkeep", extra=done)
