"""Whether an answer is taken: its output contract and its grounding, and the rounds of repair (guide "presets", 3).

A repair is a note of the runtime behind the rejected draft, like those of the loop guard (internal.py): rows, so that a
killed run goes on where it was. It adds no money, no time and no tool round to what the run may use; an answer that
came after tools were refused is not repaired. What still does not hold is told: by the status `invalid_output` of a
sub-agent, by a line above the answer of the supervisor.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence

from agent_core.assembly.sections import runtime_note
from agent_core.runtime import grounding
from agent_core.runtime.flow import PLAN
from agent_core.runtime.grounding import Sources
from agent_core.runtime.internal import INTERNAL
from agent_core.runtime.numbers import Figure, held
from agent_core.runtime.output import Verdict, read, render
from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.run import Run
from agent_core.runtime.team import Agent
from agent_core.types import Context, Image, NewRow, Row, RowKind, ToolResult, user

UNFOUNDED = "unfounded"  # key in the meta of a task: numbers in it that its author had from nowhere
REPAIR = "repair"
_QUOTED = (
    "result",
    "data",
    "partial",
    "error",
)  # of a delegation's result object; the rest counts, it does not state

NOT_TAKEN = (
    "Your answer was not taken:\n{faults}\n"
    "Send the whole answer again with this mended; tools may be called first. Do not mention this note."
)


def demanding(agent: Agent) -> bool:
    """Whether the agent's answers are held to anything."""
    rules = agent.grounding
    return agent.output.format != "markdown" or "required" in {rules.numbers, rules.citations}


async def judge(run: Run, rows: Sequence[Row], text: str) -> Verdict:
    """What an answer is worth; blank ones are not judged, since they are `empty`. The work is done in a thread."""
    if not text.strip() or not demanding(run.agent):
        return Verdict()
    return await asyncio.to_thread(_judged, run, tuple(rows), text)


def _judged(run: Run, rows: Sequence[Row], text: str) -> Verdict:
    agent = run.agent
    contract, rules = agent.output, agent.grounding
    found = read(contract, text, agent.limits.output_chars)
    shown = render(contract, found.data) if contract.format == "json" and not found.faults else ""
    if "required" not in {rules.numbers, rules.citations}:
        return Verdict(found.data, shown, found.faults)
    known = known_to(run, rows)
    numbers: list[Figure] = []
    if rules.numbers == "required" and not _pictured(run, rows):
        if contract.format == "json" and not found.faults:
            numbers = grounding.ungrounded_data(found.data, contract.schema, known, rules.tolerance)
        else:
            numbers = grounding.ungrounded(text, known, rules.tolerance)
    citation = grounding.uncited(text, known) if rules.citations == "required" else ""
    missing = tuple(claim.text for claim in numbers)
    lines = grounding.complaints(rules, missing, citation)
    return Verdict(found.data, shown, found.faults, missing, citation, tuple(lines))


def repair(run: Run, rows: Sequence[Row], verdict: Verdict) -> NewRow | None:
    """What to tell the model about an answer that does not hold, or None when it stands or no round is left."""
    wanted = {
        kind: most
        for kind, faults, most in (
            ("output", verdict.faults, run.agent.output.max_repairs),
            ("grounding", verdict.complaints, run.agent.grounding.max_repairs),
        )
        if faults
    }
    turn = run.journal.turn_id
    made = [r.meta["mends"] for r in rows if r.turn_id == turn and r.meta.get(INTERNAL) == REPAIR]
    if not wanted or any(sum(kind in m for m in made) >= most for kind, most in wanted.items()):
        return None
    faults = "\n".join(f"- {fault}" for fault in (*verdict.faults, *verdict.complaints))
    words = runtime_note(NOT_TAKEN.format(faults=faults))
    return NewRow(RowKind.NOTE, user(words), meta={INTERNAL: REPAIR, "mends": sorted(wanted)})


def known_to(run: Run, rows: Sequence[Row]) -> Sources:
    """What an answer of this run may rest on: results, the operator's prompt, and what was said to it.

    A supervisor answers from its whole conversation. Of a sub-agent's task only those numbers count that its author had
    from somewhere (see `unfounded`): else a number could be made true by having it repeated.
    """
    texts, names, given = [run.agent.prompt], set[str](), list[float]()
    for row in rows:
        if row.meta.get(INTERNAL) == PLAN:
            texts.append(row.message.text)  # counts of votes, which no tool returned
        if INTERNAL in row.meta:
            continue
        if row.kind is RowKind.USER:
            words = "\n".join((row.message.text, *_contexts(row)))
            bad = set(row.meta.get(UNFOUNDED, ()))
            given += [n for n in held(words) if n not in bad]
            texts.append("\n".join(grounding.addresses(words)))
        elif row.kind is RowKind.RESULT:
            for block in row.message.blocks:
                if isinstance(block, ToolResult):
                    said, used = _result(block)
                    texts.append(said)
                    names.update(used)
    titles = [t for name in names if (spec := run.tools.get(name)) for t in spec.title.values()]
    return grounding.sources(texts, (*names, *titles), given)


async def unfounded(run: Run, rows: Sequence[Row], words: str, tolerance: float) -> list[float]:
    """Numbers in the words of this run that nothing it knows holds."""

    def work() -> list[float]:
        return grounding.unfounded(words, known_to(run, rows), tolerance)

    return await asyncio.to_thread(work)


def _contexts(row: Row) -> Iterable[str]:
    return (block.text for block in row.message.blocks if isinstance(block, Context))


def _result(block: ToolResult) -> tuple[str, Iterable[str]]:
    """What a result states, and the names that it may be cited by."""
    if not block.name.startswith(DELEGATE):
        return block.content, () if block.is_error else (block.name,)
    try:
        body = json.loads(block.content)
        stated = json.dumps([body.get(key) for key in _QUOTED], ensure_ascii=False)
    except (ValueError, AttributeError):
        return block.content, ()
    return stated, (*body.get("tool_calls", ()), block.name.removeprefix(DELEGATE))


def _pictured(run: Run, rows: Sequence[Row]) -> bool:
    """Whether the person sent a picture in this turn: its numbers cannot be looked up."""
    return any(
        isinstance(block, Image)
        for row in rows
        if row.turn_id == run.journal.turn_id and row.kind is RowKind.USER
        for block in row.message.blocks
    )
