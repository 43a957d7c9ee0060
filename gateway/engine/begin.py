"""The first transaction of a run: what is next in a conversation, and all that it needs (guide "engine", 2)."""

import datetime as dt
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection, select

from agent_core.assembly.sections import author_line, own_words, situation
from agent_core.runtime.team import Team
from agent_core.storage import sessions
from agent_core.storage.statements import append_rows, load_rows, open_turn
from agent_core.storage.tables import Turn
from agent_core.types import Block, Checkpoint, Context, Message, NewRow, Row, RowKind, Text
from channels.types import OURS
from gateway.commands.context import compact_row
from gateway.engine import late
from gateway.engine.upcoming import Upcoming
from gateway.hooks import words as hook_words
from gateway.inbound import albums, anew, conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.inbound.router import Route, route
from gateway.inbound.sessions import retaken
from gateway.memory import signals as memory_signals
from gateway.outbound.draft import Draft
from gateway.people import identity
from gateway.people.identity import Language, language_of
from gateway.questions import waiting
from gateway.questions.waiting import AskingLanes
from gateway.schedules import runs as schedule_runs
from gateway.storage.tables import InboxStatus
from gateway.tasks import news as task_news
from gateway.tasks import rows as task_rows
from gateway.turns.found import Called, Found

_TURN = Turn.__table__  # type: ignore[attr-defined]
INTERRUPTING = "interrupting"  # its author wrote on; otherwise as "stopping"
STOPPING = frozenset({"stopping", INTERRUPTING})
_EVERY = AskingLanes()  # any conversation may have one


class Chosen(NamedTuple):
    """The preset that a turn begins with; the digest is empty where its content is unknown."""

    name: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn to run, or a lane command to carry out (`command`). `rows` is the whole session.

    `resumed`: the turn was begun before; `stopping`: a person has asked to stop it meanwhile. `unwritten`: the turn's
    first row is still to be written, since files came along (`gateway/inbound/media.py`). `wait`: nothing was begun
    yet, an album may still be coming in for so many seconds. `held`: nor was it, this turn may not be gone on with now.
    `interrupted`: it is stopping because its author wrote on.
    `letters`: messages of a turn that ended with this begin, which say something else now.
    `found`: what was recalled for the turn's first message. `principal`: who owns memory, portfolio and budget of the
    turn; `own_language`: the author's own choice, or empty. `digest` is what its preset said when it began, empty where
    that is unknown; `team` who works in it, None when there is no such team any more.
    """

    lane: Lane
    item: Item
    command: bool
    session_id: str = ""
    turn_id: int = 0
    epoch: int = 0
    horizon: int = 0
    rows: tuple[Row, ...] = ()
    resumed: bool = False
    stopping: bool = False
    unwritten: bool = False
    wait: float = 0.0
    held: bool = False
    interrupted: bool = False
    principal: str = ""
    own_language: str = ""
    checkpoints: tuple[Checkpoint, ...] = ()
    letters: tuple[tuple[int, Draft], ...] = ()
    found: Found | None = None
    digest: str = ""
    team: Team | None = None

    @property
    def compacts(self) -> str | None:
        """The topic of a turn that only compacts ("" for none); None for any other turn."""
        first = next((row for row in self.rows if row.turn_id == self.turn_id), None)
        return None if first is None else first.meta.get("compact")

    def language(self, setting: str) -> Language:
        """The language of the turn or the command."""
        return language_of(self.item.text, self.item.language, setting, self.own_language)


@dataclass(frozen=True, slots=True)
class Place:
    """Settings that a turn's first row depends on."""

    timezone: str
    language: str


