"""The capacity table of the operations guide is what the simulation says, and the simulation is one of what it says."""

import random

import pytest

from tests.architecture.sources import ROOT
from tests.bench.capacity import (
    BUSY,
    PEAK_S,
    WAIT_S,
    WARM_S,
    People,
    Work,
    arrivals,
    replicas,
    simulate,
    table,
)

GUIDE = (ROOT / "deploy/operations.md").read_text("utf-8")


@pytest.mark.parametrize("slots", [32, 256])
def test_the_table_of_the_guide_is_the_simulations(slots: int) -> None:
    """Its last row, a million users, takes too long here: `python -m tests.bench.capacity --slots 256`."""
    for line in table(slots, People(), Work(), (100, 1_000, 10_000)):
        assert line in GUIDE


def test_people_write_as_often_as_is_said() -> None:
    people = People()
    came = sum(1 for at, _ in arrivals(100_000, people, random.Random(3)) if at >= WARM_S)
    a_day = 100_000 * people.active * people.visits * people.messages
    expected = a_day / 86_400 * people.peak * PEAK_S
    assert 0.85 * expected < came < 1.15 * expected


def test_messages_come_in_order() -> None:
    times = [at for at, _ in arrivals(10_000, People(), random.Random(1))]
    assert times == sorted(times)


def test_too_few_slots_make_people_wait_and_more_do_not() -> None:
    few = simulate(20_000, 16, People(), Work())
    enough = simulate(20_000, 200, People(), Work())
    assert few.p95 > 60
    assert enough.p95 == 0
    assert enough.most <= 200
    assert enough.rate == few.rate, "the same people"


def test_the_number_of_replicas_holds_both_limits() -> None:
    slots = 32
    count, found = replicas(30_000, slots, People(), Work())
    assert found.p95 <= WAIT_S
    assert found.busy / count <= BUSY
    slow = Work(cpu=2.0)
    assert replicas(30_000, slots, People(), slow)[0] > count, "a costly message needs more cores"
