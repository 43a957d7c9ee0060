"""Looking after background tasks: what runs, what came of it, and ending it (BGT-2, BGT-5)."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from agent_core.tasks import ACTIVE, Task, Tasks
from agent_core.tools import answers_other
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CHECK = "check_background_tasks"
NOTHING_HERE = "There are no background tasks here: every tool answers at once."
UNKNOWN = "There is no task {id!r} of this conversation. Call it with action=list for the ids."


def task_tools() -> list[ToolSpec]:
    """`check_background_tasks`."""

    @tool(
        title={"en": "Background tasks", "zh": "后台任务"},
        timeout=20,
        credibility="mixed",
        output=answers_other.Tasks,
    )
    async def check_background_tasks(
        ctx: ToolContext,
        action: Literal["list", "result", "cancel"] = "list",
        task_id: str | None = None,
    ) -> ToolOutput:
        """Look at the background tasks of this conversation.

        Do not wait for a task by calling this again and again: a notification comes when it has ended.

        Args:
            action: list (all of the last 24 hours), result (of one that has ended), cancel.
            task_id: Which task, for result and cancel.
        """
        if ctx.tasks is None:
            raise ToolFailure(NOTHING_HERE)
        if action == "list":
            return _listed(await ctx.tasks.listed(ctx.owner, ctx.session_id))
        if task_id is None:
            raise ToolFailure(f"action={action} needs a task_id; action=list gives the ids.")
        if action == "cancel":
            return _cancelled(await _cancel(ctx.tasks, ctx, task_id))
        found = await ctx.tasks.find(ctx.owner, ctx.session_id, task_id)
        if found is None:
            raise ToolFailure(UNKNOWN.format(id=task_id[:40]))
        return _result(found)

    return [check_background_tasks]


async def _cancel(tasks: Tasks, ctx: ToolContext, task_id: str) -> Task:
    before = await tasks.cancel(ctx.owner, ctx.session_id, task_id)
    if before is None:
        raise ToolFailure(UNKNOWN.format(id=task_id[:40]))
    return before


def _cancelled(before: Task) -> ToolOutput:
    if before.state not in ACTIVE:
        raise ToolFailure(f"Task {before.id} has ended already: {before.state}.")
    body = {"task_id": before.id, "tool": before.tool, "status": "cancelled"}
    if before.state == "running":
        body["note"] = "What it had done by then is not undone."
    return ToolOutput(json.dumps(body, ensure_ascii=False), summary=before.id)


def _listed(tasks: Sequence[Task]) -> ToolOutput:
    body = {"tasks": [_head(task) for task in tasks]}
    active = sum(task.state in ACTIVE for task in tasks)
    return ToolOutput(json.dumps(body, ensure_ascii=False), summary=f"{active}/{len(tasks)}")


def _result(task: Task) -> ToolOutput:
    """What came of a task; of one that still runs, how far it is. Its files come along."""
    body = _head(task)
    if task.state in ACTIVE:
        body["note"] = "It has not ended; a notification comes when it has. Go on meanwhile."
        return ToolOutput(json.dumps(body, ensure_ascii=False), summary=task.id)
    body["result"] = _parsed(task.content)
    return ToolOutput(
        json.dumps(body, ensure_ascii=False),
        summary=task.summary or task.id,
        artifacts=task.artifacts,
        meta={k: v for k, v in task.meta.items() if k == "credibility"},
    )


def _head(task: Task) -> dict[str, Any]:
    fields: dict[str, Any] = {"task_id": task.id, "tool": task.tool, "status": task.state}
    if task.agent:
        fields["agent"] = task.agent
    if task.state == "running":
        fields |= {"stage": task.detail, "progress": task.progress}
    if task.position:
        fields["position"] = task.position
    if task.error:
        fields["error"] = task.error
    if task.summary:
        fields["summary"] = task.summary
    for name, at in (("started", task.created_at), ("ended", task.ended_at)):
        if at is not None:
            fields[name] = at.isoformat(timespec="seconds")
    return fields


def _parsed(content: str) -> Any:
    """The tool's own JSON as it is, any other text as text."""
    if content[:1] not in ("{", "["):
        return content
    try:
        return json.loads(content)
    except ValueError:
        return content
