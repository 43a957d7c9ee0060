"""One turn from its begin to its reply: the journal, the preview, the files and the agent, joined (DESIGN.md 3, 4)."""

import asyncio
import datetime as dt
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from agent_core.compaction.strategies import DEFAULT, POLICIES
from agent_core.compaction.view import View
from agent_core.errors import Fenced, Reload
from agent_core.ports import Clock, ModelInfo, Transcriber
from agent_core.runtime.run import Person
from agent_core.runtime.session import Services, Turn
from agent_core.types import Message, Row, TurnStatus
from channels.base import CanStream, Channel, PreviewStream
from channels.errors import ChannelError
from channels.types import Address, Button, Kind, Step
from gateway.budgets.budgets import Budgets
from gateway.engine.base import Progress
from gateway.engine.begin import Place
from gateway.engine.begun import Begun
from gateway.engine.fence import AWAY, Fence
from gateway.engine.journal import TurnJournal
from gateway.inbound import inbox
from gateway.inbound.media import Media
from gateway.inbound.thread_history import earlier_row
from gateway.inbound.turn_files import TurnFiles
from gateway.metrics.observer import Emit, Observers
from gateway.model_house import ModelHouse, UnknownModel
from gateway.outbound import outbox
from gateway.outbound.asides import set_aside
from gateway.outbound.delivery import Delivery
from gateway.outbound.draft import Draft
from gateway.outbound.marks import MessageMark
from gateway.outbound.outbox import REPLY, Receipt
from gateway.outbound.reasoning import quoted
from gateway.outbound.sender import Sender
from gateway.outbound.steps import Names, steps_so_far
from gateway.people.identity import Language
from gateway.presets.team_house import TeamHouse
from gateway.questions.questions import Desk
from gateway.recipes.recipes import Recipes
from gateway.redact import Redactor
from gateway.settings.access import Access
from gateway.settings.groups import Groups
from gateway.storage.db import Database, settled
from gateway.tasks.commands import title_of
from gateway.texts.texts import say
from gateway.turns import budget as turn_budget
from gateway.turns.last_tries import is_poison
from gateway.turns.seen import seen
from gateway.turns.teams import TurnTeams, models_of

log = logging.getLogger(__name__)
RECENT = 2_000  # rows of idle sessions that stay in memory, in all: a few MB


