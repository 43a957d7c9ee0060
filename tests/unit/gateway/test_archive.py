"""Who may read what of the archive, by a model's tool, in chat and on the command line (ARC-4, ARC-7, CMP-7)."""

import asyncio
import datetime as dt
import json
from typing import Any

import pytest
from sqlalchemy import Connection, text

from agent_core.compaction.decisions import Anchor, Cleared, Fact, Summary, checkpoint
from agent_core.runtime.offload import pack
from agent_core.storage.sessions import add_checkpoint
from agent_core.storage.statements import add_blob, append_rows, ensure_session
from agent_core.tools.archive import RESTORE, archive_tools
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput
from agent_core.types import Checkpoint, Message, NewRow, RowKind, ToolUse, assistant, user
from channels.types import Address
from gateway.clock import SystemClock
from gateway.inbound import conversation
from gateway.memory.archive import SessionArchive
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.harness import ALICE, BOB
from tests.house import START, House, on_sqlite
from tests.unit.gateway.test_cli import Command, swarmgate

pytestmark = pytest.mark.statements

__all__ = ["swarmgate"]
WHOLE = "".join(chr(0x4E00 + n % 3_000) for n in range(20_000))
SUMMARY = Summary(
    "## Active Task\nBuy GOOG.\n\n## Resolved Questions\n- which broker: the first one\n\n"
    "## Pending User Asks\n- the stop\n",
    "structured",
    facts=(Fact(1, 1, "at most 5 percent", "rule"),),
    anchors=(Anchor(2, "assistant", "I read it"),),
    symbols=("GOOG",),
    topic="orders",
    before=900,
    after=200,
)


def fill(conn: Connection, session: str, owner: str) -> str:
    """A session with a large result in row 3; returns the reference of its blob."""
    ensure_session(conn, session, owner, START)
    call = ToolUse("c1", "read_file", {"path": "a.txt"})
    done = pack(owner, call, ToolOutput(WHOLE), "mixed")
    rows = [
        NewRow(RowKind.USER, user(f"secret of {owner}")),
        NewRow(RowKind.ASSISTANT, assistant("I read it", call)),
        NewRow(RowKind.RESULT, Message("user", (done.result,)), "c1", dict(done.meta)),
        NewRow(RowKind.ASSISTANT, assistant("read ````` it")),
    ]
    append_rows(conn, session, 1, 0, rows, START)
    for blob in done.blobs:
        add_blob(conn, owner=owner, session_id=session, blob=blob, now=START)
    return f"b{done.blobs[0].id[:16]}"


async def read(db: Database, ref: str, *, owner: str = ALICE, session: str = "s1") -> str | None:
    found = await SessionArchive(db).read(owner, session, ref)
    return None if found is None else found.text


async def test_a_run_reads_its_own_session_and_the_other_ones_of_its_owner(db: Database) -> None:
    """ARC-7."""
    large = await db.write(lambda conn: fill(conn, "s1", ALICE))
    await db.write(lambda conn: fill(conn, "s2", ALICE))
    await db.write(lambda conn: fill(conn, "s3", BOB))
    assert await read(db, "r1") == f"secret of {ALICE}"
    assert await read(db, "archive://s2/r1") == f"secret of {ALICE}"
    assert await read(db, "r1", session="s1/d1") is None  # a sub-agent has a transcript of its own
    assert await read(db, "s1/r1", session="s1/d1") == f"secret of {ALICE}"
    assert await read(db, large, session="s2") == WHOLE
    for ref in ("archive://s3/r1", "s3/r1-r9", "s9/r1", "../s3/r1", "s3/../s1/r1", "", "r99"):
        assert await read(db, ref) is None
    assert await read(db, large, owner=BOB, session="s3") is None


async def test_a_large_result_comes_back_whole_by_its_row_and_by_its_blob(db: Database) -> None:
    """ARC-4, EVT-6: every character, with the level of belief it had."""
    large = await db.write(lambda conn: fill(conn, "s1", ALICE))
    for ref in ("r3", large, f"archive://s1/{large}"):
        found = await SessionArchive(db).read(ALICE, "s1", ref)
        assert found is not None
        assert found.text == WHOLE
        assert (found.source, found.credibility) == ("read_file", "mixed")
    ranged = await read(db, "r1-r3")
    assert ranged is not None
    assert WHOLE[:2_000] in ranged
    assert WHOLE not in ranged
    assert "the whole of it: ref=r3" in ranged


