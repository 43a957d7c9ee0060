"""How the Slack twin hands things to the app: Socket Mode, or signed HTTP requests with retries."""

import asyncio
import contextlib
import hashlib
import hmac
import io
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from tests.twins.slack_state import Json
from tests.twins.twin import Changes

PATHS = {"events_api": "events", "slash_commands": "commands", "interactive": "interactive"}


@dataclass
class Delivery:
    """One thing on its way to the app. `acked` when the app said it has it; `answer` is what came with that."""

    type: str
    payload: Json
    attempts: int = 0
    acked: bool = False
    over: bool = False
    answer: Any = None
    statuses: list[int] = field(default_factory=list)


class Link:
    """Both ways in. `http` is the app's address; without it things go over the sockets."""

    def __init__(self, changes: Changes, violation: Callable[[str], None], secret: str) -> None:
        self.changes = changes
        self.violation = violation
        self.secret = secret
        self.http = ""
        self.ack_within = 3.0
        self.retry_waits = (0.0, 0.05, 0.1)
        self.pongs = True
        self.sockets: list[web.WebSocketResponse] = []
        self.tickets: set[str] = set()
        self.connected = 0
        self.envelopes: dict[str, Delivery] = {}
        self._late: set[str] = set()
        self._number = itertools.count(1)
        self._turn = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()

    def deliver(self, type_: str, payload: Json) -> Delivery:
        """Send it, in a task; events again until acked, three times."""
        delivery = Delivery(type_, payload)
        task = asyncio.create_task(self._deliver(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return delivery

    async def stop(self) -> None:
        """End all."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for socket in list(self.sockets):
            await socket.close()

    async def _deliver(self, delivery: Delivery) -> None:
        waits = self.retry_waits if delivery.type == "events_api" else ()
        for attempt, wait in enumerate((0.0, *waits)):
            if attempt:
                await asyncio.sleep(wait)
            delivery.attempts += 1
            if self.http:
                await self._post(delivery, attempt)
            else:
                await self._push(delivery, attempt)
            if delivery.acked:
                break
        delivery.over = True
        self.changes.notify()

    # HTTP ----------------------------------------------------------------------------------------------------------

    async def _post(self, delivery: Delivery, attempt: int) -> None:
        path = f"{self.http}/webhooks/slack/{PATHS[delivery.type]}"
        if delivery.type == "events_api":
            body, kind = json.dumps(delivery.payload), "application/json"
        elif delivery.type == "slash_commands":
            body, kind = urlencode(delivery.payload), "application/x-www-form-urlencoded"
        else:
            body = urlencode({"payload": json.dumps(delivery.payload)})
            kind = "application/x-www-form-urlencoded"
        more = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_timeout"}
        headers = {**self.signed(body), "Content-Type": kind, **(more if attempt else {})}
        status, text = await self.post(path, body, headers)
        delivery.statuses.append(status)
        if status == 200:
            delivery.acked = True
            delivery.answer = json.loads(text) if text.startswith("{") else text

    def signed(self, body: str, at: float | None = None) -> dict[str, str]:
        """The headers that prove where a body comes from."""
        stamp = str(int(time.time() if at is None else at))
        mac = hmac.new(self.secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256)
        return {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={mac.hexdigest()}",
        }

    async def post(self, url: str, body: str, headers: dict[str, str]) -> tuple[int, str]:
        """(status, text); status 0 when the app was not there or too slow."""
        timeout = aiohttp.ClientTimeout(total=self.ack_within)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(url, data=io.BytesIO(body.encode()), headers=headers) as response,
            ):
                return response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError):
            return 0, ""

    # Socket Mode -----------------------------------------------------------------------------------------------------

    def ticket(self) -> str:
        """For one connection."""
        ticket = f"t{next(self._number)}"
        self.tickets.add(ticket)
        return ticket

    async def _push(self, delivery: Delivery, attempt: int) -> None:
        await self.changes.until(lambda: self.sockets, 60)
        envelope = f"e{next(self._number)}"
        self.envelopes[envelope] = delivery
        message = {
            "envelope_id": envelope,
            "type": delivery.type,
            "payload": delivery.payload,
            "accepts_response_payload": delivery.type != "events_api",
        }
        if delivery.type == "events_api":
            message |= {"retry_attempt": attempt, "retry_reason": "timeout" if attempt else ""}
        socket = self.sockets[next(self._turn) % len(self.sockets)]
        with contextlib.suppress(ConnectionError):
            await socket.send_json(message)
        try:
            await self.changes.until(lambda: delivery.acked, self.ack_within)
        except TimeoutError:
            self._late.add(envelope)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """`/link?ticket=…`, once for each ticket."""
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets:
            self.violation("a ticket was used twice or never given")
            raise web.HTTPForbidden
        self.tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.connected += 1
        hello = {"type": "hello", "num_connections": len(self.sockets) + 1}
        await socket.send_json({**hello, "connection_info": {"app_id": "A0APP"}})
        self.sockets.append(socket)
        self.changes.notify()
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.PING and self.pongs:
                    await socket.pong(message.data)
                elif message.type is aiohttp.WSMsgType.TEXT:
                    self._ack(json.loads(message.data))
        finally:
            if socket in self.sockets:
                self.sockets.remove(socket)
            self.changes.notify()
        return socket

    def _ack(self, body: Json) -> None:
        delivery = self.envelopes.get(str(body.get("envelope_id")))
        if delivery is None:
            self.violation(f"acked an unknown envelope: {body}")
            return
        if delivery.type == "events_api" and body.get("payload"):
            self.violation("answered an event with a payload")
        delivery.acked, delivery.answer = True, body.get("payload")
        self.changes.notify()

    async def refresh(self, reason: str = "refresh_requested", grace: float = 0.05) -> None:
        """Tell all connections to reconnect, then close them."""
        old = list(self.sockets)
        for socket in old:
            await socket.send_json({"type": "disconnect", "reason": reason})
        await asyncio.sleep(grace)
        for socket in old:
            await socket.close()

    def cut(self) -> None:
        """Reset all connections."""
        for socket in list(self.sockets):
            self.sockets.remove(socket)
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()
