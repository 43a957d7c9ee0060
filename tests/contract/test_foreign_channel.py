"""A channel of another package: one folder with a name in its metadata, and the gateway talks through it."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from channels import registry
from channels.base import Channel
from gateway.doctor import platforms
from gateway.doctor.examine import findings
from gateway.doctor.ground import Ground
from gateway.platforms import Wiring, platform_channels
from gateway.problems import OperatorError
from gateway.settings.settings import load
from tests.scenario.process import Gateway, environment

CODE = '''
"""Chat by files: each line of `said` is a message, each line of `heard` a reply."""

import asyncio
import datetime as dt
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from channels.registry import ChannelKind
from channels.types import Address, Author, Inbound


@dataclass(frozen=True)
class FileConfig:
    folder: str
    account: str = "desk"


class FileChannel:
    name = "file"

    def __init__(self, config):
        self.account = config.account
        self.folder = Path(config.folder)

    async def run(self, emit, ready):
        ready()
        done = 0
        while True:
            said = self.folder / "said"
            lines = said.read_text("utf-8").splitlines() if said.exists() else []
            for number, line in enumerate(lines[done:], start=done):
                await emit(self.inbound(number, line))
            done = len(lines)
            await asyncio.sleep(0.05)

    def inbound(self, number, line):
        place, now = Address(self.name, self.account, "1"), dt.datetime.now(dt.UTC)
        return Inbound(place, f"m:{number}", Author("alice"), line, now, message_id=str(number))

    async def send(self, out, receipt):
        if receipt.final:
            return
        files = [a.name for a in out.attachments]
        with (self.folder / "heard").open("a", encoding="utf-8") as heard:
            heard.write(json.dumps({"to": str(out.address), "text": out.text, "files": files}) + "\\n")
        await receipt.shown(out.id or "1", final=True, last=True)


KIND = ChannelKind("file", "file_channel:FileChannel", "file_channel:FileConfig")
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The installed package; its folder belongs on the import path."""
    folder = tmp_path / "site"
    info = folder / "file_channel-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "file_channel.py").write_text(CODE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: file-channel\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[swarmgate.channels]\nfile = file_channel:KIND\n")
    (info / "RECORD").write_text("file_channel.py,,\n")
    return folder


def settings(folder: Path, **values: Any) -> dict[str, Any]:
    """Settings with the foreign channel alone, and the demo planner."""
    return {
        "version": 1,
        "preset": "solo",
        "http": {"port": 0},
        "models": {"default": "demo"},
        "channels": {"file": {"folder": str(folder), **values}},
        "access": {"default": "allow"},
    }


def written(folder: Path, **values: Any) -> Path:
    """A settings file."""
    file = folder / "swarmgate.yaml"
    file.write_text(json.dumps(settings(folder, **values)))
    file.chmod(0o600)
    return file


def test_it_is_found_and_built_from_its_settings(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(package)
    assert "file" in registry.names()
    loaded = load(written(tmp_path, account="other"), {})
    assert loaded.channels.foreign == {"file": {"folder": str(tmp_path), "account": "other"}}
    (channel,) = platform_channels(loaded, Wiring(None, None, None))  # type: ignore[arg-type]
    assert isinstance(channel, Channel)
    assert (channel.name, channel.account) == ("file", "other")


def test_a_wrong_setting_of_it_is_told_in_one_line(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(package)
    loaded = load(written(tmp_path, colour="red"), {})
    with pytest.raises(OperatorError, match=r"channels\.file cannot be used: .*colour") as told:
        platform_channels(loaded, Wiring(None, None, None))  # type: ignore[arg-type]
    assert len(str(told.value).splitlines()) == 1


async def until(look: Callable[[], object], timeout: float = 30.0) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(timeout):
        while not look():
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_message_through_it_is_answered_once_also_after_a_kill(
    package: Path, tmp_path: Path
) -> None:
    gateway = Gateway(tmp_path, settings(tmp_path), environment(package))
    heard = tmp_path / "heard"
    try:
        await gateway.start()
        (tmp_path / "said").write_text("How did GOOG do in 2012?\n", "utf-8")
        await until(lambda: heard.exists() and heard.read_text("utf-8").endswith("\n"))
        await until(lambda: gateway.count("outbox", "status < 2") == 0)
        await gateway.kill()
        await gateway.start()  # it reads the whole file once more: the keys are known
        with (tmp_path / "said").open("a", encoding="utf-8") as said:
            said.write("/help\n")
        await until(lambda: len(heard.read_text("utf-8").splitlines()) >= 2)
        await until(lambda: gateway.count("outbox", "status < 2") == 0)
    finally:
        await gateway.close()
    answer, help_ = map(json.loads, heard.read_text("utf-8").splitlines())
    assert answer["to"] == help_["to"] == "file:desk:1"
    assert "GOOG" in answer["text"]
    assert "/new" in help_["text"]


CHECKED = """
from channels.checkup import Finding


async def findings(config):
    return [Finding("warn", f"nobody reads {config.folder}", "make it")]


KIND = ChannelKind("file", "file_channel:FileChannel", "file_channel:FileConfig", check="file_channel:findings")
"""


def test_its_own_check_joins_the_doctors(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "file_channel.py").write_text(CODE + CHECKED, "utf-8")
    monkeypatch.syspath_prepend(package)
    monkeypatch.delitem(sys.modules, "file_channel", raising=False)
    ground = Ground(load(written(tmp_path), {}))
    [found] = findings(ground, (), [platforms.bots])
    assert (found.id, found.level) == ("channels.file", "warn")
    assert str(found.problem) == f"channels.file: nobody reads {tmp_path}; make it"
    [wrong] = findings(Ground(load(written(tmp_path, colour="red"), {})), (), [platforms.bots])
    assert (wrong.level, wrong.problem.message.split(":")[0]) == ("fail", "cannot be used")
