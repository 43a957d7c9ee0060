"""A person's own skills: files in a folder of theirs under the data folder, named by nothing that tells who they are.

Only the person's commands write there, no tool does: what a page or a model says never becomes an instruction.
"""

import hashlib
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.instructions import Skill
from agent_core.runtime import skills
from agent_core.runtime.recipes import NAME, BadRecipe, Fault, page

FOLDER = "own-skills"
MOST = 20  # skills of one person
DIGITS = 32  # of the owner's hash
_KEPT = 256  # persons whose skills stay in memory

_Signature = tuple[tuple[str, int, int], ...]


class TooMany(Exception):
    """A person has as many skills as one may have."""


@dataclass(slots=True)
class OwnSkills:
    """All persons' skills of an installation. Everything here blocks for some file operations."""

    data_dir: Path
    _read: OrderedDict[str, tuple[_Signature, Mapping[str, Skill]]] = field(
        default_factory=OrderedDict
    )

    def folder(self, owner: str) -> Path:
        """Where a principal's skills lie; nothing is created."""
        return self.data_dir / FOLDER / hashlib.sha256(owner.encode()).hexdigest()[:DIGITS]

    def of(self, owner: str) -> Mapping[str, Skill]:
        """A person's skills by name; read anew only when a file has changed."""
        folder = self.folder(owner)
        now = _signature(folder)
        before = self._read.get(owner)
        if before is not None and before[0] == now:
            return before[1]
        faults: list[Fault] = []  # what `add` has not checked is nobody's to mend in chat
        found = skills.read(folder, faults, "own") if now else {}
        self._read[owner] = (now, found)
        while len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return found

    def add(self, owner: str, name: str, text: str) -> Skill:
        """Keep a text as the skill of this name, in place of one that there was. Durable when it returns.

        Raises BadRecipe for a name or a text that is none, TooMany.
        """
        if not NAME.fullmatch(name):
            cure = "use a-z, 0-9, _ and -, at most 64, a letter first"
            raise BadRecipe(f"`{name[:70]}` is no name", cure)
        one = page(name, text)
        if one.name != name:
            raise BadRecipe(f"its head names it `{one.name}`", "use one name")
        faults: list[Fault] = []
        made = skills.made([one], faults, "own")
        if faults:
            raise BadRecipe(faults[0].message, faults[0].cure)
        mine = self.of(owner)
        if name not in mine and len(mine) >= MOST:
            raise TooMany(str(MOST))
        folder = self.folder(owner)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / f"{name}.md", text)
        return made[name]

    def remove(self, owner: str, name: str) -> bool:
        """Delete a skill; false where there is none."""
        if not NAME.fullmatch(name):
            return False
        file = self.folder(owner) / f"{name}.md"
        there = file.exists()
        file.unlink(missing_ok=True)
        return there

    def count(self, owner: str) -> int:
        """How many files a person has."""
        return len(_signature(self.folder(owner)))

    def clear(self, owner: str) -> None:
        """Delete all that a person has; harmless when repeated."""
        shutil.rmtree(self.folder(owner), ignore_errors=True)
        self._read.pop(owner, None)


def _signature(folder: Path) -> _Signature:
    try:
        with os.scandir(folder) as entries:
            stats = [(e.name, e.stat()) for e in entries if e.name.endswith(".md")]
    except FileNotFoundError:
        return ()
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats))


def _write(file: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as new:
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    Path(name).replace(file)
