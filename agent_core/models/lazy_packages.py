"""A vendor's SDK whose packages open name by name.

The SDKs of Anthropic and OpenAI load up to three thousand modules of types at `import`: 60 MB and most
of a second, of which a chat uses a few dozen. Their packages' `__init__.py` mostly gather names by
`from .module import Name`. After `open_by_name` such a name's module is loaded when somebody asks for the
name (PEP 562). Whatever else a file does, and the names that it uses for that, run as they are: a new
form of an SDK costs memory and breaks nothing. A star import of a package takes what has been opened.
"""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, TypeGuard


@dataclass(frozen=True, slots=True)
class Gathering:
    """An `__init__.py` in two parts: what runs at import, and what waits: name → (relative module, its name there).

    The name there is empty where the module itself is meant.
    """

    runs: ast.Module
    waits: dict[str, tuple[str, str]]


def gathering(source: str) -> Gathering:
    """Take the imports apart that nothing else in the file needs."""
    tree = ast.parse(source)
    needed = _needed(tree)
    waits: dict[str, tuple[str, str]] = {}
    runs: list[ast.stmt] = []
    for node in tree.body:
        if not _relative(node):
            runs.append(node)
            continue
        kept = []
        for alias in node.names:
            name = alias.asname or alias.name
            module = f"{'.' * node.level}{node.module or alias.name}"
            own = alias.name if node.module else ""
            if alias.name == "*" or name in needed or (own and name == module.strip(".")):
                kept.append(alias)  # a submodule of the same name would stand in its place
            else:
                waits[name] = (module, own)
        if kept:
            runs.append(ast.copy_location(ast.ImportFrom(node.module, kept, node.level), node))
    return Gathering(ast.Module(runs, tree.type_ignores), waits)


def _relative(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.level > 0


def _needed(tree: ast.Module) -> set[str]:
    """The names that the file itself uses; those of its `__all__` too, where it does more than to gather."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    listed = [node for node in tree.body if _is_all(node)]
    does_more = any(not (_relative(node) or _is_all(node) or _is_quiet(node)) for node in tree.body)
    if does_more:
        for node in listed:
            used |= {str(c.value) for c in ast.walk(node) if isinstance(c, ast.Constant)}
    return used


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _is_quiet(node: ast.stmt) -> bool:
    """A docstring, or an import from the future."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Loader(SourceFileLoader):
    """Runs a package's file without the imports that may wait, and gives it a `__getattr__` for those."""

    def exec_module(self, module: ModuleType) -> None:
        source = self.get_source(module.__name__)
        found = gathering(source) if source else None
        if found is None or not found.waits:
            super().exec_module(module)
            return
        waits = found.waits

        def get(name: str) -> Any:
            if name not in waits:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            home, own = waits[name]
            loaded = import_module(home, module.__name__)
            value = getattr(loaded, own) if own else loaded
            setattr(module, name, value)
            return value

        vars(module)["__getattr__"] = get
        exec(compile(found.runs, self.path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the package's own file


class _Finder(MetaPathFinder):
    def __init__(self, root: str) -> None:
        self.root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self.root:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        loader = spec.loader if spec else None
        if spec and spec.submodule_search_locations and type(loader) is SourceFileLoader:
            spec.loader = _Loader(loader.name, loader.path)
        return spec


def open_by_name(root: str) -> None:
    """From now on, packages below `root` that are imported for the first time open name by name."""
    if not any(isinstance(finder, _Finder) and finder.root == root for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(root))
