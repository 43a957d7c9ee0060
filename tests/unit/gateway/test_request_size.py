"""What the first word of a conversation costs: the whole request for "hello" (guide "presets", 10)."""

import json
from dataclasses import asdict, replace

import pytest

from agent_core.ports import ModelRequest
from agent_core.types import encode
from gateway.recipes.recipes import recipes_of
from gateway.storage.db import Database
from gateway.toolbox import toolbox
from swarm_presets.loader import load_folder
from tests.house import House, on_sqlite, settings

KB = 1024


def size(request: ModelRequest) -> int:
    """Bytes of system text, tools and messages as JSON."""
    messages = [json.loads(encode(message)) for message in request.messages]
    whole = {
        "system": request.system,
        "tools": [asdict(tool) for tool in request.tools],
        "messages": messages,
    }
    return len(json.dumps(whole, ensure_ascii=False).encode())


@on_sqlite
@pytest.mark.parametrize(("words", "preset"), [("hello", "solo"), ("你好", "solo")])
async def test_hello_stays_under_12_kb(db: Database, words: str, preset: str) -> None:
    registry = toolbox()
    team = load_folder(tools=registry.names).teams[preset]
    recipes = recipes_of(settings())
    async with House(db, ["Hello!"], the_team=team, recipes=recipes) as it:
        it.turns.services = replace(it.turns.services, registry=registry)
        await it.ask(words)
        (request,) = it.model.requests
    assert "- backtest: " in request.system, "the skills that come with the package are named"
    assert {tool.name for tool in request.tools} == set(team.supervisor.tools)
    print(f"{preset}: {size(request)} bytes")
    assert size(request) < 12 * KB