async def test_what_was_kept_once_for_two_sessions_is_read_from_both(db: Database) -> None:
    """In a group only its own session is read, also when a private one had the same bytes first."""
    large = await db.write(lambda conn: fill(conn, "s1", ALICE))

    def group(conn: Connection) -> None:
        lane = conversation.ensure(
            conn, Address("telegram", "777", "-5"), private=False, owner=ALICE, now=START
        )
        conversation.choose(conn, lane.id, session_id=lane.session_id)
        fill(conn, lane.session_id, ALICE)
        session.append(lane.session_id)

    session: list[str] = []
    await db.write(group)
    assert await read(db, large, session=session[0]) == WHOLE
    assert await read(db, "r1", session=session[0]) == f"secret of {ALICE}"
    assert await read(db, "s1/r1", session=session[0]) is None


async def test_a_linked_identity_reads_the_sessions_of_its_principal(db: Database) -> None:
    def work(conn: Connection) -> None:
        fill(conn, "s1", ALICE)
        fill(conn, "s2", "web:alice")
        conn.execute(
            text(
                "insert into link (person_id, principal, created_at) values ('web:alice', :p, :at)"
            ),
            {"p": ALICE, "at": START.isoformat(sep=" ")},
        )

    await db.write(work)
    assert await read(db, "s2/r1") == "secret of web:alice"


async def test_what_was_undone_is_gone_for_models(db: Database) -> None:
    def work(conn: Connection) -> None:
        fill(conn, "s1", ALICE)
        add_checkpoint(conn, "s1", Checkpoint("undo", 0, 4), START)

    await db.write(work)
    assert await read(db, "r1") is None
    assert await read(db, "r4") == "read ````` it"


def context(db: Database, **more: Any) -> ToolContext:
    fields: dict[str, Any] = {
        "owner": ALICE,
        "session_id": "s1",
        "turn_id": 1,
        "call_id": "c9",
        "language": "en",
        "clock": SystemClock(),
        "archive": SessionArchive(db),
    }
    return ToolContext(**fields | more)


@on_sqlite
async def test_the_tool_gives_pages_that_add_up(db: Database) -> None:
    """ARC-4: side by side as well, since reading changes nothing."""
    await db.write(lambda conn: fill(conn, "s1", ALICE))
    (spec,) = archive_tools()
    assert (spec.name, spec.idempotent, spec.concurrency_safe) == (RESTORE, True, True)
    pages = await asyncio.gather(
        *(
            spec.call(context(db), {"ref": "[cleared ref=r3]", "offset": n})
            for n in (0, 7_600, 15_200)
        )
    )
    assert "".join(p.content.partition("\n")[2] for p in pages) == WHOLE
    assert all(len(p.content) <= 8_000 for p in pages)
    assert "12400 left, go on with offset=7600" in pages[0].content
    assert pages[0].meta == {"credibility": "mixed"}  # never more than the original's


@on_sqlite
async def test_the_tool_refuses_in_the_same_words(db: Database) -> None:
    """ARC-7: somebody else's, no session, no reference and no archive at all."""
    await db.write(lambda conn: fill(conn, "s1", ALICE))
    await db.write(lambda conn: fill(conn, "s3", BOB))
    (spec,) = archive_tools()
    said = set()
    for ref in ("s3/r1", "s9/r1", "../s3/r1", "nonsense"):
        with pytest.raises(ToolFailure) as caught:
            await spec.call(context(db), {"ref": ref})
        said.add(str(caught.value).replace(ref, "REF"))
    with pytest.raises(ToolFailure) as caught:
        await spec.call(context(db, archive=None), {"ref": "r1"})
    said.add(str(caught.value).replace("r1'", "REF'", 1))
    assert len(said) == 1
    with pytest.raises(ToolFailure, match="20000 characters"):
        await spec.call(context(db), {"ref": "r3", "offset": 20_000})


