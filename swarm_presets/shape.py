"""The shape of a file: each complaint of the typed models as a finding at its place, all of them at once.

After a finding the check goes on with what is left to know: a misspelled key counts as the one that was meant, and a
wrong value is unknown from then on, so that it causes no second finding.
"""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from swarm_presets.complaints import complaint
from swarm_presets.positions import (
    Entry,
    Leaf,
    Mapping,
    Node,
    Path,
    Span,
    find,
    forget,
    key_span,
    plain,
    rename,
)
from swarm_presets.problems import Problem, nearest, problem, suggest
from swarm_presets.schema import PresetFile

MAX_PASSES = 8  # each mends what it found; a misspelled map inside a misspelled map needs one more

# Keys that are no part of this version and will mean something in a later one (SWM-4).
RESERVED: dict[Path, tuple[str, str]] = {
    ("tasks",): (
        "`tasks` is reserved: a graph of tasks is no part of version 1",
        "write the steps under `flow`",
    )
}
_STAND_INS: dict[str, str | int] = {"version": 1, "name": "unnamed"}


def check_shape(tree: Mapping) -> tuple[Mapping, list[Problem]]:
    """Hold a tree against the models. Returns a tree that fits them, wrong parts being unknown, and the findings."""
    problems: list[Problem] = []
    for _ in range(MAX_PASSES):
        details = _complaints(tree)
        if not details:
            break
        found, tree = _mended(tree, details)
        problems += found
    return tree, problems


def _complaints(tree: Mapping) -> list[ErrorDetails]:
    try:
        PresetFile.model_validate(plain(tree))
    except ValidationError as error:
        return error.errors(include_url=False)
    return []


def _mended(tree: Mapping, details: list[ErrorDetails]) -> tuple[list[Problem], Mapping]:
    """The findings of one pass, and the tree without them."""
    found: list[Problem] = []
    mended: Node = tree
    for detail in details:
        path: Path = detail["loc"]
        match detail["type"]:
            case "extra_forbidden":
                finding, meant = _unknown_key(tree, path)
                mended = rename(mended, path, meant) if meant else forget(mended, path)
            case "missing":
                mended = forget(mended, path[:-1]) if path[:-1] else _completed(mended, path)
                if _is_written(tree, path):
                    continue  # wrong, and told as that
                finding = _missing_key(tree, path)
            case _:
                finding = complaint(tree, detail)
                mended = _completed(mended, path) if _is_head(path) else forget(mended, path)
        found.append(finding)
    assert isinstance(mended, Mapping)  # noqa: S101 - mending changes entries, never the root
    return found, mended


def _is_written(tree: Node, path: Path) -> bool:
    parent = find(tree, path[:-1])
    return isinstance(parent, Mapping) and str(path[-1]) in parent.entries


def _is_head(path: Path) -> bool:
    return len(path) == 1 and path[0] in _STAND_INS


def _completed(tree: Node, path: Path) -> Node:
    """With a stand-in for the version or the name, so that the rest can be checked."""
    assert isinstance(tree, Mapping)  # noqa: S101 - only the root has these keys
    value = _STAND_INS[str(path[0])]
    leaf = Leaf(value, str(value), tree.span)
    return Mapping({**tree.entries, str(path[0]): Entry(tree.span, leaf)}, tree.span)


def _unknown_key(tree: Node, path: Path) -> tuple[Problem, str | None]:
    if path in RESERVED:
        message, cure = RESERVED[path]
        return problem("SW101", message, key_span(tree, path), cure), None
    key, known = str(path[-1]), set(_keys(path[:-1]))
    parent = find(tree, path[:-1])
    taken = set(parent.entries) if isinstance(parent, Mapping) else set()
    cure = suggest(key, known, "remove it")
    finding = problem("SW101", f"unknown key `{key}`", key_span(tree, path), cure)
    meant = nearest(key, known)
    return finding, None if meant in taken else meant


def _missing_key(tree: Mapping, path: Path) -> Problem:
    cure = f"add `{path[-1]}: …`"
    span = key_span(tree, path[:-1])
    return missing(str(path[-1]), span if path[:-1] else top(tree), cure)


def missing(key: str, span: Span, cure: str) -> Problem:
    """A finding about a key that must be there."""
    return problem("SW104", f"key `{key}` is missing", span, cure)


def top(tree: Mapping) -> Span:
    """Where a preset as a whole is marked: its name, else its first key."""
    entry = tree.entries.get("name") or next(iter(tree.entries.values()), None)
    return entry.key if entry else tree.span.sized(1)


def _keys(path: Path) -> Iterator[str]:
    """The keys that the models know at a path."""
    types: list[Any] = [PresetFile]
    for step in path:
        models = [m for t in types for m in _models(t)]
        named = [f for m in models for n, f in m.model_fields.items() if (f.alias or n) == step]
        if named:
            types = [f.annotation for f in named]
    for model in (m for t in types for m in _models(t)):
        yield from (field.alias or name for name, field in model.model_fields.items())


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models inside an annotation: of unions, maps and lists too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
