"""What happens when a message arrives: stored, judged and routed in one transaction, then acted upon.

When `accept` returns, the message is durable, and only then is the platform told. Everything after the commit is waking
somebody up; a crash in between is mended by the walk at the next start.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.ports import Clock
from channels.base import CanAnswerButtons, Channel
from channels.types import Address, Inbound, Kind
from gateway import access, conversation, inbox, outbox
from gateway.commands import Asked, Commands, request_stop
from gateway.conversation import Lane
from gateway.db import Database
from gateway.engine.base import Engine
from gateway.identity import language_of, person_id
from gateway.outbox import Draft, Outbox
from gateway.rate import Allowance, RateLimit
from gateway.router import route
from gateway.settings import Settings
from gateway.tables import InboxStatus
from gateway.texts import say

log = logging.getLogger(__name__)
MAX_CHARS = 100_000


@dataclass(slots=True)
class _Taken:
    """What the transaction decided.

    `wake`: rows wait in the lane; `stop`: cancel the running turn; `toast`: answer a press; `again`: it had come before.
    """

    row_id: int = 0
    author: str = ""
    wake: bool = False
    stop: bool = False
    letter: tuple[int, Draft] | None = None
    toast: str = ""
    again: bool = False


class Intake:
    """The one stream in: channels await `accept` for every Inbound."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: Settings,
        commands: Commands,
        engine: Engine,
        senders: Outbox,
        fresh: Callable[[str], None],
        channel: Callable[[Address], Channel],
    ) -> None:
        self._db = db
        self._clock = clock
        self._settings = settings
        self._commands = commands
        self._engine = engine
        self._senders = senders
        self._fresh = fresh
        self._channel = channel
        self._rate = RateLimit(settings.sessions.rate_limit.messages_per_minute)

    async def accept(self, inbound: Inbound) -> None:
        """Take one message in. Returns when it is committed; a redelivery changes nothing."""
        if not inbound.addressed:
            return
        author = person_id(inbound.address, inbound.author)
        allowance = self._rate.check(author, self._clock.monotonic())
        taken = await self._db.write(lambda conn: self._take(conn, inbound, author, allowance))
        if taken is None:
            return
        if taken.again:
            self._rate.forgive(author, allowance)
        await self._act(inbound, taken)

    async def _act(self, inbound: Inbound, taken: _Taken) -> None:
        lane = conversation.lane_id(inbound.address)
        if taken.letter is not None:
            self._senders.send(self._senders.letter(*taken.letter))
        if taken.wake:
            self._fresh(lane)
            self._engine.wake(lane, taken.author)
        if taken.stop and not await self._engine.cancel(lane):
            self._engine.wake(lane, taken.author)  # the mark is durable; whoever runs next sees it
        if inbound.callback is not None:
            channel = self._channel(inbound.address)
            if isinstance(channel, CanAnswerButtons):
                await channel.answer(inbound.callback, taken.toast)

    def _take(
        self, conn: Connection, inbound: Inbound, author: str, allowance: Allowance
    ) -> _Taken | None:
        now = self._clock.now()
        verdict = access.judge(conn, self._settings.access, author, inbound.author.name, now)
        if not verdict.allowed and verdict.code is None:
            log.info("message_denied", extra={"person": author})
            return None
        lane = conversation.ensure(
            conn, inbound.address, private=inbound.private, owner=author, now=now
        )
        if inbound.private and lane.owner != author:
            log.warning("message_denied", extra={"person": author, "conversation": lane.id})
            return None
        way = route(inbound.text, inbound.kind)
        if way.to == "button" or way.name == "stop":
            allowance = Allowance.TAKE  # whoever wrote too much can still stop it
        waits = verdict.allowed and allowance is Allowance.TAKE and way.to in ("turn", "lane")
        waits = waits and len(inbound.text) <= MAX_CHARS
        status = InboxStatus.NEW if waits else InboxStatus.DONE
        row_id = inbox.insert_row(conn, inbound, lane.id, author, status, now)
        if row_id is None:
            # Nothing new. Its first delivery may have ended between the commit and the wake-up.
            return _Taken(author=author, wake=waits, again=True)
        taken = _Taken(row_id, author, wake=waits)
        if not waits:
            language = language_of(
                inbound.text,
                inbound.author.language,
                self._settings.locale.language,
                verdict.language,
            )
            asked = Asked(lane, author, language, way, now)
            self._answer(conn, inbound, taken, asked, verdict.code, allowance)
        return taken

    def _answer(
        self,
        conn: Connection,
        inbound: Inbound,
        taken: _Taken,
        asked: Asked,
        code: str | None,
        allowance: Allowance,
    ) -> None:
        if allowance is not Allowance.TAKE:
            limit = self._settings.sessions.rate_limit.messages_per_minute
            text = say("rate", asked.language, limit=limit) if allowance is Allowance.TELL else ""
        elif code is not None:
            text = say("pairing", asked.language, code=code, hours=access.PAIRING_HOURS)
        elif len(inbound.text) > MAX_CHARS:
            text = say("too_long", asked.language, chars=len(inbound.text), limit=MAX_CHARS)
        elif inbound.kind is Kind.BUTTON:
            text = self._press(conn, taken, asked)
        else:
            text = self._commands.run(conn, asked)
            taken.stop = asked.route.name == "stop" and not text
        if text:
            draft = notice(taken.row_id, asked.person, asked.lane, text)
            taken.letter = (outbox.put(conn, draft, asked.now), draft)

    def _press(self, conn: Connection, taken: _Taken, asked: Asked) -> str:
        """A button press; what it has to say is shown as the answer of the press, not as a message."""
        turn_id = int(asked.route.rest) if asked.route.rest.isdecimal() else 0
        if asked.route.name == "stop":
            taken.toast = request_stop(conn, asked, self._settings.access, turn_id)
            taken.stop = not taken.toast
            taken.toast = taken.toast or say("stopped_toast", asked.language)
        return ""


def notice(row_id: int, owner: str, lane: Lane, text: str) -> Draft:
    """A message of the gateway itself in answer to an inbox row."""
    return Draft(turn_id=row_id, key="notice", owner=owner, address=lane.address, text=text)
