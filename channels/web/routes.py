"""The HTTP face of the web chat. Who asks is the host's business; Host and Origin are checked by the gateway's server.

Errors are JSON: `{"error": <code for the page>, "message": <one line for people>}`.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from channels.types import Address, Attachment, Author, Inbound, Kind
from channels.web.body import (
    MAX_NAME,
    Bytes,
    RequestError,
    data_of,
    fields_of,
    file_name,
    key_of,
    media_type,
    refs_of,
    text_of,
    words_of,
)
from channels.web.host import FileItem, HistoryItem, Unfit, WebHost
from channels.web.hub import Event, Hub, Mailbox
from channels.web.wire import dumps, file_json, history_json, session_json

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
UNFIT = {"file_kind": 415, "file_large": 413, "file_empty": 400, "file_often": 429}
SHOWN_IN_PLACE = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
)  # never SVG: it can carry scripts
HEARTBEAT = 15.0  # seconds; proxies cut idle connections after 30 to 60
FRAME = 0.033  # seconds between two previews of one client: more than 30 a second nobody sees

Take = Callable[[Inbound], Awaitable[bool]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PersonHandler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


def _json(data: object, status: int = 200) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    return web.json_response(data, status=status, headers=headers, dumps=dumps)


def _unknown_session() -> RequestError:
    return RequestError(404, "unknown_session", "No such session: choose one from the list.")


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
        self._bytes = Bytes()

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
            web.post("/chat/files", guarded(self._upload)),
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
            except Unfit as e:
                return _json({"error": e.code, "message": str(e)}, UNFIT[e.code])

        return handle

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if await self._host.person(request) is None:
            raise web.HTTPSeeOther("/login")
        return _static_file("index.html")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        return _static_file(request.match_info["name"])

    async def _sessions(self, request: web.Request, person: str) -> web.StreamResponse:
        items = await self._host.sessions(person)
        limits = self._host.limits
        return _json(
            {
                "person": person,
                "sessions": [session_json(i) for i in items],
                "files": {"bytes": limits.bytes, "count": limits.count},
            }
        )

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
            raise _unknown_file() from None
        shown = file.media_type in SHOWN_IN_PLACE
        name = quote(file.name, safe="")
        headers = {
            "Content-Type": file.media_type if shown else "application/octet-stream",
            "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{name}",
            "Cache-Control": "private, max-age=31536000, immutable",  # a ref names its content
        }
        return web.Response(body=file.data, headers=headers)

    async def _upload(self, request: web.Request, person: str) -> web.StreamResponse:
        session = await self._session(person, request.query.get("session"))
        name, kind = file_name(request), media_type(request)
        self._host.admit(person, name, kind)
        data = await self._bytes.read(request, self._host.limits.bytes)
        try:
            item = await self._host.keep(person, session, name, kind, data)
        except KeyError:
            raise _unknown_session() from None
        return _json(file_json(item), 201)

    async def _message(self, request: web.Request, person: str) -> web.StreamResponse:
        fields = await fields_of(request)
        refs = refs_of(fields, self._host.limits.count)
        text, key = words_of(fields, needed=not refs), key_of(fields)
        again = key_of(fields, "again") if fields.get("again") is not None else None
        session = await self._session(person, fields.get("session"))
        try:
            files = await self._host.kept(person, refs) if refs else ()
        except KeyError:
            raise _unknown_file() from None
        inbound = replace(
            self._inbound(request, person, session, key, text),
            attachments=tuple(attached(person, file) for file in files),
            again=again,
        )
        await self._hand_on(inbound)
        said = HistoryItem(key, "user", text, inbound.at, files, again=again)
        self._hub.publish(session, Event("user", {"message": history_json(said)}))
        return _json({"id": key}, 202)

    async def _press(self, request: web.Request, person: str) -> web.StreamResponse:
        fields = await fields_of(request)
        data, key = data_of(fields), key_of(fields)
        message_id = text_of(fields, "message_id")
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


def attached(person: str, file: FileItem) -> Attachment:
    """A file of a message, by a reference that says whose it is: whoever fetches it asks as that person."""
    return Attachment(file.name, file.media_type, ref=f"{person}/{file.ref}", size=file.size)


def ref_of(attachment: Attachment) -> tuple[str, str]:
    """(person, ref) of what `attached` made."""
    person, _, ref = (attachment.ref or "").rpartition("/")
    return person, ref


def _unknown_file() -> RequestError:
    return RequestError(404, "unknown_file", "No such file.")


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
    if kind is None or len(name) > MAX_NAME or ".." in path.parts or not path.is_file():
        raise web.HTTPNotFound
    return web.FileResponse(path, headers={"Content-Type": kind, "Cache-Control": "no-cache"})
