"""`presets new`: the file of a new preset, and the JSON Schema beside it for editors."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.problems import OperatorError, Problem

if TYPE_CHECKING:
    from swarm_presets.positions import Mapping


def write_new(folder: Path, name: str, parent: str, tree: "Mapping") -> Path:
    """Write `<folder>/<name>.yaml`. Raises OperatorError when it exists or the name is none."""
    from swarm_presets.scalars import PRESET_NAME
    from swarm_presets.schema import schema_text
    from swarm_presets.starter import SCHEMA, starter

    if not re.fullmatch(PRESET_NAME, name):
        cure = "begin with a letter a-z; then letters, digits, `-` and `_`"
        raise OperatorError([Problem(f"{name!r} is no name for a preset", cure)])
    file = folder / f"{name}.yaml"
    if file.exists():
        raise OperatorError([Problem("exists already", "choose another name", str(file))])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCHEMA).write_text(schema_text(), encoding="utf-8")
    file.write_text(starter(name, parent, tree), encoding="utf-8")
    return file
