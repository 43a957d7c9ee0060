"""query_history: a person's own past conversations, where and of whom they may be read (MEM-17, ARC-5, ARC-7)."""

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import Connection, text

from agent_core.compaction.decisions import Cleared, Summary, checkpoint
from agent_core.storage.recall_index import behind, index_new_rows
from agent_core.storage.sessions import add_checkpoint
from agent_core.tools.history import NOTHING, PastRow, history_tools
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput
from agent_core.types import Checkpoint
from gateway.memory.archive import SessionArchive
from gateway.memory.history import OwnHistory, scope_of_turn
from gateway.people import links
from gateway.storage.db import Database
from tests.harness import ALICE, BOB
from tests.house import START, House, Watch, on_sqlite
from tests.unit.gateway.remembering import remember

pytestmark = on_sqlite
GROUP = {"chat": "-5", "private": False}
DAY = 86_400.0


async def indexed(house: House) -> None:
    """What was said is in the index, as it is soon after each turn."""

    def work(conn: Connection) -> None:
        for session in behind(conn):
            index_new_rows(conn, session, lambda turn: scope_of_turn(conn, turn))

    await house.db.write(work)


async def last_turn(house: House, chat: str = "1") -> int:
    """The newest turn of a chat."""
    query = f"select max(t.id) from turn t join inbox i on i.id = t.id where i.conversation_id = 'telegram:777:{chat}'"
    return int(await house.one(query))


async def found(
    house: House, query: str, *, owner: str = ALICE, chat: str = "1", **more: Any
) -> list[PastRow]:
    """What a turn of this owner finds from its chat."""
    values = {"source": "all", "since": None, "limit": 8} | more
    turn = await last_turn(house, chat)
    return list(await OwnHistory(house.db).search(owner, turn, query, **values))


async def said(house: House, query: str = "copper", **more: Any) -> list[str]:
    """The texts that are found and hold the word; rows around them may be found, too."""
    rows = await found(house, query, **more)
    return [row.text for row in rows if query in row.text]


async def three_talks(house: House) -> None:
    """Alice about copper (yesterday), then about zinc; bob about copper; both in a group."""
    await house.ask("We decided to sell the copper at 9,000")
    await house.ask("/new")
    house.clock.seconds += DAY
    await house.ask("锌的仓位怎么办？")
    await house.ask("my copper is secret", author="2", chat="2")
    await house.ask("copper for the group", **GROUP)
    await house.ask("my own copper here", author="2", **GROUP)
    await indexed(house)


async def test_earlier_sessions_are_found_with_date_session_and_reference(db: Database) -> None:
    async with House(db, ["noted", "好", "ok", "hello group", "hi bob"]) as house:
        await three_talks(house)
        row, *_ = await found(house, "what about copper?")
        first = await house.one("select min(session_id) from transcript where body like '%9,000%'")
        assert row.text == "We decided to sell the copper at 9,000"
        assert (row.role, row.here, row.archived) == ("user", False, False)
        assert (row.session, row.title) == (first, "We decided to sell the copper at 9,000")
        assert row.at == START
        here = await house.one("select session_id from conversation where id = 'telegram:777:1'")
        back = await SessionArchive(db).read(ALICE, here, row.ref)
        assert back is not None
        assert "sell the copper at 9,000" in back.text
        han, *_ = await found(house, "锌的仓位")
        assert (han.text, han.here) == ("锌的仓位怎么办？", True)


async def test_nobody_elses_words_are_found_not_even_in_the_same_group(db: Database) -> None:
    """MEM-17, defect 18."""
    async with House(db, ["noted", "好", "ok", "hello group", "hi bob"]) as house:
        await three_talks(house)
        assert await said(house, owner=BOB, chat="2") == ["my copper is secret"]
        assert await said(house, chat="-5") == ["copper for the group"]
        assert await said(house, owner=BOB, chat="-5") == ["my own copper here"]
        assert await found(house, "copper", owner="telegram:3") == []
        assert (
            await OwnHistory(db).search(ALICE, 999, "copper", source="all", since=None, limit=8)
            == []
        )


async def test_linked_identities_have_one_past(db: Database) -> None:
    async with House(db, ["noted", "好", "ok", "hello group", "hi bob"]) as house:
        await three_talks(house)

        def link(conn: Connection) -> None:
            code = links.new_code(conn, ALICE, START)
            links.claim(conn, code, BOB, START)
            links.settle(conn, code, ALICE, START, agreed=True)

        await db.write(link)
        # What bob said before the link stays bob's; what is alice's is found by both, since both are alice now.
        assert (await said(house, chat="2"))[0].startswith("We decided")


async def test_days_and_limit_bound_what_is_found(db: Database) -> None:
    async with House(db, ["noted", "好", "ok", "hello group", "hi bob", "more"]) as house:
        await three_talks(house)
        await house.ask("copper again")
        await indexed(house)
        since = START + dt.timedelta(hours=1)
        assert await said(house, since=since) == ["copper again"]
        assert len(await found(house, "copper", limit=1)) == 1
        assert len(await said(house)) == 2


