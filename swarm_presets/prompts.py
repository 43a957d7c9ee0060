"""Prompt files: beside the preset that names them, else among the shipped ones."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from swarm_presets.positions import Source

MAX_PROMPT = 40_000  # characters; the same bound as for a prompt inside the file

SUPERVISOR = "prompts/supervisor.md"  # for a supervisor that has none of its own


def shipped(name: str) -> str:
    """A prompt that comes with the package."""
    return (files("swarm_presets") / name).read_text("utf-8").strip()


def read(source: Source, name: str) -> str:
    """The text of a prompt file. Raises ValueError with the reason when there is no such text."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError("write a path inside the presets folder")
    for folder in _folders(source):
        found = folder.joinpath(*path.parts)
        if found.is_file():
            return _text(found)
    raise ValueError("put it beside the preset, or correct the path")


def _folders(source: Source) -> Iterator[Traversable]:
    if source.folder is not None:
        yield source.folder
    yield files("swarm_presets")


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
