"""Output contracts and required tools: what is written must be able to take effect (SW102, SW104, SW307)."""

import json
from collections.abc import Iterator
from functools import lru_cache

from swarm_presets.parts import each, leaves, workers
from swarm_presets.plain_schema import TYPES, is_plain
from swarm_presets.positions import Leaf, Listing, Mapping, Node, Path, Unknown, at, find, plain
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.shape import missing

KEPT = 256  # schemas of outputs whose faults are remembered
BUILT_IN_RULES = ("diagnose", "view")  # agent_core/runtime/expect.py


def word_meaning(tree: Mapping) -> Iterator[Problem]:
    """All findings of these kinds about a preset that is to run."""
    for _, worker in workers(tree):
        yield from _output(worker)
    yield from _require(tree)
    for entry in each(tree, "routes.*"):
        if isinstance(entry.node, Mapping) and not {"skill", "tools"} & entry.node.entries.keys():
            yield missing("tools", entry.key.sized(1), "a route leads to a `skill` or to `tools`")


def _output(worker: Mapping) -> Iterator[Problem]:
    output = worker.get("output")
    if not isinstance(output, Mapping):
        return
    form, schema = output.get("format"), output.get("schema")
    is_json = isinstance(form, Leaf) and form.text == "json"
    for key in ("schema", "render"):
        if key in output.entries and not is_json and not isinstance(form, Unknown):
            message = f"`{key}` counts only for `format: json`"
            yield problem("SW102", message, output.entries[key].key, "write `format: json`")
    if isinstance(schema, Mapping):
        found = list(_json_schema(schema))
        yield from found or _by_its_own_rules(schema)


def _by_its_own_rules(schema: Mapping) -> Iterator[Problem]:
    """What JSON Schema itself does not allow."""
    for path in _breaches(json.dumps(plain(schema))):
        node = find(schema, path)
        shown = f"`{path[-1]}`" if path else "this"
        message = f"{shown} is not as JSON Schema has it"
        yield problem("SW102", message, node.span.sized(1), "see JSON Schema, draft 2020-12")


@lru_cache(maxsize=KEPT)
def _breaches(text: str) -> tuple[Path, ...]:
    """Paths to what is no JSON Schema; remembered, since many presets inherit one, and the judge is slow.

    The library is imported where a preset has a schema that is not plain.
    """
    schema = json.loads(text)
    if is_plain(schema):
        return ()
    from jsonschema import Draft202012Validator

    judge = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    return tuple(tuple(error.absolute_path) for error in judge.iter_errors(schema))


def _json_schema(schema: Node) -> Iterator[Problem]:
    """Types that no value has: an answer could never hold them."""
    if not isinstance(schema, Mapping):
        return
    for leaf in leaves(schema.get("type")):
        if leaf.text not in TYPES:
            cure = suggest(leaf.text, TYPES, "remove it")
            yield problem("SW102", f"JSON has no type `{leaf.text}`", leaf.span, cure)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for entry in properties.entries.values():
            yield from _json_schema(entry.node)
        for leaf in leaves(schema.get("required")):
            if leaf.text not in properties.entries:
                cure = suggest(leaf.text, properties.entries, "add it to `properties`")
                message = f"`{leaf.text}` is required but not one of the `properties`"
                yield problem("SW102", message, leaf.span, cure)
    for key in ("items", "additionalProperties"):
        if (inner := schema.get(key)) is not None:
            yield from _json_schema(inner)


def _require(tree: Mapping) -> Iterator[Problem]:
    """A required tool must be one that the supervisor has, and follow-ups must lead to a rule."""
    tools = at(tree, "supervisor", "tools")
    allowed = {leaf.text for leaf in leaves(tools)}
    for entry in each(tree, "require.rules.*.tool"):
        leaf = entry.node
        if isinstance(leaf, Leaf) and isinstance(tools, Listing) and leaf.text not in allowed:
            message = f"required tool `{leaf.text}` is not one of the supervisor's tools"
            cure = suggest(leaf.text, allowed, "add it to `supervisor.tools`")
            yield problem("SW307", message, leaf.span, cure)
    rules = at(tree, "require", "rules")
    names = {leaf.text for e in each(tree, "require.rules.*.name") for leaf in leaves(e.node)}
    names |= set() if isinstance(rules, Listing) else set(BUILT_IN_RULES)
    for leaf in leaves(at(tree, "require", "follow_up")):
        if leaf.text not in names:
            cure = suggest(leaf.text, names, "add a rule of this name")
            yield problem("SW102", f"no rule `{leaf.text}`", leaf.span, cure)
