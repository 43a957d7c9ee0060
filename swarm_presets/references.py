"""References: what a preset names must exist (SW202, SW203, SW204, SW205, SW206, SW208).

Works on the resolved tree (parents and defaults merged), so that each finding points to where the value was written.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent_core.tools.mcp_names import server_of
from swarm_presets import prompts, servers
from swarm_presets.parts import each, keys, leaves, words, workers
from swarm_presets.positions import Leaf, Mapping, Node, Unknown, at
from swarm_presets.problems import Problem, problem, suggest

PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
ALWAYS = ("auto", "demo", "replay")  # models that exist in every installation

_OF_A_WORKER = ("supervisor", "defaults", "agents.*")
_TOOLS = (
    *(f"{w}.{k}" for w in _OF_A_WORKER for k in ("tools", "tools.add", "output.attach")),
    *(f"{w}.policy.*.fallback_tools" for w in _OF_A_WORKER),
    *(
        "supervisor.tools_on_demand",
        "approvals.*.tool",
        "require.rules.*.tool",
        "routes.*.tools",
        "evals.*.inject.*.tool",
    ),
    *("evals.*.expect.tools", "evals.*.expect.not_tools"),
)
_AGENTS = (
    *("agents.*.policy.*.delegate_to", "defaults.policy.*.delegate_to"),
    *("agents.*.context.from_agents", "defaults.context.from_agents"),
    *("flow.*.delegate", "flow.*.parallel.*.delegate", "flow.*.vote.agents"),
    *("flow.*.debate.sides", "flow.*.debate.judge", "evals.*.inject.*.agent"),
    *("evals.*.expect.delegated", "evals.*.expect.not_delegated"),
)
_MODELS = (
    *(f"{w}.model" for w in _OF_A_WORKER),
    *("agents.*.fallback_model", "evals.*.model", "budgets.*.fallback_model"),
    *(f"{w}.policy.*.fallback_model" for w in _OF_A_WORKER),
)
_TEXTS = ("flow.*.task", "flow.*.parallel.*.task", "data.as_of", "schedule.*.say")
_GIVEN = ("evals.*.inputs", "schedule.*.inputs")


@dataclass(frozen=True, slots=True)
class Known:
    """What exists outside the presets.

    `models` holds `<provider>/<model>`, or `<provider>/*` for whatever a provider has; None: not to be checked.
    `acting` are the tools that change something outside and need a rule of consent, but for those of `lead` in the
    supervisor's own hands, which ask by themselves. `price` gives dollars for a million tokens in and out of a model,
    or None where they are not known. `lead` are the tools that only a supervisor may call; `redact` masks secrets in a
    text. `sources` are the data sources that exist, and whether each is enabled; None: not to be checked. `skills` are
    those of everybody; None: not to be checked.
    `servers` are the MCP servers of the settings, each with the names here of its tools, none where they are not known;
    None: not to be checked.
    """

    tools: frozenset[str]
    models: frozenset[str] | None = None
    acting: frozenset[str] = frozenset()
    price: Callable[[str], tuple[float, float] | None] | None = None
    lead: frozenset[str] = frozenset()
    redact: Callable[[str], str] | None = None
    sources: dict[str, bool] | None = None
    skills: frozenset[str] | None = None
    servers: dict[str, frozenset[str]] | None = None


def unknown_tools(tree: Mapping, known: Known) -> Iterator[Problem]:
    """SW203."""
    ours = frozenset(tool for tool in known.tools if not server_of(tool))
    tools = ours | servers.usable(tree, known.servers)
    for leaf in words(tree, *_TOOLS):
        if server_of(leaf.text):
            if found := servers.unusable(tree, known.servers, leaf):
                yield found
        elif leaf.text not in tools:
            cure = suggest(leaf.text, tools, "no tools are installed")
            yield problem("SW203", f"no tool `{leaf.text}`", leaf.span, cure)


def unknown_sources(tree: Mapping, known: Known) -> Iterator[Problem]:
    """SW208."""
    if known.sources is None:
        return
    for leaf in words(tree, "data.sources"):
        if leaf.text not in known.sources:
            cure = suggest(leaf.text, known.sources, "there are no data sources")
            yield problem("SW208", f"no data source `{leaf.text}`", leaf.span, cure)


def unknown_agents(tree: Mapping) -> Iterator[Problem]:
    """SW202."""
    node = tree.get("agents")
    if isinstance(node, Unknown):
        return
    names = set(node.entries) if isinstance(node, Mapping) else set()
    for leaf in (*words(tree, *_AGENTS), *keys(tree, "evals.*.expect.next_action")):
        if leaf.text not in names:
            cure = suggest(leaf.text, names, "this preset has no agents")
            yield problem("SW202", f"no agent `{leaf.text}`", leaf.span, cure)


def unknown_inputs(tree: Mapping) -> Iterator[Problem]:
    """SW204, and SW206 for prompts that cannot be read."""
    declared = tree.get("inputs")
    if isinstance(declared, Unknown):
        return
    names = set(declared.entries) if isinstance(declared, Mapping) else set()
    has_item = any(True for _ in each(tree, "flow.*.for_each"))
    for text, leaf in _texts(tree):
        if isinstance(text, Problem):
            yield text
            continue
        for name in PLACEHOLDER.findall(text):
            if not (name == "item" and has_item) and _input(name) not in names:
                yield _no_input(name.removeprefix("inputs."), leaf, names)
    for leaf in words(tree, "flow.*.for_each"):
        head, _, name = leaf.text.partition(".")
        if head == "inputs" and name not in names:
            yield _no_input(name, leaf, names)
    for pattern in _GIVEN:
        yield from (_no_input(k.text, k, names) for k in keys(tree, pattern) if k.text not in names)


def _input(placeholder: str) -> str | None:
    """The name in `inputs.name`; nothing else is filled in."""
    head, _, name = placeholder.partition(".")
    return name if head == "inputs" else None


def _no_input(name: str, leaf: Leaf, names: set[str]) -> Problem:
    span = leaf.span.sized(min(len(name), leaf.span.length))
    if name in names:
        return problem("SW204", f"no input `{name}`", span, f"write `{{{{ inputs.{name} }}}}`")
    cure = suggest(name, names, "this preset has no inputs")
    return problem("SW204", f"no input `{name}`", span, cure)


def _texts(tree: Mapping) -> Iterator[tuple[str | Problem, Leaf]]:
    """Every text in which inputs are filled in, prompt files read."""
    for _, worker in workers(tree):
        prompt = worker.get("prompt")
        if isinstance(prompt, Leaf):
            yield prompt.text, prompt
        elif isinstance(prompt, Mapping) and isinstance(file := prompt.get("file"), Leaf):
            yield _prompt_file(file), file
    yield from ((leaf.text, leaf) for leaf in words(tree, *_TEXTS))


def _prompt_file(file: Leaf) -> str | Problem:
    try:
        return prompts.read(file.span.source, file.text)
    except ValueError as reason:
        return problem("SW206", f"no prompt file `{file.text}`", file.span, str(reason))


def used_inputs(tree: Mapping) -> set[str]:
    """The inputs that something depends on."""
    found = {
        name
        for text, _ in _texts(tree)
        if isinstance(text, str)
        for placeholder in PLACEHOLDER.findall(text)
        if (name := _input(placeholder))
    }
    found |= {leaf.text.removeprefix("inputs.") for leaf in words(tree, "flow.*.for_each")}
    for pattern in ("approvals.*.when", "flow.*.when"):
        found |= {leaf.text.removeprefix("inputs.") for leaf in keys(tree, pattern)}
    return found


def prompt_text(worker: Mapping) -> tuple[str, Leaf] | None:
    """A worker's prompt with its place; None where there is none that can be read."""
    prompt = worker.get("prompt")
    file = prompt.get("file") if isinstance(prompt, Mapping) else None
    leaf = prompt if isinstance(prompt, Leaf) else file
    if not isinstance(leaf, Leaf):
        return None
    text = _prompt_file(leaf) if leaf is file else leaf.text
    return (text, leaf) if isinstance(text, str) else None


def unknown_models(tree: Mapping, known: Known) -> Iterator[Problem]:
    """SW205."""
    aliases = tree.get("models")
    if isinstance(aliases, Unknown):
        return
    names = set(aliases.entries) if isinstance(aliases, Mapping) else set()
    for leaf in words(tree, *_MODELS):
        if leaf.text not in names and not _exists(leaf.text, known):
            cure = suggest(leaf.text, [*names, *ALWAYS, *(known.models or ())], "write `auto`")
            yield problem("SW205", f"no model `{leaf.text}`", leaf.span, cure)
    for leaf in words(tree, "models.*.fallback"):
        if leaf.text not in names:
            cure = suggest(leaf.text, names, "name another alias of `models`")
            yield problem("SW205", f"no alias `{leaf.text}`", leaf.span, cure)
    for leaf in _used(aliases):
        if not _exists(leaf.text, known):
            cure = suggest(leaf.text, [*ALWAYS, *(known.models or ())], "write `auto`")
            yield problem("SW205", f"no model `{leaf.text}`", leaf.span, cure)


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
