"""What the tests of questions share: a team that may pay and ask, and a look at what was asked."""

from typing import Any

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.types import ToolResult
from gateway.storage.db import Database
from tests.harness import agent, call, team
from tests.house import House

TOOLS = ("echo", "pay", "ask_user")
THE_TEAM = team(agent(tools=TOOLS))
PAY = Answer(calls=(call("pay", "p1", to="bob", amount=3),))
CHOICE = Answer(calls=(call("ask_user", "a1", question="Which?", options=["AAPL", "GOOG"]),))
OPEN_QUESTION = Answer(calls=(call("ask_user", "a1", question="Which symbol?"),))


def house(db: Database, *script: Any, **more: Any) -> House:
    return House(db, list(script), the_team=more.pop("the_team", THE_TEAM), **more)


def results(request: ModelRequest) -> list[str]:
    """What the tools answered, as this request shows it."""
    return [b.content for m in request.messages for b in m.blocks if isinstance(b, ToolResult)]


async def status(it: House, question: int = 1) -> str:
    return str(await it.one(f"select status from question where id = {question}"))


def question(it: House, chat: str = "1") -> Any:
    """The newest message that asks something."""
    return [shown for shown in it.channel.order if shown.chat == chat and shown.buttons][-1]


async def settled(it: House) -> None:
    """Nothing is left to do."""
    assert await it.one("select count(*) from inbox where status not in (2, 3)") == 0
    assert await it.one("select count(*) from outbox where status <> 2") == 0
    assert not it.model.violations
