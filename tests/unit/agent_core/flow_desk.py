"""Teams with a fixed plan, and models that answer each agent from a script of its own."""

from dataclasses import replace

from agent_core.errors import ModelOverloaded
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.flow import (
    Branch,
    Condition,
    Debate,
    Delegate,
    Input,
    Parallel,
    Reply,
    Step,
)
from agent_core.runtime.team import Agent, OutputContract, Team
from agent_core.types import ToolResult
from tests.harness import agent, team

RATED = OutputContract("json", {"type": "object", "required": ["rating", "confidence"]})
SYMBOL = Input("symbol", "symbol", required=True)


def by_agent(**scripts: list[Answer | str]) -> ScriptedModel:
    """Each agent's script by its id; the last answer is repeated."""
    left = {name: list(script) for name, script in scripts.items()}

    async def answer(request: ModelRequest) -> Answer | str:
        name = request.system.split(".")[0].removeprefix("You are ")
        return left[name].pop(0) if len(left[name]) > 1 else left[name][0]

    return ScriptedModel(answer)


def asked(model: ScriptedModel) -> list[str]:
    """Which agents were asked, in order."""
    return [r.system.split(".")[0].removeprefix("You are ") for r in model.requests]


def words_of(request: ModelRequest) -> str:
    """All words of a request's last message."""
    return "\n".join(
        b.content if isinstance(b, ToolResult) else getattr(b, "text", "")
        for b in request.messages[-1].blocks
    )


def planned(*steps: Step, inputs: tuple[Input, ...] = (), agents: tuple[Agent, ...] = ()) -> Team:
    """A team of facts, bull, bear and judge with these steps."""
    staff = agents or (
        agent("facts"),
        agent("bull", context="task_only", from_agents=("facts",)),
        agent("bear", context="task_only", from_agents=("facts",)),
        agent("judge", output=RATED),
    )
    return replace(team(agent(tools=("echo",)), *staff), flow=steps, inputs=inputs)


def delegate(name: str, to: str, task: str = "", when: tuple[Condition, ...] = ()) -> Step:
    return Step(name, Delegate(Branch(to, task)), when)


BUSY = Answer(error=ModelOverloaded("p"))
ANSWER = Step("answer", Reply())
COLLECT = delegate("collect", "facts", "Facts on {{ inputs.symbol }}")
ARGUE = Step("argue", Debate(("bull", "bear"), 1, "judge"))
BOTH = Step("both", Parallel((Branch("bull", "look up"), Branch("bear", "look down"))))
