"""Work outside of the event loop: one process, ended when nobody waits for it any more (defect 26)."""

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import stat
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.finance import work
from agent_core.finance.work import Worker, WorkerDied, WorkTooLong


def process_id() -> int:
    return os.getpid()


def forever(started: str) -> None:
    Path(started).touch()
    while True:
        pass


def stubborn(started: str) -> None:
    part = Path(f"{started}.part")
    part.write_text(str(os.getpid()))
    part.rename(started)
    while True:
        pass


def refuse(what: str) -> None:
    raise KeyError(what)


class NoPickle(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def refuse_oddly() -> None:
    raise NoPickle(1, 2)


def die_at_first(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def imported_modules() -> set[str]:
    return set(sys.modules)


def open_sockets() -> int:
    """Sockets among the descriptors of the process that runs this, however high their numbers are."""
    found = 0
    for fd in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += stat.S_ISSOCK(os.fstat(int(fd.name)).st_mode)
    return found


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    made = Worker()
    yield made
    made.stop()


async def until(path: Path) -> None:
    """A file made by another process: there is no event to wait for."""
    async with asyncio.timeout(20):
        while not path.exists():
            await asyncio.sleep(0.005)


async def until_gone(pid: int) -> None:
    """An orphan is reaped by the system; until then it is a zombie, which computes nothing."""
    stat_file = Path(f"/proc/{pid}/stat")
    async with asyncio.timeout(20):
        while stat_file.exists() and stat_file.read_text().split()[2] != "Z":
            await asyncio.sleep(0.005)


async def test_all_jobs_run_in_one_other_process(worker: Worker):
    assert worker.pid is None, "nothing is started before it is used"
    pids = set(await asyncio.gather(*(worker.outside(process_id) for _ in range(3))))
    assert pids == {worker.pid}
    assert os.getpid() not in pids


async def test_the_process_imports_no_gateway(worker: Worker):
    loaded = {name.split(".")[0] for name in await worker.outside(imported_modules)}
    assert not loaded & {"gateway", "channels", "sqlalchemy", "aiohttp", "pydantic", "anthropic"}


async def test_the_process_inherits_no_socket(worker: Worker):
    with contextlib.ExitStack() as held:
        for _ in range(70):  # its own pipe then gets a high number
            held.enter_context(socket.socket()).set_inheritable(True)
        assert open_sockets() >= 1
        assert await worker.outside(open_sockets) == 1, "its own pipe alone"


async def test_an_error_of_the_function_comes_back_as_it_is(worker: Worker):
    with pytest.raises(KeyError, match="AAPL") as caught:
        await worker.outside(refuse, "AAPL")
    assert "in refuse" in caught.value.__notes__[0], "where it was raised is a note"
    assert await worker.outside(process_id) == worker.pid


async def test_an_error_that_cannot_be_pickled_comes_back_in_words(worker: Worker):
    with pytest.raises(RuntimeError, match="NoPickle: 1 and 2"):
        await worker.outside(refuse_oddly)


async def test_what_cannot_be_pickled_is_refused_and_harms_no_other_job(worker: Worker):
    await worker.outside(process_id)
    pid = worker.pid
    with pytest.raises((AttributeError, pickle.PicklingError)):
        await worker.outside(lambda: 1)
    assert await worker.outside(process_id) == pid


async def test_a_cancelled_job_is_killed_and_the_next_ones_run(worker: Worker, tmp_path: Path):
    """Defect 26: work that nobody waits for stops; it blocks no other caller."""
    started = tmp_path / "started"
    task = asyncio.create_task(worker.outside(forever, str(started)))
    waiting = [asyncio.create_task(worker.outside(process_id)) for _ in range(2)]
    await until(started)
    first = worker.pid
    task.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 1
    pids = set(await asyncio.gather(*waiting))
    assert pids == {worker.pid}
    assert first not in pids
    with pytest.raises(ProcessLookupError):
        os.kill(first or 0, 0)


@pytest.mark.slow
async def test_a_job_that_is_cancelled_while_it_waits_never_runs(worker: Worker, tmp_path: Path):
    started, mark = tmp_path / "started", tmp_path / "mark"
    running = asyncio.create_task(worker.outside(forever, str(started)))
    await until(started)
    pid = worker.pid
    waiting = asyncio.create_task(worker.outside(die_at_first, str(mark)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert worker.pid == pid, "the job before it goes on"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await worker.outside(process_id)
    assert not mark.exists()


async def test_a_job_that_takes_too_long_is_ended_and_says_so(tmp_path: Path):
    worker = Worker(limit_s=0.2)
    try:
        with pytest.raises(WorkTooLong, match=r"longer than 0.2 s"):
            await worker.outside(forever, str(tmp_path / "started"))
        assert worker.pid is None
    finally:
        worker.stop()


@pytest.mark.slow
async def test_a_job_whose_process_dies_is_run_once_more(worker: Worker, tmp_path: Path):
    assert await worker.outside(die_at_first, str(tmp_path / "mark")) == "done"


@pytest.mark.slow
async def test_a_job_that_kills_its_process_twice_is_a_clear_error(worker: Worker):
    with pytest.raises(WorkerDied, match="ended twice"):
        await worker.outside(die)
    assert await worker.outside(process_id) == worker.pid


async def test_closing_ends_every_process_and_a_later_job_starts_another(worker: Worker):
    first, other = await work.outside(process_id), await worker.outside(process_id)
    assert first != other
    await work.close()
    for pid in (first, other):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert await work.outside(process_id) != first
    await work.close()


@pytest.mark.slow
async def test_a_killed_gateway_leaves_nothing_computing(tmp_path: Path):
    started = tmp_path / "started"
    code = (
        "import asyncio\n"
        "from agent_core.finance.work import outside\n"
        "from tests.unit.agent_core.test_finance_work import stubborn\n"
        f"asyncio.run(outside(stubborn, {str(started)!r}))"
    )
    gateway = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    await until(started)
    worker_pid = int(started.read_text())
    gateway.kill()
    await gateway.wait()
    await until_gone(worker_pid)
