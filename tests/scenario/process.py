"""The gateway as a process: `python -m gateway run` in a group of its own, killed, restarted, and read from outside."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Row, create_engine, text
from sqlalchemy.pool import NullPool

from gateway.storage.db import url_of
from tests.twins.twin import Changes

ROOT = Path(__file__).parents[2]
START_S = 30.0  # a loaded machine; an idle one needs about one second
STARTED: list["Launched"] = []  # of the running test, whose logs are shown when it fails


def environment(*paths: Path, **more: str) -> dict[str, str]:
    """Our own environment without keys and settings that would leak into the product."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("SWARMGATE") and not k.endswith(("_API_KEY", "_TOKEN"))
    }
    return kept | {"PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))} | more


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def problems(self) -> list[dict[str, Any]]:
        """What was said on stderr, line by line; asserts that each line is JSON."""
        return [json.loads(line) for line in self.err.splitlines()]


async def command(
    *arguments: str, env: dict[str, str], folder: Path, timeout: float = START_S
) -> Done:
    """Run `swarmgate ARGUMENTS` to its end, while the twins go on serving in this event loop."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway",
        *arguments,
        cwd=folder,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate()
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = await process.communicate()
        raise AssertionError(f"{arguments} did not end: {out.decode()}{err.decode()}") from None
    return Done(process.returncode or 0, out.decode(), err.decode())


class Launched:
    """A process that serves in `folder`, and everything it said; it may be ended and launched again."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self.env = env
        self.lines: list[dict[str, Any]] = []  # of all its processes
        self._changes = Changes()
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        STARTED.append(self)

    async def launch(self, *command: str) -> None:
        """Start it, and wait until it says where the web chat is: then channels, senders and engine are up."""
        assert self._process is None, "it runs already"
        before = len(self.lines)
        self._process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.folder,
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        streams = (self._process.stdout, self._process.stderr)
        self._readers = [asyncio.create_task(self._read(s)) for s in streams if s is not None]
        await self.said("web chat:", after=before)

    async def said(self, beginning: str, *, after: int = 0, timeout: float = START_S) -> str:
        """The first event that begins so. Raises when the process ends before."""

        def look() -> str | None:
            events = (str(line.get("event", "")) for line in self.lines[after:])
            found = next((e for e in events if e.startswith(beginning)), None)
            assert found or not all(r.done() for r in self._readers), "the gateway has ended"
            return found

        return await self._changes.until(look, timeout) or ""

    async def kill(self) -> None:
        """SIGKILL to the whole group."""
        await self._end(signal.SIGKILL, 10.0)

    async def terminate(self, timeout: float = 20.0) -> int:
        """SIGTERM; returns the exit code."""
        return await self._end(signal.SIGTERM, timeout)

    async def close(self) -> None:
        """Leave nothing behind."""
        if self._process is not None:
            await self.kill()

    async def _end(self, how: signal.Signals, timeout: float) -> int:
        assert self._process is not None, "it does not run"
        process = self._process
        try:
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(process.pid, how) if how is signal.SIGTERM else os.killpg(process.pid, how)
            async with asyncio.timeout(timeout):
                code = await process.wait()
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise AssertionError(f"{how.name} did not end it within {timeout:g} s") from None
        finally:
            await asyncio.gather(*self._readers)
            self._process = None
        return code

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.lines.append({"event": line.decode(errors="replace"), "level": "no JSON"})
            self._changes.notify()
        self._changes.notify()

    @property
    def running(self) -> bool:
        """Whether it has a process."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The id of its process, which must run."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def log(self) -> str:
        """Everything it said."""
        return "\n".join(json.dumps(line, ensure_ascii=False)[:4000] for line in self.lines)


class Gateway(Launched):
    """One installation: its settings file, its data folder, and its process of the moment."""

    def __init__(self, folder: Path, settings: dict[str, Any], env: dict[str, str]) -> None:
        super().__init__(folder, env)
        self.config = folder / "swarmgate.yaml"
        self.starts = 0
        self._engine: Engine | None = None
        self.settings = settings
        self.config.write_text(json.dumps(settings, indent=2))  # JSON is YAML as well
        self.config.chmod(0o600)

    async def start(self) -> None:
        """Start, and wait until it says where the web chat is."""
        self.starts += 1
        await self.launch(sys.executable, "-m", "gateway", "run", "-c", str(self.config))

    # What it left ------------------------------------------------------------------------------------------------

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    def rows(self, query: str) -> list[Row[Any]]:
        """Rows of its database, read from outside; it may run or not."""
        if self._engine is None:
            url = url_of(self.settings.get("database"), self.data)
            self._engine = create_engine(url, poolclass=NullPool)
        with self._engine.connect() as connection:
            return list(connection.execute(text(query)))

    def count(self, table: str, where: str = "1=1") -> int:
        """How many rows."""
        return int(self.rows(f"select count(*) from {table} where {where}")[0][0])

    async def command(
        self, *arguments: str, env: dict[str, str] | None = None, timeout: float = START_S
    ) -> Done:
        """`swarmgate ARGUMENTS -c <its settings>`, with more variables if `env` has some."""
        return await command(
            *arguments,
            "-c",
            str(self.config),
            env=self.env | (env or {}),
            folder=self.folder,
            timeout=timeout,
        )