@pytest.mark.parametrize(
    "body", [Cleared((1,)), Summary("about copper", "structured", before=9, after=1)]
)
async def test_the_archive_is_what_a_model_no_longer_sees(db: Database, body: Any) -> None:
    """ARC-4, ARC-5: found as archive, not as chat; the memory store has no part in it."""
    async with House(db, ["noted"]) as house:
        await house.ask("sell the copper")
        session = await house.one("select id from session")
        await remember(db, "copper in memory")
        made = checkpoint(body, after=0, until=2)
        await db.write(lambda conn: add_checkpoint(conn, session, made, START))
        await indexed(house)
        assert await said(house, source="archive") == ["sell the copper"]
        assert await said(house, source="chats") == []
        assert (await found(house, "copper"))[0].archived


async def test_what_was_taken_back_is_not_found(db: Database) -> None:
    async with House(db, ["noted"]) as house:
        await house.ask("sell the copper")
        session = await house.one("select id from session")
        await indexed(house)
        assert await found(house, "copper")
        undone = Checkpoint("undo", 0, 9)
        await db.write(lambda conn: add_checkpoint(conn, session, undone, START))
        assert await found(house, "copper") == []


ODD = ["", "?", "'", '"', "AND OR NOT", "*", "x'; drop table turn", "🙂", "\u200b", "x" * 1_000_000]


@pytest.mark.parametrize("query", ODD)
async def test_any_words_are_text(db: Database, query: str) -> None:
    """RCL-10."""
    async with House(db, ["noted"]) as house:
        await house.ask("hello there")
        await indexed(house)
        await found(house, query)
        assert await house.one("select count(*) from turn") == 1


# The tool -------------------------------------------------------------------------------------------


class Fixed:
    """A History that notes what it was asked."""

    def __init__(self, *rows: PastRow) -> None:
        self.rows = rows
        self.asked: list[tuple[Any, ...]] = []

    async def search(
        self, owner: str, turn_id: int, query: str, **more: Any
    ) -> tuple[PastRow, ...]:
        self.asked.append((owner, turn_id, query, more))
        return self.rows


LABEL = '[2026-01-05 12:00 UTC · session s123456 "about metals" · user · ref=archive://s12345678/r4 · archived]'


def context(language: Any = "en") -> ToolContext:
    return ToolContext(ALICE, "s1", 7, "c1", language, Watch())


async def run(history: Any, language: Any = "en", **args: Any) -> ToolOutput:
    (spec,) = history_tools(history)
    return await spec.call(context(language), args)


async def test_the_tool_takes_owner_and_turn_from_the_runtime(db: Database) -> None:
    """MEM-17: there is no argument by which a model could ask for somebody else's."""
    del db
    history = Fixed()
    (spec,) = history_tools(history)
    assert set(spec.arguments.model_fields) == {"query", "source", "days", "limit"}
    said = await run(history, query="copper", days=3)
    since = START - dt.timedelta(days=3)
    assert history.asked == [(ALICE, 7, "copper", {"source": "all", "since": since, "limit": 8})]
    assert said.content == NOTHING.format(where="past conversations", query="copper")
    wrong: list[dict[str, Any]] = [{"owner": BOB}, {"days": 0}, {"limit": 21}, {"source": "memory"}]
    for bad in ({}, {"query": ""}, *({"query": "x"} | more for more in wrong)):
        with pytest.raises(ToolFailure):
            await run(history, **bad)


async def test_results_are_labelled_dated_and_short(db: Database) -> None:
    """CRD-2, ARC-4."""
    del db
    row = PastRow(
        "archive://s12345678/r4", "s12345678", "about\nmetals", "user", "x" * 900, START, True
    )
    said = await run(Fixed(row), "zh", query="x")
    head, label, *_ = said.content.split("\n\n")
    assert "not live data" in head
    assert label.startswith(LABEL + "\n")
    assert len(label.partition("\n")[2]) == 300
    assert said.summary == "找到 1 条"
    (spec,) = history_tools(None)
    assert spec.credibility == "mixed"
    assert spec.read_only
    fields = spec.structured(said)  # MCP-2: what another program gets beside the words
    assert fields is not None
    [found] = fields["found"]
    assert (found["ref"], found["title"], found["archived"]) == (row.ref, "about metals", True)
    assert (found["text"], found["at"]) == ("x" * 299 + "…", START.isoformat(timespec="minutes"))
    assert spec.structured(await run(Fixed(), query="x")) == {
        "found": [],
        "note": NOTHING.format(where="past conversations", query="x"),
    }


async def test_without_memory_it_says_so(db: Database) -> None:
    del db
    with pytest.raises(ToolFailure, match="switched off"):
        await run(None, query="x")


async def test_the_archive_and_the_memory_are_two_stores(db: Database) -> None:
    """ARC-5: forgetting a memory leaves the conversation, and what was condensed makes no memory."""
    async with House(db, ["noted"]) as house:
        await house.ask("sell the copper")
        session = await house.one("select id from session")
        one = await remember(db, "sells copper", source=f"chat_log:{session}")
        made = checkpoint(
            Summary("about copper", "structured", before=9, after=1), after=0, until=2
        )
        await db.write(lambda conn: add_checkpoint(conn, session, made, START))
        assert await house.one("select count(*) from memory") == 1
        await house.ask(f"/memory forget {one}")
        await indexed(house)
        assert await said(house) == ["sell the copper"]
        await db.write(lambda conn: conn.execute(text("delete from checkpoint")) and None)
