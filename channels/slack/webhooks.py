"""HTTP mode: signed requests in, answered 200 when they are durable.

Unsigned, stale, malformed or oversized bodies get a 4xx and a log line; authentic ones that we cannot use get 200.
"""

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from channels.pulse import Pulse

log = logging.getLogger(__name__)

Json = dict[str, Any]
Take = Callable[[str, Json], Awaitable[Json | None]]

ENDS = {"events": "events_api", "commands": "slash_commands", "interactive": "interactive"}
MAX_BODY = 2 * 2**20
_STAMP = re.compile(r"[0-9]{1,15}")


class Unfit(Exception):
    """Answered with `status`; the text says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Webhooks:
    """The three request URLs of an app.

    Args:
        age: seconds after which a signed request is stale.
        pulse: beats at each signed request.
        now: Unix seconds.
    """

    def __init__(
        self,
        secret: str,
        take: Take,
        *,
        path: str,
        age: float,
        pulse: Pulse,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._pulse = pulse
        self._verifier = SignatureVerifier(secret)
        self._take = take
        self._path = path.rstrip("/")
        self._age = age
        self._now = now

    def routes(self) -> Sequence[web.RouteDef]:
        """To mount."""
        return [web.post(f"{self._path}/{end}", self._handle) for end in ENDS]

    async def _handle(self, request: web.Request) -> web.Response:
        kind = ENDS[request.path.rpartition("/")[2]]
        try:
            payload = self._read(kind, request, await _body(request))
        except Unfit as e:
            log.warning("slack_request_refused", extra={"path": request.path, "reason": str(e)})
            return web.Response(status=e.status, text=str(e))
        self._pulse.beat()
        if payload.get("type") == "url_verification":
            return web.json_response({"challenge": payload.get("challenge", "")})
        if payload.get("ssl_check"):
            return web.Response()
        retry = request.headers.get("X-Slack-Retry-Num")
        if retry:
            log.info("slack_retry", extra={"number": retry, "event": payload.get("event_id")})
        try:
            answer = await self._take(kind, payload)
        except Exception:  # whatever the store says: Slack sends events again
            log.exception("a Slack request could not be stored; it will come again")
            return web.Response(status=503)
        return web.Response() if answer is None else web.json_response(answer)

    def _read(self, kind: str, request: web.Request, body: bytes) -> Json:
        self._verify(request, body)
        try:
            return _payload(kind, body.decode())
        except (ValueError, KeyError, TypeError, RecursionError) as e:
            raise Unfit(400, "this body is not one of Slack's") from e

    def _verify(self, request: web.Request, body: bytes) -> None:
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        if not _STAMP.fullmatch(stamp) or not signature.isascii():
            raise Unfit(401, "the request is not signed")
        if abs(self._now() - int(stamp)) > self._age:
            raise Unfit(401, "the request is stale")
        try:
            valid = self._verifier.is_valid(body, stamp, signature)
        except UnicodeDecodeError as e:
            raise Unfit(400, "the body is not UTF-8") from e
        if not valid:
            raise Unfit(401, "the signature is wrong: check slack's signing_secret")


async def _body(request: web.Request) -> bytes:
    """The raw body. Raises Unfit when it is too large."""
    if (request.content_length or 0) > MAX_BODY:
        raise Unfit(413, "the body is too large")
    data = bytearray()
    async for chunk in request.content.iter_any():
        data += chunk
        if len(data) > MAX_BODY:
            raise Unfit(413, "the body is too large")
    return bytes(data)


def _payload(kind: str, body: str) -> Json:
    """The payload as Socket Mode would hand it over. Raises ValueError, KeyError."""
    if kind == "events_api":
        found = json.loads(body)
    else:
        fields = {key: values[-1] for key, values in parse_qs(body, strict_parsing=True).items()}
        checked = kind == "interactive" and "ssl_check" not in fields
        found = json.loads(fields["payload"]) if checked else fields
    if not isinstance(found, dict):
        raise TypeError("no object")
    return found
