"""A background task sees the data sources of the preset that started it, in whatever process it runs."""

from dataclasses import dataclass, field, replace

import pytest

from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.ecb import EcbSource
from agent_core.models.scripted import Answer
from agent_core.runtime.team import DataRules
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool
from gateway.storage.db import Database
from tests.harness import Toolbox, agent, call, team
from tests.house import House, on_sqlite, until

CHAIN = Sources([BundledSource(), EcbSource()])


@dataclass
class Looking(Toolbox):
    """Its `study` notes which sources there are."""

    seen: list[tuple[str, ...]] = field(default_factory=list)

    def study(self) -> ToolSpec:
        @tool(title={"en": "Study", "zh": "研究"}, background=True)
        async def study(ctx: ToolContext, about: str = "x") -> ToolOutput:
            """Look.

            Args:
                about: What about.
            """
            self.seen.append(CHAIN.names)
            return ToolOutput("seen")

        return study


@on_sqlite
@pytest.mark.parametrize(("sources", "names"), [(("ecb",), ("ecb",)), (None, ("bundled", "ecb"))])
async def test_a_task_sees_what_its_preset_lets_it_see(
    db: Database, sources: tuple[str, ...] | None, names: tuple[str, ...]
) -> None:
    the_team = replace(team(agent(tools=("study",))), data=DataRules(sources=sources))
    script = [
        Answer(calls=(call("study", "s1", about="AAPL"),)),
        Answer("It runs."),
        Answer("Done."),
    ]
    tools = Looking()
    async with House(db, script, the_team=the_team, tools=tools) as it:
        await it.ask("study AAPL")
        await until(lambda: tools.seen and not it.tasks.busy)
        await it.quiet()
    assert tools.seen == [names]
