"""`tasks` on the command line: beside a running gateway, or without one (BGT-2, BGT-5)."""

import asyncio
import datetime as dt
import json
from pathlib import Path
from typing import Any

from channels.terminal.channel import TerminalChannel
from gateway.cli.engine_line import ask
from gateway.control import ControlServer
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from gateway.tasks import rows
from tests.house import START, Watch, until
from tests.unit.gateway.test_cli import Command, swarmgate
from tests.unit.gateway.test_tasks import REPORT, STUDY, ended, house, state, task_id

__all__ = ["swarmgate"]


def within(folder: Path, *script: Any, hold: bool = False) -> str:
    """A gateway on the folder's database in which a study was begun, and has ended unless it is held; its id."""
    data = folder / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    clock = Watch()
    clock.seconds = (dt.datetime.now(dt.UTC) - START).total_seconds()

    async def run() -> str:
        db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
        try:
            async with house(db, *script, clock=clock) as it:
                await it.ask("study AAPL")
                if not hold:
                    it.tools.gate.set()
                    await ended(it)
                return await task_id(it)
        finally:
            await db.close()

    return asyncio.run(run())


def test_tasks_are_listed_and_shown_with_what_came_of_them(swarmgate: Command) -> None:
    assert swarmgate("tasks", "list") == "no background task is kept\n"
    number = within(swarmgate.folder, STUDY, "I began it.", REPORT)
    [row] = swarmgate.json("tasks", "list")
    assert (row["id"], row["state"], row["tool"]) == (number, "done", "study")
    assert row["owner"] == "telegram:1"
    assert swarmgate.json("tasks", "list", "--user", "telegram:2") == []
    head, line = swarmgate("tasks", "list").splitlines()
    assert head.split() == ["ID", "STATE", "TOOL", "OWNER", "PROGRESS", "BEGUN", "SUMMARY"]
    assert line.split()[:3] == [number, "done", "study"]
    whole = json.loads(swarmgate("tasks", "show", number, "--json"))
    assert (whole["args"], whole["conversation"]) == ({"about": "AAPL"}, "telegram:777:1")
    assert "AAPL" in whole["answer"]
    told = swarmgate("tasks", "show", number)
    assert "args: about=AAPL" in told
    assert told.rstrip().endswith(whole["answer"])


def test_what_has_ended_or_never_was_is_not_cancelled(swarmgate: Command) -> None:
    number = within(swarmgate.folder, STUDY, "I began it.", REPORT)
    said = swarmgate("tasks", "cancel", number, code=1)
    assert said == f"swarmgate: task {number} has ended: done\n"
    said = swarmgate("tasks", "cancel", "t1", code=1)
    assert said == "swarmgate: no task has the id t1; see: swarmgate tasks list\n"
    assert swarmgate("tasks", "show", "t1", code=1) == said


def test_without_a_gateway_what_was_cut_off_is_cancelled_before_it_begins_again(
    swarmgate: Command,
) -> None:
    number = within(swarmgate.folder, STUDY, "I began it.", hold=True)
    assert [row["state"] for row in swarmgate.json("tasks", "list")] == ["queued"]
    done = json.loads(swarmgate("tasks", "cancel", number, "--json"))
    assert done == {"id": number, "state": "cancelled", "running": False}
    assert [row["state"] for row in swarmgate.json("tasks", "list")] == ["cancelled"]


async def test_a_running_gateway_stops_a_cancelled_task_at_once(
    db: Database, tmp_path: Path
) -> None:
    async with house(db, STUDY, "I began it.") as it:
        await it.ask("study AAPL")
        number, path = await task_id(it), tmp_path / "c.sock"
        server = ControlServer(path, TerminalChannel(), look=it.tasks.desk.look)
        await server.start()
        try:
            await db.write(lambda conn: rows.cancel(conn, number, it.clock.now()))
            assert await asyncio.to_thread(ask, path, {"op": "tasks"}) == {"looks": True}
            await until(lambda: not it.tasks.busy)
        finally:
            await server.stop()
        assert await state(it) == "cancelled"
        assert not any(REPORT in text for text in it.channel.texts("1"))
