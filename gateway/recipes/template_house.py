"""The operator's prompt templates (MSC-9): `templates_dir/*.md`, each a command by its name."""

from collections.abc import Mapping
from pathlib import Path

from agent_core.runtime import templates
from agent_core.runtime.recipes import Fault
from agent_core.runtime.templates import Template
from gateway.recipes.shelf import Change, Shelf


class TemplateHouse:
    """Templates by name; a reading replaces them at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._shelf = Shelf("template", folder, templates.read)

    @property
    def folder(self) -> Path | None:
        """Where they lie."""
        return self._shelf.folder

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with files of the folder."""
        return self._shelf.faults

    @property
    def all(self) -> Mapping[str, Template]:
        """Every template by name."""
        return self._shelf.items

    def reload(self) -> Change:
        """Read the folder again. Blocks."""
        return self._shelf.reload()

    def find(self, name: str) -> Template | None:
        """The template of this name; a `_` may stand for a `-`."""
        known = self.all.get(name)
        return known or next((t for t in self.all.values() if t.command == name), None)
