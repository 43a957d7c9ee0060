"""What must be right before anything starts: the Python, our package names, the data folder. One line and a cure each.

Runs at every start, so it reads files itself: `importlib.metadata.packages_distributions()` takes 230 ms where this
takes 15, and nothing where our packages are not in the folder of the others (104 distributions, warm cache).
"""

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway.problems import OperatorError, Problem

NAMES = ("agent_core", "channels", "gateway", "swarm_presets")
OURS = "swarmgate"
PYTHON = (3, 11)

# How a line of a RECORD begins that gives a package or a module of ours to a distribution.
_BEGINNINGS = tuple((name, f"\n{name}{end}".encode()) for name in NAMES for end in ("/", ".py,"))


def check(data_dir: Path, *, path: Sequence[str] | None = None) -> list[Problem]:
    """Everything that stops a start; empty when all is well. Creates nothing."""
    return [
        *python_version(sys.version_info[:2]),
        *foreign_owners(sys.path if path is None else path),
        *data_folder(data_dir, os.geteuid(), frozenset({os.getegid(), *os.getgroups()})),
    ]


def require(data_dir: Path) -> None:
    """Raise OperatorError when something stops a start."""
    if problems := check(data_dir):
        raise OperatorError(problems)


def python_version(version: tuple[int, ...]) -> Iterator[Problem]:
    """The Python must be new enough."""
    if version < PYTHON:
        found, wanted = (".".join(map(str, v)) for v in (version, PYTHON))
        cure = f"make the environment anew with Python {wanted} or newer"
        yield Problem(f"Python {found} is too old", cure, sys.executable)


def foreign_owners(path: Sequence[str]) -> Iterator[Problem]:
    """Another distribution must not own one of our import names (Django's `channels` does)."""
    for folder in (Path(entry or ".") for entry in dict.fromkeys(path)):
        if not any((folder / name).exists() or (folder / f"{name}.py").exists() for name in NAMES):
            continue  # nothing of these names is here, whatever the records say
        for name, distribution, record in _owners(folder):
            if re.sub(r"[-_.]+", "-", distribution).lower() == OURS:
                continue
            cure = f"pip uninstall {distribution}, or give Swarmgate an environment of its own"
            message = f"the distribution {distribution} owns our package name `{name}`"
            yield Problem(message, cure, str(record))


def _owners(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """(import name, distribution, its metadata folder) for our names, as the installers recorded them."""
    try:
        entries = [
            e.name for e in os.scandir(folder) if e.name.endswith((".dist-info", ".egg-info"))
        ]
    except OSError:
        return  # zip files and folders that are not there
    for entry in sorted(entries):
        distribution = entry.rsplit(".", 1)[0].split("-", 1)[0]
        for name in sorted(_recorded(folder / entry)):
            yield name, distribution, folder / entry


def _recorded(metadata: Path) -> set[str]:
    try:
        record = b"\n" + (metadata / "RECORD").read_bytes()
        return {name for name, beginning in _BEGINNINGS if beginning in record}
    except OSError:
        pass
    try:
        return set((metadata / "top_level.txt").read_text("utf-8").split()) & set(NAMES)
    except OSError:
        return set()


def data_folder(data_dir: Path, user: int, groups: frozenset[int]) -> Iterator[Problem]:
    """The data folder, or the nearest one above it that exists, and our files in it must be writable."""
    place = data_dir
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        yield Problem("is no folder", "choose another data_dir", str(place), key="data_dir")
        return
    if not _writable(place.stat(), user, groups, execute=True):
        yield _unwritable(place, "")
    if place == data_dir:
        for child in sorted(data_dir.iterdir()):
            # A run as root leaves files behind that the service's own user cannot open.
            if child.is_file() and not _writable(child.stat(), user, groups):
                yield _unwritable(child, " (an earlier run as another user made it)")


def _unwritable(place: Path, why: str) -> Problem:
    owner = _name(place.stat().st_uid)
    cure = f"run as {owner}, or: chown -R {_name(os.geteuid())} {place}"
    return Problem(f"belongs to {owner} and is not writable{why}", cure, str(place), key="data_dir")


def _writable(
    found: os.stat_result, user: int, groups: frozenset[int], *, execute: bool = False
) -> bool:
    if user == 0:
        return True
    wanted = stat.S_IROTH | stat.S_IWOTH | (stat.S_IXOTH if execute else 0)
    if found.st_uid == user:
        wanted <<= 6
    elif found.st_gid in groups:
        wanted <<= 3
    return found.st_mode & wanted == wanted


def _name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
