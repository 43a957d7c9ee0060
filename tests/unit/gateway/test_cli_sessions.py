"""`sessions` and `outbox` on the command line, beside a running gateway or without one."""

import asyncio
import datetime as dt
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_core.models.scripted import Answer
from channels.errors import Gone
from channels.terminal.channel import TerminalChannel
from channels.types import Address
from gateway.cli.engine_line import ask
from gateway.control import ControlServer
from gateway.outbound import parked
from gateway.outbound.draft import Draft
from gateway.outbound.outbox import REPLY, put
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.harness import agent, call, delegate, team
from tests.house import House, on_sqlite
from tests.loopback import Loopback
from tests.unit.gateway.test_cli import Command, swarmgate

__all__ = ["swarmgate"]
SCRIPT = [
    Answer("let me see", calls=(call("echo", "e1", words="hi"),)),
    Answer(calls=(delegate("research", call_id="d1"),)),
    "found",
    Answer("here it is", thinking="how to put it"),
    "a second answer",
]
TEAM = team(agent(tools=("echo",)), agent("research"))


def prepared(folder: Path, work: Callable[[House], Awaitable[None]]) -> None:
    """The database of a folder after something was said there."""
    data = folder / "data"
    data.mkdir(mode=0o700, exist_ok=True)

    async def run() -> None:
        db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
        try:
            async with House(db, list(SCRIPT), the_team=TEAM) as house:
                await work(house)
        finally:
            await db.close()

    asyncio.run(run())


async def two_questions(house: House) -> None:
    await house.ask("analyse GOOG")
    await house.ask("另一个", author="2", chat="2")


async def a_refused_reply(house: House) -> None:
    house.channel.fail("1", Gone("the bot was blocked"))
    await house.say("analyse GOOG")
    await house.quiet()


def test_sessions_are_listed_shown_and_exported(swarmgate: Command) -> None:
    prepared(swarmgate.folder, two_questions)
    rows = swarmgate.json("sessions", "list")
    assert [row["title"] for row in rows] == ["另一个", "analyse GOOG"] or len(rows) == 2
    mine = next(row for row in rows if row["title"] == "analyse GOOG")
    assert (mine["owner"], mine["turns"]) == ("telegram:1", 1)
    table = swarmgate("sessions", "list")
    assert "analyse GOOG" in table
    shown = swarmgate("sessions", "show", str(mine["id"])[:8])
    for words in ("analyse GOOG", '→ echo {"words": "hi"}', "← echo: echo: hi", "here it is"):
        assert words in shown
    assert "(reasoning) how to put it" in shown
    assert "assistant (research)" in shown
    assert "language:" not in shown  # what the model is told of the situation was not said
    lines = [
        json.loads(line) for line in swarmgate("sessions", "export", str(mine["id"])).splitlines()
    ]
    assert [row["session"] for row in lines].count(f"{mine['id']}/d1") == 2
    assert lines[0]["message"]["blocks"][1] == {"type": "text", "text": "analyse GOOG"}
    assert len({row["id"] for row in lines}) == len(lines)
    assert lines == json.loads(swarmgate("sessions", "show", str(mine["id"]), "--json"))


def test_a_session_that_is_not_there_is_a_finding(swarmgate: Command) -> None:
    assert swarmgate("sessions", "list") == "no session yet\n"
    assert "no single session has the id sX" in swarmgate("sessions", "show", "sX", code=1)
    swarmgate("sessions", "export", "sX", code=1)


async def four_refused_replies(house: House) -> None:
    """In two chats by turns; the last two of them three days ago."""
    now = dt.datetime.now(dt.UTC)
    for number, (chat, why, days) in enumerate(
        [
            ("1", "the bot was blocked", 0),
            ("2", "message is too long", 0),
            ("1", "the bot was BLOCKED by 100%", 3),
            ("2", "chat not found", 3),
        ],
        1,
    ):
        house.channel.fail(chat, Gone(why))
        place = Address("telegram", "777", chat)
        draft = Draft(number, REPLY, f"telegram:{chat}", place, f"answer {number}")
        at = now - dt.timedelta(days=days)
        row = await house.db.write(lambda conn, draft=draft, at=at: put(conn, draft, at))
        house.senders.send(house.senders.letter(row, draft))
        await house.quiet()


@pytest.fixture
def four_parked(swarmgate: Command) -> None:
    prepared(swarmgate.folder, four_refused_replies)


def test_which_replies_are_meant_is_said_by_place_reason_and_age(
    swarmgate: Command, four_parked: None
) -> None:
    for options, answers in (
        ("--all", [1, 2, 3, 4]),
        ("--channel telegram", [1, 2, 3, 4]),
        ("--channel telegram:777:2", [2, 4]),
        ("--channel telegram:7", []),
        ("--cause bot was blocked", [1, 3]),
        ("--cause %", [3]),
        ("--newer 2h", [1, 2]),
        ("--older 1d", [3, 4]),
        ("--older 1d --channel telegram:777:2", [4]),
        ("--newer 7d --older 1d --cause blocked", [3]),
    ):
        words = [word for word in re.split(r" ?(--\w+) ?", options) if word]
        rows = swarmgate.json("outbox", "resend", *words, "--dry-run")
        assert [row["text"] for row in rows] == [f"answer {number}" for number in answers], options
        assert all(row["status"] == "parked" and not row["sending"] for row in rows)
    assert len(swarmgate.json("outbox", "list")) == 4


