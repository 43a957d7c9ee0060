"""How often the worker of the shared engine asks for a job, on procrastinate's own queue in memory."""

from typing import Any

import pytest
from procrastinate import App
from procrastinate.testing import InMemoryConnector

from gateway.engine.fetching import Fetching


class Queue(InMemoryConnector):
    """Counts the questions for a job; `meanwhile` is done while the next one is on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = 0
        self.meanwhile: list[str] = []

    async def fetch_job_one(self, *asked: Any, **named: Any) -> dict[str, Any]:
        self.questions += 1
        found = await super().fetch_job_one(*asked, **named)
        while self.meanwhile:
            await told(self.app, self.meanwhile.pop())
        return found

    app: App


async def told(app: App, lane: str) -> None:
    """A job comes with its notice."""
    await app.configure_task("look", lock=lane).defer_async()
    assert isinstance(app.job_manager, Fetching)
    app.job_manager.heard()


@pytest.fixture
async def queue() -> Queue:
    queue = Queue()
    queue.app = App(connector=queue)
    queue.app.job_manager = Fetching(queue)
    await queue.app.job_manager.register_worker()
    return queue


async def fetched(queue: Queue) -> str | None:
    job = await queue.app.job_manager.fetch_job(None, 1)
    return None if job is None else job.lock


async def test_a_job_that_its_notice_told_costs_one_question(queue: Queue) -> None:
    await told(queue.app, "a")
    assert [await fetched(queue), await fetched(queue)] == ["a", None]
    assert queue.questions == 1


async def test_every_notice_has_its_question(queue: Queue) -> None:
    for lane in "abc":
        await told(queue.app, lane)
    assert [await fetched(queue) for _ in range(4)] == ["a", "b", "c", None]
    assert queue.questions == 3


async def test_a_notice_that_comes_while_the_worker_asks_is_not_forgotten(queue: Queue) -> None:
    queue.meanwhile = ["late"]
    assert await fetched(queue) == "late"
    await told(queue.app, "a")
    queue.meanwhile = ["b"]
    assert [await fetched(queue) for _ in range(3)] == ["a", "b", None]


async def test_jobs_that_no_notice_told_are_found_all_the_same(queue: Queue) -> None:
    """As after a start, or where a connection was lost: the worker asks by the clock."""
    for lane in "ab":
        await queue.app.configure_task("look", lock=lane).defer_async()
    assert [await fetched(queue) for _ in range(4)] == ["a", None, "b", None]


async def test_a_notice_of_a_job_that_another_process_took_asks_for_nothing_more(
    queue: Queue,
) -> None:
    for _ in range(3):
        queue.app.job_manager.heard()  # type: ignore[attr-defined]
    assert [await fetched(queue), await fetched(queue)] == [None, None]
    await told(queue.app, "a")
    assert [await fetched(queue), await fetched(queue)] == ["a", None]
    assert queue.questions == 3
