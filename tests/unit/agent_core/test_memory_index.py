"""The index of recall: what is indexed when, for whom, and that it goes with what it is of (MEM-17, MEM-19, TIR-10)."""

import datetime as dt
from functools import partial

import pytest
from sqlalchemy import Connection, select, text

from agent_core.memory.found import find_memories, find_rows
from agent_core.memory.question import looked_up, question
from agent_core.storage import recall_index
from agent_core.storage.postings import MAX_DOCS, doc_id, group_of, place_of, term
from agent_core.storage.recall_index import SAID, Said, add_rows, behind, index_new_rows
from agent_core.storage.search import postings
from agent_core.storage.sessions import fork
from agent_core.storage.statements import append_rows, ensure_session
from agent_core.storage.tables_recall import RecallDoc, RecallGroup, RecallSpace
from agent_core.types import NewRow, RowKind, ToolResult, assistant, user
from gateway.storage.db import Database
from tests.unit.agent_core.recall_desk import ALICE, BOB, NOW, PRIVATE, remember, say

pytestmark = pytest.mark.statements

_DOC = RecallDoc.__table__  # type: ignore[attr-defined]
_GROUP = RecallGroup.__table__  # type: ignore[attr-defined]
_SPACE = RecallSpace.__table__  # type: ignore[attr-defined]


def found(
    conn: Connection, words: str, owner: str = ALICE, scope: str = PRIVATE
) -> list[tuple[str, int]]:
    hits = find_rows(conn, owner, scope, question(words, ()), limit=20, scoped=False)
    return sorted((hit.session, hit.seq) for hit in hits)


def with_word(conn: Connection, word: str, owner: str = ALICE) -> int:
    return len(postings(conn, owner, PRIVATE, SAID, [word]).words.get(word, ()))


async def test_rows_are_indexed_once_however_often_it_runs(db: Database) -> None:
    await db.write(lambda conn: say(conn, "s1", "zebra exit", "noted"))
    assert await db.write(lambda conn: index_new_rows(conn, "s1", lambda _: PRIVATE)) == 0
    assert await db.read(partial(with_word, word="zebra")) == 1


async def test_a_long_session_is_taken_up_in_batches(db: Database) -> None:
    def fill(conn: Connection) -> list[int]:
        ensure_session(conn, "s1", ALICE, NOW)
        rows = [NewRow(RowKind.USER, user(f"zebra {n}")) for n in range(7)]
        append_rows(conn, "s1", 0, 0, rows, NOW)
        return [index_new_rows(conn, "s1", lambda _: PRIVATE, 3) for _ in range(4)]

    assert await db.write(fill) == [3, 3, 1, 0]
    assert len(await db.read(partial(found, words="zebra"))) == 7


async def test_what_a_tool_said_is_not_indexed(db: Database) -> None:
    """RMB-4: untrusted text is no part of what a person said."""

    def fill(conn: Connection) -> None:
        ensure_session(conn, "s1", ALICE, NOW)
        result = NewRow(RowKind.RESULT, user(), ref="c1")
        page = NewRow(
            RowKind.RESULT, type(result.message)("user", (ToolResult("c1", "web", "zebra"),))
        )
        hidden = NewRow(RowKind.ASSISTANT, assistant("zebra"), meta={"hidden": True})
        append_rows(conn, "s1", 0, 0, [page, hidden], NOW)
        index_new_rows(conn, "s1", lambda _: PRIVATE)

    await db.write(fill)
    assert await db.read(partial(found, words="zebra")) == []


async def test_in_a_group_each_row_is_its_authors(db: Database) -> None:
    """MEM-17, defect 18: who opened the session does not matter."""

    def fill(conn: Connection) -> None:
        say(conn, "g1", "zebra", scope="group", turn=1)
        say(conn, "g1", "zebra", owner=BOB, scope="group", turn=2)

    await db.write(fill)
    assert await db.read(partial(found, words="zebra", scope="group")) == [("g1", 1)]
    assert await db.read(partial(found, words="zebra", owner=BOB, scope="group")) == [("g1", 2)]
    assert await db.read(partial(found, words="zebra")) == []


