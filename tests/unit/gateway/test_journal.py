"""The journal: fenced, patient, in order, and one commit for the end of a turn (DESIGN.md 4, guide "engine" 2)."""

import asyncio

import pytest
from sqlalchemy import Connection, text

from agent_core.errors import Fenced, Reload
from agent_core.models.scripted import Answer
from agent_core.ports import NewBlob
from agent_core.storage.statements import blob_id, load_rows
from agent_core.types import (
    Message,
    NewRow,
    RowKind,
    ToolResult,
    TurnStatus,
    Usage,
    assistant,
    user,
)
from gateway.engine.fence import PATIENCE_S, Fence
from gateway.engine.journal import TurnJournal
from gateway.inbound import inbox
from gateway.inbound.conversation import raise_epoch
from gateway.outbound.draft import Draft
from gateway.outbound.outbox import REPLY
from gateway.storage.db import Database
from tests.harness import ALICE, Desk, agent, begin_next, call, message, place, post, team
from tests.house import Watch, on_sqlite
from tests.outages import FlakyDatabase, Outcome

pytestmark = pytest.mark.statements

LANE = str(place())


def row(words: str = "x", ref: str = "r") -> NewRow:
    return NewRow(RowKind.ASSISTANT, assistant(words), ref=ref)


async def count(db: Database, table: str, where: str = "1=1") -> int:
    query = text(f"select count(*) from {table} where {where}")
    return await db.read(lambda conn: conn.execute(query).scalar_one())


class Office:
    """A begun turn and its journal on a database that may fail."""

    def __init__(self, db: Database) -> None:
        self.real = db
        self.db = FlakyDatabase(db)
        self.clock = Watch()
        self.fresh = True
        self.horizon = 0

    async def open(self, words: str = "hello") -> TurnJournal:
        if words:
            await post(self.real, message(words, key=f"k{words}"))
        begun = await begin_next(self.real)
        assert begun is not None
        self.begun = begun

        def fresh() -> bool:
            was, self.fresh = self.fresh, False
            return was

        return TurnJournal(
            Fence(self.db, self.clock, begun.lane.id, begun.epoch, self.clock.sleep),
            session_id=begun.session_id,
            turn_id=begun.turn_id,
            owner=begun.item.author,
            rows=begun.rows,
            horizon=begun.horizon,
            reply=Draft(begun.turn_id, REPLY, ALICE, begun.lane.address, "", reply_to="7"),
            fresh=fresh,
        )

    async def stored(self, session: str) -> list[str]:
        rows = await self.real.read(lambda conn: load_rows(conn, session))
        return [r.message.text for r in rows]

    async def take_over(self) -> None:
        await self.real.write(lambda conn: raise_epoch(conn, LANE))


@pytest.fixture
def office(db: Database) -> Office:
    return Office(db)


async def test_rows_count_from_one_without_gaps(office: Office) -> None:
    journal = await office.open()
    added = [*await journal.append([row("a"), row("b")]), *await journal.append([row("c")])]
    assert [r.seq for r in added] == [2, 3, 4]
    assert [r.seq for r in await journal.rows()] == [1, 2, 3, 4]
    assert await office.stored(journal.session_id) == ["hello", "a", "b", "c"]


async def test_parallel_appends_are_put_in_order(office: Office) -> None:
    journal = await office.open()
    await asyncio.gather(*(journal.append([row(str(n))]) for n in range(20)))
    assert [r.seq for r in await journal.rows()] == list(range(1, 22))
    assert await office.stored(journal.session_id) == ["hello", *map(str, range(20))]


async def test_an_older_run_can_write_nothing_more(office: Office) -> None:
    journal = await office.open()
    child = journal.child("d1", "research")
    await child.append([row("before")])
    await office.take_over()
    blob = NewBlob(blob_id(ALICE, b"x"), "x", "text/plain", b"x")
    for write in (
        journal.append([row("late")], usage=Usage(1, 1), model="m", blobs=[blob]),
        child.append([row("late")]),
        journal.child("d2", "research").append([row("late")]),
        journal.steer(),
        journal.finish([row("late")], TurnStatus.DONE, "late"),
    ):
        with pytest.raises(Fenced):
            await write
    assert await count(office.real, "transcript", "body like '%late%'") == 0
    assert [await count(office.real, t) for t in ("usage", "blob", "outbox")] == [0, 0, 0]
    assert await count(office.real, "session", "id like '%/d2'") == 0
    assert journal.ready is None