async def condensed(house: House) -> str:
    """Something was said and condensed; the session of chat 1."""
    await house.ask("hello")
    session: str = await house.one("select id from session where owner like '%_1'")
    last: int = await house.one("select max(seq) from transcript")

    def work(conn: Connection) -> None:
        call = ToolUse("c1", "read_file", {})
        done = pack(ALICE, call, ToolOutput(WHOLE), "mixed")
        rows = [
            NewRow(RowKind.ASSISTANT, assistant("", call)),
            NewRow(RowKind.RESULT, Message("user", (done.result,)), "c1", dict(done.meta)),
        ]
        append_rows(conn, session, 1, last, rows, START)
        add_blob(conn, owner=ALICE, session_id=session, blob=done.blobs[0], now=START)
        at = START + dt.timedelta(hours=1)
        add_checkpoint(conn, session, checkpoint(Cleared((last + 2,)), until=last + 3), START)
        add_checkpoint(conn, session, checkpoint(SUMMARY, until=3), at)

    await house.db.write(work)
    return session


@on_sqlite
async def test_a_person_lists_and_reads_what_was_condensed(db: Database) -> None:
    """ARC-4: /archive."""
    async with House(db, ["hi"]) as house:
        assert "Nothing was condensed" in (await house.ask("/archive", chat="2", author="2"))[-1]
        session = await condensed(house)
        listed = (await house.ask("/archive"))[-1]
        assert "- `r1-r2` · older messages condensed (orders) · 2026-01-05 13:00" in listed
        assert "- `r4` · tool results cleared · 2026-01-05 12:00" in listed
        shown = (await house.ask("/archive r1-r2"))[-1]
        assert "hello" in shown
        assert "hi" in shown
        assert (await house.ask(f"/archive {session[:7]}/r2"))[-1].endswith("hi\n```")
        before = len(house.channel.texts("1"))
        told = (await house.ask("/archive r4"))[before:]
        assert "r4 has 20000 characters; it is in the file." in told[0]
        files = [f for shown in house.channel.order for f in shown.files]
        assert files[-1].data is not None
        assert files[-1].data.decode() == WHOLE


@on_sqlite
async def test_nobody_reaches_into_another_chat_by_a_reference(db: Database) -> None:
    """ARC-7: the same words for what is somebody else's and for what is not there."""
    async with House(db, ["hi", "hi"]) as house:
        session = await condensed(house)
        await house.ask("hello", chat="2", author="2")
        large = await house.one("select substr(id, 1, 16) from blob")
        said = {
            (await house.ask(f"/archive {ref}", chat="2", author="2"))[-1].replace(ref, "REF")
            for ref in (f"{session}/r1", "s0000/r1", "../r1", "r77", f"b{large}", "nonsense")
        }
        assert said == {"There is nothing under REF here; `/archive` lists what there is."}


def prepared(swarmgate: Command) -> str:
    data = swarmgate.folder / "data"
    data.mkdir(mode=0o700)

    async def run() -> str:
        db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
        try:
            async with House(db, ["hi"]) as house:
                return await condensed(house)
        finally:
            await db.close()

    return asyncio.run(run())


def test_the_operator_sees_why_an_agent_repeats_a_question(swarmgate: Command) -> None:
    """CMP-7, MSC-12: the messages of a compaction with its Resolved Questions and Pending User Asks."""
    session = prepared(swarmgate)
    rows = swarmgate.json("archive", "list")
    assert [row["id"] for row in rows] == [f"{session}/r1-r2", f"{session}/r4"]
    assert rows[0]["tokens"] == "900 → 200"
    shown = swarmgate("archive", "show", "r1-r2")
    for said in ("## Resolved Questions", "- the stop", "topic: orders", "symbols: GOOG", "hello"):
        assert said in shown
    assert "fact r1: at most 5 percent" in shown
    found: Any = json.loads(swarmgate("archive", "show", f"{session[:8]}/r1-r2", "--json"))
    assert found["compaction"]["sections"] == {
        "Resolved Questions": "- which broker: the first one",
        "Pending User Asks": "- the stop",
    }
    assert found["compaction"]["id"].startswith("ctx_20260105130000_")
    whole: Any = json.loads(swarmgate("archive", "show", f"{session}/r4", "--json"))
    assert whole["text"] == WHOLE
    assert whole["compaction"] is None


def test_an_unknown_archive_is_told_in_one_line(swarmgate: Command) -> None:
    prepared(swarmgate)
    assert "there is nothing under r77" in swarmgate("archive", "show", "r77", code=1)
    assert "no single session" in swarmgate("archive", "list", "nope", code=1)
