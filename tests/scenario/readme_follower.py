"""Somebody who does what a page says, line by line, in a clean folder.

Two things differ, since nothing here reaches the network: what would install something starts what is installed already
(`installed`), and variables send bots and models to their twins and choose a free port.
"""

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.readme_text import Block, Readme
from tests.scenario.process import Launched, environment

BIN = Path(sys.executable).parent
COMMAND_S = 120.0


class Follower:
    """At a shell in a folder, with what is in `paths` before all that is installed.

    `stands_for` says what a placeholder of the text is replaced by, `installed` what is typed instead of a line that
    begins so; what follows on that line stays.
    """

    def __init__(self, readme: Readme, folder: Path, *paths: Path, **variables: str) -> None:
        self.folder = folder
        self.followed: list[str] = []
        self.stands_for: dict[str, str] = {}
        self.installed = {"make demo": f"{BIN}/swarmgate demo"}
        self._steps = readme.steps
        self._env = environment(*paths, HOME=str(folder), SWARMGATE__HTTP__PORT="0", **variables)
        self._server: Launched | None = None

    @property
    def server(self) -> Launched:
        """What it started last, which goes on running."""
        assert self._server is not None, "nothing was started"
        return self._server

    def block(self, step: str) -> Block:
        """The block of a step, which counts as followed."""
        self.followed.append(step)
        return self._steps[step]

    async def types(self, step: str) -> None:
        """Type the lines of a step; each command must succeed. A server is left running once it is up."""
        for line in self.block(step).bare:
            await self._type(line)

    def edits(self, step: str, file: str) -> None:
        """Set in a YAML file what the step shows; comments and all else stay."""
        yaml, path = YAML(), self.folder / file
        whole = yaml.load(path)
        _merge(whole, YAML(typ="safe").load(self.block(step).text))
        yaml.dump(whole, path)

    def writes(self, step: str, file: str = "") -> None:
        """Save what the step shows as the whole of a file: the one that the page names, unless given."""
        block = self.block(step)
        path = self.folder / (file or block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")

    def changes(self, step: str) -> None:
        """Make the changes that the step shows in the file that the page names."""
        block = self.block(step)
        path = self.folder / block.file
        path.write_text(block.changed(path.read_text("utf-8")), "utf-8")

    async def asks(self, words: str, **variables: str) -> str:
        """What a message in the terminal is answered, of alice's."""
        line = f"swarmgate chat --user alice {shlex.quote(words)}"
        return await self._run(line, variables)

    async def stops(self) -> None:
        """Ctrl-C's kinder sister, and a clean end."""
        assert await self.server.terminate() == 0, self.server.log()
        self._server = None

    async def close(self) -> None:
        """Leave nothing behind."""
        if self._server is not None:
            await self._server.close()

    async def _type(self, line: str) -> None:
        for placeholder, value in self.stands_for.items():
            line = line.replace(placeholder, value)
        assert "…" not in line, f"nobody told what to put for … in {line}"
        for beginning, instead in self.installed.items():
            if line.startswith(beginning):
                line = line.replace(beginning, instead, 1)
        match shlex.split(line):
            case ["cd", place]:
                self.folder /= place
            case ["export", *variables]:
                self._env |= dict(v.split("=", 1) for v in variables)
            case [".", ".venv/bin/activate"]:
                self._env["PATH"] = f"{BIN}{os.pathsep}{self._env['PATH']}"
            case [_, "demo" | "run"] as command:
                self._server = Launched(self.folder, self._env)
                await self._server.launch("/usr/bin/env", *command)
            case _:
                await self._run(line)

    async def _run(self, line: str, variables: dict[str, str] | None = None) -> str:
        process = await asyncio.create_subprocess_shell(
            line,
            cwd=self.folder,
            env=self._env | (variables or {}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(COMMAND_S):
                out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, f"{line}\n{out.decode()}"
        return out.decode()


def _merge(whole: Any, part: dict[str, Any]) -> None:
    for key, value in part.items():
        if isinstance(value, dict) and isinstance(whole.get(key), dict):
            _merge(whole[key], value)
        else:
            whole[key] = value
