"""The first transaction of a run: what is next in a conversation, and all that it needs (guide "engine", 2)."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from agent_core.assembly.sections import author_line, own_words, situation
from agent_core.storage import sessions
from agent_core.storage.statements import append_rows, appending, load_rows, numbered, opening_turn
from agent_core.storage.tables import Turn
from agent_core.types import Block, Checkpoint, Context, Message, NewRow, Row, RowKind, Text
from channels.types import OURS
from gateway.commands.context import compact_row
from gateway.engine import late
from gateway.engine.begun import Begun, Chosen
from gateway.engine.upcoming import Upcoming
from gateway.hooks import words as hook_words
from gateway.inbound import albums, anew, conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.inbound.router import Route, route
from gateway.inbound.sessions import Retaken, retaken
from gateway.memory import signals as memory_signals
from gateway.outbound.draft import Draft
from gateway.people import identity
from gateway.people.identity import language_of
from gateway.schedules import runs as schedule_runs
from gateway.storage.tables import InboxStatus
from gateway.tasks import news as task_news
from gateway.tasks import rows as task_rows
from gateway.turns.found import Called, Found

_TURN = Turn.__table__  # type: ignore[attr-defined]
INTERRUPTING = "interrupting"  # its author wrote on; otherwise as "stopping"
STOPPING = frozenset({"stopping", INTERRUPTING})


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
    found: Found | None = None,
    scenes: Callable[[Lane, str], tuple[Context, ...]] = lambda _lane, _words: (),
    unlearnt: Callable[[Lane], bool] = lambda _: False,
    called: Called = lambda found, *_: found,
    admits: Callable[[Item], bool] = lambda _: True,
) -> Begun | None:
    """The next row of a conversation, begun; None when nothing is open. The conversation is held (`hold`).

    `known` gives rows of a session that are in memory: a transcript never changes, so only what came after is read.
    `found` is what was recalled for the message that comes next, `scenes` what its preset brings for its words,
    `called` adds the skill or the template that they call; `unlearnt` says whether nothing of the turn may be
    remembered, `admits` whether a turn may be gone on with.
    """
    item, lane = upcoming.item, upcoming.lane
    if item is None or lane is None:
        return None
    waits = upcoming.waits
    if item.kind in OURS and waits is not None and (item := _of_people(conn, item)) is None:
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
        return _told(conn, upcoming, lane, news, person, place, preset(lane), now, found)
    letters: tuple[tuple[int, Draft], ...] = ()
    if waits is not None and late.ends_waiting(way):
        letters = late.park(conn, lane, waits, now)
        upcoming = Upcoming(conn, lane.id)  # the transcript has more rows now
    begun = _begin_new(
        conn, upcoming, lane, item, person, way, place, preset, now, known, found, called
    )
    return replace(begun, letters=letters)


def _begin_new(
    conn: Connection,
    upcoming: Upcoming,
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
        return _decided_late(
            conn, upcoming, lane, item, person, way, place, preset(lane), now, found
        )
    checkpoints = upcoming.checkpoints
    again = Retaken()
    if way.name == "retry" and not item.attachments:
        again = retaken(conn, lane, now)
        item, found = _again(item, found, again.blocks)
    compacts = way.name == "compact"
    if way.to != "turn" and not again.blocks and not compacts:
        return Begun(lane, item, command=True, own_language=person.language)
    others = albums.further(conn, item)
    if left := albums.wait(item, others, now):
        return Begun(lane, item, command=False, wait=left)
    checkpoints = (*checkpoints, *again.left_out, *anew.take_back(conn, lane, item, now))
    item = albums.joined(item, others, anew.before(conn, lane, item))
    earlier = _earlier(conn, upcoming, lane.session_id, known(lane.session_id))
    if not earlier and not compacts:
        sessions.name(conn, lane.session_id, item.text or " ".join(item.files))
    language = language_of(item.text, item.language, place.language, person.language)
    found = called(found or Found(item.id), lane, item.text, person.principal, language, earlier)
    row = None
    if not item.attachments:
        row = first_row(item, place, lane.private, now, person.language, found)
    if row is not None and again.blocks:
        row = replace(row, message=Message("user", (*row.message.blocks[:-1], *again.blocks)))
    if compacts:
        row = compact_row(item.id, way.rest)
    begun = _open(
        conn,
        upcoming.newest,
        lane,
        item,
        [item.id, *(other.id for other in others)],
        preset(lane),
        now,
        earlier,
        checkpoints,
        row,
        person,
    )
    if found is not None:
        memory_signals.injected(conn, person.principal, found.meta.get("recalled", ()), now)
    return replace(begun, found=found)


def _again(item: Item, found: Found | None, again: tuple[Block, ...]) -> tuple[Item, Found | None]:
    """The row of a /retry as if it said `again` what was said before: what was found for its own word is left out."""
    if not again:
        return item, found
    return replace(item, text=Message("user", again).text), found and replace(found, contexts=())


def _of_people(conn: Connection, item: Item) -> Item | None:
    """While a turn waits for a person, tasks and schedules wait for its end; what people write goes on (BGT-6)."""
    if item.status != InboxStatus.NEW:
        return item
    others = inbox.new_rows(conn, item.conversation_id, after=item.id)
    return next((other for other in others if other.kind not in OURS), None)


def _told(
    conn: Connection,
    upcoming: Upcoming,
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
    taken = [row.id for row in news.items]
    task_rows.told(conn, [row.id for row in news.tasks], now)
    first, *rows = task_news.first_rows(news, context)
    first = replace(first, meta=first.meta | (dict(found.meta) if found else {}))
    begun = _open_all(conn, upcoming, lane, item, taken, preset, now, first, person)
    added = append_rows(conn, lane.session_id, item.id, begun.rows[-1].seq, rows, now)
    return replace(begun, rows=(*begun.rows, *added))


def _decided_late(
    conn: Connection,
    upcoming: Upcoming,
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
    row = late.first_row(ticket, item.id, context)
    row = replace(row, meta={**row.meta, **(found.meta if found else {})})
    begun = _open_all(conn, upcoming, lane, item, [item.id], preset, now, row, person)
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


def _earlier(
    conn: Connection, upcoming: Upcoming, session_id: str, known: Sequence[Row]
) -> tuple[Row, ...]:
    have = known[-1].seq if known else 0
    more = load_rows(conn, session_id, have) if upcoming.last_seq > have else ()
    return (*known, *more)


def _open_all(
    conn: Connection,
    upcoming: Upcoming,
    lane: Lane,
    item: Item,
    taken: Sequence[int],
    preset: Chosen,
    now: dt.datetime,
    row: NewRow,
    person: identity.Known,
) -> Begun:
    """Open a turn with everything of its session."""
    earlier = tuple(load_rows(conn, lane.session_id))
    checkpoints = upcoming.checkpoints
    return _open(
        conn, upcoming.newest, lane, item, taken, preset, now, earlier, checkpoints, row, person
    )


def _open(
    conn: Connection,
    horizon: int,
    lane: Lane,
    item: Item,
    taken: Sequence[int],
    preset: Chosen,
    now: dt.datetime,
    earlier: tuple[Row, ...],
    checkpoints: tuple[Checkpoint, ...],
    row: NewRow | None,
    person: identity.Known,
) -> Begun:
    """Open the turn of an inbox row, with the rows `taken` into it."""
    added = numbered(item.id, earlier[-1].seq if earlier else 0, [row] if row else [], now)
    opened = opening_turn(
        turn_id=item.id,
        session_id=lane.session_id,
        principal=person.principal,
        preset=preset.name,
        digest=preset.digest,
        horizon=horizon,
        now=now,
    )
    rows = [appending(lane.session_id, new) for new in added]
    changes = [*(inbox.taking(row_id, item.id) for row_id in taken), opened, *rows]
    return Begun(
        lane,
        item,
        command=False,
        session_id=lane.session_id,
        turn_id=item.id,
        epoch=conversation.raise_epoch(conn, lane.id, changes),
        horizon=horizon,
        rows=(*earlier, *added),
        unwritten=row is None,
        digest=preset.digest,
        principal=person.principal,
        own_language=person.language,
        checkpoints=checkpoints,
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