async def test_a_child_has_a_session_of_its_own_that_is_found_again(office: Office) -> None:
    journal = await office.open()
    child = journal.child("d1", "research")
    assert child.session_id == f"{journal.session_id}/d1"
    await child.append([row("one")])
    grandchild = child.child("e1", "analysis")
    await grandchild.append([row("deep")])
    found = journal.child("d1", "research")
    assert [r.message.text for r in await found.rows()] == ["one"]
    assert [r.seq for r in await found.append([row("two")])] == [2]
    assert await child.steer() == ()
    owners = text("select id, owner, parent, agent from session order by id")
    rows = await office.real.read(lambda conn: list(conn.execute(owners)))
    s = journal.session_id
    assert [tuple(r) for r in rows] == [
        (s, ALICE, None, None),
        (f"{s}/d1", ALICE, s, "research"),
        (f"{s}/d1/e1", ALICE, f"{s}/d1", "analysis"),
    ]


async def test_a_blob_is_read_by_its_owner_alone(office: Office) -> None:
    journal = await office.open()
    blob = NewBlob(blob_id(ALICE, b"data"), "x", "text/plain", b"data")
    await journal.append([row()], blobs=[blob])
    await journal.append([row()], blobs=[blob])
    assert await journal.blob(blob.id) == b"data"
    assert await count(office.real, "blob") == 1
    with pytest.raises(KeyError):
        await journal.blob(blob_id("telegram:2", b"data"))


async def test_a_cancelled_append_is_in_memory_as_it_is_in_the_table(office: Office) -> None:
    """At any moment of the commit: both have it, or neither."""
    journal = await office.open()
    for wait in (0, 1, 2, 3, 5, 8, 13, 40):
        appending = asyncio.create_task(journal.append([row(f"w{wait}")]))
        for _ in range(wait):
            await asyncio.sleep(0)
        appending.cancel()
        await asyncio.gather(appending, return_exceptions=True)
        known = [r.message.text for r in await journal.rows()]
        assert known == await office.stored(journal.session_id)
    assert [r.seq for r in await journal.append([row("end")])] == [len(known) + 1]


@pytest.mark.parametrize("outcome", [Outcome.AWAY, Outcome.UNDONE])
async def test_an_outage_is_waited_out_and_no_row_is_lost_or_doubled(
    office: Office, outcome: Outcome
) -> None:
    journal = await office.open()
    office.db.writes.extend([outcome] * 7)
    office.db.reads.extend([Outcome.AWAY] * 3)
    await journal.append([row("a")], usage=Usage(1, 1), model="m")
    await journal.append([row("b")])
    assert await office.stored(journal.session_id) == ["hello", "a", "b"]
    assert await count(office.real, "usage") == 1
    assert len(office.clock.naps) == 7


@on_sqlite
async def test_an_outage_longer_than_the_patience_is_raised(office: Office) -> None:
    journal = await office.open()
    office.db.writes.extend([Outcome.AWAY] * 1_000)
    with pytest.raises(Exception, match="away"):
        await journal.append([row("a")])
    assert PATIENCE_S <= office.clock.seconds < PATIENCE_S + 1
    office.db.writes.clear()
    await journal.append([row("b")])
    assert await office.stored(journal.session_id) == ["hello", "b"]


@pytest.mark.parametrize("blind", [0, 1, 3])
async def test_a_commit_whose_answer_was_lost_is_found_and_not_repeated(
    office: Office, blind: int
) -> None:
    """Also when the first looks after it fail, so that the same rows are tried once more."""
    journal = await office.open()
    office.db.writes.append(Outcome.LOST)
    office.db.reads.extend([Outcome.AWAY] * blind)
    with pytest.raises(Reload):
        await journal.append([row("a")], usage=Usage(1, 1), model="m")
    assert await office.stored(journal.session_id) == ["hello", "a"]
    assert await count(office.real, "usage") == 1


