"""Fair slots under any mixture of arrivals, departures and people who give up."""

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.engine.fair import FairSlots

moves = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.sampled_from("abc")),
        st.tuples(st.just("leave"), st.integers(0, 9)),
        st.tuples(st.just("give up"), st.integers(0, 9)),
        st.tuples(st.just("breathe"), st.integers(0, 3)),
    ),
    max_size=40,
)


class Hall:
    """Slots, and who waits for and holds them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.slots = FairSlots(limit)
        self.waiting: list[tuple[str, asyncio.Task[None], asyncio.Event]] = []
        self.holding: list[tuple[str, asyncio.Task[None], asyncio.Event]] = []
        self.served: list[str] = []

    def want(self, person: str) -> None:
        leave = asyncio.Event()
        task = asyncio.create_task(self._hold(person, leave))
        self.waiting.append((person, task, leave))

    async def _hold(self, person: str, leave: asyncio.Event) -> None:
        async with self.slots.hold(person):
            mine = next(e for e in self.waiting if e[2] is leave)
            self.waiting.remove(mine)
            self.holding.append(mine)
            self.served.append(person)
            assert len(self.holding) <= self.limit
            try:
                await leave.wait()
            finally:
                self.holding.remove(mine)

    async def move(self, kind: str, what: object) -> None:
        if kind == "want":
            self.want(str(what))
        elif kind == "leave" and self.holding:
            self.holding[int(str(what)) % len(self.holding)][2].set()
        elif kind == "give up" and self.waiting:
            gone = self.waiting.pop(int(str(what)) % len(self.waiting))
            gone[1].cancel()
        else:
            for _ in range(2):
                await asyncio.sleep(0)


async def settle() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


async def _play(limit: int, steps: list[tuple[str, object]]) -> None:
    hall = Hall(limit)
    for kind, what in steps:
        if kind == "give up":
            await settle()  # who has a slot already cannot give up waiting
        await hall.move(kind, what)
    await settle()
    assert len(hall.holding) == min(hall.limit, len(hall.holding) + len(hall.waiting))
    while hall.holding:
        hall.holding[0][2].set()
        await settle()
    assert not hall.waiting  # nobody is forgotten
    free = [asyncio.create_task(_once(hall.slots)) for _ in range(limit)]
    await asyncio.wait_for(asyncio.gather(*free), 1.0)  # and no slot is lost


async def _once(slots: FairSlots) -> None:
    async with slots.hold("x"):
        await asyncio.sleep(0)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3), moves)
def test_nobody_is_forgotten_and_no_slot_is_lost(limit: int, steps: list[tuple[str, object]]):
    asyncio.run(_play(limit, steps))


async def _queue(counts: dict[str, int]) -> list[str]:
    hall = Hall(1)
    hall.want("first")
    await settle()
    for person, count in counts.items():
        for _ in range(count):
            hall.want(person)
    await settle()
    while hall.holding:
        hall.holding[0][2].set()
        await settle()
    return hall.served[1:]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9), min_size=1))
def test_no_one_is_two_rounds_ahead_of_somebody_who_waits(counts: dict[str, int]):
    served = asyncio.run(_queue(counts))
    assert Counter(served) == counts
    had: Counter[str] = Counter()
    for person in served:
        had[person] += 1
        waiting = [p for p in counts if had[p] < counts[p] and p != person]
        assert all(had[person] <= had[p] + 1 for p in waiting)
