"""The files of one workspace, which no path, link or race leads out of.

Every step of a path is opened from the folder before it and without following links (openat, O_NOFOLLOW), so what is
judged is what is used, also while a command of the same person changes the tree. All calls block: use a thread.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from agent_core.tools.spec import ToolFailure

QUOTA = 50 * 2**20  # bytes of a workspace
FILES = 1_000
WRITE_BYTES = 2**20  # of one written file
READ_BYTES = 10 * 2**20  # of one file that is read or shown
LISTED = 200
DEPTH = 16
NAME_BYTES = 200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not hold us up
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_writing = (
    threading.Lock()
)  # two writes together must not pass the quota that each alone would keep


@dataclass(frozen=True, slots=True)
class Entry:
    """A file (with its bytes) or a folder, by its path in the workspace."""

    path: str
    size: int
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a folder by name, and whether there are more than LISTED."""

    entries: tuple[Entry, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a write would do: the bytes of the file that it replaces (None: a new one), and a mark of that file."""

    replaces: int | None
    stamp: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of one person, made at its first use and readable by nobody else."""

    folder: Path
    quota: int = QUOTA

    def make(self) -> None:
        """Create the folder where it is missing."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            self.folder.mkdir(mode=0o700)

    def list(self, path: str) -> Listing | None:
        """What a folder holds, None where the path is none. Raises ToolFailure."""
        parts = parts_of(path)
        with self._walk(parts[:-1]) as above:
            try:
                here = os.open(parts[-1], _FOLDER, dir_fd=above) if parts else os.dup(above)
            except OSError as error:
                if error.errno == errno.ENOTDIR:
                    return None
                _refuse(path, error)
        try:
            names = sorted(os.listdir(here))  # noqa: PTH208 - by descriptor, which pathlib cannot
            found = (_entry(here, name, parts) for name in names[:LISTED])
            return Listing(tuple(filter(None, found)), len(names) > LISTED)
        finally:
            os.close(here)

    def read(self, path: str) -> bytes:
        """A file's bytes. Raises ToolFailure for what is missing, too large, or no ordinary file."""
        parts = _of_file(path)
        with self._walk(parts[:-1]) as above:
            try:
                file = os.open(parts[-1], _READ, dir_fd=above)
            except OSError as error:
                _refuse(path, error)
        with os.fdopen(file, "rb") as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ToolFailure(f"{path} is no ordinary file.")
            data = opened.read(READ_BYTES + 1)
        if len(data) > READ_BYTES:
            raise ToolFailure(f"{path} has more than {READ_BYTES // 2**20} MB and is not read.")
        return data

    def plan(self, path: str, size: int, *, replace: bool) -> Plan:
        """What writing `size` bytes to a path would do. Raises ToolFailure where it cannot be done."""
        if size > WRITE_BYTES:
            raise ToolFailure(f"A file of more than {WRITE_BYTES // 2**20} MB is not written.")
        before = self._stat(path)
        if before is not None and not replace:
            raise ToolFailure(f"{path} exists. Choose another name, or set replace to true.")
        self._has_room(size - (before.st_size if before else 0), before is None)
        if before is None:
            return Plan(None, "new")
        return Plan(before.st_size, f"{before.st_ino}:{before.st_size}:{before.st_mtime_ns}")

    def write(self, path: str, data: bytes, *, replace: bool, stamp: str | None = None) -> None:
        """Write a file in one step, with the folders on its way. Raises ToolFailure, then nothing has changed.

        `stamp` is that of a plan: where the file is another one by now, it is not written.
        """
        with _writing:
            plan = self.plan(path, len(data), replace=replace)
            if stamp is not None and plan.stamp != stamp:
                raise ToolFailure(
                    f"{path} has changed since it was approved. Look at it, and ask again."
                )
            parts = _of_file(path)
            with self._walk(parts[:-1], make=True) as above:
                _put(parts[-1], data, above)

    def _stat(self, path: str) -> os.stat_result | None:
        """The file that is there, None for none."""
        parts = _of_file(path)
        try:
            with self._walk(parts[:-1]) as above:
                found = os.stat(parts[-1], dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except ToolFailure as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        if not stat.S_ISREG(found.st_mode):
            raise ToolFailure(f"{path} is no ordinary file and cannot be written.")
        return found

    def _has_room(self, more: int, is_new: bool) -> None:
        count, used = self.used()
        if used + more > self.quota:
            whole = self.quota // 2**20
            raise ToolFailure(f"The workspace is full: {used:,} bytes of {whole} MB are used.")
        if is_new and count >= FILES:
            raise ToolFailure(f"The workspace is full: it holds {count} files, {FILES} at most.")

    def used(self) -> tuple[int, int]:
        """How many files there are, and their bytes."""
        count = size = 0
        with self._walk(()) as top:
            for _, _, names, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                for name in names:
                    with contextlib.suppress(FileNotFoundError):
                        size += os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
                        count += 1
        return count, size

    def remove(self) -> int:
        """Delete the workspace with all in it; how many files there were. Harmless where there is none."""
        if not self.folder.exists():
            return 0
        count, _ = self.used()
        shutil.rmtree(self.folder)
        return count

    @contextlib.contextmanager
    def _walk(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """The folder at the end of a path, open. Raises ToolFailure, its cause the error of the system."""
        self.make()
        here = os.open(self.folder, _FOLDER)
        try:
            for number, part in enumerate(parts):
                try:
                    if make:
                        with contextlib.suppress(FileExistsError):
                            os.mkdir(part, 0o700, dir_fd=here)
                    below = os.open(part, _FOLDER, dir_fd=here)
                except OSError as error:
                    name = "/".join(parts[: number + 1])
                    if error.errno == errno.ENOTDIR and _is_link(part, here):
                        error.errno = errno.ELOOP
                    _refuse(name, error)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)


def parts_of(path: str) -> tuple[str, ...]:
    """The names on a path within the workspace; none for its root. Raises ToolFailure for a path that leads out."""
    inner = f"{path.strip()}/".removeprefix("/workspace/")
    if inner.startswith("/"):
        raise ToolFailure("Only paths within the workspace are open, such as notes/plan.md.")
    parts = tuple(part for part in inner.split("/") if part not in ("", "."))
    if ".." in parts:
        raise ToolFailure("Only paths within the workspace are open; .. leads out of it.")
    if len(parts) > DEPTH or any(len(os.fsencode(part)) > NAME_BYTES for part in parts):
        raise ToolFailure(f"The path is too long: {DEPTH} names of {NAME_BYTES} bytes at most.")
    if any(ord(c) < 32 or ord(c) == 127 for part in parts for c in part):
        raise ToolFailure("The path holds a control character.")
    return parts


def _of_file(path: str) -> tuple[str, ...]:
    parts = parts_of(path)
    if not parts:
        raise ToolFailure("The path names the workspace itself, not a file in it.")
    return parts


def _put(name: str, data: bytes, folder: int) -> None:
    """The file under another name first, so that nobody ever sees half of it."""
    draft = f".{secrets.token_hex(8)}.part"
    try:
        file = os.open(draft, _NEW, 0o600, dir_fd=folder)
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        _refuse(name, error)


def _entry(folder: int, name: str, above: tuple[str, ...]) -> Entry | None:
    """What a name stands for; None for links, pipes and what is gone meanwhile."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    path = "/".join((*above, name))
    if stat.S_ISDIR(found.st_mode):
        return Entry(path, 0, is_folder=True)
    return Entry(path, found.st_size) if stat.S_ISREG(found.st_mode) else None


def _is_link(name: str, folder: int) -> bool:
    """Whether it is; the system says of a link only that it is no folder."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _refuse(path: str, error: OSError) -> NoReturn:
    why = {
        errno.ENOENT: "is not there; read_file with path . lists what is",
        errno.ELOOP: "is a link; links are not followed",
        errno.ENOTDIR: "is no folder",
        errno.EISDIR: "is a folder",
        errno.ENXIO: "is no ordinary file",
        errno.EACCES: "may not be opened",
        errno.ENOSPC: "has no room: the disk is full",
        errno.ENOTEMPTY: "is a folder",
        errno.ENAMETOOLONG: "is too long a name",
    }
    raise ToolFailure(f"{path} {why.get(error.errno or 0, 'cannot be opened')}.") from error
