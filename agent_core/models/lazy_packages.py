"""A vendor's SDK whose packages open name by name.

The SDKs of Anthropic and OpenAI load up to three thousand modules of types at `import`: 60 MB and most
of a second, of which a chat uses a few dozen. Their packages' `__init__.py` mostly gather names by
`from .module import Name`. After `open_by_name` such a name's module is loaded when somebody asks for the
name (PEP 562). Whatever else a file does, and the names that it uses for that, run as they are: a new
form of an SDK costs memory and breaks nothing. A star import of a package takes what has been opened.

Modules that are no packages may be named too: one whose imports wait for the bodies that use them (lazy_bodies.py),
and one of which the SDK itself takes a function that we have a smaller one for.
"""

import ast
import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, TypeGuard

from agent_core.models.lazy_bodies import NEED, eager, sunk

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Gathering:
    """An `__init__.py` in two parts: what runs at import, and what waits: name → (relative module, its name there).

    The name there is empty where the module itself is meant. `stars` are modules all of whose names are meant.
    """

    runs: ast.Module
    waits: dict[str, tuple[str, str]]
    stars: tuple[str, ...] = ()


def gathering(source: str, *, bodies: bool = False) -> Gathering:
    """Take the imports apart that nothing else in the file needs; `bodies`: but bodies of its functions."""
    tree = ast.parse(source)
    needed = eager(tree) | _listed(tree) if bodies else _needed(tree)
    stars = [] if bodies or _takes_from_stars(tree) else [n for n in tree.body if _is_star(n)]
    waits: dict[str, tuple[str, str]] = {}
    runs: list[ast.stmt] = []
    for node in tree.body:
        if node in stars:
            continue
        if not _relative(node):
            runs.append(_narrowed(node))
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
    left = ast.Module(runs, tree.type_ignores)
    homes = tuple(f"{'.' * n.level}{n.module}" for n in stars if isinstance(n, ast.ImportFrom))
    return Gathering(sunk(left, tuple(waits)) if bodies else left, waits, homes)


def _is_star(node: ast.stmt) -> bool:
    return _relative(node) and bool(node.module) and node.names[0].name == "*"


def _takes_from_stars(tree: ast.Module) -> bool:
    """Whether a name is used that only a star import can have brought."""
    used, bound = set[str](), set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound |= {(a.asname or a.name).partition(".")[0] for a in aliases}
            case _:
                pass
    return not used <= bound


def _loops_over_all(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.For) and isinstance(node.iter, ast.Name) and node.iter.id == "__all__"
    )


def _narrowed(node: ast.stmt) -> ast.stmt:
    """A loop over `__all__` goes over the names that are there; what is loaded later goes without."""
    if _loops_over_all(node) and isinstance(node, ast.For):
        there = ast.parse("[name for name in __all__ if name in globals()]", mode="eval").body
        node.iter = ast.fix_missing_locations(ast.copy_location(there, node.iter))
    return node


def _relative(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.level > 0


def _needed(tree: ast.Module) -> set[str]:
    """The names that the file itself uses; those of its `__all__` too, where it does more than to gather."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    loops = sum(map(_loops_over_all, tree.body))
    others = sum(isinstance(n, ast.Name) and n.id == "__all__" for n in ast.walk(tree)) - loops
    does_more = any(not (_relative(node) or _is_all(node) or _is_quiet(node)) for node in tree.body)
    only_loops = (
        loops and others == 1
    )  # it is set once and gone through, which the loops can do with what is there
    return used | _listed(tree) if does_more and not only_loops else used


def _listed(tree: ast.Module) -> set[str]:
    """The names in `__all__`."""
    return {
        str(constant.value)
        for node in tree.body
        if _is_all(node)
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant)
    }


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _is_quiet(node: ast.stmt) -> bool:
    """A docstring, or an import from the future."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Loader(SourceFileLoader):
    """Runs a file without the imports that may wait, and gives it a `__getattr__` for those."""

    bodies = False

    def exec_module(self, module: ModuleType) -> None:
        source = self.get_source(module.__name__)
        found = gathering(source, bodies=self.bodies) if source else None
        if found is None or not (found.waits or found.stars):
            super().exec_module(module)
            return
        names = vars(module)
        get = _getter(module, found)

        def need(*wanted: str) -> None:
            for name in wanted:
                if name not in names:
                    get(name)

        names["__getattr__"] = get
        names[NEED] = need
        exec(compile(found.runs, self.path, "exec", dont_inherit=True), names)  # noqa: S102 - the package's own file


class _BodyLoader(_Loader):
    bodies = True


def _getter(module: ModuleType, found: Gathering) -> Callable[[str], Any]:
    """The module's `__getattr__`: what is asked for is loaded and stays."""
    missing = object()

    def get(name: str) -> Any:
        if name in found.waits:
            home, own = found.waits[name]
            loaded = import_module(home, module.__package__)
            value = getattr(loaded, own) if own else loaded
        else:
            value = missing
            for home in reversed(found.stars if not name.startswith("_") else ()):
                if value is missing:
                    value = getattr(import_module(home, module.__package__), name, missing)
        if value is missing:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        setattr(module, name, value)
        return value

    return get


class _StandIn(SourceFileLoader):
    """A module of which these functions are taken: ours stand in for them until anything else of it is asked for."""

    def __init__(self, fullname: str, path: str, functions: Mapping[str, Function]) -> None:
        super().__init__(fullname, path)
        self._functions = functions

    def exec_module(self, module: ModuleType) -> None:
        names, load = vars(module), super().exec_module

        def get(name: str) -> Any:
            if not name.startswith("__") and names.pop(
                "__getattr__", None
            ):  # the import system asks for such names
                load(module)
            if name in names:
                return names[name]
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        names.update(self._functions)
        names["__getattr__"] = get


@dataclass(frozen=True, slots=True)
class Waiting:
    """Modules below a package that are no packages, by their names there.

    `bodies`: their imports wait for bodies of functions; `instead`: what stands in for functions of theirs, by name.
    """

    bodies: frozenset[str] = frozenset()
    instead: Mapping[str, Mapping[str, Function]] = field(default_factory=dict)


class _Finder(MetaPathFinder):
    def __init__(self, root: str, waiting: Waiting) -> None:
        self.root = root
        self.waiting = waiting

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, own = fullname.partition(".")
        if root != self.root:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        loader = spec.loader if spec else None
        if spec and type(loader) is SourceFileLoader:
            if spec.submodule_search_locations:
                spec.loader = _Loader(loader.name, loader.path)
            elif own in self.waiting.bodies:
                spec.loader = _BodyLoader(loader.name, loader.path)
            elif own in self.waiting.instead:
                spec.loader = _StandIn(loader.name, loader.path, self.waiting.instead[own])
        return spec


def open_by_name(root: str, waiting: Waiting | None = None) -> None:
    """From now on, packages below `root` that are imported for the first time open name by name."""
    if not any(isinstance(finder, _Finder) and finder.root == root for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(root, waiting or Waiting()))
