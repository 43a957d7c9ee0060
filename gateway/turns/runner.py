"""Runs the next open row of a conversation: a turn, or a command of the lane (DESIGN.md 3, 4)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from gateway.commands.commands import Asked, Commands
from gateway.engine.base import Progress
from gateway.engine.begin import begin, stop_asked
from gateway.engine.begun import Begun
from gateway.engine.upcoming import hold
from gateway.inbound import inbox
from gateway.inbound.intake import notice
from gateway.inbound.router import route
from gateway.log_context import bound
from gateway.memory.recalled import Recaller
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.people import identity
from gateway.tasks import news as task_news
from gateway.tasks import rows as task_rows
from gateway.turns.last_tries import LastTries
from gateway.turns.turns import Turns

LEAVING = frozenset(
    {"new", "resume", "fork"}
)  # commands after which a session is learnt from (MEM-5)


@dataclass(slots=True)
class TurnRunner:
    """See gateway.engine.base.Runner.

    `scheduled` is called when a reminder was added, `left` when a session may have been left.
    """

    turns: Turns
    commands: Commands
    scheduled: Callable[[], None] = lambda: None
    left: Callable[[], None] = lambda: None
    recaller: Recaller | None = None
    last_tries: LastTries = field(default_factory=LastTries)

    def fresh(self, conversation_id: str) -> None:
        """Rows have arrived in this conversation; a running turn may steer them in."""
        self.turns.fresh.add(conversation_id)

    async def open(self) -> list[tuple[str, str]]:
        """See Runner."""
        found = await self.turns.db.read(inbox.open_conversations)
        self.turns.fresh.update(conversation_id for conversation_id, _ in found)
        return found

    async def step(self, conversation_id: str) -> Progress:
        """See Runner."""
        try:
            return await self._step(conversation_id)
        finally:
            self.last_tries.leave(conversation_id)

    async def _step(self, conversation_id: str) -> Progress:
        self.turns.fresh.discard(conversation_id)  # what has arrived by now is this turn's backlog
        begun = await self._begin(conversation_id)
        self._rewrite(begun)
        while begun is not None and begun.wait:
            await self.turns.services.sleep(begun.wait)
            begun = await self._begin(conversation_id)
            self._rewrite(begun)
        if begun is None:
            return Progress.IDLE
        if begun.held:
            self.last_tries.wait(begun.item)
            return Progress.IDLE
        self.last_tries.begun(begun.item)
        with _about(begun):
            if begun.command:
                await self._command(begun)
                return Progress.AGAIN
            return await self.turns.run(begun, stop=begun.stopping)

    def _rewrite(self, begun: Begun | None) -> None:
        """Send the questions anew that this begin has closed."""
        for letter in begun.letters if begun else ():
            self.turns.senders.send(self.turns.senders.rewritten(*letter))

    async def close_stopped(self, conversation_id: str) -> None:
        """See Runner."""
        said = self.turns.said.pop(conversation_id, None)
        if not await self.turns.db.read(lambda conn: stop_asked(conn, conversation_id)):
            return  # it ended by itself in this moment; what was cut off is a later turn
        begun = await self._begin(conversation_id)
        if begun is not None and begun.stopping:
            with _about(begun):
                await self.turns.run(begun, stop=True, said=said() if said else "")
        self.last_tries.leave(conversation_id)

    async def _begin(self, conversation_id: str) -> Begun | None:
        """What is next, begun, with what is recalled for it.

        Of most people nothing is known yet: the transaction that sees that begins as well. Otherwise it is read first.
        """
        now = self.turns.clock.now()
        recaller, found = self.recaller, None
        looks = recaller is not None and not recaller.expects(conversation_id)
        if recaller is not None and not looks:
            found = await recaller.before(conversation_id)

        def work(conn: Connection) -> Begun | None:
            upcoming = hold(conn, conversation_id)
            if looks and recaller is not None and recaller.has(conn, upcoming):
                raise _Recalls
            begun = begin(
                conn,
                upcoming,
                self.turns.place,
                self.turns.staff.choice,
                now,
                self.turns.known,
                found,
                self.turns.staff.scenes,
                self.turns.staff.unlearnt,
                self.turns.staff.called,
                self.last_tries.admits,
            )
            return self.turns.ready(conn, begun)

        try:
            return await self.turns.db.write(work)
        except _Recalls:
            assert recaller is not None  # noqa: S101 - who else has raised it
            found, looks = await recaller.before(conversation_id), False
            return await self.turns.db.write(work)

    async def _command(self, begun: Begun) -> None:
        item = begun.item
        way = route(item.text, item.kind)
        if way.to == "task":
            await self._tell(begun)
            return
        asked = Asked(
            begun.lane,
            item.author,
            self.turns.language(begun),
            way,
            self.turns.clock.now(),
            item.id,
            item.name,
        )
        asked = await self.commands.look(asked)

        def work(conn: Connection) -> list[tuple[int, Draft]]:
            asked.also.clear()  # a transaction may be tried again
            text = self.commands.run(conn, asked)
            drafts = [notice(item.id, item.author, begun.lane, text), *asked.also]
            inbox.close_row(conn, item.id)
            return [(outbox.put(conn, draft, asked.now), draft) for draft in drafts]

        for letter in await self.turns.db.write(work):
            self.turns.senders.send(self.turns.senders.letter(*letter))
        if asked.route.name == "remind":
            self.scheduled()
        elif asked.route.name == "alert" and self.commands.alerts is not None:
            self.commands.alerts.wake()
        elif asked.route.name in LEAVING:
            self.left()

    async def _tell(self, begun: Begun) -> None:
        """Say what came of a background task whose session is not the current one any more."""
        item, now = begun.item, self.turns.clock.now()

        def work(conn: Connection) -> list[tuple[int, Draft]]:
            person, language = identity.known(conn, item.author), self.turns.language(begun)
            drafts = task_news.letters(conn, begun.lane, item, person, language, self.turns.title)
            task_rows.told(conn, [item.text], now)
            inbox.close_row(conn, item.id)
            return [(outbox.put(conn, draft, now), draft) for draft in drafts]

        for letter in await self.turns.db.write(work):
            self.turns.senders.send(self.turns.senders.letter(*letter))


class _Recalls(Exception):
    """Nothing is begun yet: something may be recalled for the message, which is read outside of this transaction."""


def _about(begun: Begun) -> AbstractContextManager[None]:
    """The ids that every log line of this row carries."""
    ids: dict[str, object] = {"conversation": begun.lane.id}
    if begun.session_id:
        ids["session"] = begun.session_id
    if begun.turn_id:
        ids["turn"] = begun.turn_id
    return bound(**ids)
