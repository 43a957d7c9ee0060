"""What an agent may still call in this turn: a pure function of its rows, so that a resumed turn is bound as before.

A tool that is not allowed is refused at execution; the list that the model sees never changes, for
the cached prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_core.runtime.flow import PLAN
from agent_core.runtime.flow_again import superseded
from agent_core.runtime.guards import made_calls
from agent_core.runtime.team import Agent, NextAction, Status
from agent_core.tools.ask import ASK_USER
from agent_core.types import Row, RowKind, ToolResult, ToolUse

DELEGATE = "delegate_to_"
FALL_BACK: NextAction = "fallback_to_direct_tools"
End = Literal["round_limit", "call_limit", "doom_loop", "stop_and_report"]
WHY: dict[End, str] = {
    "round_limit": "The limit of tool rounds is reached. Answer now from what is known; say what is missing.",
    "call_limit": "The limit of tool calls is reached. Answer now from what is known; say what is missing.",
    "doom_loop": "No further tool may be called in this turn. Answer from what is known.",
    "stop_and_report": "A delegation or the plan ended with stop_and_report: report it, call nothing.",
}

ASK_FIRST = (
    "The person decides how to go on: ask with `ask_user`, or end your answer with the question. Nothing else may be "
    "called before."
)


@dataclass(frozen=True, slots=True)
class Restriction:
    """`ended` says why nothing may be called.

    `only` are the direct tools left (None: all); `refused` maps a name to why. `asking`: a person has to say first how
    to go on. `calls` is how many more calls may be made (None: any number).
    """

    ended: End | None = None
    only: frozenset[str] | None = None
    refused: tuple[tuple[str, str], ...] = ()
    asking: bool = False
    calls: int | None = None

    def reason(self, name: str) -> str | None:
        """Why this tool may not be called now, or None when it may."""
        if self.ended:
            return WHY[self.ended]
        if self.asking:
            return None if name == ASK_USER else ASK_FIRST
        why = dict(self.refused).get(name)
        if why:
            return why
        if self.only is not None and not name.startswith(DELEGATE) and name not in self.only:
            left = ", ".join(sorted(self.only)) or "none"
            return f"After the failed delegation only these direct tools may be used: {left}."
        return None

    def refusals(self, calls: Sequence[ToolUse]) -> dict[str, str | None]:
        """Why each call of one message may not run, by call id; calls beyond the limit are the last ones."""
        found = {call.id: self.reason(call.name) for call in calls}
        if self.calls is not None:
            found |= {call.id: WHY["call_limit"] for call in calls[self.calls :]}
        return found


def rounds(rows: Sequence[Row], turn_id: int) -> int:
    """How many tool rounds this turn has had; those of a fixed plan are none of the model's."""
    return sum(
        row.turn_id == turn_id
        and row.kind is RowKind.ASSISTANT
        and bool(row.message.calls)
        and PLAN not in row.meta
        for row in rows
    )


def restriction(rows: Sequence[Row], turn_id: int, agent: Agent) -> Restriction:
    """What the rows of this turn leave allowed."""
    mine = [row for row in rows if row.turn_id == turn_id]
    most = agent.limits.tool_calls
    own = [row for row in mine if PLAN not in row.meta]
    left = None if most is None else max(0, most - len(made_calls(own, turn_id)))
    outcomes = _outcomes(mine)
    ended = _ended(mine, turn_id, agent, left, outcomes)
    if ended:
        return Restriction(ended)
    if _must_ask(mine):
        return Restriction(asking=True, calls=left)
    return _fallen_back(outcomes, left)


def _outcomes(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """How delegations ended, and the parts of a plan's steps that are left to direct tools."""
    done = superseded(rows)
    found = [r.meta["delegation"] for r in rows if "delegation" in r.meta and r.ref not in done]
    for row in rows:
        for name, tools in row.meta.get(PLAN, {}).get("fallen", {}).items():
            end = {"agent": name, "status": Status.PARTIAL, "next_action": FALL_BACK}
            found.append(end | {"fallback_tools": tools})
    return found


def _ended(
    rows: Sequence[Row],
    turn_id: int,
    agent: Agent,
    left: int | None,
    outcomes: Sequence[dict[str, Any]],
) -> End | None:
    """Why nothing may be called any more, if so."""
    if any(row.meta.get("guard") == "doom_loop" for row in rows):
        return "doom_loop"
    if rounds(rows, turn_id) >= agent.limits.tool_rounds:
        return "round_limit"
    if left == 0:
        return "call_limit"
    stopped = any(o["next_action"] == "stop_and_report" for o in outcomes)
    stopped = stopped or any(row.meta.get(PLAN, {}).get("stopped") for row in rows)
    return "stop_and_report" if stopped else None


def _fallen_back(outcomes: Sequence[dict[str, Any]], left: int | None) -> Restriction:
    """What the delegations that fell back to direct tools leave: their tools, and not their agents again."""
    failed = [o for o in outcomes if o["next_action"] == FALL_BACK]
    if not failed:
        return Restriction(calls=left)
    only = frozenset(name for o in failed for name in o["fallback_tools"])
    bound = all(o["fallback_tools"] for o in failed)  # a policy that names none sets no bound
    refused = tuple(
        (
            f"{DELEGATE}{name}",
            f"{o['agent']} ended with {o['status']}; use its fallback tools.",
        )
        for o in failed
        for name in (o["agent"], *o.get("before", ()))
    )
    return Restriction(only=only if bound else None, refused=refused, calls=left)


def _must_ask(rows: Sequence[Row]) -> bool:
    """Whether a delegation ended with `ask_user`, and the person has not been asked since."""
    waiting = False
    for row in rows:
        if row.meta.get("delegation", {}).get("next_action") == "ask_user":
            waiting = True
        elif row.kind is RowKind.RESULT and any(
            isinstance(b, ToolResult) and b.name == ASK_USER for b in row.message.blocks
        ):
            waiting = False
    return waiting
