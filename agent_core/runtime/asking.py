"""Calls that wait for a person: `ask_user`, and tools that need an approval (TGV-4 … TGV-7, TGV-10).

The call's plain intent row says that the person is asked; only a second one, with the approval in its meta, says that
the tool runs. So a restart while waiting asks on, and one in the middle of an approved call never runs it again.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.approvals import Rule, matching, of_tool
from agent_core.errors import Fenced, Reload, Waiting
from agent_core.ports import Answer, Ask
from agent_core.runtime.invoke import context_of, seconds_of
from agent_core.runtime.run import Run
from agent_core.runtime.team import Agent
from agent_core.tools.ask import ASK_USER
from agent_core.tools.spec import Consent, Preview, ToolFailure, ToolSpec
from agent_core.types import Message, NewRow, Row, RowKind, ToolUse

log = logging.getLogger(__name__)

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
UNSHOWN = "{tool} was not run and nobody was asked: what it would do could not be found out ({why}). Try again later."
UNANSWERED = "Nobody answered in time. Go on without an answer, or say what is missing."


@dataclass(frozen=True, slots=True)
class Settled:
    """What a person's answer makes of a call: a `result` for the model (`ok` or not), or a `call` to run now.

    `consent` is what it then runs by.
    """

    call: ToolUse | None = None
    consent: Consent | None = None
    result: str = ""
    ok: bool = False
    meta: dict[str, Any] | None = None


def asks(agent: Agent, spec: ToolSpec | None, call: ToolUse) -> bool:
    """Whether this call waits for a person: its tool always does, or a rule of the preset holds for it."""
    if spec is None:
        return False
    if spec.requires_approval or spec.name == ASK_USER:
        return True
    rules = _rules_of(agent, spec)
    return bool(rules) and bool(matching(rules, _values(spec, call)))


def _rules_of(agent: Agent, spec: ToolSpec) -> tuple[Rule, ...]:
    """The tool's own rules, then the preset's."""
    return (*spec.rules, *of_tool(agent.approvals, spec.name))


def in_force(agent: Agent, spec: ToolSpec, call: ToolUse) -> tuple[Rule, ...]:
    """The preset's own rules that hold for a call."""
    return matching(of_tool(agent.approvals, spec.name), _values(spec, call))


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
    ask = await _question(run, call, spec)
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
            consent = Consent(answer.question, answer.by, answer.twice, answer.bound)
            return Settled(call=approved, consent=consent, meta=meta)
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


async def _question(run: Run, call: ToolUse, spec: ToolSpec) -> Ask:
    checked = spec.check(call.args or {})
    language = run.person.language
    is_ask = spec.name == ASK_USER
    shown = await _show(run, call, spec)
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
        rules=() if is_ask else _rules_of(run.agent, spec),
        values={} if is_ask else _values(spec, call),
        preview=shown.text,
        complete=shown.complete,
        twice=shown.twice,
        bound=shown.bound,
    )


async def _show(run: Run, call: ToolUse, spec: ToolSpec) -> Preview:
    """The tool's preview. Raises ToolFailure where there is none to be had: nobody is asked to agree to the unknown."""
    if spec.preview is None:
        return Preview("")
    try:
        async with asyncio.timeout(min(spec.timeout, seconds_of(run, spec))):
            ctx = context_of(run, call, in_force(run.agent, spec, call))
            return await spec.show(ctx, call.args or {})
    except (Fenced, Reload, ToolFailure):
        raise
    except TimeoutError as e:
        raise ToolFailure(UNSHOWN.format(tool=spec.name, why="it took too long")) from e
    except (
        Exception
    ) as e:  # whatever broke in a tool is a result for the model, never an end of the turn
        log.exception("preview_failed", extra={"tool": spec.name, "turn": run.journal.turn_id})
        raise ToolFailure(UNSHOWN.format(tool=spec.name, why=type(e).__name__)) from e
