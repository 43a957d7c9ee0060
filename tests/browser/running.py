"""The real gateway as a process of its own, with the embedded defaults: what a browser walk starts, kills and reads."""

import asyncio
import json
import os
import re
import signal
import socket
import sqlite3
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.browser.walk import Target

START_S = 30.0  # a start takes about two seconds; nine times that on a busy machine
PRINTED = re.compile(r"web chat: (?P<url>\S+)/login\?code=(?P<code>\S+)")
SETTINGS = """\
version: 1
data_dir: {folder}/data
http: {{port: {port}}}
models: {{default: demo}}
"""


def free_port() -> int:
    """A port that nobody listens on now: a restarted gateway must come back at the same address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class RunningGateway:
    """`python -m gateway run` on a folder. `log` is everything it printed."""

    folder: Path
    port: int = field(default_factory=free_port)
    more: str = ""  # further lines of its settings
    log: list[str] = field(default_factory=list)
    target: Target | None = None
    _process: Process | None = None
    _reader: asyncio.Task[None] | None = None
    _printed: "asyncio.Future[Target] | None" = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    async def start(self) -> Target:
        """Start it; returns the address with the one-time code that it prints."""
        config = self.folder / "swarmgate.yaml"
        text = SETTINGS.format(folder=self.folder, port=self.port) + self.more
        config.write_text(text, encoding="utf-8")
        config.chmod(0o600)
        self._printed = asyncio.get_running_loop().create_future()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway", "run", "-c", str(config),
            stdout=PIPE, stderr=STDOUT, env=_environment(),
        )  # fmt: skip
        self._reader = asyncio.create_task(self._read(self._process))
        async with asyncio.timeout(START_S):
            self.target = await self._printed
            return self.target

    async def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """SIGTERM; asserts a clean exit."""
        assert await self._end(signal.SIGTERM) == 0, self.log

    async def _end(self, number: signal.Signals) -> int:
        assert self._process
        assert self._reader
        if self._process.returncode is None:
            self._process.send_signal(number)
        code = await self._process.wait()
        await self._reader
        return code

    async def _read(self, process: Process) -> None:
        assert process.stdout
        async for raw in process.stdout:
            line = raw.decode().strip()
            self.log.append(line)
            found = PRINTED.search(str(json.loads(line).get("event", "")))
            if found and self._printed and not self._printed.done():
                self._printed.set_result(Target(found["url"], found["code"]))
        if self._printed and not self._printed.done():
            self._printed.set_exception(RuntimeError("\n".join(self.log)))

    def rows(self, query: str, *values: object) -> Sequence[tuple[object, ...]]:
        """Rows of its database, read beside it."""
        uri = f"file:{self.data / 'swarmgate.db'}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=5)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def errors(self) -> list[str]:
        """Lines of its log that nobody should see."""
        lines = [json.loads(line) for line in self.log]
        return [str(line) for line in lines if line.get("level") in {"error", "critical"}]


def _environment() -> dict[str, str]:
    """Without settings or keys of whoever runs the tests."""
    mine = ("SWARMGATE_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "TELEGRAM_")
    return {name: value for name, value in os.environ.items() if not name.startswith(mine)}
