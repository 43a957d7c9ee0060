"""What people see of background tasks, and how they end one: with /status, a button for each (BGT-2, BGT-5)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from agent_core.tools.registry import Registry
from channels.types import Button
from gateway.outbound.draft import Draft
from gateway.people.identity import Language, principal_of
from gateway.settings.access import Access
from gateway.tasks import rows as task_rows
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

BUTTON = "task"  # of a button's data: task:cancel:<id>
BUTTONS = 5


def title_of(registry: Registry, tool: str, language: Language) -> str:
    """A tool's name for people; its own where it is not known any more."""
    spec = registry.get(tool)
    return spec.display(language) if spec else tool


@dataclass(frozen=True, slots=True)
class Panel:
    """The tasks of a person that run or wait.

    `where` gives the stage and the progress (0..1, None: unknown) of a task that runs.
    """

    registry: Registry
    where: Callable[[str], tuple[str, float | None]]

    def draft(self, conn: Connection, asked: "Asked") -> Draft | None:
        """A message of its own, with a button for each; None where there is nothing to show."""
        rows = task_rows.active_here(conn, principal_of(conn, asked.person), asked.lane.id)
        if not rows:
            return None
        language = asked.language
        lines = [say("tasks_head", language), "", *(self._line(row, language) for row in rows)]
        buttons = [
            Button(say("task_cancel_button", language, id=row.id), f"{BUTTON}:cancel:{row.id}")
            for row in rows[:BUTTONS]
        ]
        text, place = "\n".join(lines), asked.lane.address
        return Draft(asked.row_id, "tasks", asked.person, place, text, buttons=buttons)

    def _line(self, row: Any, language: Language) -> str:
        name = title_of(self.registry, row.tool, language)
        if row.state != "running":
            return say("task_queued", language, id=row.id, title=name)
        detail, progress = self.where(row.id)
        share = say("task_unknown", language) if progress is None else f"{progress:.0%}"
        shown = f"{share} · {detail}" if detail else share
        return say("task_running", language, id=row.id, title=name, progress=shown)


def pressed(conn: Connection, asked: "Asked", access: Access) -> str:
    """A press of a task's button: its owner, or an operator, cancels it. Returns what to say."""
    verb, _, task_id = asked.route.rest.partition(":")
    row = task_rows.by_id(conn, task_id) if verb == "cancel" else None
    if row is None:
        return say("task_over", asked.language)
    if principal_of(conn, asked.person) != row.owner and access.role(asked.person) != "operator":
        return say("not_yours", asked.language)
    if not task_rows.cancel(conn, row.id, asked.now):
        return say("task_over", asked.language)
    return say("task_cancelled", asked.language)