def test_many_replies_go_out_once_each_and_in_the_order_of_their_chat(
    swarmgate: Command, four_parked: None
) -> None:
    said = swarmgate("outbox", "resend", "--all", "--dry-run")
    assert said.splitlines()[-1] == "4 replies would be sent"
    said = swarmgate("outbox", "resend", "--cause", "blocked")
    assert said.splitlines()[-1] == "2 replies will be sent when the gateway starts"
    said = swarmgate("outbox", "resend", "--older", "1d")  # one of them is ready already
    assert said.splitlines()[-1] == "1 reply will be sent when the gateway starts"
    assert [row["text"] for row in swarmgate.json("outbox", "list")] == ["answer 2"]
    said = swarmgate("outbox", "resend", "--all")
    assert said.splitlines()[-1] == "1 reply will be sent when the gateway starts"
    assert swarmgate("outbox", "resend", "--all") == "no parked reply is one of these\n"

    async def later(house: House) -> None:
        await house.quiet()
        assert house.channel.texts("1") == ["answer 1", "answer 3"]
        assert house.channel.texts("2") == ["answer 2", "answer 4"]

    prepared(swarmgate.folder, later)


def test_what_is_to_be_sent_again_must_be_said(swarmgate: Command) -> None:
    for wrong in ([], ["1", "--all"]):
        assert "give an ID, or --all" in swarmgate("outbox", "resend", *wrong, code=2)
    assert "no span of time" in swarmgate("outbox", "resend", "--newer", "soon", code=2)


@on_sqlite
async def test_a_running_gateway_sends_many_at_once_and_none_twice(
    db: Database, tmp_path: Path
) -> None:
    async with House(db, []) as house:
        await four_refused_replies(house)
        ids = await db.write(lambda conn: parked.release(conn, parked.ALL))
        taken = await asyncio.gather(*(house.senders.take_up(ids) for _ in range(3)))
        assert sum(taken) == 4
        await house.quiet()
        assert house.channel.texts("1") == ["answer 1", "answer 3"]
        assert house.channel.texts("2") == ["answer 2", "answer 4"]


def test_parked_replies_are_listed_and_go_out_at_the_next_start(swarmgate: Command) -> None:
    assert swarmgate("outbox", "list") == "nothing is parked\n"
    prepared(swarmgate.folder, a_refused_reply)
    [row] = swarmgate.json("outbox", "list")
    assert (row["status"], row["place"]) == ("parked", "telegram:777:1")
    assert row["error"] == "the bot was blocked"
    assert "here it is" in str(row["text"])
    assert "blocked" in swarmgate("outbox", "list")
    said = swarmgate("outbox", "resend", str(row["id"]))
    assert "when the gateway starts" in said
    assert "no parked reply" in swarmgate("outbox", "resend", str(row["id"]), code=1)
    assert swarmgate.json("outbox", "list") == []
    assert [r["status"] for r in swarmgate.json("outbox", "list", "--all")] == ["ready"]

    async def later(house: House) -> None:
        await house.quiet()
        assert house.channel.texts("1") == ["here it is"]

    prepared(swarmgate.folder, later)
    assert swarmgate.json("outbox", "list", "--all") == []


@on_sqlite
async def test_a_running_gateway_sends_a_released_reply_at_once_and_once(
    db: Database, tmp_path: Path
) -> None:
    silent = Loopback(previews=False)
    async with House(db, list(SCRIPT), the_team=TEAM, channel=silent) as house:
        await a_refused_reply(house)
        assert house.channel.texts("1") == []
        server = ControlServer(tmp_path / "c.sock", TerminalChannel(), house.senders.take_up)
        await server.start()
        try:
            row_id = await house.one("select id from outbox")
            assert await told(tmp_path / "c.sock", row_id) == 0  # it is still parked
            assert await db.write(lambda conn: parked.release(conn, parked.Filter(row=row_id)))
            assert await told(tmp_path / "c.sock", row_id) == 1
            await house.quiet()
            assert await told(tmp_path / "c.sock", row_id) == 0
        finally:
            await server.stop()
        assert house.channel.texts("1") == ["here it is"]


async def told(path: Path, row_id: int) -> int:
    answer = await asyncio.to_thread(ask, path, {"op": "resend", "ids": [row_id]})
    assert answer is not None
    return int(answer["taken"])


async def test_operators_see_in_the_status_how_many_replies_are_parked(db: Database) -> None:
    async with House(db, list(SCRIPT), the_team=TEAM) as house:
        await a_refused_reply(house)
        assert "could not be delivered" not in (await house.ask("/status"))[-1]
        said = (await house.ask("/status", author="9", chat="9"))[-1]
        assert said.splitlines()[-1] == "- Replies that could not be delivered: 1"
        assert await db.read(parked.count) == 1


@pytest.mark.parametrize("name", ["sessions", "outbox"])
def test_the_groups_tell_their_commands(swarmgate: Command, name: str) -> None:
    assert "list" in swarmgate(name, "--help")
