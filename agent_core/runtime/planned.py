"""Carrying out a plan: inputs first, then step by step, each batch a row like a model's, then the answer.

The rows are all there is: which inputs were asked for, which calls were made and how they ended. So a kill costs
nothing that was finished, and the same turn goes on. Each call has a fixed id, and so has its child session.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core.assembly.sections import runtime_note
from agent_core.runtime.background import tells
from agent_core.runtime.flow import PLAN, Plan, filled
from agent_core.runtime.flow_ground import SKIPPED, Done, Ground, Planned
from agent_core.runtime.flow_walk import Walk, walk
from agent_core.runtime.inputs import ASKED, Wanted, resolve, written
from agent_core.runtime.internal import INTERNAL
from agent_core.runtime.policy import in_part
from agent_core.runtime.restrict import DELEGATE, FALL_BACK
from agent_core.runtime.run import Ended, Language, Run
from agent_core.runtime.team import Status
from agent_core.tools.ask import ASK_USER, ask_tools
from agent_core.tools.spec import ToolSpec
from agent_core.types import NewRow, Row, RowKind, ToolResult, ToolUse, Usage, assistant, user

ID_CHARS = 40  # the longest id of a call that every provider takes back

_HEAD = "The fixed plan of this preset has been carried out; the results stand above."
_TAIL = {
    True: "Write the answer from these results. Say in one line what is missing and why.",
    False: "Write the answer from these results.",
}
_STOPPED = "The plan ended early: report what happened, and do not try another way."


async def go_on(run: Run, rows: list[Row]) -> Ended | bool:
    """Take the next step of the run's plan.

    True: rows were stored, which are to be carried out. False: a model comes next. An `Ended` is the end of the run.
    Raises Fenced and Reload; cancellation passes through.
    """
    plan, turn = run.plan, run.journal.turn_id
    if plan is None or tells(rows, turn):
        return False  # nobody asked for anything: what a task found is only reported
    if plan.values is None:
        asked = await _inputs(run, plan, rows)
        if asked is not None:
            return asked
    if not plan.steps:
        return False
    note = next((r for r in rows if r.turn_id == turn and r.meta.get(INTERNAL) == PLAN), None)
    if note is not None and note.meta[PLAN]["reply"]:
        return False
    at = walk(plan.steps, await _ground(run, plan, rows))
    if at.batch:
        await _make(run, rows, at.batch, at.step)
        return True
    if note is None:
        rows += await run.journal.append([_note(plan, at)])
    return False if at.reply else last(_plain(at, run.person.language))


def regrant(run: Run, rows: Sequence[Row]) -> None:
    """Let the calls run that a plan made before a restart."""
    if run.plan is None:
        return
    for row in rows:
        if (
            row.turn_id == run.journal.turn_id
            and row.kind is RowKind.ASSISTANT
            and PLAN in row.meta
        ):
            kept = row.meta[PLAN]["calls"]
            _grant(run, [(call, kept.get(call.id, {})) for call in row.message.calls])


def is_fixed(run: Run) -> bool:
    """Whether a plan, and no model, decides what is delegated."""
    return run.plan is not None and bool(run.plan.steps)


def call_id(turn: int, key: str) -> str:
    """The fixed id of a call: the same for the same turn and key, and new in the session for any other."""
    whole = f"p{turn}.{key}"
    if len(whole) <= ID_CHARS:
        return whole
    return f"{whole[: ID_CHARS - 11]}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"


# Inputs -------------------------------------------------------------------------------------------


async def _inputs(run: Run, plan: Plan, rows: list[Row]) -> Ended | bool | None:
    """Read the inputs, and ask for one that is missing; None when all are known."""
    answers: dict[str, list[str]] = {}
    turn, language = run.journal.turn_id, run.person.language
    ends = results_of(rows, turn)
    for one in plan.inputs:
        keys = [f"ask.{one.name}.{n}" for n in range(1, ASKED + 1)]
        found = [ends[i] for key in keys if (i := call_id(turn, key)) in ends]
        if any(result.is_error for result in found):
            return last(_missing(Wanted(one), language))
        answers[one.name] = [result.content for result in found]
    values, wanted = resolve(plan.inputs, own_words(rows, turn), answers, language)
    if wanted is None:
        plan.values = values
        run.agent = replace(run.agent, prompt=filled(run.agent.prompt, values))
        run.person = run.person.with_inputs(values)
        return None
    asked = len(answers[wanted.input.name])
    if asked >= ASKED:
        return last(_missing(wanted, language))
    key = f"ask.{wanted.input.name}.{asked + 1}"
    options = tuple(wanted.options(language))
    ask = Planned(key, question=wanted.question(language), options=options)
    await _make(run, rows, (ask,), "inputs")
    return True


def _missing(wanted: Wanted, language: Language) -> str:
    name = wanted.input.description or wanted.input.name
    if language == "zh":
        return f"{wanted.problem}没有开始：缺少“{name}”。可以这样写：{wanted.input.name} = …"
    lead = f"{wanted.problem} " if wanted.problem else ""
    return f"{lead}Nothing was started: {name} is missing. Write it as `{wanted.input.name} = …`."


def own_words(rows: Sequence[Row], turn: int) -> str:
    """What the person wrote before anything was done in this turn; what is said later steers the answer alone."""
    own = [row for row in rows if row.turn_id == turn]
    begun = next((row.seq for row in own if row.kind is RowKind.ASSISTANT), None)
    said = [r for r in own if r.kind is RowKind.USER and (begun is None or r.seq < begun)]
    return "\n\n".join(filter(None, (row.message.text.strip() for row in said)))


# Calls --------------------------------------------------------------------------------------------


async def _make(run: Run, rows: list[Row], batch: Sequence[Planned], step: str) -> None:
    """Store a batch as a row of calls, which the loop then runs as it runs a model's."""
    turn = run.journal.turn_id
    calls = [_call(turn, one) for one in batch]
    kept = {call.id: _kept(one) for call, one in zip(calls, batch, strict=True)}
    _grant(run, [(call, kept[call.id]) for call in calls])
    if wait := max(one.wait for one in batch):
        await run.sleep(wait)
    meta = {PLAN: {"step": step, "calls": kept}}
    row = NewRow(RowKind.ASSISTANT, assistant("", *calls), ref=PLAN, meta=meta)
    rows += await run.journal.append([row])


