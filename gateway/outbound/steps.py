"""What tools and sub-agents did in a turn so far, read off its rows: a turn that goes on shows what is behind it.

After a restart or a Stop the events are gone, the rows are not. What the events said live, these say again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from sqlalchemy import Connection

from agent_core.runtime.execute import DETAIL_CHARS, call_detail
from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.team import Team
from agent_core.storage.statements import load_rows
from agent_core.tools.registry import Registry
from agent_core.types import Row, RowKind, ToolResult, ToolUse
from channels.types import Step
from gateway.engine.begun import Begun
from gateway.people.identity import Language


@dataclass(frozen=True, slots=True)
class Names:
    """Names for people of tools and sub-agents."""

    registry: Registry
    team: Team
    language: Language

    def tool(self, name: str) -> str:
        """A tool's name; its own where it is not known any more."""
        spec = self.registry.get(name)
        return spec.display(self.language) if spec else name

    def agent(self, agent_id: str) -> str:
        """A sub-agent's name."""
        agent = self.team.agents.get(agent_id)
        return agent.display(self.language) if agent else agent_id


def steps_so_far(conn: Connection, begun: Begun, names: Names) -> tuple[Step, ...]:
    """The steps of the turn's stored calls, a sub-agent's after its delegation. A call without a result runs."""
    steps: dict[str, Step] = {}
    for row in begun.rows:
        if row.turn_id != begun.turn_id:
            continue
        _tell(steps, row, names, None)
        for call in _delegations(row):
            for child in _attempts(conn, f"{begun.session_id}/{call.id}"):
                _tell(steps, child, names, steps[call.id])
    return tuple(steps.values())


def _delegations(row: Row) -> Iterator[ToolUse]:
    if row.kind is RowKind.INTENT:
        yield from (call for call in row.message.calls if call.name.startswith(DELEGATE))


def _attempts(conn: Connection, session_id: str) -> Iterator[Row]:
    """The rows of a delegation's child sessions: each attempt has one."""
    for number in count():
        rows = load_rows(conn, session_id if number == 0 else f"{session_id}.{number}")
        if not rows:
            return
        yield from rows


def _tell(steps: dict[str, Step], row: Row, names: Names, parent: Step | None) -> None:
    if row.kind is RowKind.INTENT:
        for call in row.message.calls:
            steps[call.id] = _begun(call, names, parent)
    elif row.kind is RowKind.RESULT:
        for block in row.message.blocks:
            if isinstance(block, ToolResult) and block.call_id in steps:
                steps[block.call_id] = _ended(steps[block.call_id], block, row)


def _begun(call: ToolUse, names: Names, parent: Step | None) -> Step:
    if call.name.startswith(DELEGATE):
        agent = call.name.removeprefix(DELEGATE)
        task = str((call.args or {}).get("task", ""))
        return Step(call.id, names.agent(agent), detail=task, agent=agent)
    detail = call_detail(call)
    if parent is None:
        return Step(call.id, names.tool(call.name), detail=detail)
    return Step(call.id, names.tool(call.name), "running", detail, parent.agent, parent.id)


def _ended(step: Step, result: ToolResult, row: Row) -> Step:
    delegation = row.meta.get("delegation")
    if delegation is not None:
        ok = delegation["status"] == "completed"
        return replace(
            step, state="ok" if ok else "failed", detail=step.detail if ok else delegation["status"]
        )
    if result.is_error:
        return replace(step, state="failed", detail=result.content[:DETAIL_CHARS] or step.detail)
    return replace(step, state="ok", detail=row.meta.get("summary") or step.detail)
