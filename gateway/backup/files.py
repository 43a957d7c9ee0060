"""Which files of `data_dir` belong to a backup: all that a restart could not make anew."""

import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from gateway.backup.archive import Reader

# Made anew by a start, or a copy of what others have; the database goes into the archive as rows. The switch that halts
# trading is of this machine: no restore opens it.
LEFT_OUT = frozenset({"engine.lock", "control.sock", "yfinance", "HALT"})
DATABASE = "swarmgate.db"
STAGE = ".restoring-"


def kept(data_dir: Path, *but: Path) -> Iterator[tuple[str, Path]]:
    """(path from `data_dir`, file) of each regular file to keep, in order. Links are not followed."""
    for entry in _entries(data_dir):
        found = [entry] if entry.is_file() else sorted(entry.rglob("*"))
        for file in found:
            if file.is_file() and not file.is_symlink() and file.resolve() not in but:
                yield file.relative_to(data_dir).as_posix(), file


def _entries(data_dir: Path) -> list[Path]:
    """What lies in the folder and is ours to keep or to replace."""
    if not data_dir.is_dir():
        return []
    return sorted(e for e in data_dir.iterdir() if _belongs(e.name) and not e.is_symlink())


def _belongs(name: str) -> bool:
    return not (
        name in LEFT_OUT or name.startswith((DATABASE, STAGE)) or name.endswith((".part", ".zip"))
    )


class Stage:
    """Files of an archive, unpacked beside their place; `put` then swaps them in. A context manager."""

    def __init__(self, archive: Reader, data_dir: Path) -> None:
        self._archive = archive
        self._data_dir = data_dir
        self._folder = data_dir / f"{STAGE}{secrets.token_hex(4)}"

    def __enter__(self) -> "Stage":
        """Unpack. Raises BackupError for a path that leads out of the folder."""
        paths = self._archive.manifest.files
        if not all(is_safe(path) for path in paths):
            raise self._archive.damaged()
        self._folder.mkdir(mode=0o700, parents=True)
        for path in paths:
            self._archive.copy(path, self._folder / path)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def put(self) -> None:
        """Replace what is there. Also what the archive does not have goes: it may be a forgotten person's."""
        for entry in _entries(self._data_dir):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for entry in sorted(self._folder.iterdir()):
            entry.rename(self._data_dir / entry.name)


def is_safe(path: str) -> bool:
    """Whether a path of an archive stays within `data_dir`, and is one that `kept` gives."""
    parts: Sequence[str] = PurePosixPath(path).parts
    plain = "/".join(parts) == path and not path.startswith("/")
    return bool(parts) and plain and ".." not in parts and "\\" not in path and _belongs(parts[0])
