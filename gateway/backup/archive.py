"""The archive: one ZIP file that is written and read as a stream, the same for both databases.

`tables/<name>.jsonl` has the columns in its first line and a row in each further one (values.py); `data/<path>` are
files of `data_dir`; `manifest.json`, written last, has the schema and a sha256 of every other entry. So a file that is
cut off has no manifest, and one that was damaged does not fit it. The sums find damage, not forgery: whoever can write
the file can write them anew.
"""

import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from gateway.backup.values import packed
from gateway.problems import OperatorError, Problem

FORMAT = 1
MANIFEST = "manifest.json"
TABLES, DATA = "tables/", "data/"
BLOCK = 1 << 20
MOST_MANIFEST = 64 << 20  # bytes; a file of each person makes a line of it
EPOCH = (1980, 1, 1, 0, 0, 0)  # entries carry no times: the manifest does


class BackupError(OperatorError):
    """A backup cannot be made or restored; one line says why, and what helps."""

    def __init__(self, message: str, cure: str = "", file: str = "") -> None:
        super().__init__([Problem(message, cure, file)])


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive holds. `made_at` is ISO 8601, UTC; `sums` has the sha256 of each entry, `rows` of each table."""

    format: int
    version: str
    schema: str
    dialect: str
    made_at: str
    rows: dict[str, int] = field(default_factory=dict)
    sums: dict[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[str]:
        """Names of the tables, in the order in which they can be filled."""
        return list(self.rows)

    @property
    def files(self) -> list[str]:
        """Paths of files, from `data_dir`."""
        return [name.removeprefix(DATA) for name in self.sums if name.startswith(DATA)]


class Writer:
    """Writes an archive beside its place, mode 0600, and puts it there when it is whole. A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._sums: dict[str, str] = {}
        self._rows: dict[str, int] = {}

    def __enter__(self) -> Self:
        if self._path.exists():
            raise BackupError("is there already", "choose another name", str(self._path))
        handle = os.open(self._part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        self._file = os.fdopen(handle, "wb")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=4)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if kind is None:
            self._part.rename(self._path)
        else:
            self._part.unlink(missing_ok=True)

    def table(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table, row by row."""
        count, digest = 0, hashlib.sha256()
        with self._entry(f"{TABLES}{name}.jsonl") as out:
            _put(out, digest, list(columns))
            for row in rows:
                _put(out, digest, [packed(value) for value in row])
                count += 1
        self._rows[name] = count
        self._sums[f"{TABLES}{name}.jsonl"] = digest.hexdigest()

    def file(self, path: str, source: Path) -> None:
        """Add a file under its path from `data_dir`. One that is gone by now is left out."""
        try:
            reading = source.open("rb")
        except FileNotFoundError:
            return
        digest = hashlib.sha256()
        with reading, self._entry(f"{DATA}{path}") as out:
            while block := reading.read(BLOCK):
                digest.update(block)
                out.write(block)
        self._sums[f"{DATA}{path}"] = digest.hexdigest()

    def finish(self, manifest: Manifest) -> Manifest:
        """Add the manifest with the sums of what was added; nothing may follow."""
        whole = Manifest(**{**asdict(manifest), "rows": self._rows, "sums": self._sums})
        with self._entry(MANIFEST) as out:
            out.write(json.dumps(asdict(whole), ensure_ascii=False, indent=1).encode())
        return whole

    def _entry(self, name: str) -> IO[bytes]:
        info = zipfile.ZipInfo(name, EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return self._zip.open(info, "w", force_zip64=True)


def _put(out: IO[bytes], digest: Any, line: list[Any]) -> None:
    data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    digest.update(data + b"\n")
    out.write(data + b"\n")


class Reader:
    """Reads an archive. A context manager. Raises BackupError for whatever is none of ours, or not whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        try:
            self._zip = zipfile.ZipFile(self._path)
        except zipfile.BadZipFile:
            raise self.damaged() from None
        except OSError as e:
            said = (e.strerror or "cannot be read").lower()
            raise BackupError(
                said, "name a file that `swarmgate backup` made", str(self._path)
            ) from e
        try:
            self.manifest = self._manifest()
        except BaseException:
            self._zip.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def damaged(self) -> BackupError:
        """The one thing that is said of every kind of damage."""
        message = "is no backup, or was cut off or changed since it was made"
        return BackupError(message, "use another copy", str(self._path))

    def verify(self) -> None:
        """Read everything once and compare it with the sums. Raises BackupError."""
        names = [name for name in self._zip.namelist() if name != MANIFEST]
        if sorted(names) != sorted(self.manifest.sums):
            raise self.damaged()
        for name in names:
            digest = hashlib.sha256()
            try:
                with self._zip.open(name) as entry:
                    while block := entry.read(BLOCK):
                        digest.update(block)
            except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError):
                raise self.damaged() from None
            if digest.hexdigest() != self.manifest.sums[name]:
                raise self.damaged()

    def table(self, name: str) -> tuple[list[str], Iterator[list[Any]]]:
        """(columns, rows) of a table; values are still packed."""
        lines = self._lines(f"{TABLES}{name}.jsonl")
        return next(lines), lines

    def _lines(self, entry: str) -> Iterator[list[Any]]:
        with self._zip.open(entry) as file:
            for line in file:
                yield json.loads(line.decode("utf-8", "surrogatepass"))

    def copy(self, path: str, to: Path) -> None:
        """Write a file of `data_dir` to a new place, mode 0600."""
        to.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(to, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as out, self._zip.open(f"{DATA}{path}") as entry:
            shutil.copyfileobj(entry, out, BLOCK)

    def _manifest(self) -> Manifest:
        try:
            if self._zip.getinfo(MANIFEST).file_size > MOST_MANIFEST:
                raise self.damaged()
            found = json.loads(self._zip.read(MANIFEST))
            if found["format"] != FORMAT:
                cure = "update swarmgate, then restore it"
                raise BackupError("was made by a newer swarmgate", cure, str(self._path))
            return Manifest(**found)
        except (KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error, EOFError):
            raise self.damaged() from None