async def test_what_runs_nowhere_known_is_not_indexed(db: Database) -> None:
    await db.write(lambda conn: say(conn, "s1", "zebra", scope=None))  # type: ignore[arg-type]
    assert await db.read(partial(found, words="zebra")) == []


async def test_a_fork_and_a_delegation_add_nothing_of_their_parent(db: Database) -> None:
    def fill(conn: Connection) -> None:
        say(conn, "s1", "zebra", "noted")
        fork(conn, "s1", "s2", ALICE, NOW)
        index_new_rows(conn, "s2", lambda _: PRIVATE)
        say(conn, "s2", "zebra again", turn=2)
        ensure_session(conn, "s1/c1", ALICE, NOW, parent="s1")
        append_rows(conn, "s1/c1", 1, 0, [NewRow(RowKind.USER, user("zebra task"))], NOW)
        index_new_rows(conn, "s1/c1", lambda _: PRIVATE)

    await db.write(fill)
    assert await db.read(partial(found, words="zebra")) == [("s1", 1), ("s1", 2), ("s2", 3)]


async def test_sessions_that_are_behind_are_known(db: Database) -> None:
    def fill(conn: Connection) -> None:
        say(conn, "s1", "zebra")
        ensure_session(conn, "s2", ALICE, NOW + dt.timedelta(hours=1))
        append_rows(conn, "s2", 0, 0, [NewRow(RowKind.USER, user("yak"))], NOW)

    await db.write(fill)
    assert await db.read(behind) == ["s2"]
    await db.write(lambda conn: index_new_rows(conn, "s2", lambda _: PRIVATE))
    assert await db.read(behind) == []


async def test_a_session_goes_on_in_parts(db: Database) -> None:
    count = MAX_DOCS + 5

    def fill(conn: Connection) -> None:
        said = [Said(n, f"zebra n{n}", NOW) for n in range(1, count + 1)]
        add_rows(conn, ALICE, PRIVATE, "s1", said[:100])
        add_rows(conn, ALICE, PRIVATE, "s1", said[100:])

    await db.write(fill)
    parts = await db.read(
        lambda conn: conn.execute(select(_GROUP.c.part, _GROUP.c.docs).order_by("part")).all()
    )
    assert [tuple(part) for part in parts] == [(0, MAX_DOCS), (1, 5)]
    best = await db.read(
        lambda conn: find_rows(conn, ALICE, PRIVATE, question(f"n{count}"), limit=1)
    )
    assert best[0].seq == count


async def test_what_is_deleted_leaves_no_word_behind(db: Database) -> None:
    """MEM-19: words, statistics and the index of the database itself."""

    def fill(conn: Connection) -> int:
        say(conn, "s1", "zebra exit", "noted", turn=1)
        say(conn, "s2", "zebra stop", "noted", turn=2)
        say(conn, "b1", "zebra of bob", owner=BOB, turn=3)
        return remember(conn, "zebra rule")

    def left(conn: Connection) -> int:
        if conn.dialect.name == "sqlite":
            conn.execute(text("insert into recall_fts(recall_fts) values ('integrity-check')"))
            return conn.execute(text("select count(*) from recall_word")).scalar_one()  # type: ignore[no-any-return]
        return len(conn.execute(select(_DOC.c.id)).all())

    kept = await db.write(fill)
    before = await db.read(lambda conn: find_rows(conn, BOB, PRIVATE, question("zebra"), limit=5))
    await db.write(lambda conn: recall_index.remove_session(conn, "s1"))
    assert await db.read(partial(found, words="zebra")) == [("s2", 1), ("s2", 2)]
    await db.write(lambda conn: recall_index.remove_memories(conn, BOB, [kept]))
    assert await db.read(
        lambda conn: find_memories(conn, ALICE, PRIVATE, question("zebra"), limit=5)
    )
    await db.write(lambda conn: recall_index.remove_memories(conn, ALICE, [kept]))
    assert not await db.read(
        lambda conn: find_memories(conn, ALICE, PRIVATE, question("zebra"), limit=5)
    )
    assert await db.write(lambda conn: recall_index.remove_owner(conn, ALICE)) == 2
    assert (
        await db.read(lambda conn: find_rows(conn, BOB, PRIVATE, question("zebra"), limit=5))
        == before
    )
    await db.write(lambda conn: recall_index.remove_owner(conn, BOB))
    assert await db.write(left) == 0


