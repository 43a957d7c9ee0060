"""A fixed plan must hold together: one action a step, ids once, fields that the answers have (SW102, SW104, SW308)."""

from collections.abc import Iterator, Sequence

from swarm_presets.parts import each, keys, leaves, number
from swarm_presets.positions import Entry, Leaf, Listing, Mapping, Node, Unknown, at
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.shape import missing

ACTIONS = ("delegate", "parallel", "debate", "vote", "answer")
# key of a step -> the actions that it belongs to
_BELONGS = {"task": ("delegate",), "need": ("parallel",), "for_each": ("delegate",)}


def flow_meaning(tree: Mapping) -> Iterator[Problem]:
    """All findings about the plan and the faults of the cases of a resolved preset."""
    earlier: dict[str, Mapping] = {}
    answered = False
    for entry in each(tree, "flow.*"):
        if isinstance(entry.node, Mapping):
            yield from _step(entry, entry.node)
            if answered:
                yield _too_late(entry)
            answered = answered or (
                "answer" in entry.node.entries and "when" not in entry.node.entries
            )
            yield from _fields(tree, entry.node, earlier)
            yield from _items(entry.node, earlier)
            name = entry.node.get("id")
            if isinstance(name, Leaf):
                if name.text in earlier:
                    cure = "give each step another id"
                    yield problem("SW102", f"a step `{name.text}` exists", name.span, cure)
                earlier[name.text] = entry.node
    yield from _faults(tree)


def _step(entry: Entry, step: Mapping) -> Iterator[Problem]:
    if any(isinstance(e.node, Unknown) for e in step.entries.values()):
        return
    found = [key for key in ACTIONS if key in step.entries]
    if not found:
        yield missing("delegate", entry.key.sized(1), f"a step has one of {', '.join(ACTIONS)}")
    for key in found[1:]:
        message = f"a step does one thing: `{found[0]}` or `{key}`"
        yield problem("SW102", message, step.entries[key].key, "make two steps of it")
    for key, actions in _BELONGS.items():
        if key in step.entries and found and found[0] not in actions:
            message = f"`{key}` means nothing for `{found[0]}`"
            yield problem("SW102", message, step.entries[key].key, "remove it")
    branches, need = step.get("parallel"), number(step.get("need"))
    if isinstance(branches, Listing) and need is not None and need > len(branches.items):
        span = step.entries["need"].node.span
        message = f"`need` is more than the {len(branches.items)} branches"
        yield problem("SW102", message, span, f"at most {len(branches.items)}")


def _too_late(entry: Entry) -> Problem:
    """SW102."""
    message = "nothing comes after the step that answers"
    return problem("SW102", message, entry.key.sized(1), "put `answer: true` last")


def _items(step: Mapping, earlier: dict[str, Mapping]) -> Iterator[Problem]:
    """SW308: `for_each` goes through an input or what an earlier step brought."""
    for leaf in leaves(step.get("for_each")):
        head = leaf.text.partition(".")[0]
        if head not in {"inputs", *earlier}:
            cure = suggest(head, ["inputs", *earlier], "name an input or an earlier step")
            yield problem("SW308", f"no earlier step `{head}`", leaf.span, cure)


def _fields(tree: Mapping, step: Mapping, earlier: dict[str, Mapping]) -> Iterator[Problem]:
    """SW308."""
    vote = step.get("vote")
    if isinstance(vote, Mapping) and isinstance(field := vote.get("field"), Leaf):
        yield from _field(tree, field, [leaf.text for leaf in leaves(vote.get("agents"))])
    inputs = tree.get("inputs")
    names = set(inputs.entries) if isinstance(inputs, Mapping) else set()
    for key in keys(step, "when"):
        head, dot, rest = key.text.partition(".")
        if head == "inputs" or not dot:
            if (rest or head) not in names:
                cure = suggest(rest or head, names, "this preset has no inputs")
                yield problem("SW204", f"no input `{rest or head}`", key.span, cure)
        elif head not in earlier:
            cure = suggest(head, earlier, "no step comes before this one")
            yield problem("SW308", f"no earlier step `{head}`", key.span, cure)
        else:
            field = Leaf(rest, rest, key.span)
            yield from _field(tree, field, _who_answers(earlier[head]))


def _who_answers(step: Mapping) -> list[str]:
    """The agents whose output a step ends with."""
    one = [leaf.text for leaf in leaves(step.get("delegate"))]
    judge = [leaf.text for leaf in leaves(at(step, "debate", "judge"))]
    return one or judge or [leaf.text for leaf in leaves(at(step, "vote", "agents"))]


def _field(tree: Mapping, field: Leaf, names: list[str]) -> Iterator[Problem]:
    """A field that no output schema of these agents has, or that one of them lacks."""
    schemas = {n: at(tree, "agents", n, "output", "schema") for n in names}
    if any(isinstance(at(tree, "agents", n), Unknown) for n in names):
        return
    written = {n: s for n, s in schemas.items() if isinstance(s, Mapping)}
    if not written and names:
        message = f"no agent here has an output schema with `{field.text}`"
        cure = f"add `output: {{format: json, schema: …}}` to `{names[0]}`"
        yield problem("SW308", message, field.span, cure)
    for name, schema in written.items():
        known = _properties(schema)
        head = field.text.split(".")[0]
        if head not in known:
            cure = suggest(head, known, "add it to the schema's `properties`")
            message = f"`{head}` is not in the output schema of `{name}`"
            yield problem("SW308", message, field.span, cure)


def _properties(schema: Node) -> set[str]:
    node = at(schema, "properties")
    return set(node.entries) if isinstance(node, Mapping) else set()


def _faults(tree: Mapping) -> Iterator[Problem]:
    for entry in each(tree, "evals.*.inject.*"):
        part = entry.node
        if not isinstance(part, Mapping):
            continue
        found = [key for key in ("agent", "tool") if key in part.entries]
        if len(found) != 1:
            message = "a fault is of an agent or of a tool"
            yield problem("SW102", message, part.span.sized(1), "write one of `agent` and `tool`")
        yield from _without_effect(part, found)


def _without_effect(part: Mapping, found: Sequence[str]) -> Iterator[Problem]:
    """Keys of a fault that mean nothing for what it is a fault of, and a fault of a tool that does nothing."""
    other = {"agent": "approve", "tool": "status"}.get(found[0]) if len(found) == 1 else None
    if other is not None and other in part.entries:
        article = "an agent" if found == ["agent"] else "a tool"
        cure = "name a `tool`" if found == ["agent"] else "write `error`, `result` or `approve`"
        yield problem(
            "SW102", f"`{other}` means nothing for {article}", part.entries[other].key, cure
        )
    elif not part.entries.keys() & {"status", "approve", "error", "result"}:
        cure = "write `status`" if found == ["agent"] else "write `error`, `result` or `approve`"
        yield problem("SW102", "this fault does nothing", part.span.sized(1), cure)
