"""The HTTP face of the web chat. Who asks is the host's business; Host and Origin are checked by the gateway's server.

Errors are JSON: `{"error": <code for the page>, "message": <one line for people>}`.
"""

import asyncio
import datetime as dt
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from channels.types import Address, Author, Inbound, Kind
from channels.web.host import WebHost
from channels.web.hub import Event, Hub, Mailbox
from channels.web.wire import dumps, history_json, session_json

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
SHOWN_IN_PLACE = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
)  # never SVG: it can carry scripts
KEY = re.compile(r"[A-Za-z0-9-]{8,64}")
MAX_TEXT = 100_000  # characters; the server refuses bodies over 1 MiB before that
MAX_DATA = 64  # bytes of a button's data, see channels.types.Button
HEARTBEAT = 15.0  # seconds; proxies cut idle connections after 30 to 60
FRAME = 0.033  # seconds between two previews of one client: more than 30 a second nobody sees

Take = Callable[[Inbound], Awaitable[bool]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PersonHandler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def _json(data: object, status: int = 200) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    return web.json_response(data, status=status, headers=headers, dumps=dumps)


def _unknown_session() -> RequestError:
    return RequestError(404, "unknown_session", "No such session: choose one from the list.")


async def _fields(request: web.Request) -> dict[str, Any]:
    """The JSON object in the body."""
    try:
        body = await request.json()
    except web.HTTPRequestEntityTooLarge:
        raise RequestError(413, "too_long", "The message is too long: send it in parts.") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        body = None
    if request.content_type != "application/json" or not isinstance(body, dict):
        raise RequestError(400, "bad_request", "The body must be a JSON object.")
    return body


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestError(
            400, "bad_request", f"The field {name} must be a text that is not empty."
        )
    return value


def _key(fields: dict[str, Any]) -> str:
    key = _text(fields, "key")
    if not KEY.fullmatch(key):
        raise RequestError(400, "bad_request", "The field key must be a UUID.")
    return key


def _language(request: web.Request) -> str | None:
    first = request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip()
    return first if first and first != "*" else None


class ChatRoutes:
    """All routes of the web chat. `take` hands an Inbound on and says whether the channel runs."""

    def __init__(self, host: WebHost, hub: Hub, take: Take, now: Callable[[], dt.datetime]) -> None:
        self._host = host
        self._hub = hub
        self._take = take
        self._now = now

    def all(self) -> Sequence[web.RouteDef]:
        """The routes, with absolute paths."""
        guarded = self._guarded
        return [
            web.get("/", self._page),
            web.get("/static/{name:.+}", self._static),
            web.get("/chat/sessions", guarded(self._sessions)),
            web.post("/chat/sessions", guarded(self._create)),
            web.get("/chat/commands", guarded(self._commands)),
            web.post("/chat/messages", guarded(self._message)),
            web.post("/chat/presses", guarded(self._press)),
            web.get("/chat/events", guarded(self._events)),
            web.get("/chat/files/{ref}", guarded(self._file)),
        ]

    def _guarded(self, handler: PersonHandler) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                person = await self._host.person(request)
                if person is None:
                    raise RequestError(401, "logged_out", "Log in first: open /login.")  # noqa: TRY301 - one way out
                return await handler(request, person)
            except RequestError as e:
                return _json({"error": e.code, "message": str(e)}, e.status)

        return handle

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if await self._host.person(request) is None:
            raise web.HTTPSeeOther("/login")
        return _static_file("index.html")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        return _static_file(request.match_info["name"])

    async def _sessions(self, request: web.Request, person: str) -> web.StreamResponse:
        items = await self._host.sessions(person)
        return _json({"person": person, "sessions": [session_json(i) for i in items]})

    async def _create(self, request: web.Request, person: str) -> web.StreamResponse:
        return _json(session_json(await self._host.create(person)), 201)

    async def _commands(self, request: web.Request, person: str) -> web.StreamResponse:
        language = "zh" if request.query.get("language", "").startswith("zh") else "en"
        pairs = self._host.commands(language)
        return _json({"commands": [{"name": n, "description": d} for n, d in pairs]})

    async def _file(self, request: web.Request, person: str) -> web.StreamResponse:
        try:
            dark = request.query.get("theme") == "dark"
            file = await self._host.file(person, request.match_info["ref"], dark=dark)
        except KeyError:
            raise RequestError(404, "unknown_file", "No such file.") from None
        shown = file.media_type in SHOWN_IN_PLACE
        name = quote(file.name, safe="")
        headers = {
            "Content-Type": file.media_type if shown else "application/octet-stream",
            "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{name}",
            "Cache-Control": "private, max-age=31536000, immutable",  # a ref names its content
        }
        return web.Response(body=file.data, headers=headers)

    async def _message(self, request: web.Request, person: str) -> web.StreamResponse:
        fields = await _fields(request)
        text, key = _text(fields, "text"), _key(fields)
        if len(text) > MAX_TEXT:
            detail = f"A message has at most {MAX_TEXT} characters: send it in parts."
            raise RequestError(413, "too_long", detail)
        session = await self._session(person, fields.get("session"))
        inbound = self._inbound(request, person, session, key, text)
        await self._hand_on(inbound)
        user = {"id": key, "role": "user", "text": text, "at": inbound.at.isoformat()}
        self._hub.publish(session, Event("user", {"message": user}))
        return _json({"id": key}, 202)

    async def _press(self, request: web.Request, person: str) -> web.StreamResponse:
        fields = await _fields(request)
        data, key = _text(fields, "data"), _key(fields)
        message_id = _text(fields, "message_id")
        if len(data.encode("utf-8", "replace")) > MAX_DATA:
            raise RequestError(400, "bad_request", f"A button's data has at most {MAX_DATA} bytes.")
        session = await self._session(person, fields.get("session"))
        await self._hand_on(self._inbound(request, person, session, key, data, message_id))
        return _json({"id": key}, 202)

    async def _session(self, person: str, session: object) -> str:
        if not isinstance(session, str) or not await self._host.owns(person, session):
            raise _unknown_session()
        return session

    def _inbound(
        self,
        request: web.Request,
        person: str,
        session: str,
        key: str,
        text: str,
        pressed: str | None = None,
    ) -> Inbound:
        return Inbound(
            address=Address("web", "local", session),
            key=key,
            author=Author(person, person, _language(request)),
            text=text,
            at=self._now(),
            kind=Kind.MESSAGE if pressed is None else Kind.BUTTON,
            message_id=pressed or key,
            callback=None if pressed is None else f"{key}:{session}",
        )

    async def _hand_on(self, inbound: Inbound) -> None:
        if not await self._take(inbound):
            raise RequestError(503, "not_running", "Swarmgate is starting or stopping: try again.")

    async def _events(self, request: web.Request, person: str) -> web.StreamResponse:
        session = request.query.get("session", "")
        mailbox = self._hub.join(
            session
        )  # before the history is read, so that nothing falls between
        try:
            try:
                history = await self._host.history(person, session)
            except KeyError:
                raise _unknown_session() from None
            stream = web.StreamResponse(
                headers={
                    "Content-Type": "text/event-stream; charset=utf-8",
                    "Cache-Control": "no-store",
                    "X-Accel-Buffering": "no",  # nginx would hold the events back
                }
            )
            await stream.prepare(request)
            messages = [history_json(i) for i in history]
            try:
                await stream.write(b"retry: 1000\n\n")
                await _write(
                    stream, [Event("history", {"messages": messages, "live": mailbox.live_id})]
                )
                await _pump(stream, mailbox)
            except ConnectionError:
                pass  # the page is gone; it loads the history when it comes back
            return stream
        finally:
            self._hub.leave(session, mailbox)


async def _pump(stream: web.StreamResponse, mailbox: Mailbox) -> None:
    """Write events until the mailbox is closed."""
    while not mailbox.closed:
        events = await mailbox.take(HEARTBEAT)
        if not events and mailbox.closed:
            return
        await _write(stream, events)
        if events and events[-1].name == "preview":
            await asyncio.sleep(FRAME)


async def _write(stream: web.StreamResponse, events: Sequence[Event]) -> None:
    text = "".join(f"event: {e.name}\ndata: {dumps(e.data)}\n\n" for e in events) or ":\n\n"
    await stream.write(text.encode())


def _static_file(name: str) -> web.StreamResponse:
    path = STATIC / name
    kind = TYPES.get(path.suffix)
    if kind is None or ".." in path.parts or not path.is_file():
        raise web.HTTPNotFound
    return web.FileResponse(path, headers={"Content-Type": kind, "Cache-Control": "no-cache"})