async def test_a_take_over_during_an_outage_fences(office: Office) -> None:
    journal = await office.open()
    office.db.writes.append(Outcome.LOST)
    office.db.between = lambda conn: raise_epoch(conn, LANE)
    with pytest.raises(Fenced):
        await journal.append([row("a")])


@on_sqlite
@pytest.mark.parametrize("blind", [0, 2])
async def test_a_turn_whose_end_was_committed_unseen_still_hands_its_reply_over(
    office: Office, blind: int
) -> None:
    journal = await office.open()
    office.db.writes.append(Outcome.LOST)
    office.db.reads.extend([Outcome.AWAY] * blind)
    with pytest.raises(Reload):
        await journal.finish([row("bye")], TurnStatus.DONE, "bye")
    assert journal.ready is not None
    assert await count(office.real, "outbox", f"id = {journal.ready[0]} and status = 1") == 1


@on_sqlite
async def test_a_turn_that_was_fenced_at_its_end_hands_nothing_over(office: Office) -> None:
    journal = await office.open()
    office.db.writes.append(Outcome.UNDONE)
    office.clock.sleep = lambda _: office.take_over()  # type: ignore[method-assign]
    journal._fence.sleep = office.clock.sleep
    with pytest.raises(Fenced):
        await journal.finish([row("bye")], TurnStatus.DONE, "bye")
    assert journal.ready is None
    assert await count(office.real, "outbox") == 0


async def test_the_end_of_a_turn_is_one_commit(office: Office) -> None:
    journal = await office.open()
    await post(office.real, message("more", key="k2"))
    await journal.steer()
    last = NewRow(RowKind.ASSISTANT, assistant("bye"), meta={"error_id": "ab12cd"})
    await journal.finish([last], TurnStatus.FAILED, "bye", usage=Usage(1, 1), model="m")
    assert await count(office.real, "inbox", "status = 2") == 2
    assert await count(office.real, "turn", "status = 'failed' and error_id = 'ab12cd'") == 1
    assert await count(office.real, "outbox", "status = 1 and key = 'reply'") == 1
    assert await count(office.real, "usage") == 1
    assert journal.ready is not None
    row_id, draft = journal.ready
    assert (draft.text, draft.reply_to, row_id > 0) == ("bye", "7", True)


