"""Replies on their way to people: a row from the first visible message on (DESIGN.md 3.7).

Each place gets them in order. The sender waits where the platform says so, tries again what may be tried again, parks
what may not, and never sends a part that is already there. Other places go on meanwhile. A reply whose sending may or
may not have happened is sent again where the platform has no way to look: one duplicate is better than one lost
answer, and the log says so.
"""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import Context
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from agent_core.ports import Clock
from agent_core.storage.prepared import Prepared
from agent_core.storage.tables import Blob
from channels.base import CanArchive, Channel
from channels.errors import (
    Ambiguous,
    ChannelError,
    FloodLimited,
    Gone,
    Refused,
    UnknownChannel,
)
from channels.types import Address, Attachment, Outbound, Step
from gateway.log_context import bound
from gateway.metrics.observer import Delivered, Observers
from gateway.outbound import replicas
from gateway.outbound.draft import CLOSING, Draft, body_of, button_of
from gateway.outbound.outbox import Letter, Receipt
from gateway.outbound.replicas import Standing
from gateway.redact import Redactor
from gateway.storage.db import Database, settled
from gateway.storage.tables import Outbox as OutboxTable
from gateway.storage.tables import OutboxStatus

log = logging.getLogger(__name__)
_SHAPES = Redactor()
_OUTBOX = OutboxTable.__table__  # type: ignore[attr-defined]
_BLOB = Blob.__table__  # type: ignore[attr-defined]
_MARK = Prepared(
    update(_OUTBOX)
    .where(_OUTBOX.c.id == bindparam("row"))
    .values(
        status=bindparam("new_status"),
        error=bindparam("reason"),
        sent_at=bindparam("now", type_=_OUTBOX.c.sent_at.type),
        ids=bindparam("shown"),
        final=bindparam("finals"),
    )
)
LOOK_S = 0.25  # between two looks whether another replica has sent what comes before
LOOKS = 8  # after so many it is asked whether that is our own, and was forgotten
BACKOFF = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class Sender:
    """The senders: one task for each place that has something to say."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        channel: Callable[[Address], Channel],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        observers: Observers | None = None,
        *,
        shared: bool = False,
    ) -> None:
        """`shared`: other replicas send as well, each what it has stored (replicas.py)."""
        self._shared = shared
        self._db = db
        self._observers = observers or Observers()
        self._clock = clock
        self._channel = channel
        self._sleep = sleep
        self._lanes: dict[str, deque[Letter]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._kept: set[int] = set()  # of channels that are not there
        self._mine: set[int] | None = set()  # handed in before `start`: not to be taken up twice

    async def start(self) -> None:
        """Take up what was ready when the process ended. It may have been on its way then, and the log says so."""
        rows = [] if self._shared else await self._db.read(_ready)
        mine, self._mine = self._mine or set(), None
        self.take_over([row for row in rows if row.id not in mine])

    def take_over(self, rows: Sequence[Any]) -> None:
        """Send what a process left that is no more."""
        for row in rows:
            why = "the process ended before it was known to be sent"
            log.warning("reply_perhaps_sent", extra={"outbox": row.id, "reason": why})
            self._queue(row)

    async def take_up(self, ids: Collection[int]) -> int:
        """Send what others made ready (an operator's `outbox resend`); how many of these are being sent because of it.

        Beside other replicas everything that is nobody's is taken up.
        """
        if self._shared:
            rows = await self._db.write(replicas.take_released)
        else:
            before = self._in_hand()  # one that is sent meanwhile was still ready when it was read
            rows = await self._db.read(_ready)
            wanted = set(ids) - before - self._in_hand()
            rows = [row for row in rows if row.id in wanted]
        for row in rows:
            self._queue(row)
        return sum(row.id in ids for row in rows)

    def _in_hand(self) -> set[int]:
        return {letter.row_id for lane in self._lanes.values() for letter in lane}

    def _queue(self, row: Any) -> None:
        draft = Draft(row.turn_id, row.key, row.owner, Address.parse(row.lane), "")
        ids = json.loads(row.ids)
        receipt = Receipt(self._db, self._clock, draft, row.id, ids, row.final)
        self.send(Letter(row.id, row.lane, row.body, receipt, again=True))

    def letter(self, row_id: int, draft: Draft, receipt: Receipt | None = None) -> Letter:
        """The letter of a row that `put` stored; `receipt` when a preview opened it."""
        receipt = receipt or Receipt(self._db, self._clock, draft)
        receipt.row_id = row_id
        return Letter(row_id, str(draft.address), body_of(draft), receipt)

    def rewritten(self, row_id: int, draft: Draft) -> Letter:
        """The letter of a row that `rewrite` stored."""
        return replace(self.letter(row_id, draft), rewritten=True)

    def send(self, letter: Letter) -> None:
        """Queue a letter behind the others of its place; an older one where it belongs. Returns at once."""
        if self._mine is not None:
            self._mine.add(letter.row_id)
        lane = self._lanes.setdefault(letter.lane, deque())
        sorts = letter.again or self._shared
        lane.insert(_place(lane, letter) if sorts else len(lane), letter)
        if letter.lane not in self._tasks:
            # in a context of its own: it goes on for later turns, whose ids are others
            serving = asyncio.create_task(self._serve(letter.lane), context=Context())
            self._tasks[letter.lane] = serving

    def pending(self) -> int:
        """How many letters wait or are being sent."""
        return sum(len(lane) for lane in self._lanes.values())

    async def passed(self, address: Address) -> None:
        """Wait until everything that was handed over for this place is sent or parked."""
        while (task := self._tasks.get(str(address))) is not None:
            await asyncio.wait([task])
        lane = str(address)
        while self._shared and await self._db.read(lambda conn: replicas.others_wait(conn, lane)):
            await self._sleep(LOOK_S)

    async def stop(self, grace: float) -> None:
        """Send what can be sent within `grace` seconds; the rest stays for the next start."""
        tasks = list(self._tasks.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _serve(self, lane: str) -> None:
        letters = self._lanes[lane]
        failures = looks = 0
        try:
            while letters:
                letter = letters[0]
                try:
                    with bound(turn=letter.receipt.draft.turn_id):
                        if (stands := await self._standing(letter)) is Standing.BEHIND:
                            looks += 1
                            await self._wait_behind(letter, looks)
                            continue
                        if stands is Standing.NEXT:
                            await self._deliver(letter)
                except Exception:  # mostly the database is away; the place goes on when it is back
                    log.exception("reply_waits", extra={"outbox": letter.row_id})
                    await self._sleep(BACKOFF[min(failures, len(BACKOFF) - 1)])
                    failures += 1
                    continue
                failures = looks = 0
                letters.remove(letter)  # an earlier one may stand before it meanwhile
        finally:
            self._tasks.pop(lane, None)
            if not letters:
                self._lanes.pop(lane, None)

    async def _standing(self, letter: Letter) -> Standing:
        if not self._shared:
            return Standing.NEXT
        kept = tuple(self._kept)
        return await self._db.read(lambda conn: replicas.standing(conn, letter.row_id, kept))

    async def _wait_behind(self, letter: Letter, looks: int) -> None:
        """An earlier reply is on its way; one of our own that nobody has handed over is taken up."""
        await self._sleep(LOOK_S)
        if looks % LOOKS:
            return
        lane, row_id = letter.lane, letter.row_id
        known = {other.row_id for other in self._lanes[lane]} | self._kept
        rows = await self._db.read(lambda conn: replicas.own_before(conn, lane, row_id))
        self.take_over([row for row in rows if row.id not in known])

    async def _deliver(self, letter: Letter) -> None:
        """Until it is sent or parked."""
        out = await self._outbound(letter)
        told = _Told(self._observers, out.address.channel, letter.ready)
        tries = defects = 0
        while True:
            wait = BACKOFF[min(tries, len(BACKOFF) - 1)]
            try:
                await _hand_over(self._channel(out.address), letter, out)
            except FloodLimited as e:
                wait = e.retry_after
                told.put_off(e)
            except UnknownChannel as e:
                # Switched off, or `chat` runs alone: the row stays ready for a start that has the channel.
                log.warning("reply_kept", extra={"outbox": letter.row_id, "reason": str(e)})
                self._kept.add(letter.row_id)
                return
            except (Refused, Gone) as e:
                log.warning("reply_parked", extra={"outbox": letter.row_id, "reason": str(e)})
                await self._mark(letter, OutboxStatus.PARKED, str(e))
                told.ended("parked")
                return
            except ChannelError as e:
                tries += 1
                what = "reply_perhaps_sent" if isinstance(e, Ambiguous) else "reply_delayed"
                log.warning(what, extra={"outbox": letter.row_id, "reason": str(e)})
                told.put_off(e)
            except (DBAPIError, PoolTimeoutError):
                raise  # the receipt could not be kept: no fault of the channel
            except Exception:  # a channel's defect must not lose the reply or stop the place
                tries, defects = tries + 1, defects + 1
                log.exception("reply_failed", extra={"outbox": letter.row_id})
                if defects >= len(BACKOFF):
                    await self._mark(letter, OutboxStatus.PARKED, "the channel failed inside")
                    told.ended("parked")
                    return
            else:
                await self._mark(letter, OutboxStatus.SENT, "")
                told.ended("sent")
                return
            await self._sleep(wait)

    async def _outbound(self, letter: Letter) -> Outbound:
        if letter.rewritten:
            shown = await self._db.read(lambda conn: _ids(conn, letter.row_id))
            letter.receipt.shown_ids, letter.receipt.finals = shown, 0
        body = json.loads(letter.body)
        ids = [entry[0] for entry in body["files"]]
        data = await self._db.read(lambda conn: _blobs(conn, ids)) if ids else {}
        files = tuple(
            Attachment(name, media_type, data[blob_id], ref=blob_id, caption=caption)
            for blob_id, name, media_type, caption in body["files"]
            if blob_id in data
        )
        return Outbound(
            address=Address.parse(letter.lane),
            text=body["text"],
            attachments=files,
            buttons=tuple(button_of(entry) for entry in body["buttons"]),
            reply_to=body["reply_to"],
            id=f"o{letter.row_id}",
            again=letter.again,
            steps=tuple(Step(*entry) for entry in body.get("steps", ())),
        )

    async def _mark(self, letter: Letter, status: OutboxStatus, error: str) -> None:
        """The end of a letter, with its receipt: the last part's `shown` left it to this commit."""
        values = {
            "row": letter.row_id,
            "new_status": int(status),
            "reason": _SHAPES.text(error)[:500],  # platforms quote addresses, which may hold tokens
            "now": self._clock.now(),
            "shown": json.dumps(letter.receipt.shown_ids),
            "finals": letter.receipt.finals,
        }

        def work(conn: Connection) -> None:
            _MARK.execute(conn, values)

        await settled(self._db, work)


class _Told:
    """Tells observers of one letter; `ready` is the monotonic time at which it was handed over."""

    def __init__(self, observers: Observers, channel: str, ready: float) -> None:
        self._observers, self._channel, self._ready = observers, channel, ready

    def put_off(self, error: ChannelError) -> None:
        """It will be tried again."""
        outcome: Literal["delayed", "limited", "perhaps"] = "delayed"
        if isinstance(error, FloodLimited):
            outcome = "limited"
        elif isinstance(error, Ambiguous):
            outcome = "perhaps"
        self._observers.fact(Delivered(self._channel, outcome))

    def ended(self, outcome: Literal["sent", "parked"]) -> None:
        """Nothing more is done for it."""
        seconds = time.monotonic() - self._ready
        self._observers.fact(Delivered(self._channel, outcome, seconds))


def _place(lane: Sequence[Letter], letter: Letter) -> int:
    """Where a letter goes among those of its place, by its row."""
    later = (at for at, other in enumerate(lane) if other.row_id > letter.row_id)
    return next(later, len(lane))


async def _hand_over(channel: Channel, letter: Letter, out: Outbound) -> None:
    """Send it, or put its thread away. Raises ChannelError."""
    if letter.body != CLOSING:
        await channel.send(out, letter.receipt)
    elif isinstance(channel, CanArchive):
        await channel.archive(out.address)


def _ready(conn: Connection) -> list[Any]:
    query = select(_OUTBOX).where(_OUTBOX.c.status == OutboxStatus.READY).order_by(_OUTBOX.c.id)
    return list(conn.execute(query))


def _ids(conn: Connection, row_id: int) -> list[str]:
    found: list[str] = json.loads(
        conn.execute(select(_OUTBOX.c.ids).where(_OUTBOX.c.id == row_id)).scalar_one()
    )
    return found


def _blobs(conn: Connection, ids: Sequence[str]) -> dict[str, bytes]:
    query = select(_BLOB.c.id, _BLOB.c.data).where(_BLOB.c.id.in_(ids))
    return {row.id: row.data for row in conn.execute(query)}
