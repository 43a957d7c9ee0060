"""Calls that wait for a person: `ask_user`, and tools that need an approval (TGV-4 … TGV-7, TGV-10).

The call's plain intent row says that the person is asked; only a second one, with the approval in its meta, says that
the tool runs. So a restart while waiting asks on, and one in the middle of an approved call never runs it again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.approvals import matching, of_tool
from agent_core.errors import Waiting
from agent_core.ports import Answer, Ask
from agent_core.runtime.run import Run
from agent_core.runtime.team import Agent
from agent_core.tools.ask import ASK_USER
from agent_core.tools.spec import ToolFailure, ToolSpec
from agent_core.types import Message, NewRow, Row, RowKind, ToolUse

APPROVED = "approved"  # key in the meta of the intent row of a call that a person allowed

DENIED = (
    "Denied by the person: the call was not run. Do not try it again; go on without it, or end."
)
EXPIRED = (
    "Expired: nobody answered in time. That is neither an approval nor a refusal (TGV-7); the call was not run. "
    "Say so, and that it may be asked for again."
)
CANCELLED = "The question was cancelled; the call was not run."
VOID = (
    "The approval is for another call, or the preset has changed since it was asked for; this one was not run. It may "
    "be asked for again."
)
UNCOVERED = "{tool} changes something outside, and no approval rule of this preset covers this call: it was not run."
UNANSWERED = "Nobody answered in time. Go on without an answer, or say what is missing."


@dataclass(frozen=True, slots=True)
class Settled:
    """What a person's answer makes of a call: a `result` for the model (`ok` or not), or a `call` to run now."""

    call: ToolUse | None = None
    result: str = ""
    ok: bool = False
    meta: dict[str, Any] | None = None


def asks(agent: Agent, spec: ToolSpec | None, call: ToolUse) -> bool:
    """Whether this call waits for a person: its tool always does, or a rule of the preset holds for it."""
    if spec is None:
        return False
    if spec.requires_approval or spec.name == ASK_USER:
        return True
    rules = of_tool(agent.approvals, spec.name)
    return bool(rules) and bool(matching(rules, _values(spec, call)))


def uncovered(agent: Agent, spec: ToolSpec, call: ToolUse) -> bool:
    """Whether it would change something outside although the preset's rules for its tool leave it out (SW302)."""
    ruled = spec.effect != "none" and bool(of_tool(agent.approvals, spec.name))
    return ruled and not asks(agent, spec, call)


def _values(spec: ToolSpec, call: ToolUse) -> dict[str, Any]:
    """The arguments as the tool will see them; as they came where they do not fit it."""
    args = call.args or {}
    try:
        return spec.check(args).model_dump(mode="json")
    except ToolFailure:
        return args


def allowed(rows: Sequence[Row]) -> set[str]:
    """Ids of the calls that began to run after their approval."""
    return {row.ref for row in rows if row.kind is RowKind.INTENT and APPROVED in row.meta}


def waited(rows: Sequence[Row]) -> float:
    """Seconds that the calls of these rows waited for a person: they count against no deadline (DESIGN.md 4)."""
    total = 0.0
    since: dict[str, Row] = {}
    for row in rows:
        if row.kind is RowKind.INTENT and APPROVED not in row.meta:
            since[row.ref] = row
        elif row.ref in since and (APPROVED in row.meta or "question" in row.meta):
            total += (row.at - since.pop(row.ref).at).total_seconds()
    return total


async def consult(run: Run, call: ToolUse, spec: ToolSpec, begun: Collection[str]) -> Settled:
    """Ask, or take up the answer. Raises Waiting while there is none, ToolFailure for arguments that do not fit.

    `begun` holds the calls that had begun to run before this run of the turn.
    """
    ask = _question(run, call, spec)
    answer = await run.journal.ask(ask)
    meta = {"question": answer.question, "answer": answer.state}
    match answer.state:
        case "open":
            raise Waiting(f"question {answer.question}")
        case "answered":
            return Settled(result=answer.text, ok=True, meta=meta | {"summary": answer.text[:80]})
        case "approved":
            approved = ToolUse(call.id, call.name, answer.args)
            if call.id not in begun:
                await _begin(run, approved, answer)
            return Settled(call=approved, meta=meta)
        case "expired":
            return Settled(result=UNANSWERED if ask.kind == "ask" else EXPIRED, meta=meta)
        case other:
            words = {"denied": DENIED, "cancelled": CANCELLED, "void": VOID}
            return Settled(result=words[other], meta=meta)


async def _begin(run: Run, call: ToolUse, answer: Answer) -> None:
    """The approval is used: from here on the call counts as begun, whatever happens to the process."""
    meta = {APPROVED: answer.question, "by": answer.by}
    row = NewRow(RowKind.INTENT, Message("assistant", (call,)), ref=call.id, meta=meta)
    await run.journal.append([row])


def _question(run: Run, call: ToolUse, spec: ToolSpec) -> Ask:
    checked = spec.check(call.args or {})
    language = run.person.language
    is_ask = spec.name == ASK_USER
    return Ask(
        kind="ask" if is_ask else "approval",
        call_id=call.id,
        tool=spec.name,
        args=call.args or {},
        language=language,
        title=spec.display(language),
        text=str(getattr(checked, "question", "")) if is_ask else "",
        options=tuple(dict.fromkeys(getattr(checked, "options", ()))) if is_ask else (),
        agent=None if run.label is None else run.agent.display(language),
        rules=() if is_ask else of_tool(run.agent.approvals, spec.name),
        values={} if is_ask else _values(spec, call),
    )
