"""A desk with a portfolio and a deterministic tool, for the tests of the guards."""

from typing import Literal

from agent_core.runtime.team import Team
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool
from gateway.storage.db import Database
from tests.harness import Desk, Toolbox, agent, team

TABLE = "代码 | 名称 | 持股\nGOOG | Google | 10"
TOOLS = ("echo", "order", "portfolio", "lookup", "fail", "pay")


class GuardTools(Toolbox):
    """`portfolio` fails while `broken`; `lookup` counts how often it really runs."""

    broken = False

    def registry(self) -> Registry:
        return Registry([*super().registry(), self._portfolio(), self._lookup()])

    def _portfolio(self) -> ToolSpec:
        @tool(title={"en": "Portfolio", "zh": "持仓"})
        async def portfolio(
            ctx: ToolContext, mode: Literal["view", "diagnose"] = "view"
        ) -> ToolOutput:
            """What the person holds.

            Args:
                mode: view lists it, diagnose judges it.
            """
            self.calls.append(("portfolio", mode))
            if self.broken:
                raise ToolFailure("the store cannot be read")
            return ToolOutput(f"{mode}\n{TABLE}", summary=f"portfolio {mode}: 1 position")

        return portfolio

    def _lookup(self) -> ToolSpec:
        @tool(title={"en": "Look up", "zh": "查询"}, deterministic=True)
        async def lookup(ctx: ToolContext, word: str, lang: str = "en") -> ToolOutput:
            """Look a word up.

            Args:
                word: Which one.
                lang: In which language.
            """
            self.calls.append(("lookup", word))
            if word == "none":
                raise ToolFailure("not found")
            return ToolOutput(f"{word}: {len(self.calls)} " + "x" * 9_000, summary=f"found {word}")

        return lookup


def guard_desk(db: Database, script: object, *, broken: bool = False) -> Desk:
    desk = Desk(db, script)
    tools = GuardTools()
    tools.broken = broken
    desk.tools = tools
    return desk


def guard_team(**more: object) -> Team:
    return team(agent(tools=TOOLS, **more))