def begin(
    conn: Connection,
    upcoming: Upcoming,
    place: Place,
    preset: Callable[[Lane], Chosen],
    now: dt.datetime,
    known: Callable[[str], Sequence[Row]] = lambda _: (),
    asking: Container[str] = _EVERY,
    found: Found | None = None,
    scenes: Callable[[Lane, str], tuple[Context, ...]] = lambda _lane, _words: (),
    unlearnt: Callable[[Lane], bool] = lambda _: False,
    called: Called = lambda found, *_: found,
    admits: Callable[[Item], bool] = lambda _: True,
) -> Begun | None:
    """The next row of a conversation, begun; None when nothing is open. The conversation is held (`hold`).

    `asking` holds the conversations whose turn may wait for a person: a row that is a turn ends that one first. `known`
    gives rows of a session that are in memory: a transcript never changes, so only what came after is read. `found` is
    what was recalled for the message that comes next, `scenes` what its preset brings for its words, `called` adds the
    skill or the template that they call; `unlearnt` says whether nothing of the turn may be remembered, `admits`
    whether a turn may be gone on with.
    """
    item, lane = upcoming.item, upcoming.lane
    if item is None or lane is None:
        return None
    asks = lane.id in asking
    if item.kind in OURS and asks and (item := _unless_waiting(conn, lane.id, item)) is None:
        return None
    found = found if found is not None and found.item_id == item.id else None
    scheduled = schedule_runs.started(conn, item) or hook_words.called(item)
    lane = lane if scheduled is None else scheduled.lane(lane)
    person = upcoming.person(item.author)
    if item.status == InboxStatus.IN_TURN:
        held = not admits(item)
        return Begun(lane, item, False, held=True) if held else _go_on(conn, lane, item, person)
    way = route(item.text, item.kind)
    if (
        way.to == "unknown"
    ):  # the intake lets it wait here only where it calls a skill or a template
        way = Route("turn")
    if scheduled is not None:
        found = (found or Found(item.id)).beside((scheduled.note,))
    if way.to == "turn" and (shown := scenes(lane, item.text)):
        found = (found or Found(item.id)).beside(shown)
    if unlearnt(lane) or (scheduled is not None and scheduled.outside):
        found = (found or Found(item.id)).unlearnt()
    if way.to == "task" and (news := task_news.of_turn(conn, lane, item, person)) is not None:
        return _told(conn, lane, news, person, place, preset(lane), now, found)
    ends = late.ends_waiting(way) and asks
    letters = late.park(conn, lane, now) if ends else ()
    begun = _begin_new(conn, lane, item, person, way, place, preset, now, known, found, called)
    return replace(begun, letters=tuple(letters))


def _begin_new(
    conn: Connection,
    lane: Lane,
    item: Item,
    person: identity.Known,
    way: Route,
    place: Place,
    preset: Callable[[Lane], Chosen],
    now: dt.datetime,
    known: Callable[[str], Sequence[Row]],
    found: Found | None,
    called: Called,
) -> Begun:
    """Begin a row that was not begun before."""
    if late.is_late(way):
        return _decided_late(conn, lane, item, person, way, place, preset(lane), now, found)
    again: tuple[Block, ...] = ()
    if way.name == "retry" and not item.attachments:
        again = retaken(conn, lane, now)
        item, found = _again(item, found, again)
    compacts = way.name == "compact"
    if way.to != "turn" and not again and not compacts:
        return Begun(lane, item, command=True, own_language=person.language)
    others = albums.further(conn, item)
    if left := albums.wait(item, others, now):
        return Begun(lane, item, command=False, wait=left)
    inbox.take(conn, [item.id, *(other.id for other in others)], item.id)
    anew.take_back(conn, lane, item, now)
    item = albums.joined(item, others, anew.before(conn, lane, item))
    earlier = _earlier(conn, lane.session_id, known(lane.session_id))
    if not earlier and not compacts:
        sessions.name(conn, lane.session_id, item.text or " ".join(item.files))
    language = language_of(item.text, item.language, place.language, person.language)
    found = called(found or Found(item.id), lane, item.text, person.principal, language, earlier)
    row = None
    if not item.attachments:
        row = first_row(item, place, lane.private, now, person.language, found)
    if row is not None and again:
        row = replace(row, message=Message("user", (*row.message.blocks[:-1], *again)))
    if compacts:
        row = compact_row(item.id, way.rest)
    begun = _open(conn, lane, item, preset(lane), now, earlier, row, person)
    if found is not None:
        memory_signals.injected(conn, person.principal, found.meta.get("recalled", ()), now)
    return replace(begun, found=found)


def _again(item: Item, found: Found | None, again: tuple[Block, ...]) -> tuple[Item, Found | None]:
    """The row of a /retry as if it said `again` what was said before: what was found for its own word is left out."""
    if not again:
        return item, found
    return replace(item, text=Message("user", again).text), found and replace(found, contexts=())


def _unless_waiting(conn: Connection, conversation_id: str, item: Item) -> Item | None:
    """While a turn waits for a person, tasks and schedules wait for its end; what people write goes on (BGT-6)."""
    if item.status != InboxStatus.NEW or waiting.turn_of(conn, conversation_id) is None:
        return item
    others = inbox.new_rows(conn, conversation_id, after=item.id)
    return next((other for other in others if other.kind not in OURS), None)


def _told(
    conn: Connection,
    lane: Lane,
    news: task_news.News,
    person: identity.Known,
    place: Place,
    preset: Chosen,
    now: dt.datetime,
    found: Found | None,
) -> Begun:
    """A turn that tells of background tasks: everything they brought is in its first rows (BGT-3)."""
    item, language = news.items[0], news.tasks[0].language
    where = "private chat" if lane.private else "group chat"
    context = situation(now, place.timezone, place=where, language=language)
    inbox.take(conn, [row.id for row in news.items], item.id)
    task_rows.told(conn, [row.id for row in news.tasks], now)
    first, *rows = task_news.first_rows(news, context)
    first = replace(first, meta=first.meta | (dict(found.meta) if found else {}))
    earlier = tuple(load_rows(conn, lane.session_id))
    begun = _open(conn, lane, item, preset, now, earlier, first, person)
    added = append_rows(conn, lane.session_id, item.id, begun.rows[-1].seq, rows, now)
    return replace(begun, rows=(*begun.rows, *added))


