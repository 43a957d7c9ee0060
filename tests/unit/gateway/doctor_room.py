"""The doctor in a folder: what `swarmgate check` shows, on a machine that a test describes."""

import asyncio
import io
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.ports import Clock
from gateway.cli.check import report
from gateway.clock import SystemClock
from gateway.doctor import extras, presets, sources
from gateway.doctor.examine import CHECKS, LIVE, Check, LiveCheck, findings
from gateway.doctor.ground import Ground, Machine
from gateway.settings.settings import Settings, load

GB = 2**30
SLOW = {
    presets.presets,
    presets.default_preset,
    presets.schedules,
    presets.recipes,
    sources.sources,
    extras.packages,
}
QUICK = tuple(check for check in CHECKS if check not in SLOW)  # without reading all presets
HEALTHY = Machine(
    free_bytes=lambda path: 50 * GB,
    file_system=lambda path: "ext4",
    installed=lambda module: True,
    han_font=lambda: "Noto Sans CJK SC",
    user=lambda: 1000,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What stood in the terminal, and the exit code."""

    text: str
    code: int

    def lines(self, level: str) -> list[str]:
        """The lines of one level, without it."""
        begun = (line.partition(" ") for line in self.text.splitlines())
        return [rest.strip() for word, _, rest in begun if word == level]

    @property
    def sum(self) -> str:
        """The last line."""
        return self.text.splitlines()[-1]


@dataclass
class Room:
    """A folder with settings. `machine` and `clock` are what the doctor is told of the world."""

    folder: Path
    machine: Machine = HEALTHY
    clock: Clock = field(default_factory=SystemClock)
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "data").mkdir(mode=0o700)
        (self.folder / "presets").mkdir()
        self.writes("")

    @property
    def file(self) -> Path:
        """The settings file."""
        return self.folder / "swarmgate.yaml"

    def writes(self, text: str) -> None:
        """Settings, after the version."""
        self.file.write_text(f"version: 1\n{text}", "utf-8")
        self.file.chmod(0o600)

    def settings(self) -> Settings:
        """As they stand in the file."""
        return load(self.file, self.env)

    def told(
        self,
        checks: Iterable[Check] = QUICK,
        live: Iterable[LiveCheck] = (),
        *,
        fix: bool = False,
        **options: bool,
    ) -> Told:
        """What `swarmgate check` shows, by default without asking anybody."""
        ground = Ground(self.settings(), self.env, self.clock, self.machine)
        found, out = list(findings(ground, checks, live)), io.StringIO()
        how = {"migrate": False, "strict": False, "as_json": False} | options
        with redirect_stdout(out):
            code = report(found, fix=fix, **how)
        return Told(out.getvalue(), code)

    async def asks(self) -> Told:
        """What the platforms and models say: the twins, which serve in this loop."""
        return await asyncio.to_thread(self.told, (), LIVE)
