"""References and meaning: what a preset names must exist, and what it says must be able to hold.

Works on the resolved tree (parents and defaults merged), so that each finding points to where the value was written.
Codes SW104, SW2xx and SW3xx (guide "presets", 8). What an earlier stage found wrong is unknown here: nothing is
concluded from it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from swarm_presets import prompts
from swarm_presets.inherit import leaves
from swarm_presets.meaning import meaning
from swarm_presets.parts import policies, workers
from swarm_presets.positions import Leaf, Mapping, Node, Unknown, at
from swarm_presets.problems import Problem, problem, suggest

PLACEHOLDER = re.compile(r"\{\{\s*(?:inputs\.)?([^{}]*?)\s*\}\}")
ALWAYS = ("auto", "demo")  # models that exist in every installation


@dataclass(frozen=True, slots=True)
class Known:
    """What exists outside the presets.

    `models` holds `<provider>/<model>`, or `<provider>/*` for whatever a provider has; None: not to be checked.
    """

    tools: frozenset[str]
    models: frozenset[str] | None = None


def check(tree: Mapping, known: Known, *, complete: bool) -> Iterator[Problem]:
    """All findings about a resolved preset. `complete` is False when its parents are not all known."""
    unknown_tools = list(_tools(tree, known))
    yield from unknown_tools
    yield from _prompts(tree)
    if complete:
        yield from _models(tree, known)
        yield from _agents(tree)
        abstract = at(tree, "abstract")
        if not (isinstance(abstract, Leaf) and abstract.value is True):
            places = {(p.file, p.line, p.column) for p in unknown_tools}
            yield from (p for p in meaning(tree) if (p.file, p.line, p.column) not in places)


def _listed(tree: Mapping) -> Iterator[Leaf]:
    for _, worker in workers(tree):
        yield from leaves(worker.get("tools"))
        if isinstance(
            edit := worker.get("tools"), Mapping
        ):  # where nothing is inherited for certain
            yield from leaves(edit.get("add"))
        for _, policy in policies(worker):
            yield from leaves(policy.get("fallback_tools"))


def _tools(tree: Mapping, known: Known) -> Iterator[Problem]:
    for leaf in _listed(tree):
        if leaf.text not in known.tools:
            cure = suggest(leaf.text, known.tools, "no tools are installed")
            yield problem("SW203", f"no tool `{leaf.text}`", leaf.span, cure)


def _prompts(tree: Mapping) -> Iterator[Problem]:
    for _, worker in workers(tree):
        prompt = worker.get("prompt")
        if isinstance(prompt, Leaf):
            yield from _placeholders(prompt.text, prompt)
        elif isinstance(prompt, Mapping) and isinstance(file := prompt.get("file"), Leaf):
            try:
                text = prompts.read(file.span.source, file.text)
            except ValueError as reason:
                message = f"no prompt file `{file.text}`"
                yield problem("SW206", message, file.span, str(reason))
            else:
                yield from _placeholders(text, file)


def _placeholders(text: str, leaf: Leaf) -> Iterator[Problem]:
    for name in PLACEHOLDER.findall(text):
        span = leaf.span.sized(len(name))
        yield problem("SW204", f"no input `{name}`", span, "this preset has no inputs")


def _models(tree: Mapping, known: Known) -> Iterator[Problem]:
    aliases = tree.get("models")
    names = set(aliases.entries) if isinstance(aliases, Mapping) else set()
    if isinstance(aliases, Unknown):
        return
    for leaf in _named(tree):
        if leaf.text not in names and not _exists(leaf.text, known):
            cure = suggest(leaf.text, [*names, *ALWAYS, *(known.models or ())], "write `auto`")
            yield problem("SW205", f"no model `{leaf.text}`", leaf.span, cure)
    for leaf in _used(aliases):
        if not _exists(leaf.text, known):
            cure = suggest(leaf.text, [*ALWAYS, *(known.models or ())], "write `auto`")
            yield problem("SW205", f"no model `{leaf.text}`", leaf.span, cure)


def _named(tree: Mapping) -> Iterator[Leaf]:
    for _, worker in workers(tree):
        yield from leaves(worker.get("model"))
        for _, policy in policies(worker):
            yield from leaves(policy.get("fallback_model"))


def _used(aliases: Node | None) -> Iterator[Leaf]:
    if isinstance(aliases, Mapping):
        for name in aliases.entries:
            yield from leaves(at(aliases, name, "use"))


def _exists(model: str, known: Known) -> bool:
    if model in ALWAYS:
        return True
    provider, slash, name = model.partition("/")
    if not (slash and provider and name):
        return False
    return known.models is None or bool({model, f"{provider}/*"} & known.models)


def _agents(tree: Mapping) -> Iterator[Problem]:
    node = tree.get("agents")
    if isinstance(node, Unknown):
        return
    names = set(node.entries) if isinstance(node, Mapping) else set()
    for _, worker in workers(tree):
        for _, policy in policies(worker):
            for leaf in leaves(policy.get("delegate_to")):
                if leaf.text not in names:
                    cure = suggest(leaf.text, names, "this preset has no agents")
                    yield problem("SW202", f"no agent `{leaf.text}`", leaf.span, cure)
