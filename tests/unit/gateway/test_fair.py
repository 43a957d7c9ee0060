"""Slots that are shared fairly."""

import asyncio

import pytest

from gateway.engine.fair import FairSlots


class Queue:
    """People who want slots, and who got them."""

    def __init__(self, limit: int) -> None:
        self.slots = FairSlots(limit)
        self.got: list[str] = []
        self.holding = 0
        self.most = 0

    async def want(self, person: str, leave: asyncio.Event | None = None) -> None:
        async with self.slots.hold(person):
            self.got.append(person)
            self.holding += 1
            self.most = max(self.most, self.holding)
            await (leave.wait() if leave else asyncio.sleep(0))
            self.holding -= 1


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_hold_a_slot() -> None:
    queue = Queue(3)
    await asyncio.gather(*(queue.want(f"p{n % 4}") for n in range(20)))
    assert queue.most == 3
    assert len(queue.got) == 20


async def test_persons_take_turns_and_each_keeps_its_order() -> None:
    queue = Queue(1)
    leave = asyncio.Event()
    first = asyncio.create_task(queue.want("busy", leave))
    await settle()
    waiting = [asyncio.create_task(queue.want(p)) for p in ["a", "a", "a", "b", "c", "b"]]
    await settle()
    leave.set()
    await asyncio.gather(first, *waiting)
    assert queue.got == ["busy", "a", "b", "c", "a", "b", "a"]


async def test_a_waiter_that_gives_up_costs_no_slot() -> None:
    queue = Queue(1)
    leave = asyncio.Event()
    first = asyncio.create_task(queue.want("a", leave))
    await settle()
    gone = asyncio.create_task(queue.want("b"))
    stays = asyncio.create_task(queue.want("c"))
    await settle()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    leave.set()
    await asyncio.gather(first, stays)
    assert queue.got == ["a", "c"]
    await asyncio.wait_for(queue.want("d"), 1.0)


@pytest.mark.parametrize("moment", range(4))
async def test_a_slot_handed_over_in_the_moment_of_giving_up_is_passed_on(moment: int) -> None:
    queue = Queue(1)
    leave = asyncio.Event()
    first = asyncio.create_task(queue.want("a", leave))
    await settle()
    gone = asyncio.create_task(queue.want("b"))
    await settle()
    leave.set()
    for _ in range(moment):
        await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(first, gone, return_exceptions=True)
    await asyncio.wait_for(queue.want("c"), 1.0)
    assert queue.got[-1] == "c"


async def test_a_holder_that_breaks_gives_its_slot_back() -> None:
    queue = Queue(1)
    with pytest.raises(RuntimeError):
        async with queue.slots.hold("a"):
            raise RuntimeError
    await asyncio.wait_for(queue.want("b"), 1.0)
