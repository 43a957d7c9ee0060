"""Starting a call in the background: the model gets a task id at once and goes on (BGT-1, SUB-13)."""

import json
from collections.abc import Iterable
from typing import Any

from agent_core.runtime.run import Language, Run
from agent_core.tasks import NewTask, Task, Tasks
from agent_core.tools.spec import ToolOutput, ToolSpec
from agent_core.types import Row, RowKind, ToolUse

TASK = "background_task"  # key in the meta of the result row that names the task
ENDED = "background_ended"  # key in the meta of the row that tells of tasks which have ended
RUNS = (
    "It runs in the background. Its result comes by itself as a system notification: do not wait for it and do not "
    "guess it. Go on with what does not need it, or tell the person that it runs."
)
_WORDS = {
    "running": ("runs in the background · {id}", "后台运行中 · {id}"),
    "queued": ("queued, place {position} · {id}", "排队中，第 {position} 位 · {id}"),
    "other": ("background task {id}", "后台任务 {id}"),
}


def in_background(run: Run, spec: ToolSpec) -> Tasks | None:
    """Who runs a call of this tool in the background; None where it runs at once (BGT-1)."""
    return run.tasks if spec.background else None


async def started(run: Run, tasks: Tasks, call: ToolUse, spec: ToolSpec) -> ToolOutput:
    """Start the call as a task. Raises ToolFailure for arguments that do not fit, or when too many tasks wait."""
    spec.check(call.args or {})
    task = await tasks.begin(
        NewTask(
            owner=run.person.owner,
            session_id=run.journal.session_id,
            turn_id=run.journal.turn_id,
            call_id=call.id,
            tool=spec.name,
            args=call.args or {},
            language=run.person.language,
            agent=run.label or "",
            as_of=run.person.as_of,
            max_age=run.person.max_age,
            sources=run.person.sources,
        )
    )
    body: dict[str, Any] = {"task_id": task.id, "status": task.state, "tool": task.tool}
    if task.position:
        body["position"] = task.position
    body["note"] = RUNS
    content = json.dumps(body, ensure_ascii=False)
    return ToolOutput(content, _told(task, run.person.language), meta={TASK: task.id})


def _told(task: Task, language: Language) -> str:
    words = _WORDS.get(task.state, _WORDS["other"])
    return words[language == "zh"].format(id=task.id, position=task.position)


def begun_in(rows: Iterable[Row]) -> tuple[str, ...]:
    """The ids of the tasks that these rows tell of, in order."""
    return tuple(str(r.meta[TASK]) for r in rows if r.kind is RowKind.RESULT and TASK in r.meta)


def tells(rows: Iterable[Row], turn_id: int) -> bool:
    """Whether this turn began with the news of tasks that have ended, and not with a person's words."""
    return any(r.turn_id == turn_id and r.kind is RowKind.USER and ENDED in r.meta for r in rows)


def brought(rows: Iterable[Row], turn_id: int) -> str:
    """One line for each task of which this turn has the news, "" for none: what to show where no model tells of it."""
    own = [row for row in rows if row.turn_id == turn_id]
    if not tells(own, turn_id):
        return ""
    summaries = (str(r.meta.get("summary", "")) for r in own if r.kind is RowKind.RESULT)
    return "\n".join(f"- {line}" for line in summaries if line)
