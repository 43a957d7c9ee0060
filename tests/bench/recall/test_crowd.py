"""The benchmark's crowd comes in at once, is what indexing row by row would have left, and costs a recall nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text

from agent_core.memory.recall import OwnRecall
from agent_core.storage.recall_index import Said, add_rows, behind
from gateway.storage.schema import prepare
from tests.bench.recall.crowd import AT, SESSION, WORDS, add_crowd, crowd
from tests.bench.recall.sets import Corpus, Line
from tests.bench.recall.turns import OWNER as PERSON
from tests.bench.recall.turns import Size, fill

ROWS = 4 * SESSION + 3
TABLES = {
    "recall_space": "no",
    "recall_group": "no",
    "recall_doc": "id",
    "recall_word": "doc, term, offset",
}


def left_by(folder: Path, put: Callable[[Connection], None]) -> dict[str, list[Any]]:
    """What the tables of recall hold after a filling."""
    engine = create_engine(f"sqlite:///{folder}/{put.__name__}.db")
    with engine.connect() as conn:
        prepare(conn)
        put(conn)
        tables = {
            name: list(conn.execute(text(f"select * from {name} order by {by}")))
            for name, by in TABLES.items()
        }
    engine.dispose()
    return tables


def at_once(conn: Connection) -> None:
    add_crowd(conn, ROWS)


def row_by_row(conn: Connection) -> None:
    for owner, sessions in crowd(ROWS):
        for session, lines in sessions:
            said = [Said(seq, line.text, AT) for seq, line in enumerate(lines, 1)]
            add_rows(conn, owner, "private", session, said)


def test_a_crowd_at_once_is_indexed_as_row_by_row(tmp_path: Path) -> None:
    bulk, single = left_by(tmp_path, at_once), left_by(tmp_path, row_by_row)
    assert len(bulk["recall_doc"]) == ROWS
    assert bulk == single


def test_a_crowd_with_transcripts_leaves_nothing_to_be_indexed(tmp_path: Path) -> None:
    def told(conn: Connection) -> None:
        add_crowd(conn, 3 * SESSION, transcripts=True)
        assert behind(conn) == []
        assert conn.execute(text("select count(*) from transcript")).scalar_one() == 3 * SESSION

    left_by(tmp_path, told)


class Counted:
    """A database of one connection that counts what SQLite does for a read: instructions of its machine."""

    def __init__(self, path: Path) -> None:
        self.instructions = 0
        self._conn = create_engine(f"sqlite:///{path}").connect()
        raw = self._conn.connection.driver_connection
        assert raw is not None
        raw.set_progress_handler(self._count, 1)

    def _count(self) -> int:
        self.instructions += 1
        return 0

    async def read(self, work: Callable[[Connection], Any]) -> Any:
        return work(self._conn)


def test_other_peoples_rows_cost_a_recall_nothing(tmp_path: Path) -> None:
    """MEM-17: what is recalled is the same, and so is the work of the database, however many others there are."""
    lines = [Line(n, "", "", f"{WORDS[n % 40]} {WORDS[n % 7]} number {n}", AT) for n in range(300)]

    def recall(name: str, size: Size) -> tuple[Any, int]:
        fill(tmp_path / name, size, [Corpus("", tuple(lines), ())])
        db = Counted(tmp_path / name)
        found = asyncio.run(OwnRecall(db).recall(PERSON, "private", "a family trip", now=AT))
        return found, db.instructions

    (alone, work), (crowded, more) = recall("alone", Size(300)), recall("crowd", Size(300, 3_000))
    assert "family" in alone.text
    assert crowded == alone
    assert more < 1.1 * work
