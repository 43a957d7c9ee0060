"""Telling of background tasks that have ended: an inbox row, so once, and behind whatever runs (BGT-3 … BGT-7).

The row is written in the transaction that ends the task. In the session that started it, it begins a turn: its first
rows are a notification, in a Context block, since these are no words of the person (BGT-4), and the calls with their
results, so that the agent has them as if they had just been made. Rows that wait together are one turn. Where the
conversation has moved on to another session, the person gets a message instead, and no model is asked.
"""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from agent_core.runtime.background import ENDED
from agent_core.types import Context, Message, NewRow, RowKind, ToolResult, ToolUse, assistant
from channels.types import Author, Inbound, Kind
from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.inbound.sessions import SHORT
from gateway.outbound.draft import Draft
from gateway.people.identity import Known, Language
from gateway.storage.tables import InboxStatus
from gateway.tasks import rows as task_rows
from gateway.texts.texts import say

TOGETHER = 5  # results in one turn: each may have 8,000 characters
SUMMARY_CHARS = 300
LABEL = "[SYSTEM NOTIFICATION - NOT USER INPUT]"
REPORT = (
    "Background tasks of this conversation have ended; what they brought follows as tool results. Nobody has written "
    "anything: this is no request, no answer and no approval. Tell the person briefly what came of them. Start nothing "
    "new that the person did not ask for."
)


@dataclass(frozen=True, slots=True)
class News:
    """Tasks that are told of in one turn: the inbox rows that brought them, and their own rows."""

    items: tuple[Item, ...]
    tasks: tuple[Any, ...]


def post(conn: Connection, row: Any, now: dt.datetime) -> tuple[str, str] | None:
    """In the transaction that ends a task: the inbox row. Returns (conversation, person) to wake, None for nobody."""
    lane = conversation.find(conn, row.conversation_id)
    if lane is None:
        return None
    ended = Inbound(
        address=lane.address,
        key=f"task:{row.id}:{row.turn_id}",
        author=Author(row.author.partition(":")[2], language=row.language),
        text=row.id,
        at=now,
        kind=Kind.TASK,
        private=lane.private,
    )
    inbox.insert_row(conn, ended, lane.id, row.author, InboxStatus.NEW, now)
    return lane.id, row.author


def of_turn(conn: Connection, lane: Lane, item: Item, person: Known) -> News | None:
    """What a turn that begins with `item` tells of: all such rows that wait here, up to five. None: it is no turn."""
    first = _task(conn, item, person)
    if first is None or first.session_id != lane.session_id:
        return None
    items, tasks = [item], [first]
    for other in inbox.new_rows(conn, lane.id, after=item.id):
        if len(items) == TOGETHER:
            break
        if other.kind is not Kind.TASK or other.author != item.author:
            continue
        task = _task(conn, other, person)
        if task is not None and task.session_id == lane.session_id:
            items.append(other)
            tasks.append(task)
    return News(tuple(items), tuple(tasks))


def _task(conn: Connection, item: Item, person: Known) -> Any | None:
    """The task of a row; None for one that is gone, or that is not the person's own any more (defect 19)."""
    row = task_rows.by_id(conn, item.text)
    return None if row is None or person.revoked or row.owner != person.principal else row


def first_rows(news: News, situation: Context) -> list[NewRow]:
    """The first rows of the turn: the notification, then each call with its result."""
    ids = [row.id for row in news.tasks]
    note = Message("user", (situation, Context(notification(news.tasks))))
    calls = tuple(
        ToolUse(f"task_{row.id}", row.tool, json.loads(row.args) or {}) for row in news.tasks
    )
    rows = [
        NewRow(RowKind.USER, note, ref=str(news.items[0].id), meta={ENDED: ids}),
        NewRow(RowKind.ASSISTANT, assistant("", *calls), ref="runtime", meta={ENDED: ids}),
    ]
    rows += [NewRow(RowKind.INTENT, Message("assistant", (c,)), ref=c.id) for c in calls]
    return rows + [_result(row, call.id) for row, call in zip(news.tasks, calls, strict=True)]


def _result(row: Any, call_id: str) -> NewRow:
    found = task_rows.result_of(row)
    result = ToolResult(call_id, row.tool, found.content, found.is_error, found.artifacts)
    meta = json.loads(row.meta)
    return NewRow(RowKind.RESULT, Message("user", (result,)), ref=call_id, meta=meta)


def notification(tasks: Sequence[Any]) -> str:
    """The words for the model: which tasks, and how each ended. No stack trace, and nothing that closes a tag."""
    parts = [LABEL, REPORT]
    for row in tasks:
        fields = {
            "task_id": row.id,
            "tool": row.tool,
            "agent": row.agent,
            "status": row.state,
            "error": row.error,
            "summary": row.summary,
        }
        lines = [f"<{name}>{_plain(value)}</{name}>" for name, value in fields.items() if value]
        parts.append("\n".join(["<task-notification>", *lines, "</task-notification>"]))
    return "\n".join(parts)


def _plain(value: str) -> str:
    """One short line that opens and closes no tag (BGT-6)."""
    line = " ".join(value.split())
    cut = line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1] + "…"
    return cut.replace("<", "‹").replace(">", "›").replace("[", "［").replace("]", "］")


def letters(
    conn: Connection,
    lane: Lane,
    item: Item,
    person: Known,
    language: Language,
    title: Callable[[str, Language], str],
) -> list[Draft]:
    """What is said of a task whose session is not the current one; nothing where nobody is to be told."""
    row = _task(conn, item, person)
    if row is None:
        return []
    name, files = title(row.tool, language), task_rows.result_of(row).artifacts
    code = (
        f"task_ended_{row.state}" if row.state in ("done", "interrupted") else "task_ended_failed"
    )
    text = say(
        code,
        language,
        title=name,
        id=row.id,
        session=row.session_id[:SHORT],
        summary=row.summary,
        error=row.error,
    )
    return [Draft(item.id, "task", item.author, lane.address, text.rstrip(), files)]
