"""What can run but is hardly meant.

Unpriced models (SW401), unused inputs (SW402), tools named in vain (SW403), notes that may not be kept (SW404), data
sources that are not enabled (SW405), skills that nobody can load (SW406), servers whose tools are not known (SW407).
"""

import re
from collections.abc import Iterator

from swarm_presets.meaning_money import POTS
from swarm_presets.meaning_skills import skills_in_vain
from swarm_presets.parts import agents, leaves, words
from swarm_presets.positions import Leaf, Mapping, Span, at
from swarm_presets.prices import Prices
from swarm_presets.problems import Problem, problem
from swarm_presets.references import Known, prompt_text, used_inputs
from swarm_presets.servers import unheard

REMEMBER = "remember"
_WORD = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")


def cautions(tree: Mapping, known: Known) -> Iterator[Problem]:
    """All warnings about a resolved preset."""
    if known.price and any(at(tree, "budgets", pot, "usd") for pot in POTS):
        yield from _unpriced(tree, known)
    yield from _unused(tree)
    yield from _in_vain(tree, known)
    yield from _noted_in_vain(tree)
    yield from _not_enabled(tree, known)
    yield from skills_in_vain(tree)
    yield from unheard(tree, known.servers)


def _unpriced(tree: Mapping, known: Known) -> Iterator[Problem]:
    prices = Prices(tree, known)
    aliases = tree.get("models")
    names = aliases.entries.items() if isinstance(aliases, Mapping) else ()
    named = [(name, use) for name, entry in names for use in leaves(at(entry.node, "use"))]
    named += [
        (leaf.text, leaf)
        for leaf in words(tree, "supervisor.model", "agents.*.model", "defaults.model")
        if at(tree, "models", leaf.text) is None
    ]
    for word, leaf in named:
        if leaf.text != "auto" and prices.of(word) is None:
            message = f"no price is known for `{leaf.text}`, and a pot counts dollars"
            cure = "add `price: {input: …, output: …}` to its alias"
            yield problem("SW401", message, leaf.span, cure, severity="warning")


def _unused(tree: Mapping) -> Iterator[Problem]:
    inputs = tree.get("inputs")
    if not isinstance(inputs, Mapping):
        return
    used = used_inputs(tree)
    for name, entry in inputs.entries.items():
        if name not in used:
            cure = f"use it as `{{{{ inputs.{name} }}}}`, or remove it"
            message = f"nothing uses the input `{name}`"
            yield problem("SW402", message, entry.key, cure, severity="warning")


def _in_vain(tree: Mapping, known: Known) -> Iterator[Problem]:
    lead = tree.get("supervisor")
    both = [("supervisor", lead)] if isinstance(lead, Mapping) else []
    for name, worker in (*both, *agents(tree)):
        found = prompt_text(worker)
        if found is None:
            continue
        has = {leaf.text for leaf in leaves(worker.get("tools"))}
        text, leaf = found
        for word in sorted(set(_WORD.findall(text)) & known.tools - has):
            message = f"the prompt of `{name}` names `{word}`, which it does not have"
            cure = f"add `{word}` to its tools, or change the prompt"
            yield problem("SW403", message, _place(leaf), cure, severity="warning")


def _noted_in_vain(tree: Mapping) -> Iterator[Problem]:
    """A supervisor that has `remember` and may write no memory in which it could note."""
    written = at(tree, "supervisor", "memory", "write")
    if written is None or {leaf.text for leaf in leaves(written)} & {"user", "channel"}:
        return
    for leaf in words(tree, "supervisor.tools"):
        if leaf.text == REMEMBER:
            message = (
                f"`{REMEMBER}` will be refused: `memory.write` of the supervisor names no memory"
            )
            cure = "remove it from the tools, or add `user` to `memory.write`"
            yield problem("SW404", message, leaf.span, cure, severity="warning")


def _not_enabled(tree: Mapping, known: Known) -> Iterator[Problem]:
    for leaf in words(tree, "data.sources"):
        if (known.sources or {}).get(leaf.text) is False:
            message = f"the data source `{leaf.text}` is not enabled, so it will be passed over"
            cure = "add it to `data.sources` in the settings, or remove it here"
            yield problem("SW405", message, leaf.span, cure, severity="warning")


def _place(leaf: Leaf) -> Span:
    return leaf.span.sized(min(leaf.span.length, 20))
