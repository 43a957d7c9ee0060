"""What a sub-agent is given to read: its task, and as much of the rest as its preset lets it see (SUB-6).

What is known of the person comes as a block of its own, in a place that the agent's `memory` opens; it counts towards
`limits.input_tokens` and gives way to the task.

Results of other agents are handed over as their output contract has them, never as transcripts. What is over
`limits.input_tokens` is cut where the preset says; the order is conversation, results, the supervisor's own words, so
the newest part is what the supervisor just wrote.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.assembly.gather import Gathered, gather_context
from agent_core.models.tokens import of_text
from agent_core.ports import Journal
from agent_core.runtime.flow_again import stood_in, superseded
from agent_core.runtime.run import Run
from agent_core.runtime.team import Agent, Overflow
from agent_core.types import Row, RowKind

CUT_CONTEXT = "[… earlier part left out]\n"
CUT_REST = "\n[… later part left out]"
RECENT = 6  # messages of the conversation that "recent" shows
_USABLE = frozenset({"completed", "partial"})


@dataclass(frozen=True, slots=True)
class Brief:
    """The first message of a child session.

    `truncated`: part was left out. `refused`: it did not fit, and the preset wants no part of it.
    """

    text: str
    truncated: bool = False
    refused: bool = False


async def brief(
    agent: Agent,
    task: str,
    context: str,
    journal: Journal,
    seen: Sequence[Row],
    *,
    planned: bool = False,
    known: int = 0,
) -> Brief:
    """The brief for a delegation out of the session of `journal`; `seen` are its rows in force, without undone ones.

    `planned`: a fixed plan delegates, so the context is no supervisor's words, and every agent gets it. `known`: tokens
    of what is handed over beside it.
    """
    parts = []
    if agent.context in {"recent", "full"}:
        parts.append(_conversation(seen, journal.turn_id, whole=agent.context == "full"))
    if agent.from_agents:
        parts.append(await handed_over(agent.from_agents, await journal.rows(), journal))
    if planned or agent.context != "task_only":
        parts.append(context.strip())
    room = agent.limits.input_tokens - known
    return fitted(task, "\n\n".join(filter(None, parts)), room, agent.on_overflow)


async def remembered(parent: Run, agent: Agent, task: str) -> Gathered:
    """What is known of the person for a task, as far as the agent may read it; holdings are for its tools to read."""
    person = parent.person
    if parent.recall is None or not agent.memory.reads(person.place):
        return Gathered()
    found = await gather_context(
        person.owner,
        person.place,
        task,
        (),
        parent.clock.now(),
        None,
        parent.recall,
        most=agent.memory.recall,
    )
    return found if tokens_of(found) + of_text(task) <= agent.limits.input_tokens else Gathered()


def tokens_of(found: Gathered) -> int:
    """Estimated tokens of what was gathered."""
    return sum(of_text(context.text) for context in found.contexts)


def fitted(task: str, context: str, tokens: int, overflow: Overflow) -> Brief:
    """Task and context in at most so many estimated `tokens`; the task itself is never cut."""
    if not context:
        return Brief(task)
    head = f"{task}\n\nContext:\n"
    room = max(0, tokens - of_text(head))
    if of_text(context) <= room:
        return Brief(head + context)
    if overflow == "refuse":
        return Brief(task, truncated=True, refused=True)
    keep = len(context)
    while keep > 0 and of_text(_part(context, keep, overflow)) > room:
        keep = keep * 9 // 10
    part = _part(context, keep, overflow)
    cut = head + part + CUT_REST if overflow == "keep_first" else head + CUT_CONTEXT + part
    return Brief(cut, truncated=True)


def _part(context: str, keep: int, overflow: Overflow) -> str:
    return context[:keep] if overflow == "keep_first" else context[len(context) - keep :]


def _conversation(rows: Sequence[Row], turn: int, *, whole: bool) -> str:
    """What was said, without tools; drafts and notes of the runtime are no part of it."""
    said = [
        ("Person" if row.kind is RowKind.USER else "Assistant", row.message.text.strip())
        for row in rows
        if row.kind in {RowKind.USER, RowKind.ASSISTANT}
        and "internal" not in row.meta
        and not (row.turn_id == turn and row.kind is RowKind.ASSISTANT)
    ]
    lines = [f"{who}: {words}" for who, words in said if words]
    return "\n".join(("Conversation:", *(lines if whole else lines[-RECENT:]))) if lines else ""


async def handed_over(ids: Sequence[str], rows: Sequence[Row], journal: Journal) -> str:
    """The results that these agents, or others in their place, brought in this turn; "" for none.

    They come in the order in which they were stored.
    """
    own = [row for row in rows if row.turn_id == journal.turn_id]
    done, places = superseded(own), stood_in(own)
    found = [
        (row.meta["delegation"], places.get(row.ref))
        for row in own
        if "delegation" in row.meta and row.ref not in done
    ]
    wanted = {*ids}
    parts = [
        await _result(entry, journal)
        for entry, place in found
        if wanted & {entry["agent"], place, *entry.get("before", ())}
    ]
    return "\n\n".join(("Results of other agents:", *parts)) if parts else ""


async def _result(entry: dict[str, Any], journal: Journal) -> str:
    head = f"[{entry['agent']}: {entry['status']}]"
    child = (
        await journal.child(entry.get("child", ""), entry["agent"]).rows()
        if entry.get("child")
        else ()
    )
    outcome = child[-1].meta.get("outcome", {}) if child else {}
    data, text = outcome.get("data"), outcome.get("result") or outcome.get("partial") or ""
    if data is not None and entry["status"] in _USABLE:
        text = json.dumps(data, ensure_ascii=False)
    return f"{head}\n{text or 'no result'}"
