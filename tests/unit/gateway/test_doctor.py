"""`swarmgate check` as a doctor that asks nobody: each thing amiss is one line with its cure (8 of 8, item 5)."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.doctor import exposure, extras
from gateway.doctor.examine import CHECKS
from gateway.doctor.ground import Ground, file_system, free_bytes, installed
from gateway.storage import sqlite
from gateway.storage.db import url_of
from gateway.storage.schema import HEAD, migrate
from tests.databases import create_database, for_sqlalchemy
from tests.unit.gateway.doctor_room import HEALTHY, QUICK, Room

TOKEN = "123456:" + "a" * 35
MB = 2**20


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_a_healthy_place_is_fine_and_says_what_was_seen(room: Room) -> None:
    told = room.told(CHECKS)
    assert (told.sum, told.code) == ("fine", 0)
    assert told.lines("warn") == told.lines("fail") == []
    seen = "\n".join(told.lines("ok"))
    for word in (
        "swarmgate.yaml, for swarmgate",
        "50.0 GB free",
        "Noto Sans CJK",
        "127.0.0.1 alone",
    ):
        assert word in seen


def amiss(**machine: Callable[..., Any]) -> Any:
    return replace(HEALTHY, **machine)


@pytest.mark.parametrize(
    ("machine", "level", "line"),
    [
        (
            amiss(free_bytes=lambda p: 50 * MB),
            "fail",
            "only 50 MB are free; delete what is not needed",
        ),
        (amiss(free_bytes=lambda p: 500 * MB), "warn", "only 500 MB are free"),
        (
            amiss(han_font=lambda: None),
            "warn",
            "charts show boxes; install one, such as: apt install",
        ),
        (
            amiss(user=lambda: 0),
            "warn",
            "this runs as root; run every command as a user of its own",
        ),
        (amiss(file_system=lambda p: "nfs4"), "fail", "a network file system (nfs4)"),
    ],
    ids=["full disk", "little room", "no font", "root", "network disk"],
)
def test_what_the_machine_lacks_is_told_with_its_cure(
    room: Room, machine: Any, level: str, line: str
) -> None:
    room.machine = machine
    told = room.told()
    [found] = told.lines(level)
    assert line in found
    assert told.code == (1 if level == "fail" else 0)
    assert told.sum == ("1 to mend" if level == "fail" else "fine, with 1 warning")


def test_a_warning_counts_where_it_is_asked_to(room: Room) -> None:
    room.machine = amiss(han_font=lambda: None)
    assert room.told(strict=True).code == 1


@pytest.mark.parametrize(
    ("settings", "level", "line"),
    [
        ("http: {host: 0.0.0.0}", "warn", "others in the network can read log-ins and chats"),
        (
            "http: {public_url: 'http://chat.example.org'}",
            "warn",
            "settings.http.public_url … others in the network",
        ),
        (
            "http: {host: 0.0.0.0, public_url: 'https://a.example', console_token: short}",
            "fail",
            "settings.http.console_token … is too short; use 16 characters or more",
        ),
        (
            "console: {proxy: {header: X-User, addresses: [0.0.0.0/0], users: {alice: admin}}}",
            "fail",
            "whoever is in 0.0.0.0/0 may log in as anybody, by a header; name the proxy's own address",
        ),
        (
            "console: {proxy: {header: X-User, users: {alice: admin}}}",
            "warn",
            "nobody may send the header",
        ),
        (
            f"access: {{default: allow}}\nchannels: {{telegram: {{enabled: true, token: '{TOKEN}'}}}}",
            "warn",
            "whoever finds the bot on telegram spends your budget; set access.default: pairing",
        ),
        (
            "access: {default: allow}\ntrading: {broker: ib, live: true}\n"
            f"channels: {{telegram: {{enabled: true, token: '{TOKEN}'}}}}",
            "fail",
            "whoever finds the bot on telegram may ask for live orders",
        ),
        (
            "http: {public_url: 'https://a.example'}\nchannels: {telegram: {enabled: true, mode: webhook, "
            f"token: '{TOKEN}', webhook_secret: guess}}}}",
            "fail",
            "settings.channels.telegram.webhook_secret … can be guessed; use 16 characters at least",
        ),
        (
            "models: {providers: {mine: {api_key: 'k-1234567890', base_url: 'http://models.example.org/v1'}}}",
            "warn",
            "settings.models.providers.mine.base_url … a secret goes there without TLS; write https:",
        ),
    ],
    ids=lambda value: value[:40] if ":" in str(value) else "",
)
def test_what_stands_open_is_told_with_its_cure(
    room: Room, settings: str, level: str, line: str
) -> None:
    room.writes(settings)
    told = room.told()
    [found] = [f for f in told.lines(level) if "trading.live:" not in f]
    assert all(part in found for part in line.split(" … "))
    assert "swarmgate.yaml:" in found
    assert "k-1234567890" not in told.text
    assert TOKEN not in told.text


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("postgresql://alice:pw-1234567@db.example.org/x", True),
        ("postgresql://alice:pw-1234567@db.example.org/x?sslmode=prefer", True),
        ("postgresql://alice:pw-1234567@db.example.org/x?sslmode=verify-full", False),
        ("postgresql://alice:pw-1234567@postgres/x", False),
        ("postgresql://alice:pw-1234567@10.0.0.5:5433/x", False),
        ("postgresql:///x", False),
    ],
)
def test_a_database_far_away_wants_tls(room: Room, address: str, warned: bool) -> None:
    room.writes(f"database: '{address}'\n")
    told = room.told([exposure.database_in_the_clear])
    assert ["add ?sslmode=verify-full" in line for line in told.lines("warn")] == [True] * warned
    assert "pw-1234567" not in told.text


@pytest.mark.parametrize(
    "settings",
    [
        "http: {host: 0.0.0.0, public_url: 'https://chat.example.org'}",
        "http: {public_url: 'http://localhost:8080'}",
        "console: {proxy: {header: X-User, addresses: [10.0.0.7/32], users: {alice: admin}}}",
        "access: {default: allow}",
        "models: {providers: {mine: {api_key: 'k-1234567890', base_url: 'http://192.168.1.5/v1'}}}",
    ],
)
def test_what_is_closed_is_not_complained_of(room: Room, settings: str) -> None:
    room.writes(settings)
    assert room.told().sum == "fine"


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("console-token", 0o644),
        ("web-secret", 0o640),
        ("swarmgate.db-wal", 0o604),
        ("mcp-token", 0o620),
    ],
)
def test_secrets_that_others_may_open_are_closed_once(room: Room, name: str, bits: int) -> None:
    path = room.folder / "data" / name
    path.write_text("secret")
    path.chmod(bits)
    told = room.told()
    assert told.lines("fail") == [
        f"files.data: {path}: data_dir: others may open it; chmod 600 {path}"
    ]
    assert path.stat().st_mode & 0o777 == bits, "nothing is mended unasked"
    mended = room.told(fix=True)
    assert (mended.lines("fixed"), mended.code) == ([f"files.data: chmod 600 {path}"], 0)
    assert path.stat().st_mode & 0o777 == 0o600
    again = room.told(fix=True)
    assert (again.lines("fixed"), again.sum) == ([], "fine")


def test_files_beside_the_data_are_looked_at_too(room: Room) -> None:
    room.writes(f"channels: {{telegram: {{enabled: true, token: '{TOKEN}'}}}}")
    room.file.chmod(0o644)
    env = room.folder / ".env"
    env.write_text("X=1")
    env.chmod(0o640)
    (room.folder / "presets").chmod(0o777)
    told = room.told()
    assert [line.partition(":")[0] for line in told.lines("fail")] == [
        "settings.mode", "files.env", "files.open",
    ]  # fmt: skip
    room.told(fix=True)
    assert room.told().sum == "fine"
    modes = [p.stat().st_mode & 0o777 for p in (room.file, env, room.folder / "presets")]
    assert modes == [0o600, 0o600, 0o775]


def test_settings_that_others_may_write_are_closed_and_stay_readable(room: Room) -> None:
    room.file.chmod(0o666)
    assert "others may write it; chmod go-w" in room.told().lines("fail")[0]
    room.told(fix=True)
    assert room.file.stat().st_mode & 0o777 == 0o644


def test_a_folder_that_is_missing_is_made(room: Room) -> None:
    (room.folder / "presets").rmdir()
    assert "there is no such folder; swarmgate check --fix" in room.told().text
    assert f"made {room.folder / 'presets'}" in room.told(fix=True).text
    assert room.told().sum == "fine"


def test_what_cannot_be_mended_is_said_and_counts(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.file.chmod(0o666)

    def refuse(self: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(self))

    monkeypatch.setattr(Path, "chmod", refuse)
    told = room.told(fix=True)
    assert f"(could not be mended: {room.file}: operation not permitted" in told.lines("fail")[0]
    assert told.code == 1


@pytest.mark.parametrize(
    ("settings", "env", "line"),
    [
        ("trading: {broker: ib}", {}, "needs the package ib_async; pip install 'swarmgate[brokers]'"),
        ("mcp: {servers: {mine: {command: x}}}", {}, "MCP needs the package mcp"),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, "tracing needs the package opentelemetry.sdk"),
        ("engine: {kind: auto}", {}, ""),
    ],
)  # fmt: skip
def test_packages_that_something_needs_are_named(
    room: Room, settings: str, env: dict[str, str], line: str
) -> None:
    room.machine = amiss(installed=lambda module: False)
    room.env = env
    room.writes(settings)
    found = room.told([extras.packages]).lines("fail")
    assert [line in x for x in found] == ([True] if line else [])


def test_a_search_without_its_package_is_a_warning(room: Room) -> None:
    room.machine = amiss(installed=lambda module: module != "ddgs")
    (room.folder / "presets" / "mine.yaml").write_text(
        "version: 1\nname: mine\nsupervisor: {tools: [web_search]}\n"
    )
    room.writes("preset: mine\n")
    [found] = room.told([extras.packages]).lines("warn")
    assert "web_search, unless tools.web.search_url is set, needs the package ddgs" in found
    room.writes("preset: mine\ntools: {web: {search_url: 'http://127.0.0.1:9'}}\n")
    assert room.told([extras.packages]).sum == "fine"


def test_the_database_is_upgraded_only_when_asked(room: Room) -> None:
    url = url_of(None, room.folder / "data")
    migrate(url, "0014")
    told = room.told(fix=True)
    [found] = told.lines("fail")
    assert f"has schema 0014, this version needs {HEAD}; swarmgate migrate" in found
    assert room.told(fix=True, migrate=True).lines("fixed") == [
        f"database.schema: migrated to schema {HEAD}"
    ]
    assert f"schema {HEAD}, writable" in room.told().text


def test_a_database_that_only_reads_is_told(
    room: Room, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write is begun that changes nothing: that it can be read is not enough."""
    file = room.folder / "data" / "swarmgate.db"
    shutil.copyfile(sqlite_template, file)
    file.chmod(0o600)
    assert f"schema {HEAD}, writable" in room.told().text
    monkeypatch.setattr(sqlite, "PRAGMAS", (*sqlite.PRAGMAS, "query_only=ON"))
    [line] = room.told().lines("fail")
    assert "cannot be used: attempt to write a readonly database; check `database`" in line


