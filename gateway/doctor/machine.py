"""The machine: who runs us, room on the disk, fonts."""

from collections.abc import Iterator
from pathlib import Path

from gateway.doctor.findings import Finding, fail, ok, warn
from gateway.doctor.ground import Ground
from gateway.problems import Problem

MB = 2**20
NEEDED = 100 * MB  # the database's log, a chart, a backup's last part
WISHED = 1024 * MB


def user(ground: Ground) -> Iterator[Finding]:
    """Root needs no rights to do harm."""
    if ground.machine.user() == 0:
        cure = "run every command as a user of its own (deploy/operations.md)"
        yield warn("machine.user", Problem("this runs as root", cure))


def disk(ground: Ground) -> Iterator[Finding]:
    """Without room nothing that people write can be stored, and so nothing is taken."""
    place = standing(ground.settings.data_dir)
    free = ground.machine.free_bytes(place)
    if free >= WISHED:
        yield ok("machine.disk", f"{free / MB / 1024:.1f} GB free at {place}")
        return
    cure = "delete what is not needed there, or move data_dir to a larger disk"
    problem = Problem(f"only {free // MB} MB are free", cure, str(place), key="data_dir")
    yield (fail if free < NEEDED else warn)("machine.disk", problem)


def fonts(ground: Ground) -> Iterator[Finding]:
    """Charts and reports in Chinese need a font with its characters."""
    if found := ground.machine.han_font():
        yield ok("machine.fonts", f"Chinese in charts and reports by {found}")
        return
    cure = "install one, such as: apt install fonts-noto-cjk"
    yield warn("machine.fonts", Problem("no font has Chinese characters: charts show boxes", cure))


def standing(path: Path) -> Path:
    """The path, or the nearest one above it that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
