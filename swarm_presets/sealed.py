"""Sealed paths: a child may make what its parents sealed stricter, never looser (SW305; guide "presets", 7).

Stricter is a smaller number, a shorter time, fewer tools, more approvers. What has no order must stay as it is.
"""

from collections.abc import Callable, Iterator

from swarm_presets.parts import leaves
from swarm_presets.positions import Leaf, Listing, Mapping, Node, Path, Span, Unknown, at
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.scalars import size

Place = Callable[[Path], Span]

_MORE = frozenset({"quorum"})  # the larger, the stricter
# From loose to strict; a value that is not listed has no order.
_ORDERS: dict[str, tuple[object, ...]] = {
    "reserve": (False, True),
    "not_requester": (False, True),
    "retryable": (True, False),
    "on_exceeded": ("fallback_model", "ask_admin", "queue", "stop_and_report"),
    "unpriced_models": ("allow", "warn", "refuse"),
    "remember": ("always", "session", "run", "never"),
    "numbers": ("off", "required"),
    "citations": ("off", "required"),
    "from_supervisor": ("full", "recent", "brief", "task_only"),
}
_BOUNDS = frozenset({"budgets", "limits", "delegation"})  # where one more key is one more bound


def loosened(before: Mapping, after: Mapping, place: Place) -> Iterator[Problem]:
    """A finding for each sealed value of `before` that `after` loosens.

    Args:
        before: what is inherited, with its `sealed` paths.
        after: the same with a child's own values over it.
        place: where the child writes a path.
    """
    for leaf in leaves(before.get("sealed")):
        path: Path = tuple(leaf.text.split("."))
        old = at(before, *path)
        if old is not None:
            yield from _held(path, old, at(after, *path), place)
        elif at(after, *path) is not None and not _BOUNDS & set(path):
            yield _finding(path, place(path), leaf.span, "is set", "remove it")
        if path[0] == "defaults":
            yield from _agents(path[1:], before, after, place)


def unknown_seals(tree: Mapping, own: Mapping) -> Iterator[Problem]:
    """SW102: sealed paths of a file that lead nowhere, and so would protect nothing."""
    for leaf in leaves(own.get("sealed")):
        if at(tree, *leaf.text.split(".")) is None:
            known = [".".join(map(str, path)) for path in _paths(tree, ())]
            known = [path for path in known if path.count(".") <= leaf.text.count(".")]
            message = f"`{leaf.text}` is sealed, but nothing is set there"
            cure = suggest(leaf.text, known, "set it, or remove it here")
            if not cure.startswith("did you"):
                cure = "set it, or remove it here"
            yield problem("SW102", message, leaf.span, cure)


def _paths(node: Node, here: Path) -> Iterator[Path]:
    if here:
        yield here
    if isinstance(node, Mapping) and len(here) < 4:
        for key, entry in node.entries.items():
            yield from _paths(entry.node, (*here, key))


def _agents(path: Path, before: Mapping, after: Mapping, place: Place) -> Iterator[Problem]:
    """Agents that set for themselves what is sealed for all of them."""
    default, agents = at(before, "defaults", *path), after.get("agents")
    if default is None or not isinstance(agents, Mapping):
        return
    for name in agents.entries:
        whole: Path = ("agents", name, *path)
        old, new = at(before, *whole), at(after, *whole)
        if new is not None:
            yield from _held(whole, default if old is None else old, new, place, exact=False)


def _held(
    path: Path, old: Node, new: Node | None, place: Place, *, exact: bool = True
) -> Iterator[Problem]:
    """`exact` False: what `new` leaves out still flows in from the defaults."""
    if isinstance(new, Unknown) or isinstance(old, Unknown):
        return
    if new is None:
        yield _finding(path, place(path), old.span, "is removed", "leave it as it is")
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key, entry in old.entries.items():
            inner = new.get(key)
            if inner is not None or exact:
                yield from _held((*path, key), entry.node, inner, place, exact=exact)
        if exact and not _BOUNDS & set(path):
            for key in new.entries.keys() - old.entries.keys():
                span = new.entries[key].key
                yield _finding((*path, key), span, old.span, "is added", "remove it")
    elif isinstance(old, Listing) and isinstance(new, Listing):
        yield from _lists(path, old, new, place)
    elif not (isinstance(old, Leaf) and isinstance(new, Leaf) and _is_stricter(path, old, new)):
        yield _changed(path, old, new)


def _lists(path: Path, old: Listing, new: Listing, place: Place) -> Iterator[Problem]:
    """Rules are only added to, lists of names only shortened."""
    if any(isinstance(item, Mapping) for item in (*old.items, *new.items)):
        kept = {(item.span.source.name, item.span.line, item.span.column) for item in new.items}
        for item in old.items:
            if (item.span.source.name, item.span.line, item.span.column) not in kept:
                yield _finding(path, place(path), item.span, "is replaced", "only add to it")
        return
    allowed = {leaf.text for leaf in leaves(old)}
    for leaf in leaves(new):
        if leaf.text not in allowed:
            said = f"must not have `{leaf.text}`"
            yield _finding(path, leaf.span, old.span, said, "remove it")


def _is_stricter(path: Path, old: Leaf, new: Leaf) -> bool:
    key = str(path[-1])
    if old.value == new.value and type(old.value) is type(new.value):
        return True
    if key in _ORDERS:
        order = _ORDERS[key]
        if old.value in order and new.value in order:
            return order.index(new.value) >= order.index(old.value)
    had, has = size(old.value), size(new.value)
    if had is None or has is None:
        return False
    return has >= had if key in _MORE else has <= had


def _changed(path: Path, old: Node, new: Node) -> Problem:
    key = str(path[-1])
    if isinstance(old, Leaf) and isinstance(new, Leaf):
        sized = size(old.value) is not None and size(new.value) is not None
        cure = f"{'at least' if key in _MORE else 'at most'} `{old.text}`" if sized else ""
        said = f"is `{new.text[:40]}`, looser than `{old.text[:40]}`"
        return _finding(path, new.span, old.span, said, cure or f"leave `{old.text[:40]}`")
    return _finding(path, new.span, old.span, "is of another kind", "leave it as it is")


def _finding(path: Path, span: Span, sealed: Span, said: str, cure: str) -> Problem:
    name = ".".join(map(str, path))
    return problem("SW305", f"`{name}` is sealed and {said}", span, cure, other=sealed)