@pytest.mark.postgres
def test_postgresql_is_looked_at_likewise(room: Room, postgres_server: str) -> None:
    import psycopg

    address = create_database(postgres_server)
    room.writes(f"database: '{address}'\n")
    assert "empty, filled at the first start" in room.told().text
    migrate(for_sqlalchemy(address))
    assert f", schema {HEAD}, writable" in room.told().text
    name = address.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"alter database {name} set default_transaction_read_only = on")  # type: ignore[arg-type]
    [line] = room.told().lines("fail")
    assert "cannot execute UPDATE in a read-only transaction" in line
    room.writes("database: 'postgresql://nobody:secret-word@127.0.0.1:9/none'\n")
    [line] = room.told().lines("fail")
    assert "secret-word" not in line


def test_a_file_that_is_no_database_is_told(room: Room) -> None:
    file = room.folder / "data" / "swarmgate.db"
    file.write_bytes(b"not a database, but long enough to be looked at" * 50)
    file.chmod(0o600)
    [line] = room.told().lines("fail")
    assert "file is not a database" in line


def test_json_has_a_level_for_each_row(room: Room, capsys: pytest.CaptureFixture[str]) -> None:
    room.machine = amiss(han_font=lambda: None)
    rows = json.loads(room.told(as_json=True).text)
    levels = {row["id"]: row["level"] for row in rows}
    assert levels["machine.fonts"] == "warn"
    assert levels["machine.disk"] == "ok"
    assert all(row["message"] and row["fixed"] is False for row in rows)


def test_a_check_that_fails_itself_hides_no_other_and_no_secret_is_told(
    room: Room,
) -> None:
    def broken(ground: Ground) -> list[Any]:
        raise RuntimeError(f"at https://api.telegram.org/bot{TOKEN}/getMe")

    room.writes(f"channels: {{telegram: {{enabled: true, token: '{TOKEN}'}}}}")
    told = room.told((broken, *QUICK))
    assert "the check `broken` itself failed (RuntimeError" in told.lines("fail")[0]
    assert TOKEN not in told.text
    assert "50.0 GB free" in told.text


def test_the_readers_of_the_machine_read_it(tmp_path: Path) -> None:
    assert 0 < free_bytes(tmp_path) < 10**18
    assert file_system(tmp_path) != ""
    assert installed("aiohttp") is True
    assert installed("no_such_package.below") is False