def _kept(one: Planned) -> dict[str, str]:
    """What a row keeps of a call."""
    more = {"model": one.model, "of": one.of} if one.of else {}
    return {"key": one.key, "agent": one.agent, "item": one.item, **more}


def _call(turn: int, one: Planned) -> ToolUse:
    made = call_id(turn, one.key)
    if not one.agent:
        return ToolUse(made, ASK_USER, {"question": one.question, "options": list(one.options)})
    context = {"context": one.context} if one.context else {}
    return ToolUse(made, f"{DELEGATE}{one.agent}", {"task": one.task, **context})


def _grant(run: Run, calls: Sequence[tuple[ToolUse, Mapping[str, str]]]) -> None:
    if run.plan is None:
        return
    found = dict(run.granted)
    for call, kept in calls:
        spec = _spec(run.plan, call.name, kept)
        if spec is not None:
            found[call.id] = spec
    run.granted = found


def _spec(plan: Plan, name: str, kept: Mapping[str, str]) -> ToolSpec | None:
    if name == ASK_USER:
        return ask_tools()[0]
    try:
        agent = name.removeprefix(DELEGATE)
        return plan.tool(agent, kept.get("item", ""), kept.get("model", ""))
    except KeyError:  # the preset was edited during the restart, and this agent is no more
        return None


def results_of(rows: Sequence[Row], turn: int) -> dict[str, ToolResult]:
    """The results of this turn's calls, by call id."""
    return {
        row.ref: block
        for row in rows
        if row.turn_id == turn and row.kind is RowKind.RESULT
        for block in row.message.blocks
        if isinstance(block, ToolResult)
    }


