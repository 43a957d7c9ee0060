"""A team from the text that was kept of it, when its files say something else by now."""

import json
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from agent_core.runtime.team import Agent, Team
from swarm_presets.check import check, last_stage
from swarm_presets.compile import compile_team
from swarm_presets.positions import Entry, Leaf, Listing, Mapping, Node, Source, Span
from swarm_presets.references import Known

_NAME = "kept preset"


def restore(source: str, digest: str, known: Known) -> Team | None:
    """The team with this `Team.source` and digest; None where this version of the program cannot run it any more."""
    whole = json.loads(source)
    prompts: dict[str, str] = whole["prompts"]
    tree = _tree(whole["source"], prompts)
    found = [*check(tree, known, complete=True), *last_stage(tree, known)]
    if any(problem.severity == "error" for problem in found):
        return None
    try:
        team = compile_team(tree)
    except ValidationError:
        return None
    # Its own prompts to the letter: files, and what the program adds to a prompt, may have changed since.
    return replace(
        team,
        digest=digest,
        source=source,
        supervisor=_worded(team.supervisor, prompts),
        agents={name: _worded(agent, prompts) for name, agent in team.agents.items()},
    )


def _worded(agent: Agent, prompts: dict[str, str]) -> Agent:
    return replace(agent, prompt=prompts[agent.id])


def _tree(source: dict[str, Any], prompts: dict[str, str]) -> Mapping:
    """The tree of a resolved preset; each prompt file in it has the text that was read then."""
    workers = {"supervisor": source.get("supervisor"), **(source.get("agents") or {})}
    texts = {
        prompt["file"]: prompts[name]
        for name, worker in workers.items()
        if worker and isinstance(prompt := worker.get("prompt"), dict)
    }
    tree = _node(source, Span(Source(_NAME, (), None, _NAME, texts), 1, 1, 1))
    assert isinstance(tree, Mapping)  # noqa: S101 - a preset is a map
    return tree


def _node(value: Any, span: Span) -> Node:
    if isinstance(value, dict):
        return Mapping({k: Entry(span, _node(v, span)) for k, v in value.items()}, span)
    if isinstance(value, list):
        return Listing(tuple(_node(item, span) for item in value), span)
    return Leaf(value, value if isinstance(value, str) else json.dumps(value), span)
