"""What changes, told to every open page (server-sent events): one look at the database for all of them together.

The look is a few counts by index, taken every few seconds while somebody watches, less often the more do, and at once
after an operator's action. What is sent is encoded once for all, and only where it differs from what was sent before. A
page that is slow to read gets the newest state when it can take it, not those between, and is let go when it takes
nothing for a while; it holds up nobody else.

Pages then fetch what they show anew. `pace` tells them how often at most, so that all of them together ask no more than
PAGES_A_SECOND.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

log = logging.getLogger(__name__)
BEAT_S = 3.0
QUIET_BEATS = 5  # between signs of life where nothing changes: proxies close what is silent
STREAMS_A_SECOND = 80  # that are written to, where everything changes all the time
AT_ONCE = 50  # streams that are written to before others have their turn on the event loop
PATIENCE_S = 30.0  # of a stream that takes nothing
PAGES_A_SECOND = 10
LEAST_PACE_S = 4.0

Look = Callable[[], Awaitable[dict[str, object]]]
StillIn = Callable[[frozenset[str]], Awaitable[frozenset[str]]]


class _Watcher:
    """One open stream. `since`: when the write began that it has not taken yet, monotonic; None for none."""

    def __init__(self, login: str, transport: asyncio.BaseTransport | None) -> None:
        self.login = login
        self.news = asyncio.Event()
        self.over = False
        self.since: float | None = None
        self._transport = transport

    def hang_up(self) -> None:
        """Close the connection without waiting for who does not read."""
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()


class Pulse:
    """`look` is asked for the present state; `still_in` which of some log-ins still hold: others' streams end."""

    def __init__(self, look: Look, still_in: StillIn, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._look = look
        self._still_in = still_in
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._nudge = asyncio.Event()
        self._state: dict[str, object] = {}
        self._message = b""
        self._closed = False
        self.encoded = 0  # states that were made ready to be sent, each for all streams

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
        watcher = _Watcher(login, request.transport)
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
            message = b":\n\n" if said is self._message else self._message
            said = self._message
            watcher.news.clear()
            watcher.since = time.monotonic()
            await stream.write(message)
            watcher.since = None
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
                    await self._wake()
            except Exception:  # the database is away; the next look may find it
                log.exception("console_pulse_waits")
            self._let_go()
            self._nudge.clear()
            try:
                async with asyncio.timeout(max(BEAT_S, len(self._watchers) / STREAMS_A_SECOND)):
                    await self._nudge.wait()
            except TimeoutError:
                pass

    async def _changed(self) -> bool:
        """Look; tell everybody where something is not as it was."""
        state = await self._look()
        if state == self._state:
            return False
        self._state = state
        pace = max(LEAST_PACE_S, len(self._watchers) / PAGES_A_SECOND)
        data = json.dumps(state | {"pace": pace}, separators=(",", ":"))
        self._message = f"event: state\ndata: {data}\n\n".encode()
        self.encoded += 1
        await self._end_those_out()
        await self._wake()
        return True

    async def _end_those_out(self) -> None:
        """End the streams of log-ins that hold no more."""
        holding = await self._still_in(frozenset(w.login for w in self._watchers))
        for watcher in self._watchers:
            watcher.over = watcher.over or watcher.login not in holding

    async def _wake(self) -> None:
        """Let every stream write, some at a time: turns have the event loop in between."""
        for n, watcher in enumerate(list(self._watchers), 1):
            watcher.news.set()
            if n % AT_ONCE == 0:
                await asyncio.sleep(0.01)

    def _let_go(self) -> None:
        """Hang up on streams that take nothing."""
        long_ago = time.monotonic() - self._patience_s
        for watcher in self._watchers:
            if watcher.since is not None and watcher.since < long_ago:
                log.info("console_stream_dropped", extra={"seconds": self._patience_s})
                watcher.hang_up()
