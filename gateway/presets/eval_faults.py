"""What goes wrong on purpose in a case of a preset: of an agent, of a tool, or in what a person decides."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent_core.runtime.rehearsal import Staged
from agent_core.runtime.team import Status
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec
from swarm_presets.schema_flow import FaultPart

Decision = Literal["accept", "deny", "expire"]


@dataclass(slots=True)
class _Left:
    """A fault and how often it may still happen; None: each time."""

    part: FaultPart
    times: int | None

    def take(self) -> bool:
        """Whether it happens now."""
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


@dataclass(slots=True)
class Faults:
    """The faults of one case, used up in the order in which they are written."""

    parts: Iterable[FaultPart] = ()
    _left: list[_Left] = field(init=False)

    def __post_init__(self) -> None:
        self._left = [_Left(part, part.times) for part in self.parts]

    def stage(self, agent: str) -> Staged | None:
        """How the agent's next attempt is to end; None lets it run. See agent_core.runtime.rehearsal."""
        for left in self._left:
            part = left.part
            if part.agent == agent and left.take():
                default = "completed" if part.result else "error"
                status = Status(part.status or default)
                return Staged(status, part.error or "", part.result or "")
        return None

    def decision(self, tool: str) -> Decision | None:
        """What a person says to a call of the tool; None where the case does not say."""
        for left in self._left:
            if left.part.tool == tool and left.part.approve and left.take():
                return left.part.approve
        return None

    def registry(self, tools: Registry) -> Registry:
        """The tools, those with a fault standing in for the real ones."""
        broken = {left.part.tool for left in self._left if left.part.error or left.part.result}
        return Registry(self._broken(spec) if spec.name in broken else spec for spec in tools)

    def _broken(self, spec: ToolSpec) -> ToolSpec:
        async def run(ctx: ToolContext, **args: Any) -> ToolOutput:
            for left in self._left:
                part = left.part
                if part.tool == spec.name and (part.error or part.result) and left.take():
                    if part.error:
                        raise ToolFailure(part.error)
                    return ToolOutput(part.result or "")
            return await spec.run(ctx, **args)

        return replace(spec, run=run)
