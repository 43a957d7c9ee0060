"""The skills that there are now: shipped ones, the operator's, and each person's own; the nearest one wins by name."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from agent_core.instructions import Skill
from agent_core.runtime import skills
from agent_core.runtime.recipes import Fault
from gateway.recipes.own_skills import OwnSkills
from gateway.recipes.shelf import Change, Shelf


class SkillHouse:
    """See agent_core.instructions.Skills. Safe to use from several threads: a reading replaces the set at once."""

    def __init__(self, folder: Path | None = None, own: OwnSkills | None = None) -> None:
        self.own = own
        self._shipped = skills.built_in()
        self._shelf = Shelf("skill", folder, partial(skills.read, origin="operator"))

    @property
    def folder(self) -> Path | None:
        """The operator's folder."""
        return self._shelf.folder

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with files of the operator's folder."""
        return self._shelf.faults

    @property
    def shared(self) -> Mapping[str, Skill]:
        """The skills that everybody may use, by name."""
        return dict(sorted({**self._shipped, **self._shelf.items}.items()))

    def reload(self) -> Change:
        """Read the operator's folder again. Blocks."""
        return self._shelf.reload()

    def find(self, owner: str, name: str) -> Skill | None:
        """See Skills. A `_` may stand for a `-`, as platforms want it in commands."""
        found = self._of(owner)
        known = found.get(name)
        return known or next((s for s in found.values() if s.command == name), None)

    def all(self, owner: str) -> Sequence[Skill]:
        """See Skills."""
        return [skill for _, skill in sorted(self._of(owner).items())]

    def _of(self, owner: str) -> Mapping[str, Skill]:
        mine = self.own.of(owner) if self.own is not None and owner else {}
        return {**self.shared, **mine}
