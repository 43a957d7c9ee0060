"""/forget: everything that is kept of a person, deleted in one transaction and counted before and after (ARC-8).

What stays, and why: the identity with its access and links (else a person who was shut out would be let in anew), rows
of the inbox without their words (else a platform's redelivery would be answered again), figures of usage without an
owner (they were paid), and that an operator did something to this id in the console (its audit). Backups are files of
the operator and are not reached.
"""

import datetime as dt
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, and_, delete, func, not_, select, update

from agent_core.storage import forget as core
from agent_core.storage import orders, orders_halt
from agent_core.storage.statements import ensure_session
from agent_core.storage.tables_memory import MemoryRow
from agent_core.storage.upkeep import remove
from agent_core.trading import PAPER
from gateway.inbound import conversation
from gateway.people.identity import principal_of
from gateway.storage.tables import (
    Conversation,
    Inbox,
    InboxStatus,
    Link,
    LinkCode,
    Outbox,
    Person,
    Question,
    Schedule,
)
from gateway.storage.tables_tasks import TaskRow
from gateway.workspaces import Workspaces

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_LINK = Link.__table__  # type: ignore[attr-defined]
_LINK_CODE = LinkCode.__table__  # type: ignore[attr-defined]
_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_PERSON = Person.__table__  # type: ignore[attr-defined]
_QUESTION = Question.__table__  # type: ignore[attr-defined]
_SCHEDULE = Schedule.__table__  # type: ignore[attr-defined]
_TASK = TaskRow.__table__  # type: ignore[attr-defined]
KEY = "forget"  # of the outbox row that asks for a yes; it says nothing of the person
GRAVE = "sforgotten"  # the session to which figures of usage without an owner belong
# A row of the inbox of which only its key is left.
BLANK = json.dumps(
    {
        "text": "",
        "kind": "message",
        "name": "",
        "language": None,
        "private": True,
        "message_id": None,
        "callback": None,
        "files": [],
    }
)


class AtBroker(Exception):
    """Orders of the person are open at a real broker, where they would go on with nobody knowing of them."""

    def __init__(self, orders: Sequence[int]) -> None:
        super().__init__(
            f"nothing was deleted: the orders {', '.join(map(str, orders))} are open at a broker; cancel them first"
        )
        self.orders = tuple(orders)


@dataclass(frozen=True, slots=True)
class Report:
    """What was erased. `before` and `after` count the same things in the same way: after it, all are 0.

    `wake`: (conversation, person) of others whose running turn was interrupted, since its session moved.
    """

    owner: str
    before: dict[str, int]
    after: dict[str, int]
    wake: tuple[tuple[str, str], ...] = field(default=())

    @property
    def left(self) -> int:
        """How much is left; 0 proves it."""
        return sum(self.after.values())

    @property
    def removed(self) -> int:
        """How much there was."""
        return sum(self.before.values()) - self.left


def identities(conn: Connection, person: str) -> tuple[str, ...]:
    """The principal of a person first, then every identity that is linked to it."""
    principal = principal_of(conn, person)
    query = select(_LINK.c.person_id).where(_LINK.c.principal == principal)
    return (principal, *conn.execute(query.order_by(_LINK.c.person_id)).scalars())


def everything(
    conn: Connection,
    person: str,
    now: dt.datetime,
    *,
    keep_row: int = 0,
    workspaces: Workspaces | None = None,
) -> Report:
    """Erase a person, with all identities linked to theirs. Never commits.

    `keep_row` is the inbox row that asked for it: it and messages behind it are not touched. A turn of theirs that runs
    is fenced: it writes nothing more. Files of `workspaces` go before the commit: where that fails, erasing is asked
    for again and finds fewer, while a commit without them could leave files that nobody knows of. Raises AtBroker.
    """
    core.overwrite(conn)
    who = identities(conn, person)
    orders_halt.hold(conn)  # no order is placed beside it
    if at_broker := [o.id for one in who for o in orders.undone(conn, one) if o.broker != PAPER]:
        raise AtBroker(at_broker)
    sessions = core.sessions_of(conn, who)
    gone = core.family(conn, [*sessions.own, *sessions.shared])
    mine = _asked_by(who, keep_row)
    before = _counted(conn, who, gone, sessions.turns, mine)
    wake = _fence(conn, who, sessions)
    _erase_messages(conn, who, mine)
    for table in (_QUESTION, _SCHEDULE, _TASK):
        conn.execute(delete(table).where(table.c.owner.in_(who)))
    ensure_session(conn, GRAVE, core.NOBODY, now)
    for root in sessions.shared:
        _take_out(conn, root, sessions.turns, who)
    _erase_own(conn, sessions.own, now)
    core.erase_sessions(conn, sessions.shared, GRAVE)  # their heads: what they had has moved
    core.erase_heads(conn, sessions.turns, who)
    core.erase_owned(conn, who)
    core.merge_index(conn)
    conn.execute(update(_PERSON).where(_PERSON.c.id.in_(who)).values(name=""))
    after = _counted(conn, who, gone, sessions.turns, mine)
    if workspaces is not None:
        before["workspace"] = workspaces.count(who)
        workspaces.remove(who)
        after["workspace"] = workspaces.count(who)
    return Report(who[0], before, after, wake)


