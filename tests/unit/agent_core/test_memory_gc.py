"""How important a memory is, what is archived for it, and what signals change (GCX-3, GCX-5, GCX-7)."""

import datetime as dt
from dataclasses import dataclass

import pytest

from agent_core.memory.gc import DEFAULT, DELTAS, Rules, importance, judged, plan

NOW = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Kept:
    id: int
    kind: str = "decision"
    quality: float = 0.5
    access_count: int = 0
    created_at: dt.datetime = NOW - 100 * DAY
    used_at: dt.datetime = NOW - 100 * DAY


def idle(days: float, *, number: int = 1, **more: object) -> Kept:
    at = NOW - dt.timedelta(days=days)
    return Kept(number, created_at=at, used_at=at, **more)  # type: ignore[arg-type]


def test_the_numbers_are_those_of_the_source() -> None:
    """GCX-3, GCX-7, C-15."""
    assert (
        Rules(archive_below=0.15, delete_below=0.05, deletes=False, min_age=7 * DAY, most=500)
        == DEFAULT
    )
    assert DELTAS == {
        "success": 0.1,
        "failure": -0.15,
        "confirm": 0.2,
        "reject": -0.3,
        "passive": -0.05,
    }


def test_an_unused_memory_of_middling_quality_is_archived_after_24_days() -> None:
    """GCX-3."""
    assert importance(0.5, 14 * DAY, 0) == pytest.approx(0.25)
    assert plan([idle(24.3)], NOW) == []
    (action,) = plan([idle(24.35)], NOW)
    assert (action.act, action.why) == ("archive", "importance")


def test_three_uses_keep_a_memory_for_ever() -> None:
    """GCX-3: 0.5 × 0.3 is not below 0.15."""
    assert plan([idle(4_000, access_count=3)], NOW) == []
    assert importance(0.5, 4_000 * DAY, 30) == importance(0.5, 4_000 * DAY, 3)


def test_importance_stays_within_its_bounds() -> None:
    """GCX-3."""
    assert importance(1.0, dt.timedelta(0), 9) == 1.0
    assert importance(0.0, dt.timedelta(0), 9) == 0.0
    assert importance(0.5, -DAY, 0) == 0.5  # a clock that was set back


def test_young_memories_are_left_alone() -> None:
    """GCX-3: whatever they are worth."""
    assert plan([idle(6.99, quality=0.0)], NOW) == []
    assert len(plan([idle(7, quality=0.0)], NOW)) == 1


def test_nothing_is_deleted_unless_that_is_switched_on() -> None:
    """GCX-3, C-15."""
    worthless = idle(90, quality=0.01)
    assert plan([worthless], NOW)[0].act == "archive"
    assert plan([worthless], NOW, Rules(deletes=True))[0].act == "delete"
    assert plan([idle(30)], NOW, Rules(deletes=True))[0].act == "archive"


@pytest.mark.parametrize("kind", ["preference", "persona", "rule"])
def test_standing_constraints_are_not_judged_by_importance(kind: str) -> None:
    assert plan([idle(900, quality=0.0, kind=kind)], NOW) == []


def test_the_cap_is_enforced_least_important_first_standing_constraints_last() -> None:
    """GCX-7, defect 25: 500 was declared and never used."""
    kept = [idle(1, number=n, quality=0.5 + n / 2_000) for n in range(1, 501)]
    assert plan(kept, NOW) == []
    kept += [idle(1, number=501, kind="preference", quality=0.0), idle(1, number=502, quality=0.9)]
    over = plan(kept, NOW)
    assert [(a.id, a.act, a.why) for a in over] == [
        (1, "archive", "cap"),
        (2, "archive", "cap"),
    ]
    only_rules = [idle(1, number=n, kind="rule") for n in range(1, 503)]
    assert [a.id for a in plan(only_rules, NOW)] == [1, 2]


def test_what_importance_archives_does_not_count_for_the_cap() -> None:
    kept = [idle(100, number=1), *(idle(1, number=n) for n in range(2, 502))]
    assert [a.id for a in plan(kept, NOW)] == [1]


@pytest.mark.parametrize(("signal", "step"), DELTAS.items())
def test_signals_move_quality(signal: str, step: float) -> None:
    """GCX-5."""
    quality, moved = judged(0.5, signal)  # type: ignore[arg-type]
    assert quality == pytest.approx(0.5 + step)
    assert moved == pytest.approx(abs(step))
    quality, _ = judged(0.5, signal, by_system=True)  # type: ignore[arg-type]
    assert quality == pytest.approx(0.5 + 0.7 * step)


def test_one_session_moves_a_memory_by_half_at_most() -> None:
    """GCX-5."""
    quality, moved = 0.9, 0.0
    for _ in range(5):
        quality, moved = judged(quality, "reject", moved)
    assert quality == pytest.approx(0.4)
    assert moved == pytest.approx(0.5)
    assert judged(0.95, "confirm")[0] == 1.0
