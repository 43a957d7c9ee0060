"""What an operator gets wrong: one line that names file, key and cure, exit code 2, no traceback."""

import socket
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.scenario.process import Done, command, environment
from tests.twins.telegram import TelegramTwin

pytestmark = pytest.mark.slow  # each is a start of the whole process


@dataclass(frozen=True, slots=True)
class Wrong:
    """A line of a settings file, and what is said about it: key, and words of message and cure."""

    text: str
    key: str
    words: tuple[str, ...]


# Mistakes that can stand in one file: all are told at once.
TOGETHER = [
    Wrong("htpp: {port: 1}", "htpp", ("unknown key", "did you mean `http`?")),
    Wrong("http: {prot: 1}", "http.prot", ("unknown key", "did you mean `port`?")),
    Wrong(
        "channels: {telegram: {enabled: true, token: nonsense}}",
        "channels.telegram.token",
        ("not a Telegram bot token", "@BotFather"),
    ),
    Wrong(
        "presets_dir: '${NO_SUCH_FOLDER}'",
        "presets_dir",
        ("NO_SUCH_FOLDER is not set", "set NO_SUCH_FOLDER"),
    ),
    Wrong(
        "models: {default: antropic/claude-x}",
        "models.default",
        ("antropic", "did you mean anthropic"),
    ),
    Wrong("sessions: {max_running: many}", "sessions.max_running", ("whole number",)),
]
ALONE = [
    Wrong(
        "channels: {telegram: {enabled: true, token: ''}}",
        "channels.telegram.token",
        ("no token", "@BotFather"),
    ),
    Wrong("preset: tradng-desk", "preset", ("tradng-desk", "trading-desk")),
    Wrong(
        "models: {default: anthropic/claude-sonnet-4-5}",
        "models.providers.anthropic.api_key",
        ("needs an API key", "ANTHROPIC_API_KEY"),
    ),
]


async def run(folder: Path, text: str) -> Done:
    (folder / "swarmgate.yaml").write_text(f"version: 1\n{text}\n", "utf-8")
    return await command("run", "-c", "swarmgate.yaml", env=environment(), folder=folder)


def one_line(done: Done) -> dict[str, Any]:
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert "exception" not in done.err
    (said,) = done.problems
    assert said["level"] == "error"
    return said


def names(said: dict[str, Any], wrong: Wrong, line: int) -> None:
    assert (said["file"], said["key"], said["line"]) == ("swarmgate.yaml", wrong.key, line)
    assert said["cure"]
    text = f"{said['event']} {said['cure']}"
    assert all(word in text for word in wrong.words), text


async def test_wrong_settings_are_each_named_with_place_and_cure(tmp_path: Path):
    done = await run(tmp_path, "\n".join(wrong.text for wrong in TOGETHER))
    assert done.code == 2
    assert len(done.problems) == len(TOGETHER), done.err
    for line, (said, wrong) in enumerate(zip(done.problems, TOGETHER, strict=True), start=2):
        names(said, wrong, line)


@pytest.mark.parametrize("wrong", ALONE, ids=lambda wrong: wrong.key)
async def test_a_wrong_setting_is_named_with_its_place_and_cure(tmp_path: Path, wrong: Wrong):
    names(one_line(await run(tmp_path, wrong.text)), wrong, 2)


async def test_a_missing_settings_file_is_named(tmp_path: Path):
    done = await command("run", "-c", "nowhere.yaml", env=environment(), folder=tmp_path)
    said = one_line(done)
    assert said["file"] == "nowhere.yaml"


async def test_a_file_that_is_no_yaml_is_named_with_its_place(tmp_path: Path):
    said = one_line(await run(tmp_path, "http: [1, {"))
    assert said["file"] == "swarmgate.yaml"
    assert said["line"] >= 2


async def test_a_token_that_telegram_refuses_stops_the_start(tmp_path: Path):
    async with TelegramTwin() as twin:
        assert isinstance(twin, TelegramTwin)
        urls = f"base_url: '{twin.base_url}', base_file_url: '{twin.base_file_url}'"
        done = await run(
            tmp_path,
            "http: {port: 0}\nmodels: {default: demo}\n"
            f"channels: {{telegram: {{enabled: true, token: '777:WRONG', {urls}}}}}",
        )
    assert done.code == 2
    *_, said = [p for p in done.problems if p["level"] == "error"]
    assert said["event"] == "the token is refused by Telegram"
    assert (said["file"], said["key"]) == ("swarmgate.yaml", "channels.telegram.token")
    assert said["cure"]
    assert said["line"] == 4
    assert "777:WRONG" not in done.err + done.out


async def test_a_port_in_use_is_said_with_its_key(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = one_line(await run(tmp_path, f"models: {{default: demo}}\nhttp: {{port: {port}}}"))
    text = str(said)
    assert str(port) in text
    assert "http.port" in text


def newer(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("create table alembic_version (version_num varchar(32) not null)")
        database.execute("insert into alembic_version values ('9999')")
    database.close()


def garbage(path: Path) -> None:
    path.write_bytes(b"this is a letter, not a database; it is long enough to be read\n" * 100)


@pytest.mark.parametrize(
    ("make", "words"),
    [(newer, ("newer swarmgate", "update swarmgate")), (garbage, ("not a database", "`database`"))],
)
async def test_a_database_that_cannot_be_used_is_said(
    tmp_path: Path, make: Callable[[Path], None], words: tuple[str, ...]
):
    (tmp_path / "data").mkdir()
    make(tmp_path / "data" / "swarmgate.db")
    said = one_line(await run(tmp_path, "models: {default: demo}\nhttp: {port: 0}"))
    text = f"{said['event']} {said.get('cure', '')}"
    assert all(word in text for word in words), text


@pytest.mark.slow
async def test_a_locked_database_is_said(tmp_path: Path):
    """busy_timeout is ten seconds: a backup that holds the database a moment does no harm."""
    (tmp_path / "data").mkdir()
    database = sqlite3.connect(tmp_path / "data" / "swarmgate.db")
    try:
        database.execute("begin exclusive")
        said = one_line(await run(tmp_path, "models: {default: demo}\nhttp: {port: 0}"))
    finally:
        database.close()
    assert "locked" in said["event"]
    assert "data_dir" in said["cure"]
