"""Backup and restore: beside running turns, on both databases and from one to the other, and never half."""

import asyncio
import json
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from gateway.backup.archive import MANIFEST, BackupError, Manifest, Reader
from gateway.backup.backup import backup
from gateway.backup.restore import Place, restore
from gateway.storage.db import Database, DatabaseError
from gateway.storage.schema import HEAD, migrate, open_database, revision
from tests.databases import create_database, for_sqlalchemy
from tests.harness import agent, call, delegate, team
from tests.house import START, House, on_sqlite
from tests.unit.gateway.test_cli import Command, swarmgate

__all__ = ["swarmgate"]
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place of each kind."""
    data = tmp_path / "elsewhere"
    if request.param == "sqlite":
        return Place(f"sqlite:///{data / 'swarmgate.db'}", data)
    server = request.getfixturevalue("postgres_server")
    return Place(for_sqlalchemy(create_database(server)), data)


def data_dir(folder: Path) -> Path:
    """A folder with what a gateway keeps beside its database."""
    data = folder / "data"
    (data / "workspaces" / "ab12").mkdir(parents=True)
    (data / "workspaces" / "ab12" / "notes.txt").write_text("buy low")
    (data / "web-secret").write_bytes(b"s" * 32)
    (data / "console-token").write_text("t" * 43)
    (data / "engine.lock").touch()
    (data / "HALT").touch()
    return data


async def saved(url: str, data: Path, path: Path) -> Manifest:
    def work() -> Manifest:
        return backup(url, data, path, version="0.1.0", now=START)

    return await asyncio.to_thread(work)


async def brought_back(place: Place, path: Path, *, yes: bool = False) -> Manifest:
    return await asyncio.to_thread(lambda: restore(place, path, yes=yes))


def recalled(request: ModelRequest) -> str:
    return "\n".join(m.text for m in request.messages)


THE_TEAM = team(agent(tools=("echo", "order")), agent("scout"))


async def test_a_conversation_goes_on_where_it_was_restored(
    db: Database, database_url: str, empty: Place, tmp_path: Path
) -> None:
    """Each kind into each kind: so it is also the way from SQLite to PostgreSQL and back."""
    script = [
        Answer("looking", calls=(call("echo"), delegate("scout", call_id="d1"))),
        "scouted",
        "My lucky number is 4711.",
    ]
    async with House(db, script, the_team=THE_TEAM) as house:
        await house.ask("tell me your number — 数字 \U0001f40b")
        await house.ask("/remind in 10m tea")
    made = await saved(database_url, data_dir(tmp_path), tmp_path / "a.zip")
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600
    found = await brought_back(empty, tmp_path / "a.zip")
    assert found.rows == made.rows
    assert found.rows["transcript"] > 5

    other = await open_database(empty.url)
    try:
        model = ScriptedModel(["4711, as I said"])
        async with House(other, model, the_team=THE_TEAM) as house:
            house._keys = 100  # ids of messages go on as well
            assert (await house.ask("which one was it?"))[-1] == "4711, as I said"
            assert "My lucky number is 4711." in recalled(model.requests[0])
            assert "数字 \U0001f40b" in recalled(model.requests[0])
            assert model.violations == []
            assert await house.one("select count(*) from schedule") == 1
            assert await house.one("select count(*) from turn") == 2
            recall = "select count(*) from recall_doc"
            assert await house.one(recall) >= made.rows["recall_doc"]
    finally:
        await other.close()
    assert (empty.data_dir / "workspaces/ab12/notes.txt").read_text() == "buy low"
    assert (empty.data_dir / "web-secret").read_bytes() == b"s" * 32
    assert stat.S_IMODE((empty.data_dir / "web-secret").stat().st_mode) == 0o600
    assert not (empty.data_dir / "HALT").exists()


async def test_every_row_comes_back_as_it_was(
    db: Database, database_url: str, empty: Place, tmp_path: Path
) -> None:
    async with House(db, ["one", "two"]) as house:
        await house.ask("hello")
        await house.ask("again")
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    await saved(database_url, data_dir(tmp_path), first)
    await brought_back(empty, first)
    await saved(empty.url, empty.data_dir, second)
    with Reader(first) as a, Reader(second) as b:
        assert a.manifest.sums.keys() == b.manifest.sums.keys()
        for name in a.manifest.tables:
            columns, rows = a.table(name)
            others, more = b.table(name)
            assert columns == others
            assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, more)), name


async def test_a_backup_beside_running_turns_fits_together(
    db: Database, database_url: str, tmp_path: Path
) -> None:
    """One snapshot: no row names one that is not there, and every open turn can go on."""
    place = Place(f"sqlite:///{tmp_path / 'new' / 'swarmgate.db'}", tmp_path / "new")
    gate = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        await gate.wait()
        return "done at last"

    async with House(db, ScriptedModel(slow)) as house:
        for n in range(6):
            await house.say(f"hello {n}", author="1", chat=str(10 + n))
        while len(house.model.requests) < 6:
            await asyncio.sleep(0.002)
        saving = asyncio.create_task(saved(database_url, data_dir(tmp_path), tmp_path / "a.zip"))
        n = 0
        while not saving.done():
            n += 1
            await house.say(f"more {n}", author="2", chat="2", key=f"m:2:{n}")
            await asyncio.sleep(0)
        gate.set()
        await saving
        await house.quiet()
    await brought_back(place, tmp_path / "a.zip")
    other = await open_database(place.url)
    try:
        async with House(other, ScriptedModel(lambda _: "went on"), channel=house.channel) as house:
            await house.quiet()
            assert await house.one("select count(*) from turn where status = 'running'") == 0
            assert all(house.channel.texts(str(10 + n))[-1] == "went on" for n in range(6))
    finally:
        await other.close()


@on_sqlite
async def test_a_place_that_is_not_empty_is_left_alone_without_yes(
    db: Database, database_url: str, empty: Place, tmp_path: Path
) -> None:
    async with House(db, ["one", "two"]) as house:
        await house.ask("hello")
        await saved(database_url, data_dir(tmp_path), tmp_path / "a.zip")
        await house.ask("again")
        await saved(database_url, tmp_path / "data", tmp_path / "b.zip")
    await brought_back(empty, tmp_path / "b.zip")
    (empty.data_dir / "HALT").touch()
    with pytest.raises(BackupError, match="is not empty; add --yes"):
        await brought_back(empty, tmp_path / "a.zip")
    assert count(empty, "turn") == 2
    (empty.data_dir / "workspaces" / "cd34").mkdir()
    await brought_back(empty, tmp_path / "a.zip", yes=True)
    assert count(empty, "turn") == 1
    assert not (empty.data_dir / "workspaces" / "cd34").exists(), "may be a forgotten person's"
    assert (empty.data_dir / "HALT").exists(), "a restore does not let trading go on"


def count(place: Place, table: str) -> int:
    engine = create_engine(place.url)
    with engine.connect() as conn:
        found: int = conn.execute(text(f"select count(*) from {table}")).scalar_one()
    engine.dispose()
    return found


@on_sqlite
async def test_a_place_where_a_gateway_runs_is_refused(
    db: Database, database_url: str, empty: Place, tmp_path: Path
) -> None:
    await saved(database_url, data_dir(tmp_path), tmp_path / "a.zip")
    empty.data_dir.mkdir()
    running = await open_database(empty.url)
    try:
        await running.lock_engine()
        with pytest.raises(DatabaseError, match="another swarmgate is running"):
            await brought_back(empty, tmp_path / "a.zip", yes=True)
    finally:
        await running.close()


# Damage ----------------------------------------------------------------------------------------------


@pytest.fixture
async def whole(sqlite_template: Path, tmp_path: Path) -> Path:
    """A good archive of one short talk."""
    shutil.copyfile(sqlite_template, tmp_path / "talk.db")
    url, path = f"sqlite:///{tmp_path / 'talk.db'}", tmp_path / "whole.zip"
    db = await open_database(url)
    async with House(db, ["hi there"]) as house:
        await house.ask("hello")
    await db.close()
    await saved(url, data_dir(tmp_path), path)
    return path


def rewritten(path: Path, change: Callable[[str, bytes], bytes | None], *more: str) -> None:
    """The archive with entries changed, left out (None) or added, as a whole ZIP file."""
    with zipfile.ZipFile(path) as old:
        entries = [(name, change(name, old.read(name))) for name in old.namelist()]
    with zipfile.ZipFile(path, "w") as new:
        for name, data in entries:
            if data is not None:
                new.writestr(name, data)
        for name in more:
            new.writestr(name, b"more")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def no_manifest(path: Path) -> None:
    rewritten(path, lambda name, data: None if name == MANIFEST else data)


def other_words(path: Path) -> None:
    rewritten(path, lambda _, data: data.replace(b"hi there", b"no there"))


def one_row_less(path: Path) -> None:
    def change(name: str, data: bytes) -> bytes:
        return data.rpartition(b"\n")[0] if name.endswith("/transcript.jsonl") else data

    rewritten(path, change)


def one_file_more(path: Path) -> None:
    rewritten(path, lambda _, data: data, "data/evil")


def flipped(path: Path) -> None:
    """One byte within the words of a table."""
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("tables/transcript.jsonl")
    data = bytearray(path.read_bytes())
    data[entry.header_offset + 30 + len(entry.filename) + 20 + entry.compress_size // 2] ^= 0xFF
    path.write_bytes(data)


def nonsense(path: Path) -> None:
    path.write_text("no archive at all")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "damage",
    [cut, no_manifest, other_words, one_row_less, one_file_more, flipped, nonsense, emptied],
)
async def test_what_is_damaged_is_refused_in_one_line_and_changes_nothing(
    whole: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    place = Place(f"sqlite:///{tmp_path / 'new' / 'swarmgate.db'}", tmp_path / "new")
    await brought_back(place, whole)
    before = (tmp_path / "new" / "swarmgate.db").read_bytes()
    damage(whole)
    with pytest.raises(BackupError) as caught:
        await brought_back(place, whole, yes=True)
    assert str(caught.value).count("\n") == 0
    assert "use another copy" in str(caught.value)
    assert (tmp_path / "new" / "swarmgate.db").read_bytes() == before
    assert not [p for p in (tmp_path / "new").iterdir() if ".restoring" in p.name]


def forged(path: Path, **changes: object) -> None:
    """The archive with a manifest that says something else."""

    def change(name: str, data: bytes) -> bytes:
        return json.dumps({**json.loads(data), **changes}).encode() if name == MANIFEST else data

    rewritten(path, change)


@pytest.mark.parametrize("changes", [{"schema": "9999"}, {"format": 2}])
async def test_what_a_newer_version_made_is_refused(
    whole: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    forged(whole, **changes)
    place = Place(f"sqlite:///{tmp_path / 'new' / 'swarmgate.db'}", tmp_path / "new")
    with pytest.raises(BackupError, match=r"newer swarmgate.*update swarmgate"):
        await brought_back(place, whole)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "a/../../outside", "engine.lock"])
async def test_a_path_that_leads_outside_is_refused(whole: Path, tmp_path: Path, name: str) -> None:
    """Even where all sums fit."""
    with Reader(whole) as archive:
        sums = dict(archive.manifest.sums)
    digest = "187897ce0afcf20b50ba2b37dca84a951b7046f29ed5ab94f010619f69d6e189"  # of "more"
    rewritten(whole, lambda _, data: data, f"data/{name}")
    forged(whole, sums={**sums, f"data/{name}": digest})
    place = Place(f"sqlite:///{tmp_path / 'new' / 'swarmgate.db'}", tmp_path / "new")
    with pytest.raises(BackupError, match="changed since"):
        await brought_back(place, whole)
    assert not (tmp_path / "outside").exists()


# Schemas ---------------------------------------------------------------------------------------------


@pytest.fixture(params=KINDS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database as an earlier version left it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'old.db'}"
    else:
        url = for_sqlalchemy(create_database(request.getfixturevalue("postgres_server")))
    migrate(url, "0004")
    engine = create_engine(url)
    with engine.begin() as conn:
        values = "'telegram:1', 'Alice', 'allowed', 'user', 'en', '2026-01-05 12:00:00'"
        conn.execute(text(f"insert into person values ({values})"))
    engine.dispose()
    return url


async def test_a_backup_of_an_earlier_schema_is_brought_to_this_one(
    old: str, empty: Place, tmp_path: Path
) -> None:
    made = await saved(old, data_dir(tmp_path), tmp_path / "a.zip")
    assert made.schema == "0004"
    await brought_back(empty, tmp_path / "a.zip")
    db = await open_database(empty.url)
    try:

        def look(conn: Connection) -> tuple[str | None, str]:
            return revision(conn), conn.execute(text("select name from person")).scalar_one()

        assert await db.read(look) == (HEAD, "Alice")
    finally:
        await db.close()


# Commands --------------------------------------------------------------------------------------------


def test_the_commands_say_what_they_did_and_what_is_wrong(swarmgate: Command) -> None:
    assert "there is no database yet" in swarmgate("backup", "a.zip", code=2)
    swarmgate("users", "list")  # makes the database
    said = swarmgate("backup", "a.zip")
    assert said.startswith("a.zip holds 0 rows and 0 files, schema")
    assert "is there already" in swarmgate("backup", "a.zip", code=2)
    assert "restored 0 rows" in swarmgate("restore", "a.zip")
    row = json.loads(swarmgate("restore", "a.zip", "--json"))
    assert (row["id"], row["schema"], row["database"]) == ("a.zip", HEAD, "sqlite")
    assert "no such file" in swarmgate("restore", "none.zip", code=2)
