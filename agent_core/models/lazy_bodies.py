"""An SDK's file whose imports wait until a body of one of its functions needs them (see lazy_packages.py).

What the file uses while it is imported, and what it names in `__all__`, is imported as it stands. Every other relative
import is taken out; before each statement in a function that uses such a name stands a call that loads it into the
file's namespace. Nothing else is changed, so that a new form of the file costs memory and breaks nothing.
"""

import ast
from collections.abc import Iterator, Sequence

NEED = "__need__"


def sunk(tree: ast.Module, waits: Sequence[str]) -> ast.Module:
    """The file with a call of `NEED(name, …)` before each statement of a body that uses one of the names that wait."""
    _Sinker(frozenset(waits)).visit(tree)
    return ast.fix_missing_locations(tree)


def eager(tree: ast.Module) -> set[str]:
    """The names that are used while the file is imported: all of them but those in bodies and unread annotations."""
    unread = any(_is_future(node) for node in tree.body)
    return {name for node in tree.body for name in _names(node, unread=unread)}


def _is_future(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


def _names(node: ast.AST, *, unread: bool) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Global):
        yield from node.names
    for child in _parts(node, unread=unread):
        yield from _names(child, unread=unread)


def _parts(node: ast.AST, *, unread: bool) -> Iterator[ast.AST]:
    """What of a node runs at import. Annotations of classes count, since frameworks read them."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from ast.iter_child_nodes(node)
        return
    yield from node.decorator_list
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default is not None)
    if not unread:
        yield from (a for a in ast.walk(node.args) if isinstance(a, ast.arg))
        yield from [node.returns] if node.returns else []


class _Sinker(ast.NodeTransformer):
    """Puts the calls into bodies of functions; a statement with blocks is looked at block by block."""

    def __init__(self, waits: frozenset[str]) -> None:
        self._waits = waits
        self._inside = False

    def visit(self, node: ast.AST) -> ast.AST:
        before = self._inside
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._inside = True
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt | ast.AST):
                setattr(node, field, self._block(value))
        self._inside = before
        return node

    def _block(self, nodes: list[ast.AST]) -> list[ast.AST]:
        found: list[ast.AST] = []
        for node in nodes:
            if self._inside and isinstance(node, ast.stmt):
                used = sorted(self._waits & set(_of_statement(node)))
                if used:
                    call = ast.Call(ast.Name(NEED, ast.Load()), [ast.Constant(n) for n in used], [])
                    found.append(ast.copy_location(ast.Expr(call), node))
            found.append(self.visit(node))
        return found


def _of_statement(node: ast.AST) -> Iterator[str]:
    """Names that a statement uses outside of its blocks."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            continue
        if isinstance(child, ast.Name):
            yield child.id
        yield from _of_statement(child)
