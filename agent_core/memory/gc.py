"""What becomes of memories that nobody needs: how important one is, and what to archive (GCX-1 … GCX-7). Pure.

A plan changes nothing; `apply_gc` in `agent_core/storage/upkeep.py` carries it out, so that a dry run and the real one
cannot differ in what they choose (GCX-4).
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_core.memory.tiers import STANDING

Signal = Literal["success", "failure", "confirm", "reject", "passive"]
Act = Literal["archive", "delete"]

HALF_LIFE_DAYS = 14.0
PER_ACCESS, MOST_FOR_ACCESS = 0.1, 0.3
# What a memory's quality gains or loses by what came of it (GCX-5).
DELTAS: dict[Signal, float] = {
    "success": 0.1,
    "failure": -0.15,
    "confirm": 0.2,
    "reject": -0.3,
    "passive": -0.05,
}
SYSTEM_SHARE = 0.7  # of a signal that no person gave
SESSION_CAP = 0.5  # what one session may move one memory by, in all


@dataclass(frozen=True, slots=True)
class Rules:
    """When a memory is archived or deleted (GCX-3).

    `deletes` is off: what is below `delete_below` is archived as well (C-15). `most` memories of one owner are live,
    those beyond go to the archive, the least important first (GCX-7).
    """

    archive_below: float = 0.15
    delete_below: float = 0.05
    deletes: bool = False
    min_age: dt.timedelta = dt.timedelta(days=7)
    most: int = 500


DEFAULT = Rules()


class Kept(Protocol):
    """What must be known of a memory. `used_at`: last use, else when it was said (again)."""

    @property
    def id(self) -> int: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def quality(self) -> float: ...  # noqa: D102
    @property
    def access_count(self) -> int: ...  # noqa: D102
    @property
    def created_at(self) -> dt.datetime: ...  # noqa: D102
    @property
    def used_at(self) -> dt.datetime: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Action:
    """What is to be done with one memory. `why`: importance (it is below the bar) or cap (there are too many)."""

    id: int
    kind: str
    act: Act
    importance: float
    why: Literal["importance", "cap"] = "importance"


def importance(quality: float, idle: dt.timedelta, accesses: int) -> float:
    """Quality × (2^(-days since the last use / 14) + min(0.3, 0.1 × uses)), within 0 … 1 (GCX-3)."""
    days = max(idle.total_seconds(), 0.0) / 86_400
    freshness: float = 2.0 ** (-days / HALF_LIFE_DAYS)
    value = quality * (freshness + min(MOST_FOR_ACCESS, PER_ACCESS * accesses))
    return min(max(value, 0.0), 1.0)


def plan(kept: Sequence[Kept], now: dt.datetime, rules: Rules = DEFAULT) -> list[Action]:
    """What is to be done with the live memories of one owner, in the order of their ids.

    Standing constraints (preferences, personas, rules) are never judged by importance; beyond the cap they go last.
    """
    weights = {m.id: importance(m.quality, now - m.used_at, m.access_count) for m in kept}
    actions = [
        Action(m.id, m.kind, _act(weights[m.id], rules), weights[m.id])
        for m in kept
        if m.kind not in STANDING
        and now - m.created_at >= rules.min_age
        and weights[m.id] < rules.archive_below
    ]
    gone = {action.id for action in actions}
    left = [m for m in kept if m.id not in gone]
    left.sort(key=lambda m: (m.kind in STANDING, weights[m.id], m.id))
    over = left[: max(0, len(left) - rules.most)]
    actions += [Action(m.id, m.kind, "archive", weights[m.id], "cap") for m in over]
    return sorted(actions, key=lambda action: action.id)


def _act(weight: float, rules: Rules) -> Act:
    return "delete" if rules.deletes and weight < rules.delete_below else "archive"


def judged(
    quality: float, signal: Signal, moved: float = 0.0, *, by_system: bool = False
) -> tuple[float, float]:
    """The quality after a signal, and what the session has moved it by so far (GCX-5).

    Args:
        quality: before, 0 … 1.
        signal: what came of the memory.
        moved: what this session has moved it by before, as the sum of its steps' sizes.
        by_system: no person said so.
    """
    step = DELTAS[signal] * (SYSTEM_SHARE if by_system else 1.0)
    left = max(0.0, SESSION_CAP - moved)
    step = min(max(step, -left), left)
    return min(max(quality + step, 0.0), 1.0), moved + abs(step)
