"""The static text of agents: what stands in it, and what never does."""

import re

import pytest

from agent_core.tools.registry import Registry
from gateway.toolbox import toolbox
from swarm_presets.loader import load_folder

COUNT = re.compile(
    r"\b(\d+|two|three|four|five|six|ten|dozen)\s+(tools?|skills?|(data )?sources?)\b",
    re.IGNORECASE,
)
MOVING = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b\d\d:\d\d\b|\{\{|\$\{")


@pytest.fixture(scope="module")
def prompts() -> dict[str, str]:
    registry = toolbox()
    teams = load_folder(tools=registry.names).teams
    return {
        f"{team.name}/{agent.id}": agent.prompt
        for team in teams.values()
        for agent in (team.supervisor, *team.agents.values())
    }


def test_no_prompt_counts_what_a_registry_holds(prompts: dict[str, str]) -> None:
    """ASM-4: a number of tools, skills or sources would go stale with the next one that is registered."""
    assert {name: COUNT.findall(text) for name, text in prompts.items() if COUNT.search(text)} == {}


def test_no_prompt_holds_what_varies(prompts: dict[str, str]) -> None:
    """ASM-10, ASM-3: no date, no clock, no slot that a request would fill."""
    assert {name for name, text in prompts.items() if MOVING.search(text)} == set()


def test_one_more_tool_is_one_more_schema() -> None:
    """ASM-4: what a model is told of its tools comes from the registry that runs them."""
    registry = toolbox()
    spec = next(iter(registry))
    fewer = Registry([s for s in registry if s.name != spec.name])
    assert len(list(registry)) == len(list(fewer)) + 1
    assert spec.schema.name not in {s.schema.name for s in fewer}
