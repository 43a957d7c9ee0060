"""What an agent may still call in this turn: a pure function of its rows, so that a resumed turn is bound as before.

A tool that is not allowed is refused at execution; the list that the model sees never changes, for
the cached prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_core.runtime.team import Agent
from agent_core.types import Row, RowKind

DELEGATE = "delegate_to_"
End = Literal["round_limit", "doom_loop", "stop_and_report"]
WHY: dict[End, str] = {
    "round_limit": "The limit of tool rounds is reached. Answer now from what is known; say what is missing.",
    "doom_loop": "No further tool may be called in this turn. Answer from what is known.",
    "stop_and_report": "A delegation ended with stop_and_report: report it, call nothing.",
}


@dataclass(frozen=True, slots=True)
class Restriction:
    """`ended` says why nothing may be called.

    `only` are the direct tools left (None: all); `refused` maps a name to why.
    """

    ended: End | None = None
    only: frozenset[str] | None = None
    refused: tuple[tuple[str, str], ...] = ()

    def reason(self, name: str) -> str | None:
        """Why this tool may not be called now, or None when it may."""
        if self.ended:
            return WHY[self.ended]
        why = dict(self.refused).get(name)
        if why:
            return why
        if self.only is not None and not name.startswith(DELEGATE) and name not in self.only:
            left = ", ".join(sorted(self.only)) or "none"
            return f"After the failed delegation only these direct tools may be used: {left}."
        return None


def rounds(rows: Sequence[Row], turn_id: int) -> int:
    """How many tool rounds this turn has had."""
    return sum(
        row.turn_id == turn_id and row.kind is RowKind.ASSISTANT and bool(row.message.calls)
        for row in rows
    )


def restriction(rows: Sequence[Row], turn_id: int, agent: Agent) -> Restriction:
    """What the rows of this turn leave allowed."""
    mine = [row for row in rows if row.turn_id == turn_id]
    if any(row.meta.get("guard") == "doom_loop" for row in mine):
        return Restriction("doom_loop")
    if rounds(mine, turn_id) >= agent.limits.tool_rounds:
        return Restriction("round_limit")
    outcomes = [row.meta["delegation"] for row in mine if "delegation" in row.meta]
    if any(o["next_action"] == "stop_and_report" for o in outcomes):
        return Restriction("stop_and_report")
    failed = [o for o in outcomes if o["next_action"] == "fallback_to_direct_tools"]
    if not failed:
        return Restriction()
    only = frozenset(name for o in failed for name in o["fallback_tools"])
    bound = all(o["fallback_tools"] for o in failed)  # a policy that names none sets no bound
    refused = tuple(
        (
            f"{DELEGATE}{o['agent']}",
            f"{o['agent']} ended with {o['status']}; use its fallback tools.",
        )
        for o in failed
    )
    return Restriction(only=only if bound else None, refused=refused)
