"""Socket Mode: envelopes in, acknowledged when they are durable.

The SDK's own client acknowledges from tasks that nobody owns, polls its state, and may stay on a dead socket when
apps.connections.open fails once; this loop owns each task, and opens the next connection before it leaves the old one.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from channels.errors import BadCredentials, ChannelError, FloodLimited
from channels.pulse import Pulse
from channels.slack.calls import Calls, proxy_for
from channels.slack.config import SlackConfig

log = logging.getLogger(__name__)

Json = dict[str, Any]
Take = Callable[[str, Json], Awaitable[Json | None]]

FIRST_WAIT, FACTOR, LONGEST_WAIT = 1.0, 1.5, 30.0
YOUNG = 5.0  # a second connection in a row that ends sooner is followed by a wait
HELLO = 10.0
# Slack closes an old connection by itself, soon after it asked us to leave.
LINGER = 30.0
MAX_MESSAGE = 16 * 2**20


class Connection:
    """One socket. `leave` is set when it ended, or Slack asks for another. Whatever comes is a beat of `pulse`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, pulse: Pulse) -> None:
        self.socket = socket
        self._pulse = pulse
        self.leave = asyncio.Event()

    async def read(self, taken: Callable[["Connection", Json], None]) -> None:
        """Hand over each envelope until the socket ends."""
        try:
            async for message in self.socket:
                self._pulse.beat()
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._read(message.data, taken)
                elif message.type is aiohttp.WSMsgType.PING:
                    await self.socket.pong(message.data)
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as e:
            log.info("a Slack socket broke: %s", type(e).__name__)
        finally:
            self.leave.set()

    def _read(self, text: str, taken: Callable[["Connection", Json], None]) -> None:
        try:
            body = json.loads(text)
            if body.get("type") == "disconnect":
                log.info("slack_reconnects", extra={"reason": body.get("reason")})
                self.leave.set()
            elif "envelope_id" in body:
                taken(self, body)
        except (ValueError, TypeError, AttributeError):
            log.warning("Slack sent something that is no envelope (%d characters)", len(text))

    async def ack(self, envelope: str, answer: Json | None) -> None:
        """Tell Slack. Raises ConnectionError when the socket is closed."""
        body: Json = {"envelope_id": envelope}
        await self.socket.send_json(body if answer is None else {**body, "payload": answer})


class SocketMode:
    """Keeps one connection open.

    `take` returns when an envelope is durable; while it raises, nothing is acknowledged and Slack sends it again.
    """

    def __init__(self, calls: Calls, config: SlackConfig, take: Take, pulse: Pulse) -> None:
        self._pulse = pulse
        self._calls = calls
        self._config = config
        self._take = take
        self._tasks: set[asyncio.Task[None]] = set()
        self._newest: Connection | None = None
        self._wait = FIRST_WAIT
        self._short = 0  # connections in a row that ended young

    async def run(self, ready: Callable[[], None]) -> None:
        """Until cancelled; `ready` is called after the first hello. Raises BadCredentials."""
        try:
            while True:
                connection = await self._connect()
                if connection is None:
                    await self._back_off()
                    continue
                self._newest = connection
                self._own(self._live(connection))
                ready()
                began = asyncio.get_running_loop().time()
                await connection.leave.wait()
                await self._pause(asyncio.get_running_loop().time() - began)
        finally:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _live(self, connection: Connection) -> None:
        """Read until the end; a connection that was asked to leave may linger for what is under way."""
        reading = asyncio.create_task(connection.read(self._taken))
        try:
            await connection.leave.wait()
            await asyncio.wait({reading}, timeout=LINGER)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await connection.socket.close()

    async def _connect(self) -> Connection | None:
        """A connection that said hello; None after a failure. Raises BadCredentials."""
        try:
            async with asyncio.timeout(HELLO + self._config.read_timeout):
                answer = await self._calls.call(
                    "apps.connections.open", token=self._config.app_token
                )
                socket = await self._calls.session.ws_connect(
                    str(answer["url"]),
                    heartbeat=self._config.ping_every,
                    autoping=False,  # pings and pongs are signs of life that we want to see
                    max_msg_size=MAX_MESSAGE,
                    proxy=proxy_for(str(answer["url"])),
                )
                return await self._greeted(socket)
        except BadCredentials:
            raise
        except FloodLimited as e:
            self._wait = max(self._wait, e.retry_after)
            log.warning("Slack asks to wait %.0f s before the next connection", e.retry_after)
        except (ChannelError, aiohttp.ClientError, TimeoutError, OSError) as e:
            log.warning("no connection to Slack, again in %.1f s: %s", self._wait, e or type(e))
        return None

    async def _greeted(self, socket: aiohttp.ClientWebSocketResponse) -> Connection | None:
        try:
            body = json.loads(await _first_text(socket))
        except ValueError:
            body = None
        except BaseException:
            await socket.close()
            raise
        if not isinstance(body, dict) or body.get("type") != "hello":
            await socket.close()
            return None
        self._pulse.beat()
        return Connection(socket, self._pulse)

    async def _pause(self, lived: float) -> None:
        """At once after a connection that served for a while; Slack that closes one after the other is not stormed."""
        if lived >= YOUNG:
            self._short, self._wait = 0, FIRST_WAIT
            return
        self._short += 1
        if self._short > 1:
            await self._back_off()

    async def _back_off(self) -> None:
        wait, self._wait = self._wait, min(self._wait * FACTOR, LONGEST_WAIT)
        await asyncio.sleep(wait)

    # Envelopes -----------------------------------------------------------------------------------------------------

    def _taken(self, connection: Connection, body: Json) -> None:
        """Each envelope in a task of its own; they start in the order of arrival."""
        self._own(self._handle(connection, body))

    async def _handle(self, connection: Connection, body: Json) -> None:
        payload = body.get("payload")
        try:
            answer = await self._take(
                str(body.get("type")), payload if isinstance(payload, dict) else {}
            )
        except Exception:  # whatever the store says: without an acknowledgement it comes again
            log.exception("a Slack envelope could not be stored; it will come again")
            return
        if not body.get("accepts_response_payload"):
            answer = None
        for one in (connection, self._newest):
            if one is not None and not one.socket.closed:
                with contextlib.suppress(ConnectionError):
                    await one.ack(str(body["envelope_id"]), answer)
                    return
        log.info("an acknowledgement found no connection: Slack sends the envelope again")

    def _own(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _first_text(socket: aiohttp.ClientWebSocketResponse) -> str:
    """The first words on a socket, "" when it says something else or ends."""
    while True:
        message = await socket.receive(timeout=HELLO)
        if message.type is aiohttp.WSMsgType.PING:
            await socket.pong(message.data)
        elif message.type is not aiohttp.WSMsgType.PONG:
            return str(message.data) if message.type is aiohttp.WSMsgType.TEXT else ""
