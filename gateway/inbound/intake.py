"""What happens when a message arrives: stored, judged and routed in one transaction, then acted upon.

When `accept` returns, the message is durable, and only then is the platform told. Everything after the commit is waking
somebody up; a crash in between is mended by the walk at the next start.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlalchemy import Connection

from agent_core.ports import Clock
from channels.base import CanAnswerButtons, CanHome, Channel
from channels.errors import ChannelError
from channels.types import OURS, Address, Inbound, Kind
from gateway.budgets import asks as budget_asks
from gateway.commands import forget as commands_forget
from gateway.commands import link as commands_link
from gateway.commands.commands import Asked, Commands, interrupt, request_stop
from gateway.commands.home import HomePages
from gateway.engine.base import Engine
from gateway.inbound import albums, conversation, inbox
from gateway.inbound.arrival import arrival
from gateway.inbound.conversation import Lane
from gateway.inbound.router import Route, route
from gateway.inbound.storable import storable
from gateway.log_context import bound
from gateway.metrics.observer import Accepted, Observers
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people import access
from gateway.people.identity import language_of, person_id
from gateway.people.rate import Allowance, Judged, Rates
from gateway.questions.approvals import BUTTONS, COMMANDS, Decisions
from gateway.questions.outcome import Outcome, carry_out
from gateway.questions.questions import Ticket
from gateway.redact import Redactor
from gateway.settings.settings import Settings
from gateway.storage.clean_rows import clean_inbound
from gateway.storage.db import Database
from gateway.storage.tables import InboxStatus
from gateway.tasks import commands as task_commands
from gateway.texts.texts import say
from gateway.workspaces import workspaces_of

log = logging.getLogger(__name__)
MAX_CHARS = 100_000


@dataclass(slots=True)
class _Taken:
    """What the transaction decided.

    `wake`: rows wait in the lane; `stop`: cancel the running turn; `toast`: answer a press;
    `told`: the engine knows of them by the commit; `again`: it had come before; `decided`: what a
    question came to; `others`: further conversations to be waked, and for whom; `stranger`: may
    not write yet.
    """

    row_id: int = 0
    author: str = ""
    lane: str = ""
    wake: bool = False
    told: bool = False
    stop: bool = False
    letters: list[tuple[int, Draft]] = field(default_factory=list)
    toast: str = ""
    again: bool = False
    decided: Outcome | None = None
    others: tuple[tuple[str, str], ...] = ()
    stranger: bool = False


class Intake:
    """The one stream in: channels await `accept` for every Inbound."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: Settings,
        commands: Commands,
        engine: Engine,
        senders: Sender,
        fresh: Callable[[str], None],
        channel: Callable[[Address], Channel],
        decisions: Decisions,
        redactor: Redactor | None = None,
        tasks_changed: Callable[[], None] = lambda: None,
        observers: Observers | None = None,
    ) -> None:
        self._observers = observers or Observers()
        self._tasks_changed = tasks_changed
        self._redactor = redactor or Redactor()
        self._decisions = decisions
        self._db = db
        self._clock = clock
        self._settings = settings
        self._commands = commands
        self._home = HomePages(db, clock, settings, commands)
        self._engine = engine
        self._senders = senders
        self._fresh = fresh
        self._channel = channel
        self._rates = Rates(settings.sessions.rate_limit.messages_per_minute)

    async def accept(self, inbound: Inbound) -> None:
        """Take one message in. Returns when it is committed; a redelivery changes nothing.

        Secrets in it are replaced first: neither a row nor a model ever has them.
        """
        if inbound.kind in OURS:
            log.warning("message_refused", extra={"kind": inbound.kind, "key": inbound.key})
            return
        inbound = clean_inbound(self._redactor, storable(inbound))
        if inbound.kind is Kind.HOME:
            await self._show_home(inbound)
            return
        if not inbound.addressed and not await self._continues(inbound):
            return
        author = person_id(inbound.address, inbound.author)
        group = None if inbound.private else str(replace(inbound.address, thread=None))
        began = self._clock.monotonic()
        judged = self._rates.check(author, group, began)
        taken = await self._db.write(lambda conn: self._take(conn, inbound, author, judged))
        self._tell(inbound, taken, began, judged)
        if taken is None:
            return
        if taken.again:
            self._rates.forgive(author, group, judged)
        with bound(conversation=taken.lane):
            await self._act(inbound, taken)

    def _tell(self, inbound: Inbound, taken: _Taken | None, began: float, judged: Judged) -> None:
        """Tell observers what became of a message."""
        outcome: Literal["taken", "again", "turned_away"] = "taken"
        if taken is None or taken.stranger or judged.allowance is not Allowance.TAKE:
            outcome = "turned_away"
        elif taken.again:
            outcome = "again"
        seconds = self._clock.monotonic() - began
        self._observers.fact(Accepted(inbound.address.channel, outcome, seconds))

    async def _show_home(self, inbound: Inbound) -> None:
        channel = self._channel(inbound.address)
        page = await self._home.page(inbound) if isinstance(channel, CanHome) else None
        if page is not None and isinstance(channel, CanHome):
            try:
                await channel.home(inbound.author.id, page)
            except ChannelError as e:  # the page is made anew at the next opening
                log.warning("home_not_shown", extra={"reason": str(e)})

    async def _continues(self, inbound: Inbound) -> bool:
        """Whether it is a part of an album whose first part was to the bot."""
        if inbound.album is None:
            return False
        return await self._db.read(lambda conn: albums.continues(conn, inbound))

    async def _act(self, inbound: Inbound, taken: _Taken) -> None:
        lane = taken.lane
        for letter in taken.letters:
            self._senders.send(self._senders.letter(*letter))
        if taken.decided is not None:
            carry_out(taken.decided, self._senders, self._engine, self._observers)
        self._look(inbound)
        if taken.wake:
            self._fresh(lane)
            if not taken.told:
                self._engine.wake(lane, taken.author)
        for other in taken.others:
            self._engine.wake(*other)
        if taken.stop and not await self._engine.cancel(lane):
            self._engine.wake(lane, taken.author)  # the mark is durable; whoever runs next sees it
        if inbound.callback is not None:
            channel = self._channel(inbound.address)
            if isinstance(channel, CanAnswerButtons):
                await channel.answer(inbound.callback, taken.toast)

    def _look(self, inbound: Inbound) -> None:
        """A task may have been cancelled, or its owner forgotten."""
        if route(inbound.text, inbound.kind).name in (task_commands.BUTTON, "forget"):
            self._tasks_changed()

    def _take(
        self, conn: Connection, inbound: Inbound, author: str, judged: Judged
    ) -> _Taken | None:
        now = self._clock.now()
        apart = self._apart(inbound)
        place = conversation.lane_id(inbound.address, author if apart else "")
        found = arrival(conn, author, place)
        policy, name = self._settings.access, inbound.author.name
        verdict = access.judge(conn, policy, author, name, now, found.standing)
        if not verdict.allowed and verdict.code is None:
            log.info("message_denied", extra={"person": author})
            return None
        lane = found.lane or conversation.ensure(
            conn, inbound.address, private=inbound.private, owner=author, now=now, apart=apart
        )
        if inbound.private and lane.owner != author:  # another person's private conversation
            log.warning("message_denied", extra={"person": author, "conversation": lane.id})
            return None
        way = route(inbound.text, inbound.kind)
        calls = way.to in ("turn", "unknown") and self._commands.calls(
            conn, lane, author, inbound.text
        )
        if calls:
            way = Route("turn")  # as a row that waits it is begun as one (engine/begin.py)
        if way.to == "button" or way.name == "stop":
            # whoever wrote too much can still stop it
            judged = replace(judged, allowance=Allowance.TAKE)
        waits = (
            verdict.allowed and judged.allowance is Allowance.TAKE and way.to in ("turn", "lane")
        )
        waits = waits and len(inbound.text) <= MAX_CHARS
        ticket: Ticket | None = None
        answers = way.to == "turn" and not (calls or inbound.attachments or inbound.again)
        if waits and answers and found.asked:
            ticket = self._decisions.words(conn, lane, author, now)
        waits = waits and ticket is None
        status = InboxStatus.NEW if waits else InboxStatus.DONE
        row_id = inbox.insert_row(conn, inbound, lane.id, author, status, now)
        if row_id is None:
            # Nothing new. Its first delivery may have ended between the commit and the wake-up.
            return _Taken(author=author, lane=lane.id, wake=waits, again=True)
        taken = _Taken(row_id, author, lane.id, wake=waits, stranger=not verdict.allowed)
        if not waits:
            language = language_of(
                inbound.text,
                inbound.author.language,
                self._settings.locale.language,
                verdict.language,
            )
            asked = Asked(lane, author, language, way, now, row_id, inbound.author.name)
            if ticket is not None:
                taken.decided = self._decisions.answer(conn, ticket, asked, inbound.text)
            else:
                self._answer(conn, inbound, taken, asked, verdict.code, judged)
        elif way.to == "turn" and self._settings.sessions.while_busy == "interrupt":
            taken.stop = interrupt(conn, lane.id, author)
        taken.told = waits and self._engine.announce(conn, lane.id, author)
        return taken

    def _apart(self, inbound: Inbound) -> bool:
        """Whether each person of its place has a conversation of their own there."""
        rules = self._settings.groups.rules(inbound.address)
        return not inbound.private and rules.session == "person"

    def _answer(
        self,
        conn: Connection,
        inbound: Inbound,
        taken: _Taken,
        asked: Asked,
        code: str | None,
        judged: Judged,
    ) -> None:
        if judged.allowance is not Allowance.TAKE:
            code_ = "rate_group" if judged.whole else "rate"
            tell = judged.allowance is Allowance.TELL
            text = say(code_, asked.language, limit=judged.limit) if tell else ""
        elif code is not None:
            text = say("pairing", asked.language, code=code, hours=access.PAIRING_HOURS)
        elif len(inbound.text) > MAX_CHARS:
            text = say("too_long", asked.language, chars=len(inbound.text), limit=MAX_CHARS)
        elif asked.route.to == "button":
            text = self._press(conn, inbound, taken, asked)
        elif asked.route.name in COMMANDS:
            taken.decided = self._decisions.command(conn, asked)
            text = taken.decided.said
        elif asked.route.name == "forget":
            done = commands_forget.run(conn, asked, workspaces_of(self._settings))
            text, taken.others = done.said, done.wake
        else:
            text = self._commands.run(conn, asked)
            if asked.route.name == "stop":
                taken.stop = not text
                taken.decided = self._decisions.drop_parked(conn, asked)
                text = text and (taken.decided.said or text)
        if text:
            asked.also.insert(0, notice(taken.row_id, asked.person, asked.lane, text))
        taken.letters = [(outbox.put(conn, draft, asked.now), draft) for draft in asked.also]

    def _press(self, conn: Connection, inbound: Inbound, taken: _Taken, asked: Asked) -> str:
        """A button press; what it has to say is shown as the answer of the press, mostly not as a message."""
        if asked.route.name in BUTTONS:
            taken.decided = self._decisions.press(conn, asked, inbound)
            taken.toast = "" if taken.decided.aloud else taken.decided.said
            return taken.decided.said if taken.decided.aloud else ""
        if asked.route.name == "link":
            taken.toast, letters = commands_link.pressed(conn, asked)
            taken.decided = Outcome(taken.toast, letters=letters)
            return ""
        if asked.route.name == budget_asks.BUTTON:
            taken.toast, letters, taken.others = self._raise(conn, asked)
            taken.decided = Outcome(taken.toast, letters=letters)
            return ""
        if asked.route.name == task_commands.BUTTON:
            taken.toast = task_commands.pressed(conn, asked, self._settings.access)
            return ""
        if asked.route.name == "forget":
            done = commands_forget.pressed(conn, asked, workspaces_of(self._settings))
            taken.toast, taken.others = done.said, done.wake
            taken.decided = Outcome(taken.toast, letters=done.letters)
            return ""

        turn_id = int(asked.route.rest) if asked.route.rest.isdecimal() else 0
        if asked.route.name == "stop":
            where = conversation.of_row(conn, turn_id, asked.lane.address)
            asked = replace(asked, lane=where or asked.lane)  # a group may have one for each person
            taken.lane = asked.lane.id
            taken.toast = request_stop(conn, asked, self._settings.access, turn_id)
            taken.stop = not taken.toast
            taken.toast = taken.toast or say("stopped_toast", asked.language)
        return ""

    def _raise(
        self, conn: Connection, asked: Asked
    ) -> tuple[str, tuple[tuple[int, Draft], ...], tuple[tuple[str, str], ...]]:
        """An operator's decision to raise a pot; who waits for it tries again."""
        rules = self._settings.access
        if rules.role(asked.person) != "operator":
            return say("not_yours", asked.language), (), ()
        said, letters, open_turns = budget_asks.pressed(
            conn, asked, rules.operators, self._settings.locale.language
        )
        return said, tuple(letters), tuple(open_turns)


def notice(row_id: int, owner: str, lane: Lane, text: str) -> Draft:
    """A message of the gateway itself in answer to an inbox row."""
    return Draft(turn_id=row_id, key="notice", owner=owner, address=lane.address, text=text)
