"""What the checks stand on: the settings, the clock, and what they ask this machine."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.ports import Clock
from gateway.clock import SystemClock
from gateway.settings.settings import Settings

if TYPE_CHECKING:
    from swarm_presets.loader import PresetSet

MOUNTS = Path("/proc/self/mounts")


def free_bytes(path: Path) -> int:
    """What a file system has left for us."""
    return shutil.disk_usage(path).free


def file_system(path: Path) -> str:
    """The kind of file system that a path lies on, such as ext4 or nfs4; empty where the system does not tell."""
    try:
        lines = MOUNTS.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    found, longest = "", -1
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        place = Path(point.replace("\\040", " "))
        if path.is_relative_to(place) and len(place.parts) > longest:
            found, longest = kind, len(place.parts)
    return found


def installed(module: str) -> bool:
    """Whether a package can be imported. Imports nothing but the packages above it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def han_font() -> str | None:
    """The font for Chinese in charts and reports, or None."""
    from agent_core.finance import chart_fonts

    return chart_fonts.han_font()


@dataclass(frozen=True, slots=True)
class Machine:
    """What is asked of the machine."""

    free_bytes: Callable[[Path], int] = free_bytes
    file_system: Callable[[Path], str] = file_system
    installed: Callable[[str], bool] = installed
    han_font: Callable[[], str | None] = han_font
    user: Callable[[], int] = os.geteuid


@dataclass(frozen=True)
class Ground:
    """One examination. `ask_sources`: whether each live source of data is asked for a price."""

    settings: Settings
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Clock = field(default_factory=SystemClock)
    machine: Machine = Machine()
    ask_sources: bool = False

    @cached_property
    def presets(self) -> "PresetSet":
        """All presets, read once."""
        from gateway.cli.presets import loaded

        return loaded(self.settings)
