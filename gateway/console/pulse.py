"""What changes, told to every open page (server-sent events): one look at the database for all of them together.

The look is a few counts by index, taken while somebody watches and at once after an operator's action; its bytes are
made once and written only where they differ from the last ones. Pages then fetch what they show anew.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

log = logging.getLogger(__name__)
BEAT_S = 3.0
QUIET_BEATS = 5  # between signs of life where nothing changes: proxies close what is silent

Look = Callable[[], Awaitable[dict[str, object]]]
StillIn = Callable[[frozenset[str]], Awaitable[frozenset[str]]]


class _Watcher:
    def __init__(self, login: str) -> None:
        self.login = login
        self.news = asyncio.Event()
        self.over = False


class Pulse:
    """`look` is asked for the present state; `still_in` which of some log-ins still hold: others' streams end."""

    def __init__(self, look: Look, still_in: StillIn) -> None:
        self._look = look
        self._still_in = still_in
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._nudge = asyncio.Event()
        self._state = b""
        self._closed = False

    def nudge(self) -> None:
        """Look at once."""
        self._nudge.set()

    async def stop(self) -> None:
        """End every stream. May be called twice."""
        self._closed = True
        for watcher in self._watchers:
            watcher.over = True
            watcher.news.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def stream(self, request: web.Request, login: str) -> web.StreamResponse:
        """Tell a page what changes until it goes away, its log-in ends, or the process stops."""
        stream = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        watcher = _Watcher(login)
        self._watchers.add(watcher)
        try:
            await stream.prepare(request)
            self._start()
            await self._tell(stream, watcher)
        except ConnectionError:
            pass  # the page is gone
        finally:
            self._watchers.discard(watcher)
        return stream

    async def _tell(self, stream: web.StreamResponse, watcher: _Watcher) -> None:
        said = b""
        await stream.write(b"retry: 2000\n\n")
        while not (watcher.over or self._closed):
            news = said != self._state
            said = self._state
            await stream.write(b"event: state\ndata: " + said + b"\n\n" if news else b":\n\n")
            watcher.news.clear()
            await watcher.news.wait()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="console-pulse")

    async def _run(self) -> None:
        quiet = 0
        while self._watchers and not self._closed:
            try:
                quiet = 0 if await self._changed() else quiet + 1
                if quiet >= QUIET_BEATS:
                    quiet = 0
                    await self._end_those_out()
                    self._wake()
            except Exception:  # the database is away; the next look may find it
                log.exception("console_pulse_waits")
            self._nudge.clear()
            try:
                async with asyncio.timeout(BEAT_S):
                    await self._nudge.wait()
            except TimeoutError:
                pass

    async def _changed(self) -> bool:
        """Look; tell everybody where something is not as it was."""
        state = json.dumps(await self._look(), separators=(",", ":")).encode()
        if state == self._state:
            return False
        self._state = state
        await self._end_those_out()
        self._wake()
        return True

    async def _end_those_out(self) -> None:
        """End the streams of log-ins that hold no more."""
        holding = await self._still_in(frozenset(w.login for w in self._watchers))
        for watcher in self._watchers:
            watcher.over = watcher.over or watcher.login not in holding

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher.news.set()
