"""Files into documents: which are presets, how they are read, and what they are called."""

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from swarm_presets.positions import Leaf, Mapping, Source, Span
from swarm_presets.problems import Problem, problem
from swarm_presets.resolve import SHIPPED, Document
from swarm_presets.scalars import PRESET_NAME
from swarm_presets.shape import check_shape
from swarm_presets.syntax import MAX_CHARACTERS, parse
from swarm_presets.unchanged import Unchanged

MAX_BYTES = 4 * MAX_CHARACTERS  # UTF-8 takes at most four bytes for a character
SUFFIXES = (".yaml", ".yml")
_NAME_LINE = re.compile(r"^name:[ ]*[\"']?([a-z][a-z0-9_-]{0,63})[\"']?[ ]*(?:#.*)?$", re.MULTILINE)


class Reader:
    """Reads preset files. What a file came to is kept until it changes, so that reading a set again costs little."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Source, Document]] = {}
        self.unchanged = Unchanged()

    def documents(self, paths: list[Path], *, shipped: bool) -> list[Document]:
        """All files as documents: shipped ones in layer 0, then each path in a layer over the one before."""
        now: dict[str, tuple[Source, Document]] = {}
        found = [
            self._document(read, layer, now) for layer, read in _layers(paths, shipped=shipped)
        ]
        self._known = now
        return found

    def _document(
        self, read: Source | Problem, layer: int, now: dict[str, tuple[Source, Document]]
    ) -> Document:
        if isinstance(read, Problem):
            return _document(read, layer)
        before = self._known.get(read.path)
        if before is None or before[0].lines != read.lines or before[1].layer != layer:
            before = (read, _document(read, layer))
        before[0].prompts.clear()  # these may have changed without it
        now[read.path] = before
        made = before[1]
        # A copy, since what is found in the set as a whole is added to it.
        return Document(made.name, made.tree, layer, list(made.problems), made.readable)


def _layers(paths: list[Path], *, shipped: bool) -> Iterator[tuple[int, Source | Problem]]:
    """The files of all layers: shipped first, then each path over the one before."""
    if shipped:
        package = files("swarm_presets")
        for file in _yaml_files(package / "presets"):
            yield SHIPPED, _read(file, f"swarm_presets/presets/{file.name}", package)
    for layer, path in enumerate(paths, start=1):
        if path.is_file():
            yield layer, _read(path, path.name, path.parent)
        elif path.is_dir():
            for file in _yaml_files(path):
                yield layer, _read(file, file.name, path)


def _yaml_files(folder: Traversable) -> list[Traversable]:
    """The preset files of a folder, by name; hidden ones (editors' copies) are none."""
    found = (f for f in folder.iterdir() if f.name.endswith(SUFFIXES) and f.is_file())
    return sorted((f for f in found if not f.name.startswith(".")), key=lambda f: f.name)


def _read(file: Traversable, name: str, folder: Traversable) -> Source | Problem:
    path = str(file) if isinstance(file, Path) else name
    empty = Source(name, (), folder, path)
    try:
        if isinstance(file, Path) and file.stat().st_size > MAX_BYTES:
            cause, cure = "the file is too large", "keep long prompts in files"
            return problem("SW001", cause, Span(empty, 1, 1, 1), cure)
        text = file.read_text("utf-8-sig")
    except OSError as error:
        cause, cure = f"the file cannot be read: {error.strerror}", "check its permissions"
    except UnicodeDecodeError:
        cause, cure = "the file is not UTF-8 text", "save it as UTF-8"
    else:
        # Only what YAML takes for a line break is one, so that lines and columns agree with the parser's.
        return Source(name, tuple(re.split(r"\r\n|[\n\r\x85\u2028\u2029]", text)), folder, path)
    return problem("SW001", cause, Span(empty, 1, 1, 1), cure)


def _document(read: Source | Problem, layer: int) -> Document:
    if isinstance(read, Problem):
        source = Source(read.file, (), None, read.path)
        return _unreadable(source, layer, [read])
    text = "\n".join(read.lines)
    root, problems = parse(text, read)
    if root is None:
        return _unreadable(read, layer, problems, _said(text))
    tree, found = check_shape(root)
    written = root.get("name")
    name = written.text if isinstance(written, Leaf) else ""
    if not re.fullmatch(PRESET_NAME, name):
        name = _stem(read.name)
    return Document(name, tree, layer, [*problems, *found])


def _unreadable(source: Source, layer: int, problems: list[Problem], name: str = "") -> Document:
    empty = Mapping({}, Span(source, 1, 1, 1))
    return Document(name or _stem(source.name), empty, layer, problems, readable=False)


def _said(text: str) -> str:
    """The name that a text which is no YAML most likely gives itself, so that it stands for what was meant."""
    found = _NAME_LINE.search(text[:MAX_CHARACTERS])
    return found[1] if found else ""


def _stem(name: str) -> str:
    """What a file without a usable name is called: its own name without the ending."""
    return name.rpartition("/")[2].rpartition(".")[0]
