"""Preset files as the console reads, checks and writes them. Everything here blocks: use a thread.

A draft is checked as it would be read: in a copy of the folder, in the place of the file that it replaces. It is
written only without an error, and only over the text that it was made from.
"""

import hashlib
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from agent_core.tools.registry import Registry
from gateway.model_house import CASSETTES
from gateway.presets.team_house import load_presets
from gateway.settings.settings import Settings
from swarm_presets.files import MAX_BYTES, Reader
from swarm_presets.loader import PresetSet
from swarm_presets.problems import Problem

SHIPPED = "swarm_presets/"
NOBODY = Path("/nonexistent/swarmgate-presets")


class Changed(Exception):
    """The file is not as it was when it was opened in the editor."""


class NotOurs(Exception):
    """The preset is a shipped one, or none: there is no file to write."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A preset's file. `digest` names its text, "" where there is none; `own`: it is the operator's."""

    name: str
    file: str
    text: str
    digest: str
    own: bool


class PresetDesk:
    """One for the whole console; its methods may be called from any thread."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self._settings = settings
        self._registry = registry
        self._reader = Reader()  # keeps what files came to, of the folder and of drafts
        self._drafts = Reader()
        self._lock = threading.Lock()

    def load(self) -> PresetSet:
        """Everything the gateway would load now, resolved; nothing is made ready to run."""
        with self._lock:
            return self._load(self._settings.presets_dir, self._reader)

    def shipped(self) -> PresetSet:
        """The presets that come with the package, alone."""
        return self._load(NOBODY, Reader())

    def source(self, presets: PresetSet, name: str) -> SourceFile | None:
        """The text of a preset's file; None where no file claims the name."""
        path = presets.files.get(name)
        if path is None:
            return None
        if not self.is_own(presets, name):
            text = _package_text(path)
            return SourceFile(name, Path(path).name, text, digest_of(text), own=False)
        try:
            text = Path(path).read_bytes().decode("utf-8-sig", "replace")
        except OSError:
            text = ""
        return SourceFile(name, Path(path).name, text, digest_of(text), own=True)

    def is_own(self, presets: PresetSet, name: str) -> bool:
        """Whether a preset's file is the operator's, and not one of the package."""
        path = Path(presets.files.get(name, ""))
        return path.is_absolute() and path.resolve().is_relative_to(
            self._settings.presets_dir.resolve()
        )

    def check(self, name: str, text: str) -> list[Problem]:
        """What would be wrong if a preset's file said this; also in presets that extend it."""
        with self._lock:
            now = self._load(self._settings.presets_dir, self._reader)
            return self._found(now, self._file(now, name), text)

    def write(self, name: str, text: str, base: str) -> list[Problem]:
        """Write a preset's file in one step, unless there is an error in it; returns what was found.

        Raises Changed, NotOurs, OSError.
        """
        with self._lock:
            now = self._load(self._settings.presets_dir, self._reader)
            file = self._file(now, name)
            if digest_of(file.read_bytes().decode("utf-8-sig", "replace")) != base:
                raise Changed
            found = self._found(now, file, text)
            if all(p.severity != "error" for p in found):
                _replace(file, text)
            return found

    def _file(self, presets: PresetSet, name: str) -> Path:
        """The operator's file of a preset. Raises NotOurs."""
        if not self.is_own(presets, name):
            raise NotOurs
        return Path(presets.files[name])

    def _found(self, now: PresetSet, file: Path, text: str) -> list[Problem]:
        """The findings about a draft, the file's own and those that it brings to others."""
        with tempfile.TemporaryDirectory(prefix="swarmgate-draft-") as folder:
            copy = Path(folder) / "presets"
            shutil.copytree(self._settings.presets_dir, copy, ignore=_not_presets)
            (copy / file.name).write_text(text, encoding="utf-8")
            after = self._load(copy, self._drafts)
        known = set(now.problems)
        return [p for p in after.problems if p.file == file.name or p not in known]

    def _load(self, folder: Path, reader: Reader) -> PresetSet:
        settings = self._settings.model_copy(update={"presets_dir": folder})
        return load_presets(settings, self._registry, schema_only=True, reader=reader)


def digest_of(text: str) -> str:
    """What tells two texts of a file apart."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _package_text(path: str) -> str:
    """A file of the package, which need not be a folder."""
    if Path(path).is_absolute():
        return Path(path).read_text("utf-8")
    from importlib.resources import files

    return (files("swarm_presets") / path.removeprefix(SHIPPED)).read_text("utf-8")


def _not_presets(folder: str, names: list[str]) -> list[str]:
    """What a draft's check does not need: recordings, hidden files, and what is too large for a preset."""
    return [
        name
        for name in names
        if name.startswith(".") or name == CASSETTES or _is_large(Path(folder, name))
    ]


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > MAX_BYTES


def _replace(file: Path, text: str) -> None:
    target = file.resolve()
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        shutil.copymode(target, draft)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
