"""Other people: owners with the words of nobody in particular, so many rows that a leak or a slow path would show.

A million rows come in within a minute, since an owner's are made at once: the tables are left as `add_rows` leaves
them, which a test holds.
"""

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection, insert

from agent_core import words
from agent_core.storage.postings import DATED, around, doc_id, pack, pairs, term
from agent_core.storage.recall_index import SAID
from agent_core.storage.tables import Session, Transcript
from agent_core.storage.tables_recall import RecallDoc, RecallGroup, RecallMark, RecallSpace
from agent_core.types import Message, RowKind, Text, encode

_SPACE = RecallSpace.__table__  # type: ignore[attr-defined]
_GROUP = RecallGroup.__table__  # type: ignore[attr-defined]
_DOC = RecallDoc.__table__  # type: ignore[attr-defined]
_MARK = RecallMark.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
SESSION, OWNER = 25, 1_000  # rows of a session, of an owner
LINES = 5_000  # different ones
AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
WORDS = """
    time work family friend trip book music dance paint camp beach dog cat photo support group school job city house
    food cook garden game movie run swim hike park stop loss buy sell price market plan week month year love hope
    """.split()  # noqa: SIM905 - a list of words reads better as text


@dataclass(frozen=True)
class CrowdLine:
    """What somebody says: plain words, with no symbol, no speaker, no question and no date."""

    text: str

    @cached_property
    def size(self) -> int:
        """How many words it has."""
        return len(words.words(self.text))

    @cached_property
    def flags(self) -> int:
        """What else the index knows of it."""
        return DATED * words.tells_time(self.text)

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Its words as the index has them, but for the space's number."""
        return (*words.words(self.text), words.date_word(AT))

    @cached_property
    def body(self) -> str:
        """Its message in a transcript."""
        return encode(Message("user", (Text(self.text),)))


# An owner, and what they say in each of their sessions.
Crowd = tuple[str, list[tuple[str, list[CrowdLine]]]]


def crowd(rows: int) -> list[Crowd]:
    """So many rows of other owners, always the same ones."""
    dice = random.Random(1)
    lines = [CrowdLine(" ".join(dice.choices(WORDS, k=14))) for _ in range(min(rows, LINES))]
    return [
        (
            f"other:{first // OWNER}",
            [
                (f"crowd {at}", dice.choices(lines, k=min(SESSION, rows - at)))
                for at in range(first, min(first + OWNER, rows), SESSION)
            ],
        )
        for first in range(0, rows, OWNER)
    ]


def add_crowd(conn: Connection, rows: int, *, transcripts: bool = False) -> None:
    """Index so many rows of other owners; `transcripts`: store what was said as well. Commits now and then."""
    for number, (owner, sessions) in enumerate(crowd(rows)):
        if transcripts:
            _tell(conn, owner, sessions)
        _index(conn, owner, sessions)
        if number % 20 == 0:
            conn.commit()


def _index(
    conn: Connection, owner: str, sessions: Sequence[tuple[str, Sequence[CrowdLine]]]
) -> None:
    said = [lines for _, lines in sessions]
    space = conn.execute(
        insert(_SPACE).returning(_SPACE.c.no),
        {
            "owner": owner,
            "scope": "private",
            "corpus": SAID,
            "docs": sum(map(len, said)),
            "tokens": sum(line.size for lines in said for line in lines),
            "sessions": len(said),
            "pairs": sum(pairs(len(lines)) for lines in said),
        },
    ).scalar_one()
    made = insert(_GROUP).returning(_GROUP.c.no, sort_by_parameter_order=True)
    values = [
        {
            "space": space,
            "ref": session,
            "part": 0,
            "docs": len(lines),
            "tokens": sum(line.size for line in lines),
            "around": pack(around([line.size for line in lines], [line.flags for line in lines])),
        }
        for session, lines in sessions
    ]
    numbers = conn.execute(made, values).scalars().all()
    docs = [
        {
            "id": doc_id(number, place, line.size, named=False),
            "seq": place + 1,
            "terms": [term(space, word) for word in line.stored],
        }
        for number, lines in zip(numbers, said, strict=True)
        for place, line in enumerate(lines)
    ]
    conn.execute(insert(_DOC), docs)


def _tell(
    conn: Connection, owner: str, sessions: Sequence[tuple[str, Sequence[CrowdLine]]]
) -> None:
    heads = [
        {
            "id": session,
            "owner": owner,
            "parent": None,
            "agent": None,
            "title": "",
            "created_at": AT,
        }
        for session, _ in sessions
    ]
    rows = [
        {
            "session_id": session,
            "seq": seq,
            "turn_id": 0,
            "kind": RowKind.USER.value,
            "ref": "",
            "body": line.body,
            "meta": "{}",
            "at": AT,
        }
        for session, lines in sessions
        for seq, line in enumerate(lines, 1)
    ]
    conn.execute(insert(_SESSION), heads)
    conn.execute(insert(_TRANSCRIPT), rows)
    marks = [{"session_id": session, "seq": len(lines)} for session, lines in sessions]
    conn.execute(insert(_MARK), marks)
