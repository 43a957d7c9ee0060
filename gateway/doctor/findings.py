"""What `swarmgate check` finds: one line each, with its level and, where that is safe, a way to mend it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.problems import Problem


class Level(StrEnum):
    """ok: seen to be well. warn: it runs, but something is lost or at risk. fail: it does not work, or is open."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Mend:
    """A repair that loses nothing and may be done again. `does` says what was done, in the past tense.

    `asked`: only by an option of its own, for what must not happen by the way.
    """

    does: str
    do: Callable[[], object]
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `id` is dotted and stays the same from version to version, so that scripts may look for it."""

    id: str
    level: Level
    problem: Problem
    mend: Mend | None = None


def ok(id: str, message: str) -> Finding:  # noqa: A002 - the field's name
    """Something that was seen to be well."""
    return Finding(id, Level.OK, Problem(message))


def warn(id: str, problem: Problem, mend: Mend | None = None) -> Finding:  # noqa: A002
    """Something to know, or to mend when there is time."""
    return Finding(id, Level.WARN, problem, mend)


def fail(id: str, problem: Problem, mend: Mend | None = None) -> Finding:  # noqa: A002
    """Something to mend."""
    return Finding(id, Level.FAIL, problem, mend)


def folder(path: Path) -> Mend:
    """Make a folder that only its owner enters."""
    return Mend(f"made {path}", lambda: path.mkdir(mode=0o700, parents=True, exist_ok=True))


def mode(path: Path, bits: int) -> Mend:
    """Set the mode of a file or folder."""
    return Mend(f"chmod {bits:o} {path}", lambda: path.chmod(bits))
