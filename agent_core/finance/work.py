"""Work that would hold up the event loop, done in one worker process that all callers share.

`outside` runs a module-level function there and awaits its answer; one job runs at a time, in the order of the calls.
The process starts with the first job, and ends by itself after a quiet while: it costs no memory where nothing is
computed. It inherits nothing but its own two pipes, imports only what its jobs need, and yields the processor to
the gateway.

A job whose caller is cancelled, or that overruns the time limit, ends with its process; those that wait run on a new
one.
"""

import asyncio
import atexit
import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakSet

from agent_core.errors import SwarmgateError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

P = ParamSpec("P")
R = TypeVar("R")

LIMIT_S = 120.0
# The worker sees modules where this process sees them; the working directory is not among them unless it is here.
_START = "import sys; sys.path[:] = {path!r}; from agent_core.finance.work_child import serve; serve({fd})"


class WorkerDied(SwarmgateError):
    """The process of a calculation ended in the middle of it, twice."""


class WorkTooLong(SwarmgateError):
    """A calculation took longer than its limit and was ended."""


async def outside(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `function` returns, computed in the worker process.

    Function, arguments and result are pickled. The function may run twice when its process dies, so it changes nothing
    outside. Raises what the function raises (its traceback there is a note), WorkTooLong after LIMIT_S seconds of
    running, and WorkerDied. Cancelling returns at once and ends the job.
    """
    return await _shared.outside(function, *args, **kwargs)


async def close() -> None:
    """End the worker process, if there is one, and those of every other Worker. A later job starts a new one."""
    await asyncio.to_thread(_stop_all)


class Worker:
    """One worker process and the queue before it. Safe to use from several event loops."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._queue: ThreadPoolExecutor | None = None  # one thread, which talks to the process
        self._child: _Child | None = None
        self._running: _Job | None = None
        _workers.add(self)

    @property
    def pid(self) -> int | None:
        """The process's id; None while there is none."""
        with self._lock:
            return self._child.process.pid if self._child and self._child.alive else None

    async def outside(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `outside` of this module."""
        job = _Job(partial(function, *args, **kwargs))
        with self._lock:
            if self._queue is None:
                self._queue = ThreadPoolExecutor(1, thread_name_prefix="work")
            future = self._queue.submit(self._run, job)
        try:
            return cast("R", await asyncio.wrap_future(future))
        except asyncio.CancelledError:
            self._give_up(job)
            raise

    def stop(self) -> None:
        """End the process and all jobs; blocks for milliseconds. Their callers are cancelled."""
        with self._lock:
            queue, self._queue = self._queue, None
            running = self._running
        if running is not None:
            self._give_up(running)
        if queue is not None:
            queue.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.end()

    def _give_up(self, job: "_Job") -> None:
        with self._lock:
            job.given_up = True
            if self._running is job and self._child is not None:
                self._child.kill()

    def _run(self, job: "_Job") -> object:
        """In the queue's thread: the job's result, on a second process where the first one died."""
        for _ in range(2):
            child = self._begin(job)
            try:
                return child.ask(job.call, self._limit_s)
            except (EOFError, ConnectionError):
                child.end()
            except WorkTooLong:
                child.end()
                raise
            finally:
                with self._lock:
                    self._running = None
        if job.given_up:
            raise asyncio.CancelledError
        raise WorkerDied("the process of this calculation ended twice; try it again with less data")

    def _begin(self, job: "_Job") -> "_Child":
        with self._lock:
            if job.given_up:
                raise asyncio.CancelledError
            if self._child is None or not self._child.alive:
                if self._child is not None:
                    self._child.end()
                self._child = _Child()
            self._running = job
            return self._child


class _Job:
    """A call, and whether its caller has gone."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.given_up = False


class _Child:
    """The process and the pipe to it. Its standard input stays open as long as we live: it ends when that closes."""

    def __init__(self) -> None:
        from multiprocessing import Pipe  # 2 MB that a gateway without calculations has no use for

        self.pipe: Connection[Any, Any]
        self.pipe, theirs = Pipe()
        code = _START.format(path=sys.path, fd=theirs.fileno())
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in the terminal is the gateway's to answer
            )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, call: Callable[[], object], limit_s: float) -> object:
        """The call's result. Raises its error, WorkTooLong, and EOFError or ConnectionError when the process ends."""
        self.pipe.send(call)
        if not self.pipe.poll(limit_s):
            raise WorkTooLong(
                f"the calculation took longer than {limit_s:g} s and was ended; ask for less data"
            )
        done, value = self.pipe.recv()
        if not done:
            raise value
        return value

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> None:
        """Kill and forget; once more is nothing."""
        self.process.kill()
        self.process.wait()
        self.pipe.close()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()


def _stop_all() -> None:
    for worker in list(_workers):
        worker.stop()


_workers: WeakSet[Worker] = WeakSet()
_shared = Worker()
atexit.register(_stop_all)
