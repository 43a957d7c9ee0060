"""`sessions` and `outbox` on the command line, beside a running gateway or without one."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_core.models.scripted import Answer
from channels.errors import Gone
from channels.terminal.channel import TerminalChannel
from gateway.cli.engine_line import ask
from gateway.control import ControlServer
from gateway.outbound import parked
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
            assert await told(tmp_path / "c.sock", row_id) is False  # it is still parked
            assert await db.write(lambda conn: parked.release(conn, row_id))
            assert await told(tmp_path / "c.sock", row_id) is True
            await house.quiet()
            assert await told(tmp_path / "c.sock", row_id) is False
        finally:
            await server.stop()
        assert house.channel.texts("1") == ["here it is"]


async def told(path: Path, row_id: int) -> bool:
    answer = await asyncio.to_thread(ask, path, {"op": "resend", "id": row_id})
    assert answer is not None
    return bool(answer["taken"])


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
