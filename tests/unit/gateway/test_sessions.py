"""The commands of sessions: what a model sees afterwards, and that no row is ever changed."""

import asyncio

from agent_core.compaction.view import View
from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.storage import sessions as stored
from agent_core.storage.statements import load_rows
from agent_core.types import Checkpoint
from channels.types import Address
from gateway.inbound import conversation, sessions
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House, on_sqlite, settings, until

WORDS = ("one", "two", "three", "four", "five", "six")


def told(request: ModelRequest) -> list[str]:
    """The words of people in a request, without results of tools."""
    return [m.text for m in request.messages if m.role == "user" and m.text]


async def transcript(house: House) -> list[tuple[object, ...]]:
    query = "select session_id, seq, turn_id, kind, ref, body, meta from transcript order by id"
    return [tuple(row) for row in await house.all(query)]


async def lane(house: House, chat: str = "1") -> conversation.Lane:
    place = str(Address("telegram", "777", chat))
    found = await house.db.read(lambda conn: conversation.find(conn, place))
    assert found is not None
    return found


async def test_a_session_is_named_by_its_first_words(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("  How did\n  GOOG do in 2012?  ")
        await house.ask("and in 2013?")
        assert await house.one("select title from session") == "How did GOOG do in 2012?"
        await house.ask("/new")
        await house.ask("长" * 200)
        titles = [row.title for row in await house.all("select title from session")]
        assert sorted(map(len, titles)) == [24, stored.TITLE_CHARS]


async def test_sessions_lists_those_of_this_place_newest_first(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("first talk")
        await house.ask("elsewhere", author="2", chat="2")
        house.clock.seconds += 60
        await house.ask("/new")
        await house.ask("second talk")
        text = (await house.ask("/sessions"))[-1]
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        assert "second talk" in lines[0]
        assert lines[0].endswith("**now**")
        assert "first talk" in lines[1]
        assert len(lines) == 2
        assert (await lane(house)).session_id[: sessions.SHORT] in lines[0]


async def test_resume_goes_back_to_a_session_of_this_place_only(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("first talk")
        old = (await lane(house)).session_id
        await house.ask("mine alone", author="2", chat="2")
        other = (await lane(house, "2")).session_id
        await house.ask("/new")
        assert "no single conversation" in (await house.ask(f"/resume {other}"))[-1]
        assert "How to use it" in (await house.ask("/resume"))[-1]
        assert "no single conversation" in (await house.ask("/resume s"))[-1]  # two begin so
        assert "first talk" in (await house.ask(f"/resume {old[: sessions.SHORT]}"))[-1]
        await house.ask("go on")
        assert told(house.model.requests[-1]) == ["first talk", "go on"]


async def test_a_fork_begins_with_the_rows_so_far_and_leaves_the_old_session_alone(
    db: Database,
) -> None:
    script = [Answer(calls=(call("echo", "e1"),)), "one", "two", "three"]
    async with House(db, script) as house:
        await house.ask("a")
        old = (await lane(house)).session_id
        before = await transcript(house)
        assert "You go on in a copy" in (await house.ask("/fork"))[-1]
        new = (await lane(house)).session_id
        await house.ask("in the copy")
        assert told(house.model.requests[-1]) == ["a", "in the copy"]
        assert await transcript(house) == before + [
            row for row in await transcript(house) if row[0] == new
        ]
        copied = await db.read(lambda conn: load_rows(conn, new))
        assert [row.seq for row in copied] == list(range(1, len(copied) + 1))
        await house.ask(f"/resume {old}")
        await house.ask("in the old one")
        assert told(house.model.requests[-1]) == ["a", "in the old one"]


async def test_a_fork_keeps_what_was_undone_out_of_sight(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("a")
        await house.ask("b")
        await house.ask("/undo")
        await house.ask("/fork")
        await house.ask("c")
        assert told(house.model.requests[-1]) == ["a", "c"]


@on_sqlite
async def test_an_empty_session_is_not_forked(db: Database) -> None:
    async with House(db, []) as house:
        assert (await house.ask("/fork"))[-1] == "There is nothing to copy yet."


async def test_undo_leaves_the_last_turn_out_of_the_view_and_in_the_transcript(
    db: Database,
) -> None:
    script = ["one", Answer(calls=(call("echo", "e1"),)), "two", "three", "four"]
    async with House(db, script) as house:
        for words in ("a", "b"):
            await house.ask(words)
        before = await transcript(house)
        assert (await house.ask("/undo"))[-1] == "Taken back: b"
        assert await transcript(house) == before
        await house.ask("c")
        assert told(house.model.requests[-1]) == ["a", "c"]
        assert (await house.ask("/undo"))[-1] == "Taken back: c"
        assert (await house.ask("/undo"))[-1] == "Taken back: a"
        assert (await house.ask("/undo"))[-1] == "There is no finished turn to take back."
        await house.ask("d")
        assert told(house.model.requests[-1]) == ["d"]


async def test_retry_takes_the_last_turn_back_and_asks_the_same_again(db: Database) -> None:
    async with House(db, ["one", "two", "again", "and again"]) as house:
        await house.ask("a")
        await house.ask("分析 b")
        texts = await house.ask("/retry")
        assert texts == ["one", "two", "again"]
        assert told(house.model.requests[-1]) == ["a", "分析 b"]
        context = house.model.requests[-1].messages[-1].blocks[0]
        assert "language: zh" in str(context)  # that of the words, not of the command
        await house.ask("/retry")
        assert told(house.model.requests[-1]) == ["a", "分析 b"]
        assert await house.one("select count(*) from turn where status = 'done'") == 4


@on_sqlite
async def test_retry_with_nothing_to_repeat_says_so(db: Database) -> None:
    async with House(db, []) as house:
        assert (await house.ask("/retry"))[-1] == "There is no finished turn to ask again."


async def test_a_retry_keeps_its_place_among_messages(db: Database) -> None:
    gate = asyncio.Event()

    async def script(request: ModelRequest) -> str:
        await gate.wait()
        return "saw " + " ".join(told(request))

    async with House(db, script, rules=settings(sessions={"while_busy": "queue"})) as house:
        for words in ("a", "/retry", "b", "/undo", "c"):
            await house.say(words)
        gate.set()
        await house.quiet()
        assert house.channel.texts("1") == [
            "saw a",
            "saw a",
            "saw a b",
            "Taken back: b",
            "saw a c",
        ]


@on_sqlite
async def test_a_retry_after_a_stop_starts_afresh(db: Database) -> None:
    started = asyncio.Event()

    async def script(request: ModelRequest) -> str:
        if not started.is_set():
            started.set()
            await asyncio.Event().wait()
        return "there"

    async with House(db, script) as house:
        await house.say("a")
        await started.wait()
        await house.say("/stop")
        assert (await house.ask("/retry"))[-1] == "there"
        assert told(house.model.requests[-1]) == ["a"]


async def test_an_interrupting_message_ends_its_authors_turn_and_runs_next(db: Database) -> None:
    async def script(request: ModelRequest) -> Answer | str:
        if told(request)[-1] == "first":
            return Answer("half an answer and its end", chunk=14, gap=30.0)
        return f"to {told(request)[-1]}"

    rules = settings(sessions={"while_busy": "interrupt"})
    async with House(db, script, rules=rules) as house:
        await house.say("first")
        await until(lambda: house.channel.streams and house.channel.streams[0].previews)
        await until(lambda: house.channel.streams[0].previews[-1].text)
        await house.say("second")
        await house.quiet()
        first, second = house.channel.texts("1")
        assert first.startswith("half an answer")
        assert first.endswith("_Interrupted by your next message._")
        assert second == "to second"
        states = [row.status for row in await house.all("select status from turn order by id")]
        assert states == ["stopped", "done"]


@on_sqlite
async def test_another_persons_message_interrupts_nothing(db: Database) -> None:
    gate = asyncio.Event()

    async def script(request: ModelRequest) -> str:
        if told(request) == ["first"]:
            await gate.wait()
        return f"to {told(request)[-1]}"

    rules = settings(sessions={"while_busy": "interrupt"})
    async with House(db, script, rules=rules) as house:
        await house.say("first", chat="-5", private=False)
        await until(lambda: house.model.requests)
        await house.say("second", chat="-5", private=False, author="2")
        gate.set()
        await house.quiet()
        assert house.channel.texts("-5") == ["to first", "to second"]


async def test_reasoning_is_shown_only_while_thinking_is_on(db: Database) -> None:
    """EVT-9: live in the preview and quoted above the answer."""
    script = [Answer(f"answer {n}", thinking=f"thought {n}\nmore") for n in range(3)]
    async with House(db, script) as house:
        assert (await house.ask("a"))[-1] == "answer 0"
        assert not any(p.thinking for p in house.channel.streams[-1].previews)
        assert "from the next message on" in (await house.ask("/thinking on"))[-1]
        texts = await house.ask("b")
        assert texts[-1] == "> **Reasoning**\n>\n> thought 1\n> more\n\nanswer 1"
        assert house.channel.streams[-1].previews[-1].thinking == "thought 1\nmore"
        await house.ask("/thinking off")
        assert (await house.ask("c"))[-1] == "answer 2"
        assert "How to use it" in (await house.ask("/thinking perhaps"))[-1]


async def test_a_language_once_chosen_holds_for_commands_and_turns(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        assert (await house.ask("/language zh"))[-1] == "从现在起我用中文和您交流。"
        assert (await house.ask("/new"))[-1] == "新对话开始。"
        await house.ask("hello there")
        assert "language: zh" in str(house.model.requests[-1].messages[0].blocks[0])
        await house.ask("/language auto")
        await house.ask("hello again")
        assert "language: en" in str(house.model.requests[-1].messages[-1].blocks[0])
        assert "How to use it" in (await house.ask("/language klingon"))[-1]


@on_sqlite
async def test_children_come_with_a_session_in_order(db: Database) -> None:
    script = [Answer(calls=(delegate("research"),)), "found", "done"]
    the_team = team(agent(), agent("research"))
    async with House(db, script, the_team=the_team) as house:
        await house.ask("a")
        session_id = (await lane(house)).session_id
        found = await db.read(lambda conn: list(stored.with_children(conn, session_id)))
        agents = [name for _, name, _ in found]
        assert agents == sorted(agents, key=lambda name: name is not None)
        assert {session for session, _, _ in found} == {session_id, f"{session_id}/d1"}
        assert await db.read(lambda conn: stored.find_session(conn, session_id[:7])) == session_id
        assert await db.read(lambda conn: stored.find_session(conn, "nosuch")) is None


@on_sqlite
async def test_the_view_is_a_pure_function_of_rows_and_checkpoints(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        for words in ("a", "b", "c"):
            await house.ask(words)
        session_id = (await lane(house)).session_id
        rows = await db.read(lambda conn: load_rows(conn, session_id))
        middle = View.of(rows, [Checkpoint("undo", 2, 5)])
        assert [m.text for m in middle.messages] == ["a", "one", "c", "three"]
        assert View.of(rows, []).messages == View.of(rows).messages


async def test_the_last_turn_is_found_below_what_was_undone(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        for words in ("a", "b", "c"):
            await house.ask(words)
        here = await lane(house)

        def undo_twice(conn: object) -> list[str | None]:
            return [sessions.undo(conn, here, house.clock.now()) for _ in range(4)]  # type: ignore[arg-type]

        assert await db.write(undo_twice) == ["c", "b", "a", None]
