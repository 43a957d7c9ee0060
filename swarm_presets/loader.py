"""Presets from files: the shipped ones and the operator's. A wrong file disables only its own preset.

The operator's preset replaces a shipped one of the same name, also when it is wrong: what the operator meant to run is
not quietly something else.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from agent_core.runtime.team import Team
from swarm_presets.check import check, is_abstract, last_stage
from swarm_presets.compile import compile_team
from swarm_presets.positions import Leaf, Mapping, Source, Span
from swarm_presets.problems import Problem, in_order, problem
from swarm_presets.references import Known
from swarm_presets.resolve import Document, Documents
from swarm_presets.scalars import PRESET_NAME
from swarm_presets.shape import check_shape
from swarm_presets.syntax import MAX_CHARACTERS, parse

MAX_BYTES = 4 * MAX_CHARACTERS  # UTF-8 takes at most four bytes for a character
_NAME_LINE = re.compile(r"^name:[ ]*[\"']?([a-z][a-z0-9_-]{0,63})[\"']?[ ]*(?:#.*)?$", re.MULTILINE)
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class PresetSet:
    """What can run, what cannot, and why.

    `teams` holds the presets without an error, by name; `broken` the names that a file claims but no team has;
    `abstract` the names that exist only to be extended. `problems` has each finding once, ordered by file and line;
    `found` has for each preset what stops it, findings in its parents included.
    `trees` holds each preset without an error, abstract ones too, with everything that it inherits; `files` the path
    of the file behind each name.
    """

    teams: dict[str, Team] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: frozenset[str] = frozenset()
    abstract: frozenset[str] = frozenset()
    found: dict[str, list[Problem]] = field(default_factory=dict)
    trees: dict[str, Mapping] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def load_folder(
    paths: Path | Iterable[Path] = (),
    *,
    tools: frozenset[str],
    models: frozenset[str] | None = None,
    acting: frozenset[str] = frozenset(),
    price: Callable[[str], tuple[float, float] | None] | None = None,
    shipped: bool = True,
    schema_only: bool = False,
) -> PresetSet:
    """Load the shipped presets and those in the given folders (or single files); a later path wins by name.

    A folder that does not exist holds no presets. Never raises for what a file contains.

    Args:
        paths: folders of `*.yaml` and `*.yml` files, or single files.
        tools: names of the tools that exist.
        models: `<provider>/<model>`, or `<provider>/*` for all of a provider; None: model names are not checked.
        acting: the tools that change something outside and need an approval of the preset.
        price: dollars for a million tokens in and out of a model, None where unknown; without it no price is checked.
        shipped: whether the presets that come with the package are part of the set.
        schema_only: pass over what this version does not enforce; nothing is made ready to run then, so that `teams`
            stays empty.
    """
    layers = _layers([paths] if isinstance(paths, Path) else list(paths), shipped=shipped)
    documents = Documents(_document(source, layer) for layer, source in layers)
    known = Known(tools, models, acting, price)
    found: dict[str, list[Problem]] = {}
    teams: dict[str, Team] = {}
    trees: dict[str, Mapping] = {}
    for document in documents.current():
        problems, tree = _checked(documents, document, known)
        if not _wrong(problems):
            problems += last_stage(tree, known, schema_only=schema_only)
        found.setdefault(document.name, []).extend(problems)
        if _wrong(problems):
            continue
        trees[document.name] = tree
        if not is_abstract(tree) and not schema_only:
            teams[document.name] = compile_team(tree)
    return PresetSet(
        teams=dict(sorted(teams.items())),
        problems=in_order(p for problems in found.values() for p in problems),
        broken=frozenset(documents.names) - trees.keys(),
        abstract=frozenset(name for name, tree in trees.items() if is_abstract(tree)),
        found={name: in_order(problems) for name, problems in sorted(found.items())},
        trees=dict(sorted(trees.items())),
        files={d.name: d.tree.span.source.path for d in documents.current()},
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


def _wrong(problems: list[Problem]) -> bool:
    return any(p.severity == "error" for p in problems)


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