async def test_statistics_follow_what_comes_and_goes(db: Database) -> None:
    def totals(conn: Connection) -> list[tuple[int, ...]]:
        query = select(_SPACE.c.docs, _SPACE.c.tokens, _SPACE.c.sessions, _SPACE.c.pairs)
        return [tuple(row) for row in conn.execute(query.where(_SPACE.c.corpus == SAID))]

    await db.write(lambda conn: say(conn, "s1", "zebra exit", "zebra", turn=1))
    before = await db.read(totals)
    assert before == [(2, 3, 1, 4)]
    await db.write(lambda conn: say(conn, "s2", "yak", turn=2))
    await db.write(lambda conn: recall_index.remove_session(conn, "s2"))
    assert await db.read(totals) == before


async def test_a_memory_is_found_by_its_present_text(db: Database) -> None:
    """TIR-10."""
    kept = await db.write(partial(remember, text="zebra"))
    await db.write(
        lambda conn: recall_index.add_memory(conn, ALICE, PRIVATE, kept, "decision", "yak")
    )
    hits = await db.read(
        lambda conn: find_memories(conn, ALICE, PRIVATE, question("yak zebra"), limit=5)
    )
    assert [hit.id for hit in hits] == [kept]
    assert not await db.read(
        lambda conn: find_memories(conn, ALICE, PRIVATE, question("zebra"), limit=5)
    )


async def test_other_peoples_rows_change_no_figure(db: Database) -> None:
    """MEM-17: neither order nor score, to the last digit."""
    await db.write(
        lambda conn: say(conn, "s1", "zebra exit", "yak", "stop loss of the zebra", "exit", turn=1)
    )
    asked = question("zebra exit stop")
    before = await db.read(lambda conn: find_rows(conn, ALICE, PRIVATE, asked, limit=9))

    def crowd(conn: Connection) -> None:
        for n in range(20):
            say(conn, f"b{n}", "zebra exit", "stop", owner=f"telegram:{n + 10}", turn=n + 10)

    await db.write(crowd)
    assert await db.read(lambda conn: find_rows(conn, ALICE, PRIVATE, asked, limit=9)) == before


async def test_a_word_of_too_many_rows_counts_in_the_newest(db: Database) -> None:
    """Guide "recall": very common words are capped, on both databases alike."""

    def fill(conn: Connection) -> None:
        add_rows(conn, ALICE, PRIVATE, "s1", [Said(n, "zebra zebra", NOW) for n in range(1, 13)])

    await db.write(fill)
    capped = await db.read(
        lambda conn: postings(conn, ALICE, PRIVATE, SAID, looked_up(question("zebra")), common=5)
    )
    assert [place_of(doc) for doc in capped.words["zebra"]] == [7, 8, 9, 10, 11]
    assert set(capped.words["zebra"].values()) == {1}


@pytest.mark.parametrize(
    "word", ["nvda", "尾盘", "btc-usdt", "3.5", "$nvda", "@0504", "\U0001f680", "\ud800"]
)
def test_a_stored_word_is_letters_and_digits(word: str) -> None:
    """Defect 5: no tokenizer has anything to split, and no word of one space is one of another."""
    stored = term(12, word)
    assert stored.isascii()
    assert stored.isalnum()
    assert stored != term(1, "2" + word)


def test_an_id_holds_its_group_and_its_place() -> None:
    doc = doc_id(77, MAX_DOCS - 1, 10_000, named=True)
    assert (group_of(doc), place_of(doc)) == (77, MAX_DOCS - 1)
    assert doc_id(2**31, 0, 1, named=False) < 2**63