@dataclass(slots=True)
class Turns:
    """Runs turns that `begin` has opened or found open.

    `fresh` holds conversations in which rows have arrived that a running turn may steer in; `said`
    gives the words that a running turn has streamed, for a stop. `asked` is called when a person is
    asked something, `spoke` when a turn is over, `condensed` when a summary stands for rows.
    """

    db: Database
    clock: Clock
    place: Place
    services: Services
    teams: TeamHouse
    models: ModelHouse
    senders: Sender
    channel: Callable[[Address], Channel]
    access: Access = field(default_factory=Access)
    ops_channel: str | None = None
    steer: bool = True
    groups: Groups = field(default_factory=Groups)
    asked: Callable[[], None] = lambda: None
    spoke: Callable[[Begun], None] = lambda _: None
    condensed: Callable[[], None] = lambda: None
    transcriber: Callable[[], Transcriber | None] = lambda: None
    redactor: Redactor = field(default_factory=Redactor)
    budgets: Budgets | None = None
    recipes: Recipes | None = None
    observers: Observers = field(default_factory=Observers)
    fresh: set[str] = field(default_factory=set)
    said: dict[str, Callable[[], str]] = field(default_factory=dict)
    staff: TurnTeams = field(init=False)
    _media: Media = field(init=False)
    policy: str = DEFAULT
    _recent: OrderedDict[str, View] = field(default_factory=OrderedDict)
    _since: dt.datetime = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock.now()
        self._media = Media(self.channel, self.transcriber)
        self.staff = TurnTeams(self.teams, self.services.registry, self.groups, self.recipes)

    def known(self, session_id: str) -> tuple[Row, ...]:
        """Rows of a session that are in memory."""
        view = self._recent.get(session_id)
        return () if view is None else view.rows

    async def run(self, begun: Begun, *, stop: bool, said: str = "") -> Progress:
        """Run the turn to its end, or `stop` it; `said` is what was streamed before the stop.

        Cancellation cuts it off where it is; what is stored stays.
        """
        self.staff.committed(begun)
        language = self.language(begun)
        reply = Draft(begun.turn_id, REPLY, begun.item.author, begun.lane.address, "")
        reply = replace(reply, quiet=begun.item.quiet)
        if not begun.lane.private:
            reply = replace(reply, reply_to=begun.item.message_id)
        receipt = await self._receipt(begun, reply)
        steps = await self._steps(begun, language)
        delivery = self._delivery(begun, receipt, language, steps)
        journal = self._journal(begun, reply, delivery)
        mark = MessageMark(self._channel(begun), begun, self.services.sleep)
        watches = self.observers.turn(seen(begun, self.clock.now()))
        try:
            emit = watches.beside(delivery.emit)
            turn = await self._prepare(begun, journal, emit, language)
            journal.files = files = self._files(begun, turn, journal, language)
            if begun.unwritten:
                plain = stop or is_poison(begun.item, resumed=begun.resumed)
                await self._write_first(begun, files, journal, turn, plain=plain)
            if not stop and (earlier := await earlier_row(self._channel(begun), begun)):
                await journal.append([earlier])
            await self._run(begun, turn, stop=stop, said=said)
        except (Fenced, Reload) as e:
            log.warning("turn_left", extra={"turn": begun.turn_id, "reason": type(e).__name__})
            if isinstance(e, Fenced):
                return Progress.LEFT
            await self._forgive(begun)
            return Progress.AGAIN
        except asyncio.CancelledError:
            await self._forgive(begun)
            raise
        finally:
            watches.over()
            await delivery.close()
            if journal.ready is not None:
                row_id, draft = journal.ready
                self.senders.send(self.senders.letter(row_id, draft, receipt))
            await mark.end(journal.status)
        self._remember(journal, turn.view)
        if journal.status is TurnStatus.WAITING:
            await set_aside(self.senders, receipt, delivery.steps, language)
        if journal.lacks_room:
            return Progress.IDLE
        self.spoke(begun)
        return Progress.AGAIN if journal.more else Progress.IDLE

    async def _forgive(self, begun: Begun) -> None:
        """The run is left in good order, as at every restart: that is no fault of the turn (see last_tries.py)."""
        try:
            await settled(self.db, lambda conn: inbox.count_attempt(conn, begun.item.id, by=-1))
        except AWAY as e:
            log.warning("attempt_counted", extra={"turn": begun.turn_id, "reason": str(e)})

    def _remember(self, journal: TurnJournal, view: View | None) -> None:
        """Keep the views of the sessions that ran last, so that a next turn reads only what is new."""
        if view is None:
            return
        self._recent[journal.session_id] = view.extended(journal.stored[len(view.rows) :])
        self._recent.move_to_end(journal.session_id)
        while len(self._recent) > 1 and sum(len(v.rows) for v in self._recent.values()) > RECENT:
            self._recent.popitem(last=False)

    async def _run(self, begun: Begun, turn: Turn, *, stop: bool, said: str) -> None:
        if stop:
            await turn.stop(said, interrupted=begun.interrupted)
        elif is_poison(begun.item, resumed=begun.resumed):
            await turn.quarantine()
        else:
            self.said[begun.lane.id] = lambda: turn.said
            topic = begun.compacts
            await (turn.run() if topic is None else turn.compact(topic))
            self.said.pop(begun.lane.id, None)

    async def _prepare(
        self, begun: Begun, journal: TurnJournal, emit: Emit, language: Language
    ) -> Turn:
        problem = ""
        team = begun.team
        if team is None:
            code = "preset_changed" if begun.digest else "preset_missing"
            problem = say(code, language, name=self.teams.name_for(begun.lane.preset))
            team = self.teams.fallback()
        model = begun.lane.model
        try:
            spare = self.budgets.spare(team.budget) if self.budgets else frozenset[str]()
            await self.models.prepare(
                models_of(team, model)
                | {name for word in spare for name in team.plain_models(word)}
            )
        except Exception as e:  # a model that cannot be made is said, never tried for ever
            if not isinstance(e, UnknownModel):
                log.exception("model_not_ready", extra={"turn": begun.turn_id})
            name = (
                str(e)
                if isinstance(e, UnknownModel)
                else model or team.plain_models(team.supervisor.model)[0]
            )
            problem = say("model_missing", language, name=name)
            model = "demo"
            await self.models.prepare([model])
        data = team.data
        person = Person(
            begun.principal,
            language,
            data.as_of,
            max_age=data.max_age,
            sources=data.sources,
            day_input=data.day_input,
            place=self.staff.where(begun.lane),
        )
        turn = Turn(
            self.services,
            team,
            journal,
            person,
            emit,
            model,
            policy=POLICIES[team.context_policy or self.policy],
            view=self._recent.get(journal.session_id),
        )
        if problem:
            turn.refuse(problem)
        return turn

    def _files(
        self, begun: Begun, turn: Turn, journal: TurnJournal, language: Language
    ) -> TurnFiles:
        def model() -> ModelInfo:
            return turn.model

        return TurnFiles(self._media, self.senders, begun, language, model, journal.may_pay)

    async def _write_first(
        self, begun: Begun, files: TurnFiles, journal: TurnJournal, turn: Turn, *, plain: bool
    ) -> None:
        """Write the first row of a turn whose message has files; `plain`: only their names."""
        brought = None if plain else await files.bring(begun.item)
        await journal.open(files.first_row(brought, self.place, self.clock.now()), brought)
        if brought is not None and brought.useless:
            turn.refuse(brought.told)

    async def _steps(self, begun: Begun, language: Language) -> Sequence[Step]:
        """What the turn has done already."""
        if not begun.resumed and begun.item.kind is not Kind.TASK:
            return ()
        team = begun.team or self.teams.fallback()
        names = Names(self.services.registry, team, language)
        return await self.db.read(lambda conn: steps_so_far(conn, begun, names))

    def _journal(self, begun: Begun, reply: Draft, delivery: Delivery) -> TurnJournal:
        lane = begun.lane.id
        language = self.language(begun)

        def preface(messages: Sequence[Message]) -> str:
            return quoted(messages, language) if begun.lane.thinking else ""

        def fresh() -> bool:
            if not self.steer or lane not in self.fresh:
                return False
            self.fresh.discard(lane)
            return True

        return TurnJournal(
            Fence(self.db, self.clock, lane, begun.epoch, redactor=self.redactor),
            session_id=begun.session_id,
            turn_id=begun.turn_id,
            owner=begun.principal,
            author=begun.item.author,
            rows=begun.rows,
            horizon=begun.horizon,
            reply=reply,
            fresh=fresh,
            steps=lambda: delivery.steps,
            since=self._since,
            desk=self._desk(begun),
            preface=preface,
            checkpoints=begun.checkpoints,
            budget=turn_budget.of_turn(self.budgets, begun, language, self.senders),
            condensed=self.condensed,
            calls=lambda text: bool(self.recipes and self.recipes.called(text, begun.principal)),
        )

    def ready(self, conn: Connection, begun: Begun | None) -> Begun | None:
        """In the transaction that begins a turn: find its team, set aside what its first call will probably cost."""
        if begun is None or not begun.turn_id:
            return begun
        begun = self.staff.staffed(conn, begun, self.clock.now())
        if self.budgets is not None:
            turn_budget.begin(self.budgets, conn, begun, begun.team)
        return begun

    def _desk(self, begun: Begun) -> Desk:
        """Where this turn's questions to people go."""

        def posted(row_id: int, draft: Draft, rewritten: bool) -> None:
            make = self.senders.rewritten if rewritten else self.senders.letter
            self.senders.send(make(row_id, draft))
            if not rewritten:
                self.asked()

        team = begun.team or self.teams.fallback()
        return Desk(
            begun.lane.address,
            begun.item.author,
            self.access.operators,
            posted,
            self.access,
            self.ops_channel,
            team.digest,
        )

    async def _receipt(self, begun: Begun, reply: Draft) -> Receipt:
        receipt = Receipt(self.db, self.clock, reply)
        if begun.resumed:
            found = await self.db.read(lambda conn: outbox.visible(conn, begun.turn_id))
            if found is not None:
                receipt.row_id, receipt.shown_ids, receipt.finals = found
        return receipt

    def _delivery(
        self, begun: Begun, receipt: Receipt, language: Language, steps: Sequence[Step]
    ) -> Delivery:
        team = begun.team or self.teams.fallback()
        stop = Button(say("stop_button", language), f"stop:{begun.turn_id}", "danger")
        stream: PreviewStream | None = None
        channel = self._channel(begun)
        if isinstance(channel, CanStream) and not begun.item.quiet:
            stream = channel.stream(
                begun.lane.address,
                receipt,
                private=begun.lane.private,
                reply_to=receipt.draft.reply_to,
            )
        return Delivery(
            stream,
            thinking=say("thinking", language),
            stop=stop,
            steps=steps,
            reasoning=begun.lane.thinking,
            clear=lambda: self.senders.passed(begun.lane.address),
            progress=team.delegation.show_progress,
        )

    def _channel(self, begun: Begun) -> Channel | None:
        try:
            return self.channel(begun.lane.address)
        except ChannelError:
            return None

    def title(self, tool: str, language: Language) -> str:
        """A tool's name for people."""
        return title_of(self.services.registry, tool, language)

    def language(self, begun: Begun) -> Language:
        """The language in which this turn's person is spoken to."""
        return begun.language(self.place.language)