async def _ground(run: Run, plan: Plan, rows: Sequence[Row]) -> Ground:
    turn = run.journal.turn_id
    results = results_of(rows, turn)
    delegations = {r.ref: r.meta["delegation"] for r in rows if "delegation" in r.meta}
    done: dict[str, Done] = {}
    for row in rows:
        if row.turn_id != turn or row.kind is not RowKind.ASSISTANT or PLAN not in row.meta:
            continue
        for made, entry in row.meta[PLAN]["calls"].items():
            if made not in results:
                continue
            if made not in plan.seen:
                plan.seen[made] = await _done(
                    run, entry["agent"], results[made], delegations.get(made)
                )
            done[entry["key"]] = plan.seen[made]
    return Ground(
        plan.values or {},
        own_words(rows, turn),
        done,
        zh=run.person.language == "zh",
        titles=plan.titles,
        handed=plan.handed,
        halfway=plan.halfway,
        given=_given(plan),
    )


def _given(plan: Plan) -> dict[str, Any]:
    """The inputs that somebody chose: a default is told by the prompts that want it."""
    values = plan.values or {}
    return {o.name: values.get(o.name) for o in plan.inputs if values.get(o.name) != o.default}


async def _done(run: Run, agent: str, result: ToolResult, entry: Mapping[str, Any] | None) -> Done:
    """How a call ended: of a delegation as its child session has it, since a long result object is put away."""
    if not agent:
        return Done(answer=None if result.is_error else result.content)
    if entry is None:
        return Done(agent, Status.ERROR, "use_partial", text="")
    child = await run.journal.child(entry["child"], entry["agent"]).rows()
    outcome = child[-1].meta.get("outcome", {}) if child else {}
    return Done(
        agent,
        entry["status"],
        entry["next_action"],
        text=outcome.get("result") or outcome.get("partial") or "",
        data=outcome.get("data"),
    )


# The end ------------------------------------------------------------------------------------------


def _note(plan: Plan, at: Walk) -> NewRow:
    """How the plan went, for the model that answers; `evals` and people who look at rows read its meta."""
    lines = [_HEAD]
    if plan.values:
        lines.append(f"Inputs: {written(plan.values)}")
    for name, result in at.results.items():
        lacks = ", ".join(f"{agent} ({status})" for agent, status in result.missing)
        told = "; ".join(filter(None, (result.told, f"missing: {lacks}" if lacks else "")))
        why = "its condition does not hold" if result.status == SKIPPED else told
        lines.append(f"- {name}: {result.status}" + (f"; {why}" if why else ""))
    if not at.stopped:
        lines += [in_part(name, FALL_BACK, tools) for name, tools in at.fallen.items()]
    lines += at.says
    lines.append(_STOPPED if at.stopped else _TAIL[_lacks(at)])
    steps = {
        name: {"status": r.status, "data": r.data, "missing": [list(m) for m in r.missing]}
        for name, r in at.results.items()
    }
    kept = {
        "status": at.status,
        "inputs": plan.values or {},
        "steps": steps,
        "stopped": at.stopped,
        "reply": at.reply,
        "fallen": {} if at.stopped else {name: list(tools) for name, tools in at.fallen.items()},
    }
    words = runtime_note("\n".join(lines))
    return NewRow(RowKind.NOTE, user(words), meta={INTERNAL: PLAN, PLAN: kept})


def _lacks(at: Walk) -> bool:
    """Whether the answer must say what is missing."""
    done = {SKIPPED, Status.COMPLETED}
    return any(r.status not in done and name not in at.enough for name, r in at.results.items())


def _plain(at: Walk, language: Language) -> str:
    """The answer of a plan that leaves it to no model: the words of the last step that has any."""
    texts = [result.text for result in at.results.values() if result.text]
    if texts:
        return texts[-1]
    return "没有任何步骤得到结果。" if language == "zh" else "No step of the plan brought a result."


def last(text: str) -> Ended:
    """The end of a run in the words of the runtime; no model was called for them."""
    return Ended(
        reason="done",
        message=assistant(text),
        usage=Usage(),
        last_usage=Usage(),
        model=PLAN,
        rounds=0,
        called=(),
    )
