"""What tests of recall share: an owner's sessions and memories in a real database."""

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import Connection

from agent_core.memory.recall import OwnRecall, Profile
from agent_core.past import Recalled
from agent_core.storage import memories
from agent_core.storage.memories import NewMemory
from agent_core.storage.prepared import together
from agent_core.storage.recall_index import index_new_rows
from agent_core.storage.statements import append_rows, ensure_session, last_seq, opening_turn
from agent_core.types import Message, NewRow, RowKind, Text
from gateway.storage.db import Database

NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
ALICE, BOB = "telegram:1", "telegram:2"
PRIVATE = "private"


def say(
    conn: Connection,
    session: str,
    *texts: str,
    owner: str = ALICE,
    scope: str = PRIVATE,
    turn: int = 1,
    at: dt.datetime = NOW,
) -> None:
    """A turn: the person's words and the assistant's, in turns, indexed."""
    ensure_session(conn, session, owner, at)
    opened = opening_turn(
        turn_id=turn, session_id=session, principal=owner, preset="", horizon=0, now=at
    )
    together(conn, [opened])
    rows = [
        NewRow(
            RowKind.ASSISTANT if n % 2 else RowKind.USER,
            Message("assistant" if n % 2 else "user", (Text(text),)),
        )
        for n, text in enumerate(texts)
    ]
    append_rows(conn, session, turn, last_seq(conn, session), rows, at)
    index_new_rows(conn, session, lambda _: scope)


def remember(
    conn: Connection,
    text: str,
    kind: str = "decision",
    *,
    owner: str = ALICE,
    scope: str = PRIVATE,
    codes: tuple[str, ...] = (),
    at: dt.datetime = NOW,
    valid_until: dt.datetime | None = None,
) -> int:
    """A memory, stored and indexed."""
    new = NewMemory(
        owner, kind, text, "remember:s1", scope=scope, codes=codes, valid_until=valid_until
    )
    return memories.add(conn, new, at)


async def recall(
    db: Database,
    text: str,
    *,
    owner: str = ALICE,
    scope: str = PRIVATE,
    symbols: Sequence[str] | None = None,
    now: dt.datetime = NOW,
    shown: frozenset[str] = frozenset(),
    profile: Profile | None = None,
) -> Recalled:
    """What is recalled for a message."""
    port = OwnRecall(db, profile or Profile())
    return await port.recall(owner, scope, text, symbols=symbols, now=now, shown=shown)
