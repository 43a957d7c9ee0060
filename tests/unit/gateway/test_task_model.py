"""A model that a background tool asks: its owner's pots pay, as for any call (DESIGN.md 7)."""

from typing import Any

from agent_core.errors import ModelError
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import FinishedChunk, ModelInfo, ModelRequest, Price
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolOutput, tool
from agent_core.types import Usage, user
from gateway.storage.db import Database
from tests.harness import Toolbox, agent, call, team
from tests.house import House, on_sqlite, settings
from tests.unit.gateway.test_tasks import ended, notices

FREE = ModelInfo("scripted/free", 200_000, 8_192, True, "none", Price(0.0, 0.0, 0.0, 0.0))
DEAR = ModelInfo("scripted/dear", 200_000, 8_192, True, "none", Price(10.0, 40.0, 1.0, 12.5))
TEAM = team(agent(tools=("write",)))
WRITE = Answer(calls=(call("write", "w1"),), usage=Usage())
WORDS = Answer("a paragraph", usage=Usage(2_000, 100, usd=0.2, usd_uncached=0.2))


class Writers(Toolbox):
    """With a tool that lets a model write."""

    def registry(self) -> Registry:
        @tool(title={"en": "Write", "zh": "写作"}, background=True)
        async def write(ctx: ToolContext) -> ToolOutput:
            """Write a paragraph."""
            if ctx.model is None:
                return ToolOutput("without a model")
            request = ModelRequest("You write.", (user("figures"),), max_tokens=500)
            try:
                chunks = [chunk async for chunk in ctx.model.stream(request)]
            except ModelError as e:
                return ToolOutput(f"without words: {type(e).__name__}")
            last = chunks[-1]
            assert isinstance(last, FinishedChunk)
            return ToolOutput(last.message.text, last.message.text)

        registry = super().registry()
        registry.add(write)
        return registry


def house(db: Database, writer: ScriptedModel | None, usd: float = 1.0) -> House:
    free = Usage()
    chat = [WRITE, Answer("It runs.", usage=free), Answer("Written.", usage=free)]
    rules = settings(budgets={"user_day": {"usd": usd}, "day": {"usd": 5.0}})
    model = ScriptedModel(chat, info=FREE)
    more: dict[str, Any] = {"the_team": TEAM, "rules": rules, "tools": Writers(), "still": True}
    return House(db, model, teacher=writer, **more)


async def test_the_owners_pots_pay_for_it_and_usage_shows_it(db: Database) -> None:
    async with house(db, ScriptedModel([WORDS], info=DEAR)) as it:
        await it.ask("write")
        await ended(it)
        assert "<summary>a paragraph</summary>" in notices(it.model.requests[-1])[0]
        pots = {r.kind: r.usd for r in await it.all("select kind, usd from budget_pot")}
        assert pots == {"user_day": 200_000_000, "day": 200_000_000}
        assert await it.one("select sum(usd_held) from budget_pot") == 0
        assert await it.one("select count(*) from budget_hold") == 0
        [paid] = await it.all("select owner, model, usd from usage where usd > 0")
        assert tuple(paid) == ("telegram:1", "scripted/dear", 0.2)


@on_sqlite
async def test_without_room_nothing_is_asked_and_the_tool_goes_on(db: Database) -> None:
    writer = ScriptedModel([WORDS], info=DEAR)
    async with house(db, writer, usd=0.001) as it:
        await it.ask("write")
        await ended(it)
        assert writer.requests == []
        assert "without words: NoRoom" in str(it.model.requests[-1])
        assert await it.one("select coalesce(sum(usd_held), 0) from budget_pot") == 0


@on_sqlite
async def test_where_no_model_answers_there_is_none(db: Database) -> None:
    async with house(db, None) as it:
        await it.ask("write")
        await ended(it)
        assert "without a model" in str(it.model.requests[-1])
