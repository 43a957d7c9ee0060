"""/forget: a person is gone from every table, and nobody else is touched (ARC-8, OBS-1, MEM-19)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, inspect, text
from sqlmodel import SQLModel

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import NewBlob
from agent_core.storage import pending
from agent_core.storage.pending import Job
from agent_core.storage.recall_index import index_new_rows
from agent_core.storage.sessions import add_checkpoint
from agent_core.storage.statements import add_blob, blob_id, load_rows
from agent_core.storage.tables_memory import Alert, EventRow, Holding, Profile, ReportNote
from agent_core.types import Checkpoint
from gateway.commands.forget import MINUTES
from gateway.memory import forget
from gateway.memory.history import where_of
from gateway.people import links
from gateway.storage.db import Database
from gateway.storage.tables_tasks import TaskRow
from tests.harness import ALICE, BOB, agent, call, delegate, team
from tests.house import START, House, on_sqlite, until
from tests.unit.gateway.remembering import put

pytestmark = pytest.mark.statements

GROUP = {"chat": "-5", "private": False}
TEAM = team(agent(tools=("echo",)), agent("research"))
SECRET = "kumquat"  # in all that alice says and is told
PLAIN = "walnut"  # in all that is bob's
OWNED = ("holding", "event", "profile", "alert", "report_note", "task")
ORDERS = ("orders", "trades", "cash", "order_audit")  # test_orders_audit.py forgets these
# Rows that outlive a person: who may write, where replies go, keys against redeliveries, figures without an owner.
# A pot stays: else /forget would be the way to a fresh budget.
STAY = {
    *("person", "conversation", "link", "inbox", "usage", "session", "alembic_version"),
    "budget_pot",
}


def turn(word: str, *, sub: bool = False) -> list[Any]:
    """An answer with a tool call, by a sub-agent too."""
    own = Answer(f"looking for {word}", calls=(call("echo", "e1", words=word),))
    if not sub:
        return [own, f"found {word}"]
    below = Answer(calls=(delegate("research", f"find {word}", call_id="d1"),))
    return [below, f"the agent says {word}", f"found {word}"]


async def fill(db: Database, owner: str, word: str, session: str) -> None:
    """One row of every other table."""

    def work(conn: Connection) -> None:
        put(conn, f"likes {word}", owner=owner)
        put(conn, f"group {word}", owner=owner, scope="telegram:777:-5", kind="view")
        pending.put(conn, Job(owner, "extract", {"text": word}), START)
        add_checkpoint(conn, session, Checkpoint("clear", 0, 2, {"note": word}), START)
        data = f"file of {word}".encode()
        blob = NewBlob(blob_id(owner, data), f"{word}.txt", "text/plain", data)
        add_blob(conn, owner=owner, session_id=session, blob=blob, now=START)
        said: dict[str, Any] = {"text": word, "at": START}
        rows: tuple[SQLModel, ...] = (
            Holding(owner=owner, symbol="X", quantity=1, cost=1, note=word, updated_at=START),
            Profile(owner=owner, symbol="X", text=word, updated_at=START),
            EventRow(owner=owner, kind="trade", **said),
            Alert(owner=owner, **said),
            ReportNote(owner=owner, **said),
        )
        for row in rows:
            values = row.model_dump(exclude={"id"})
            conn.execute(insert(type(row).__table__), values)  # type: ignore[attr-defined]
        task = TaskRow(
            id=f"t{word}",
            owner=owner,
            author=owner,
            session_id=session,
            conversation_id=f"telegram:777:{owner.partition(':')[2]}",
            turn_id=1,
            call_session=session,
            call_id=word,
            tool="study",
            args=f'{{"about": "{word}"}}',
            created_at=START,
        )
        conn.execute(insert(TaskRow.__table__), task.model_dump())  # type: ignore[attr-defined]

    await db.write(work)


async def lives(house: House) -> tuple[str, str]:
    """Alice and bob talk in private and, with each other, in a group. Returns their private sessions."""
    await house.ask(f"what about {SECRET}?")
    await house.ask(f"and {PLAIN}?", author="2", chat="2")
    for author, word in (("1", SECRET), ("2", PLAIN), ("1", SECRET)):
        await house.ask(f"{word} here", author=author, **GROUP)
    await house.ask(f"/remind in 2 hours {SECRET}")
    query = "select session_id from conversation where id = 'telegram:777:{}'"
    hers, his = await house.one(query.format(1)), await house.one(query.format(2))
    await fill(house.db, ALICE, SECRET, hers)
    await fill(house.db, BOB, PLAIN, his)

    def index(conn: Connection) -> None:
        def scope_of(turn_id: int) -> str | None:
            where = where_of(conn, turn_id)
            return None if where is None else where.scope

        for session in conn.execute(text("select id from session")).scalars().all():
            index_new_rows(conn, session, scope_of)

    await house.db.write(index)
    return hers, his


def script() -> list[Any]:
    return [
        *turn(SECRET, sub=True),
        *turn(PLAIN, sub=True),
        *turn(SECRET),
        *turn(PLAIN),
        *turn(SECRET),
    ]


async def tables_with(db: Database, word: str) -> set[str]:
    """The tables in which a word stands, in clear or as the index writes it."""

    def work(conn: Connection) -> set[str]:
        found = set()
        for table in inspect(conn).get_table_names():
            if table.startswith("recall_fts") or table == "recall_word":
                continue
            for row in conn.execute(text(f'select * from "{table}"')):
                said = " ".join(
                    v.decode(errors="replace") if isinstance(v, bytes) else str(v) for v in row
                )
                if word in said:
                    found.add(table)
        return found

    return await db.read(work)


async def test_a_person_is_gone_from_every_table_and_the_others_are_not(db: Database) -> None:
    """ARC-8: counted before and after, and looked for in every table there is."""
    async with House(db, script(), the_team=TEAM) as house:
        await lives(house)
        everywhere = await tables_with(db, SECRET)
        assert {
            "memory",
            "transcript",
            "trace",
            "inbox",
            "outbox",
            "checkpoint",
            "blob",
            "schedule",
        } <= everywhere
        assert {"recall_doc", "memory_pending", *OWNED} <= everywhere
        before = await tables_with(db, PLAIN)
        report = await db.write(lambda conn: forget.everything(conn, ALICE, house.clock.now()))
        assert report.left == 0
        assert set(report.after.values()) == {0}
        assert all(
            count
            for name, count in report.before.items()
            if name not in ("questions", "memory_versions", *ORDERS)
        )
        assert await tables_with(db, SECRET) == set()
        assert await tables_with(db, PLAIN) == before - {"checkpoint"} | {"checkpoint"}


async def test_no_row_of_theirs_is_left_but_those_that_must_stay(db: Database) -> None:
    async with House(db, script(), the_team=TEAM) as house:
        await lives(house)
        await db.write(lambda conn: forget.everything(conn, ALICE, house.clock.now()))
        assert await tables_with(db, ALICE) <= STAY
        assert await house.all(f"select * from usage where owner = '{ALICE}'") == []
        assert await house.one("select count(*) from usage where owner = 'forgotten'") > 0
        assert await house.all(f"select * from inbox where author = '{ALICE}' and status < 2") == []


@on_sqlite
async def test_the_words_are_gone_from_the_file_itself(db: Database, tmp_path: Path) -> None:
    """Deleted rows are overwritten, not only unlinked."""
    async with House(db, script(), the_team=TEAM) as house:
        await lives(house)
        await db.write(lambda conn: forget.everything(conn, ALICE, house.clock.now()))
    await db.close()
    (file,) = tmp_path.glob("*.db")
    data = file.read_bytes()
    assert PLAIN.encode() in data
    assert SECRET.encode() not in data
    assert not file.with_name(file.name + "-wal").exists()


@on_sqlite
async def test_the_group_goes_on_without_them_in_a_transcript_without_gaps(db: Database) -> None:
    """DESIGN.md 1: seq counts from 1; what others said stays, under an id that nobody has cached."""
    async with House(db, [*script(), f"again {PLAIN}"], the_team=TEAM) as house:
        await lives(house)
        query = "select session_id from conversation where not private"
        old = await house.one(query)
        await db.write(lambda conn: forget.everything(conn, ALICE, house.clock.now()))
        new = await house.one(query)
        assert new != old
        rows = await db.read(lambda conn: load_rows(conn, new))
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        assert f"{PLAIN} here" in " ".join(row.message.text for row in rows)
        assert await house.one(f"select owner from session where id = '{new}'") == BOB
        said = await house.ask("and now?", author="2", **GROUP)
        assert said[-1] == f"again {PLAIN}"
        assert SECRET not in str(house.model.requests[-1])
        assert PLAIN in str(house.model.requests[-1])


@on_sqlite
async def test_they_begin_anew_in_the_same_chat(db: Database) -> None:
    async with House(db, [*script(), "hello"], the_team=TEAM) as house:
        await lives(house)
        await house.say("/forget everything")
        await house.quiet()
        said = house.channel.texts("1")[-1]
        assert said.startswith("Deleted – memories: 2")
        assert "left: 0" in said
        assert (await house.ask("who am I?"))[-1] == "hello"
        assert SECRET not in str(house.model.requests[-1])
        assert "nothing of you yet" in (await house.ask("/memory"))[-1]


@on_sqlite
async def test_linked_identities_go_together(db: Database) -> None:
    """MEM-17: one owner on two platforms."""
    async with House(db, script(), the_team=TEAM) as house:
        await lives(house)

        def link(conn: Connection) -> None:
            code = links.new_code(conn, ALICE, START)
            links.claim(conn, code, "web:alice", START)
            assert links.settle(conn, code, ALICE, START, agreed=True) is not None

        await db.write(link)
        report = await db.write(lambda conn: forget.everything(conn, "web:alice", START))
        assert report.owner == ALICE
        assert await tables_with(db, SECRET) == set()
        assert await house.one("select count(*) from link") == 1


@on_sqlite
async def test_a_running_turn_of_theirs_writes_nothing_more(db: Database) -> None:
    """The fence of DESIGN.md 4: what the model still says about them is stored nowhere."""
    gate = asyncio.Event()

    async def late(_: object) -> str:
        await gate.wait()
        return f"late {SECRET}"

    async with House(db, [late, "hello"], the_team=TEAM) as house:
        await house.say(f"think about {SECRET}")
        await until(lambda: house.model.requests)
        await house.say("/forget everything")
        gate.set()
        await house.quiet()
        assert await tables_with(db, SECRET) == set()
        assert (await house.ask("hi"))[-1] == "hello"


@on_sqlite
async def test_what_is_just_being_learnt_of_them_is_dropped(db: Database) -> None:
    """The answer of a model that was asked before comes too late to be stored."""
    begun, gate = asyncio.Event(), asyncio.Event()

    async def slowly(_: object) -> str:
        begun.set()
        await gate.wait()
        return f"[偏好] {SECRET}"

    script = [Answer(calls=(call("echo"),)), "ok", "noted"]
    async with House(db, script, the_team=TEAM, teacher=ScriptedModel(slowly)) as house:
        await house.ask(f"I prefer {SECRET}")
        await house.ask(f"always {SECRET}")
        await house.ask("/new")
        async with asyncio.timeout(30):
            await begun.wait()
        await house.ask("/forget everything")
        gate.set()
        await until(lambda: not house.learning._running)
        assert await house.all("select * from memory") == []
        assert await tables_with(db, SECRET) == set()


# The question ---------------------------------------------------------------------------------------


async def asked(house: House, **more: Any) -> list[str]:
    """The data of the buttons of /forget."""
    await house.ask("/forget", **more)
    shown = list(house.channel.messages.values())[-1]
    return [button.data for button in shown.buttons]


@on_sqlite
@pytest.mark.parametrize(
    ("language", "head"),
    [
        ("English", "Delete everything that I keep of you?"),
        ("中文", "要删除我保存的关于您的一切吗？"),
    ],
)
async def test_it_asks_first_in_the_persons_language(
    db: Database, language: str, head: str
) -> None:
    async with House(db, []) as house:
        await house.ask(f"/language {language}")
        await house.db.write(lambda conn: put(conn, "x") and None)
        yes, no = await asked(house)
        assert list(house.channel.messages.values())[-1].text.startswith(head)
        await house.press(no)
        await house.quiet()
        assert await house.one("select count(*) from memory") == 1
        await house.press(yes)  # it was decided
        await house.quiet()
        assert await house.one("select count(*) from memory") == 1


@on_sqlite
async def test_yes_erases_and_the_question_says_what_came_of_it(db: Database) -> None:
    async with House(db, script(), the_team=TEAM) as house:
        await lives(house)
        yes, _ = await asked(house)
        await house.press(yes)
        await house.quiet()
        last = list(house.channel.messages.values())[-1]
        assert last.text.startswith("Deleted – ")
        assert last.buttons == ()
        assert await tables_with(db, SECRET) == set()


@on_sqlite
async def test_only_who_asked_may_press_and_only_in_time(db: Database) -> None:
    async with House(db, []) as house:
        await house.db.write(lambda conn: put(conn, "x", scope="telegram:777:-5") and None)
        yes, _ = await asked(house, **GROUP)
        await house.press(yes, author="2", **GROUP)
        await house.press("forget:0:yes", **GROUP)
        await house.press("forget:x:yes", **GROUP)
        await house.press(yes)  # from another chat
        house.clock.seconds += MINUTES * 60
        await house.press(yes, **GROUP)
        await house.quiet()
        assert await house.one("select count(*) from memory") == 1
        assert house.channel.answers[0][1] == "Only the person who asked can decide this."


@on_sqlite
async def test_in_a_group_only_what_is_of_that_group_goes(db: Database) -> None:
    async with House(db, script(), the_team=TEAM) as house:
        await lives(house)
        said = (await house.ask("/forget everything", **GROUP))[-1]
        assert "memories: 1" in said
        left = await house.all(f"select scope from memory where owner = '{ALICE}'")
        assert [row.scope for row in left] == ["private"]
        assert "transcript" in await tables_with(db, SECRET)
        assert (await house.ask("/forget 一切", **GROUP))[-1] == "没有可删除的内容。"


@on_sqlite
async def test_other_words_behind_it_delete_nothing(db: Database) -> None:
    async with House(db, []) as house:
        await house.db.write(lambda conn: put(conn, "x") and None)
        assert "`/forget` asks first" in (await house.ask("/forget me not"))[-1]
        assert await house.one("select count(*) from memory") == 1