def _decided_late(
    conn: Connection,
    lane: Lane,
    item: Item,
    person: identity.Known,
    way: Route,
    place: Place,
    preset: Chosen,
    now: dt.datetime,
    found: Found | None,
) -> Begun:
    """A turn for a decision that came when its own turn had ended."""
    ticket = late.ticket_of(conn, way)
    where = "private chat" if lane.private else "group chat"
    context = situation(now, place.timezone, place=where, language=ticket.language)
    inbox.take(conn, [item.id], item.id)
    earlier = tuple(load_rows(conn, lane.session_id))
    row = late.first_row(ticket, item.id, context)
    row = replace(row, meta={**row.meta, **(found.meta if found else {})})
    begun = _open(conn, lane, item, preset, now, earlier, row, person)
    rows = late.stored_call(conn, ticket, lane.session_id, item.id)
    added = append_rows(conn, lane.session_id, item.id, begun.rows[-1].seq, rows, now)
    return replace(begun, rows=(*begun.rows, *added))


def _go_on(conn: Connection, lane: Lane, item: Item, person: identity.Known) -> Begun:
    turn_id = item.turn_id or item.id
    turn = conn.execute(select(_TURN).where(_TURN.c.id == turn_id)).one()
    inbox.count_attempt(conn, item.id)
    rows = tuple(load_rows(conn, turn.session_id))
    written = any(row.turn_id == turn_id and row.ref == str(item.id) for row in rows)
    return Begun(
        lane,
        albums.joined(item, albums.further(conn, item), anew.before(conn, lane, item)),
        command=False,
        session_id=turn.session_id,
        turn_id=turn_id,
        epoch=conversation.raise_epoch(conn, lane.id),
        horizon=turn.horizon,
        rows=rows,
        resumed=True,
        stopping=turn.status in STOPPING,
        interrupted=turn.status == INTERRUPTING,
        principal=turn.principal,
        own_language=person.language,
        checkpoints=sessions.load_checkpoints(conn, turn.session_id),
        unwritten=bool(item.attachments) and not written,
        digest=turn.digest,
    )


def _earlier(conn: Connection, session_id: str, known: Sequence[Row]) -> tuple[Row, ...]:
    return (*known, *load_rows(conn, session_id, known[-1].seq if known else 0))


def _open(
    conn: Connection,
    lane: Lane,
    item: Item,
    preset: Chosen,
    now: dt.datetime,
    earlier: tuple[Row, ...],
    row: NewRow | None,
    person: identity.Known,
) -> Begun:
    epoch = conversation.raise_epoch(conn, lane.id)
    horizon = inbox.newest(conn, lane.id)
    open_turn(
        conn,
        turn_id=item.id,
        session_id=lane.session_id,
        principal=person.principal,
        preset=preset.name,
        digest=preset.digest,
        horizon=horizon,
        now=now,
    )
    after = earlier[-1].seq if earlier else 0
    added = append_rows(conn, lane.session_id, item.id, after, [row] if row else [], now)
    return Begun(
        lane,
        item,
        command=False,
        session_id=lane.session_id,
        turn_id=item.id,
        epoch=epoch,
        horizon=horizon,
        rows=(*earlier, *added),
        unwritten=row is None,
        digest=preset.digest,
        principal=person.principal,
        own_language=person.language,
        checkpoints=sessions.load_checkpoints(conn, lane.session_id) if earlier else (),
    )


def stop_asked(conn: Connection, conversation_id: str) -> bool:
    """Whether a person has asked to stop the open turn of this conversation."""
    turn_id = inbox.running_turn(conn, conversation_id)
    query = select(_TURN.c.status).where(_TURN.c.id == turn_id)
    return turn_id is not None and conn.execute(query).scalar() in STOPPING


def words(item: Item) -> Block:
    """A person's words as a block, with a line for each file that came along."""
    lines = [item.text] if item.text else []
    lines += [f"[attached file: {name}]" for name in item.files]
    return Text(own_words("\n".join(lines)))


def first_row(
    item: Item,
    place: Place,
    private: bool,
    now: dt.datetime,
    own_language: str = "",
    found: Found | None = None,
) -> NewRow:
    """The turn's first row: the situation, in a group with who speaks (CHN-3), what was recalled, the own words."""
    language = language_of(item.text, item.language, place.language, own_language)
    context = situation(
        now,
        place.timezone,
        place="private chat" if private else "group chat",
        language=language,
        author="" if private else author_line(item.name, item.author),
    )
    blocks: tuple[Block, ...] = (context, *(found.contexts if found else ()), words(item))
    meta = dict(found.meta) if found else {}
    return NewRow(RowKind.USER, Message("user", blocks), str(item.id), meta)