def memories_of_group(conn: Connection, person: str, scope: str) -> Report:
    """Erase what is remembered of a person in one group, and nothing else."""
    owner = principal_of(conn, person)
    here = (_MEMORY.c.owner == owner, _MEMORY.c.scope == scope)
    query = select(_MEMORY.c.id).where(*here)
    ids = list(conn.execute(query).scalars())
    before = {"memories": len(ids)}
    remove(conn, owner, ids)
    return Report(owner, before, {"memories": len(conn.execute(query).all())})


def _asked_by(who: Collection[str], keep_row: int) -> ColumnElement[bool]:
    """Rows of the inbox that are to lose their words."""
    mine = and_(_INBOX.c.author.in_(who), _INBOX.c.body != BLANK)
    if not keep_row:
        return mine
    later = and_(_INBOX.c.id > keep_row, _INBOX.c.status == int(InboxStatus.NEW))
    return and_(mine, _INBOX.c.id != keep_row, not_(later))


def _counted(
    conn: Connection,
    who: Sequence[str],
    sessions: Sequence[str],
    turns: Collection[int],
    mine: ColumnElement[bool],
) -> dict[str, int]:
    counts = core.count_owned(conn, who) | core.count_said(conn, sessions, turns)
    kept = {
        "received": mine,
        "replies": _OUTBOX.c.owner.in_(who) & (_OUTBOX.c.key != KEY),
        "questions": _QUESTION.c.owner.in_(who),
        "reminders": _SCHEDULE.c.owner.in_(who),
        "tasks": _TASK.c.owner.in_(who),
    }
    for name, where in kept.items():
        counts[name] = conn.execute(select(func.count()).where(where)).scalar_one()
    return counts


def _fence(
    conn: Connection, who: Collection[str], sessions: core.Sessions
) -> tuple[tuple[str, str], ...]:
    """Let no run go on that knows what is erased; returns the ones of others, to be waked after the commit."""
    spoken = select(_INBOX.c.conversation_id).where(_INBOX.c.author.in_(who)).distinct()
    at = _CONVERSATION.c.session_id.in_([*sessions.own, *sessions.shared])
    lanes = set(conn.execute(spoken).scalars())
    lanes |= set(conn.execute(select(_CONVERSATION.c.id).where(at)).scalars())
    for lane in sorted(lanes):
        conversation.raise_epoch(conn, lane)
    running = select(_INBOX.c.conversation_id, _INBOX.c.author).where(
        _INBOX.c.conversation_id.in_(lanes),
        _INBOX.c.status == int(InboxStatus.IN_TURN),
        _INBOX.c.author.not_in(who),
    )
    return tuple((row.conversation_id, row.author) for row in conn.execute(running.distinct()))


def _erase_messages(conn: Connection, who: Collection[str], mine: ColumnElement[bool]) -> None:
    values = {"body": BLANK, "status": int(InboxStatus.DONE)}
    conn.execute(update(_INBOX).where(mine).values(values))
    conn.execute(delete(_OUTBOX).where(_OUTBOX.c.owner.in_(who), _OUTBOX.c.key != KEY))
    conn.execute(delete(_LINK_CODE).where(_LINK_CODE.c.person_id.in_(who)))


def _take_out(conn: Connection, root: str, turns: Collection[int], who: Sequence[str]) -> None:
    """Let a shared session go on without a person, under a new id."""
    names = [person.partition(":")[2] for person in who]
    heir = core.heir_of(conn, root, who)
    core.erase_turns(conn, root, turns, names)
    moved = core.move(conn, root, conversation.new_session_id(), who, heir)
    for old, new in moved.items():
        for table in (_CONVERSATION, _QUESTION, _TASK):
            here = table.c.session_id == old
            conn.execute(update(table).where(here).values(session_id=new))
        made = update(_TASK).where(_TASK.c.call_session == old)
        conn.execute(made.values(call_session=new))


def _erase_own(conn: Connection, roots: Sequence[str], now: dt.datetime) -> None:
    """Delete a person's own sessions; the places that were at one begin a new one."""
    query = select(_CONVERSATION.c.id).where(_CONVERSATION.c.session_id.in_(roots))
    for lane_id in conn.execute(query).scalars().all():
        lane = conversation.find(conn, lane_id)
        if lane is not None:
            conversation.renew(conn, lane, lane.owner, now)
    for session in core.family(conn, roots):
        for table in (_QUESTION, _TASK):
            conn.execute(delete(table).where(table.c.session_id == session))
    core.erase_sessions(conn, roots, GRAVE)