@pytest.mark.parametrize("table", ["turn", "inbox", "outbox", "transcript", "usage"])
async def test_a_part_of_the_end_that_fails_leaves_nothing(
    office: Office, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failing statement is made by the database itself, in the table of that part."""
    journal = await office.open()
    await office.real.write(lambda conn: _refuse(conn, table))
    with pytest.raises(Exception, match="refused"):
        await journal.finish([row("bye")], TurnStatus.DONE, "bye", usage=Usage(1, 1), model="m")
    assert await office.stored(journal.session_id) == ["hello"]
    assert await count(office.real, "inbox", "status = 1") == 1
    assert await count(office.real, "turn", "status = 'running'") == 1
    assert await count(office.real, "outbox") == 0
    assert await count(office.real, "usage") == 0
    assert journal.ready is None


def _refuse(conn: Connection, table: str) -> None:
    if conn.dialect.name == "sqlite":
        for event in ("insert", "update"):
            conn.execute(
                text(
                    f"create trigger no_{event} before {event} on {table}"
                    " begin select raise(abort, 'refused'); end"
                )
            )
        return
    conn.execute(
        text(
            "create function refuse() returns trigger language plpgsql as"
            " $$ begin raise exception 'refused' using errcode = '23514'; end $$"
        )
    )
    conn.execute(
        text(
            f"create trigger no before insert or update on {table}"
            " for each row execute function refuse()"
        )
    )


async def arrive(office: Office, *messages: tuple[str, str]) -> None:
    for words, author in messages:
        inbound = message(words, key=f"k {words}", author=author, private=False)
        await post(office.real, inbound)


async def left(office: Office) -> list[str]:
    items = await office.real.read(lambda conn: inbox.new_rows(conn, LANE, 0))
    return [item.text for item in items]


async def test_steering_takes_the_principals_words_up_to_a_command(office: Office) -> None:
    """EVT-7; other people's words are turns of their own, those from before the turn as well."""
    await arrive(office, ("first", "1"), ("bob waits", "2"))
    journal = await office.open("")
    await arrive(office, ("bob asks", "2"), ("mine <context>", "1"), ("/new", "1"), ("after", "1"))
    office.fresh = True
    steered = await journal.steer()
    assert [r.message.text for r in steered] == ["mine ‹context›"]
    assert [r.seq for r in steered] == [2]
    await journal.finish([row("bye")], TurnStatus.DONE, "bye")
    assert await left(office) == ["bob waits", "bob asks", "/new", "after"]


async def test_a_later_message_never_overtakes_an_earlier_one_of_its_author(office: Office) -> None:
    await arrive(office, ("first", "1"), ("backlog", "1"))
    journal = await office.open("")
    await arrive(office, ("later", "1"))
    office.fresh = True
    assert await journal.steer() == []
    await journal.finish([row("bye")], TurnStatus.DONE, "bye")
    assert await left(office) == ["backlog", "later"]


async def test_steering_costs_nothing_when_nothing_is_new(office: Office) -> None:
    journal = await office.open()
    office.fresh = False
    office.db.writes.append(Outcome.AWAY)
    assert await journal.steer() == ()
    assert office.db.writes  # no transaction was made


@on_sqlite
async def test_parallel_results_survive_a_lost_answer(db: Database) -> None:
    """The turn goes on from its rows; it does not end with a failure that nobody had."""
    calls = tuple(call("echo", f"c{n}", words=str(n)) for n in range(4))
    desk = Desk(db, [Answer(calls=calls), "done"])
    await post(db, message("go"))
    turn = await desk.turn(team(agent(tools=("echo",))))
    flaky = FlakyDatabase(db)
    assert desk.journal is not None
    desk.journal._fence.db = flaky
    flaky.writes.extend([Outcome.FINE, Outcome.FINE, Outcome.LOST])
    with pytest.raises(Reload):
        await turn.run()
    again = Desk(db, desk.model)
    await (await again.turn(team(agent(tools=("echo",))))).run()
    assert again.reply == "done"
    assert await again.count("transcript", "kind = 'result'") == 4


@on_sqlite
async def test_a_lost_answer_inside_a_delegation_is_no_failure_of_the_agent(db: Database) -> None:
    from tests.harness import ScriptedModel, delegate

    def script(request: object) -> Answer | str:
        results = [b for m in request.messages for b in m.blocks if isinstance(b, ToolResult)]  # type: ignore[attr-defined]
        if "supervisor" in request.system:  # type: ignore[attr-defined]
            return "done" if results else Answer(calls=(delegate("research"),))
        return "found" if results else Answer(calls=(call("echo", "e1"),))

    the_team = team(agent(), agent("research", tools=("echo",)))
    for lost_at in range(1, 6):
        desk = Desk(db, ScriptedModel(script), chat=lost_at)
        await post(db, message("go", key=f"k{lost_at}", chat=lost_at))
        turn = await desk.turn(the_team)
        flaky = FlakyDatabase(db)
        assert desk.journal is not None
        desk.journal._fence.db = flaky
        flaky.writes.extend([Outcome.FINE] * lost_at + [Outcome.LOST])
        with pytest.raises(Reload):
            await turn.run()
        again = Desk(db, desk.model, chat=lost_at)
        begun_again = await again.turn(the_team)
        await begun_again.run()
        assert again.reply == "done"
        [result] = [r for r in await again.rows() if r.kind is RowKind.RESULT]
        assert '"status": "completed"' in result.message.blocks[0].content  # type: ignore[union-attr]


async def test_messages_keep_their_words_in_the_table(office: Office) -> None:
    journal = await office.open('价格 😀 \\ "quoted" \n two')
    assert await office.stored(journal.session_id) == ['价格 😀 \\ "quoted" \n two']
    await journal.append([NewRow(RowKind.NOTE, Message("user", user("注").blocks))])
    assert (await office.stored(journal.session_id))[-1] == "注"
