"""What the first word of a conversation costs: the whole request for "hello" (guide "presets", 10)."""

import json
from dataclasses import replace

import pytest

from agent_core.models import anthropic_wire
from agent_core.models.anthropic_wire import Form
from agent_core.ports import ModelInfo, ModelRequest
from agent_core.tools.registry import LOAD_TOOLS
from gateway.recipes.recipes import recipes_of
from gateway.storage.db import Database
from gateway.toolbox import toolbox
from swarm_presets.loader import load_folder
from tests.house import House, on_sqlite, settings

KB = 1024


def size(request: ModelRequest) -> int:
    """Bytes of the request as Anthropic gets it."""
    info = ModelInfo("anthropic/claude", 200_000, 64_000, vision=True, cache="none", price=None)
    made = anthropic_wire.body(request, info, Form())
    return len(json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode())


@on_sqlite
@pytest.mark.parametrize(("words", "preset"), [("hello", "solo"), ("你好", "solo")])
async def test_hello_stays_under_12_kb(db: Database, words: str, preset: str) -> None:
    """At first, and after forty more of them in the same minute: an exchange costs its words and little else."""
    registry = toolbox()
    team = load_folder(tools=registry.names).teams[preset]
    recipes = recipes_of(settings())
    async with House(db, ["Hello!"] * 3, the_team=team, recipes=recipes) as it:
        it.turns.services = replace(it.turns.services, registry=registry)
        for _ in range(3):
            await it.ask(words)
        first, second, third = it.model.requests
    assert "- backtest: " in first.system, "the skills that come with the package are named"
    shown = {tool.name for tool in first.tools}
    assert shown == set(team.supervisor.tools) - set(team.supervisor.on_demand) | {LOAD_TOOLS}
    begin = size(first)
    exchange = min(
        size(second) - begin, size(third) - size(second)
    )  # one of them may meet a new minute
    print(f"{preset}: {begin} bytes, and {exchange} for an exchange")
    assert begin < 7.5 * KB
    assert begin + 40 * exchange < 12 * KB
