"""Presets from files: the shipped ones and the operator's. A wrong file disables only its own preset.

The operator's preset replaces a shipped one of the same name, also when it is wrong: what the operator meant to run is
not quietly something else.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from agent_core.runtime.team import Team
from swarm_presets.check import Known, check
from swarm_presets.compile import compile_team
from swarm_presets.positions import Leaf, Mapping, Source, Span
from swarm_presets.problems import Problem, in_order, problem
from swarm_presets.resolve import Document, Documents
from swarm_presets.scalars import PRESET_NAME
from swarm_presets.shape import check_shape
from swarm_presets.syntax import parse

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class PresetSet:
    """What can run, what cannot, and why.

    `teams` holds the presets without an error, by name; `broken` the names that a file claims but no team has;
    `abstract` the names that exist only to be extended. `problems` has each finding once, ordered by file and line;
    `found` has for each preset what stops it, findings in its parents included.
    """

    teams: dict[str, Team] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: frozenset[str] = frozenset()
    abstract: frozenset[str] = frozenset()
    found: dict[str, list[Problem]] = field(default_factory=dict)


def load_folder(
    paths: Path | Iterable[Path] = (),
    *,
    tools: frozenset[str],
    models: frozenset[str] | None = None,
    shipped: bool = True,
) -> PresetSet:
    """Load the shipped presets and those in the given folders (or single files); a later path wins by name.

    A folder that does not exist holds no presets. Never raises for what a file contains.

    Args:
        paths: folders of `*.yaml` and `*.yml` files, or single files.
        tools: names of the tools that exist.
        models: `<provider>/<model>`, or `<provider>/*` for all of a provider; None: model names are not checked.
        shipped: whether the presets that come with the package are part of the set.
    """
    layers = _layers([paths] if isinstance(paths, Path) else list(paths), shipped=shipped)
    documents = Documents(_document(source, layer) for layer, source in layers)
    known = Known(tools, models)
    found: dict[str, list[Problem]] = {}
    teams: dict[str, Team] = {}
    abstract: set[str] = set()
    for document in documents.current():
        problems, tree = _checked(documents, document, known)
        found.setdefault(document.name, []).extend(problems)
        if any(p.severity == "error" for p in problems):
            continue
        if _is_abstract(tree):
            abstract.add(document.name)
        else:
            teams[document.name] = compile_team(tree)
    return PresetSet(
        teams=dict(sorted(teams.items())),
        problems=in_order(p for problems in found.values() for p in problems),
        broken=frozenset(documents.names) - teams.keys() - abstract,
        abstract=frozenset(abstract),
        found={name: in_order(problems) for name, problems in sorted(found.items())},
    )


def _checked(
    documents: Documents, document: Document, known: Known
) -> tuple[list[Problem], Mapping]:
    """Everything found about a document, and the tree with all that it inherits."""
    if not document.readable:
        return document.problems, document.tree
    resolved = documents.resolve(document)
    complete = resolved.complete
    later = check(resolved.tree, known, complete=complete)
    return [*document.problems, *resolved.problems, *later], resolved.tree


def _is_abstract(tree: Mapping) -> bool:
    abstract = tree.get("abstract")
    return isinstance(abstract, Leaf) and abstract.value is True


def _layers(paths: list[Path], *, shipped: bool) -> Iterator[tuple[int, Source | Problem]]:
    """The files of all layers: shipped first, then each path over the one before."""
    if shipped:
        package = files("swarm_presets")
        for file in _yaml_files(package / "presets"):
            yield 0, _read(file, f"swarm_presets/presets/{file.name}", package)
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
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        cause, cure = f"the file cannot be read: {error.strerror}", "check its permissions"
    except UnicodeDecodeError:
        cause, cure = "the file is not UTF-8 text", "save it as UTF-8"
    else:
        # Only what YAML takes for a line break is one, so that lines and columns agree with the parser's.
        return Source(name, tuple(re.split(r"\r\n|[\n\r\x85\u2028\u2029]", text)), folder)
    return problem("SW001", cause, Span(Source(name, ()), 1, 1, 1), cure)


def _document(read: Source | Problem, layer: int) -> Document:
    if isinstance(read, Problem):
        source = Source(read.file, ())
        return _unreadable(source, layer, [read])
    text = "\n".join(read.lines)
    root, problems = parse(text, read)
    if root is None:
        return _unreadable(read, layer, problems)
    tree, found = check_shape(root)
    written = root.get("name")
    name = written.text if isinstance(written, Leaf) else ""
    if not re.fullmatch(PRESET_NAME, name):
        name = _stem(read.name)
    return Document(name, tree, layer, [*problems, *found])


def _unreadable(source: Source, layer: int, problems: list[Problem]) -> Document:
    empty = Mapping({}, Span(source, 1, 1, 1))
    return Document(_stem(source.name), empty, layer, problems, readable=False)


def _stem(name: str) -> str:
    """What a file without a usable name is called: its own name without the ending."""
    return name.rpartition("/")[2].rpartition(".")[0]
