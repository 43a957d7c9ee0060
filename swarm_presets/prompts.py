"""Prompt files: beside the preset that names them, else among the shipped ones."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from swarm_presets.positions import Source

MAX_PROMPT = 40_000  # characters; the same bound as for a prompt inside the file
_MAX_BYTES = 4 * MAX_PROMPT  # UTF-8 takes at most four bytes for a character

SUPERVISOR = "prompts/supervisor.md"  # for a supervisor that has none of its own
_INSIDE = "write a path inside the presets folder"


def shipped(name: str) -> str:
    """A prompt that comes with the package."""
    return (files("swarm_presets") / name).read_text("utf-8").strip()


def read(source: Source, name: str) -> str:
    """The text of a prompt file. Raises ValueError with the reason when there is no such text.

    Links may lead anywhere inside the presets folder, and nowhere else.
    """
    if name not in source.prompts:
        source.prompts[name] = _read(source, name)
    return source.prompts[name]


def _read(source: Source, name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ValueError(_INSIDE)
    for folder in _folders(source):
        found = folder.joinpath(*path.parts)
        if found.is_file():
            _check_place(folder, found)
            return _text(found)
    raise ValueError("put it beside the preset, or correct the path")


def _folders(source: Source) -> Iterator[Traversable]:
    if source.folder is not None:
        yield source.folder
    yield _package()


@cache
def _package() -> Traversable:
    """Where the shipped prompts lie, without links on the way."""
    found = files("swarm_presets")
    return found.resolve() if isinstance(found, Path) else found


def _check_place(folder: Traversable, found: Traversable) -> None:
    if isinstance(folder, Path) and isinstance(found, Path):
        whole = folder if folder is _package() else folder.resolve()
        if not found.resolve().is_relative_to(whole):
            raise ValueError("it is a link to a file outside the presets folder")
        if found.stat().st_size > _MAX_BYTES:
            raise ValueError(f"at most {MAX_PROMPT} characters")


def _text(found: Traversable) -> str:
    try:
        text = found.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError("it cannot be read as UTF-8 text") from error
    if not text:
        raise ValueError("it is empty")
    if len(text) > MAX_PROMPT:
        raise ValueError(f"at most {MAX_PROMPT} characters")
    return text
