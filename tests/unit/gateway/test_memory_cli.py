"""`swarmgate memory` beside a running engine: list, trace, export, import, forget, gc (OBS-1, MEM-19, GCX-4)."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection

from agent_core.storage import upkeep
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.harness import ALICE, BOB
from tests.house import START, House
from tests.unit.gateway.remembering import put
from tests.unit.gateway.test_cli import Command, swarmgate

__all__ = ["swarmgate"]
T = TypeVar("T")
MINE = ("--user", ALICE)
OLD = dt.datetime(2020, 1, 5, 12, 0, tzinfo=dt.UTC)  # whatever day it is
LONG = "".join(f"第{n}天的铜价是{n * 7}元。" for n in range(1, 30))


def inside(folder: Path, work: Callable[[Connection], T]) -> T:
    """`work` in the database of a folder."""
    data = folder / "data"
    data.mkdir(mode=0o700, exist_ok=True)

    async def run() -> T:
        db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
        try:
            return await db.write(work)
        finally:
            await db.close()

    return asyncio.run(run())


def filled(folder: Path) -> list[int]:
    """Two memories of alice (one long), one of bob, all old."""

    def work(conn: Connection) -> list[int]:
        return [
            put(conn, "never average down", kind="rule", codes=("NASDAQ:NVDA",), at=OLD),
            put(conn, LONG, kind="view", source="remember:s1", at=OLD),
            put(conn, "bob's secret", owner=BOB, kind="decision", at=OLD),
        ]

    return inside(folder, work)


def test_list_shows_one_persons_memories(swarmgate: Command) -> None:
    assert swarmgate("memory", "list", *MINE) == f"nothing is remembered of {ALICE}\n"
    rule, view, _ = filled(swarmgate.folder)
    said = swarmgate("memory", "list", *MINE)
    assert "never average down" in said
    assert "NASDAQ:NVDA" in said
    assert "secret" not in said
    rows = swarmgate.json("memory", "list", *MINE)
    assert [row["id"] for row in rows] == [view, rule]
    assert rows[0]["text"] == LONG
    swarmgate("memory", "list", code=2)  # whose?


def test_trace_shows_source_and_earlier_texts(swarmgate: Command) -> None:
    """MEM-16, OBS-1."""
    _, view, his = filled(swarmgate.folder)

    def shorten(conn: Connection) -> None:
        assert upkeep.shorten(conn, ALICE, view, LONG, "daily", "short", START)

    inside(swarmgate.folder, shorten)
    said = swarmgate("memory", "trace", str(view), *MINE)
    assert "source: remember:s1" in said
    assert "level: daily" in said
    assert f"before (raw, {START.isoformat()}): {LONG}" in said
    row: dict[str, Any] = json.loads(swarmgate("memory", "trace", str(view), *MINE, "--json"))
    assert (row["id"], row["session"], row["owner"]) == (view, "s1", ALICE)
    assert f"{ALICE} has no memory {his}" in swarmgate("memory", "trace", str(his), *MINE, code=1)


def test_restore_brings_the_original_back(swarmgate: Command) -> None:
    """TIR-8."""
    _, view, _ = filled(swarmgate.folder)

    def shorten(conn: Connection) -> None:
        assert upkeep.shorten(conn, ALICE, view, LONG, "daily", "short", START)

    inside(swarmgate.folder, shorten)
    assert swarmgate("memory", "restore", str(view), *MINE) == LONG + "\n"
    assert swarmgate("memory", "restore", str(view), *MINE, "--level", "daily") == "short\n"
    assert "has no daily.9 text" in swarmgate(
        "memory", "restore", str(view), *MINE, "--level", "daily.9", code=1
    )


def test_an_export_goes_to_another_person_and_only_there(swarmgate: Command) -> None:
    filled(swarmgate.folder)
    file = swarmgate.folder / "out.json"
    assert f"2 memories are in {file}" in swarmgate("memory", "export", str(file), *MINE)
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(swarmgate("memory", "export", *MINE)) == json.loads(file.read_text())
    said = swarmgate("memory", "import", str(file), "--user", "web:carol")
    assert said == "added 2, known before 0, left out 0\n"
    said = swarmgate("memory", "import", "-", "--user", "web:carol", input=file.read_text())
    assert said == "added 0, known before 2, left out 0\n"
    rows = swarmgate.json("memory", "list", "--user", "web:carol")
    assert {row["source"] for row in rows} == {"import"}
    assert len(swarmgate.json("memory", "list", *MINE)) == 2


@pytest.mark.parametrize(
    "data", ["", "{}", "[1]", '{"format": "swarmgate-memory/1", "memories": [{}]}']
)
def test_a_file_that_is_no_export_is_refused_in_one_line(swarmgate: Command, data: str) -> None:
    file = swarmgate.folder / "bad.json"
    file.write_text(data)
    said = swarmgate("memory", "import", str(file), *MINE, code=1)
    assert said.startswith(f"swarmgate: {file}: ")
    assert said.count("\n") == 1
    assert "no such file" in swarmgate("memory", "import", "none.json", *MINE, code=2)


def test_forget_takes_one_or_asks_for_everything(swarmgate: Command) -> None:
    """ARC-8."""
    rule, _, his = filled(swarmgate.folder)
    assert swarmgate("memory", "forget", str(rule), *MINE) == f"memory {rule} is gone\n"
    assert "has no memory" in swarmgate("memory", "forget", str(his), *MINE, code=1)
    said = swarmgate("memory", "forget", *MINE, code=1, input="n\n")
    assert "nothing was deleted" in said
    assert len(swarmgate.json("memory", "list", *MINE)) == 1
    rows = swarmgate.json("memory", "forget", "--yes", *MINE)
    assert {row["left"] for row in rows} == {0}
    assert next(row for row in rows if row["id"] == "memories")["removed"] == 1
    assert swarmgate.json("memory", "list", *MINE) == []
    assert len(swarmgate.json("memory", "list", "--user", BOB)) == 1


def test_gc_only_shows_unless_it_is_told_to_act(swarmgate: Command) -> None:
    """GCX-4: a dry run is the default, and names what --apply does."""
    rule, view, his = filled(swarmgate.folder)
    before = swarmgate.json("memory", "list", *MINE)
    rows = swarmgate.json("memory", "gc", "--dry-run")
    assert {(row["id"], row["act"]) for row in rows} >= {(his, "archive")}
    assert swarmgate.json("memory", "gc") == rows
    assert swarmgate.json("memory", "list", *MINE) == before
    done = json.loads(swarmgate("memory", "gc", "--apply", "--json"))
    assert sum(done.values()) == 2
    assert [row["id"] for row in swarmgate.json("memory", "list", *MINE)] == [rule]
    swarmgate("memory", "restore", str(view), *MINE)  # from the archive
    assert [row["id"] for row in swarmgate.json("memory", "list", *MINE)] == [view, rule]


def test_with_the_upkeep_off_gc_says_that_it_is_by_hand(swarmgate: Command) -> None:
    """GCX-6."""
    (swarmgate.folder / "swarmgate.yaml").write_text("version: 1\nmemory: {tiers: false}\n")
    filled(swarmgate.folder)
    assert "the daily upkeep is off" in swarmgate("memory", "gc")


def test_it_works_beside_a_running_engine(swarmgate: Command) -> None:
    filled(swarmgate.folder)

    async def run() -> None:
        db: Database = await open_database(f"sqlite:///{swarmgate.folder / 'data/swarmgate.db'}")
        try:
            await db.lock_engine()
            async with House(db, ["hello"]) as house:
                await house.ask("hi")
                await asyncio.to_thread(swarmgate, "memory", "forget", "--yes", *MINE)
                assert await house.one(f"select count(*) from memory where owner = '{ALICE}'") == 0
                assert "nothing of you" in (await house.ask("/memory"))[-1]
        finally:
            await db.close()

    asyncio.run(run())


def test_check_prints_the_self_check(swarmgate: Command) -> None:
    """OBS-2."""
    filled(swarmgate.folder)
    rows = swarmgate.json("memory", "check")
    assert [row["id"] for row in rows] == [
        "switch",
        "system_text_static",
        "memory_limited",
        "disclosed_progressively",
        "nothing_unread",
        "views_kept",
    ]
    assert all(row["ok"] for row in rows)
    assert "memory is on" in swarmgate("memory", "check")
