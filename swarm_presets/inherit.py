"""What a preset inherits: its parents left to right, then its own file; and `defaults` for each agent.

Maps are merged key by key, scalars and lists replace, `null` removes, `tools: {add, remove}` edits the inherited list,
`approvals` and `sealed` only grow (guide "presets", 7). Each value keeps the place where it was written.
"""

from collections.abc import Iterator

from swarm_presets.parts import leaves
from swarm_presets.positions import Entry, Leaf, Listing, Mapping, Node, Unknown, at
from swarm_presets.problems import Problem, problem, suggest

APPENDED = frozenset({"approvals", "sealed"})
# What a preset says about itself; a parent's title or description would be wrong on its child, and its schedule would
# run both.
OWN_KEYS = frozenset({"version", "name", "title", "description", "extends", "abstract", "schedule"})


def inherited(parent: Mapping) -> Mapping:
    """What children take from a preset."""
    kept = {key: entry for key, entry in parent.entries.items() if key not in OWN_KEYS}
    return Mapping(kept, parent.span)


def merge(parent: Mapping, child: Mapping) -> tuple[Mapping, list[Problem]]:
    """The child over the parent, and what the child edits without there being such a thing."""
    problems: list[Problem] = []
    merged = _merged(parent, child, problems)
    for key in APPENDED & parent.entries.keys():
        own = child.entries.get(key)
        grown = _appended(key, parent.entries[key], own, problems)
        merged = Mapping({**merged.entries, key: grown}, merged.span)
    return merged, problems


def _appended(key: str, old: Entry, own: Entry | None, problems: list[Problem]) -> Entry:
    """A list that only grows: the parent's items, then the child's own, each once."""
    if own is None or isinstance(old.node, Unknown) or isinstance(own.node, Unknown):
        return old if own is None else own
    if not isinstance(own.node, Listing) or not isinstance(old.node, Listing):
        message = f"`{key}` of a parent cannot be removed"
        cure = f"leave `{key}` out; what is inherited stays"
        problems.append(problem("SW305", message, own.key, cure, other=old.node.span))
        return old
    items = {(i.span.source, i.span.line, i.span.column): i for i in old.node.items}
    items |= {(i.span.source, i.span.line, i.span.column): i for i in own.node.items}
    return Entry(own.key, Listing(tuple(items.values()), own.node.span))


def with_defaults(tree: Mapping) -> Mapping:
    """The same preset, `defaults` filled into each agent."""
    defaults, agents = tree.get("defaults"), tree.entries.get("agents")
    if not isinstance(defaults, Mapping) or not agents or not isinstance(agents.node, Mapping):
        return tree
    filled = {
        name: Entry(entry.key, _merged(defaults, entry.node, []))
        if isinstance(entry.node, Mapping)
        else entry
        for name, entry in agents.node.entries.items()
    }
    node = Mapping(filled, agents.node.span)
    return Mapping({**tree.entries, "agents": Entry(agents.key, node)}, tree.span)


def empty_values(tree: Mapping) -> Iterator[Problem]:
    """Keys without a value that remove nothing: half-written lines, or a removal of what is not there."""
    agents = at(tree, "agents")
    for parent, key, entry in _nulls(tree):
        if parent is agents:
            known = [k for k, e in parent.entries.items() if isinstance(e.node, Mapping)]
            cure = suggest(key, known, "remove the line")
            yield problem("SW202", f"no agent `{key}` to remove", entry.key, cure)
        else:
            cure = "write a value; `null` only removes what is inherited"
            yield problem("SW105", f"`{key}` has no value", entry.key, cure)


def _nulls(node: Node, above: str = "") -> Iterator[tuple[Mapping, str, Entry]]:
    if isinstance(node, Mapping):
        for key, entry in node.entries.items():
            if isinstance(entry.node, Leaf) and entry.node.value is None:
                yield node, key, entry
            elif (above, key) != ("output", "schema"):  # a JSON Schema may speak of null
                yield from _nulls(entry.node, key)


def _merged(parent: Mapping, child: Mapping, problems: list[Problem]) -> Mapping:
    entries = dict(parent.entries)
    for key, entry in child.entries.items():
        old = entries.get(key)
        if old and isinstance(entry.node, Leaf) and entry.node.value is None:
            del entries[key]
        else:
            node = _value(key, old.node if old else None, entry.node, problems)
            entries[key] = Entry(entry.key, node)
    return Mapping(entries, child.span)


def _value(key: str, old: Node | None, new: Node, problems: list[Problem]) -> Node:
    if not isinstance(new, Mapping):
        return new
    if key == "tools":
        return _edited(old, new, problems)
    return _merged(old if isinstance(old, Mapping) else Mapping({}, new.span), new, problems)


def _edited(old: Node | None, edit: Mapping, problems: list[Problem]) -> Node:
    """The inherited tools without `remove`, then with `add`, each once, in this order."""
    if isinstance(old, Unknown):
        return old
    tools = {leaf.text: leaf for leaf in leaves(old)}
    for leaf in leaves(edit.get("remove")):
        if leaf.text not in tools:
            cure = suggest(leaf.text, tools, "nothing is inherited here")
            message = f"`{leaf.text}` is not in the inherited list"
            problems.append(problem("SW203", message, leaf.span, cure))
        tools.pop(leaf.text, None)
    for leaf in leaves(edit.get("add")):
        tools.setdefault(leaf.text, leaf)
    return Listing(tuple(tools.values()), edit.span)
