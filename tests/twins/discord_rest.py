"""The REST API of the Discord twin, as far as a chat bot uses it."""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests.twins.discord_gateway import Gateway
from tests.twins.discord_rules import check_message, numbered, strange_fields
from tests.twins.discord_state import (
    DEFAULT,
    DM,
    REPLY,
    ApiError,
    Channel,
    File,
    Json,
    Stored,
    World,
    invalid,
    stamp,
)
from tests.twins.twin import CALL, Call

Handler = Callable[["Rest", Call, dict[str, str]], Any]
Route = tuple[str, str, Handler, int]
FILE_LIMIT = 10 * 2**20


def answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """JSON as Discord sends it: the content type is `application/json` and nothing more."""
    body = json.dumps(data, ensure_ascii=False).encode()
    kind = {"Content-Type": "application/json"}
    return web.Response(body=body, status=status, headers={**kind, **(headers or {})})


class Windows:
    """Rate limits: fixed windows, as the client takes a bucket to be full after Reset-After."""

    def __init__(self) -> None:
        self.limit, self.seconds = 5, 1.0  # Discord's own: 5 messages in 5 s
        self._windows: dict[str, tuple[float, int]] = {}

    def take(self, bucket: str) -> tuple[bool, dict[str, str]]:
        """Whether there is room, and the headers that say so."""
        now = time.monotonic()
        until, used = self._windows.get(bucket, (0.0, 0))
        if now >= until:
            until, used = now + self.seconds, 0
        fits = used < self.limit
        used += fits
        self._windows[bucket] = (until, used)
        left = max(0.001, until - now)
        return fits, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.limit - used),
            "X-RateLimit-Reset": f"{time.time() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": bucket.partition(" ")[0],
        }


def flooded(
    wait: float, *, everywhere: bool = False, headers: dict[str, str] | None = None
) -> web.Response:
    """429 as Discord's own limiter sends it; without Via it would be Cloudflare's."""
    body = {"message": "You are being rate limited.", "retry_after": wait, "global": everywhere}
    more = {"Via": "1.1 google", "Retry-After": str(int(wait) + 1), **(headers or {})}
    return answer(body, 429, more)


class Rest:
    """The endpoints. `url` is the twin's address."""

    def __init__(
        self,
        world: World,
        gateway: Gateway,
        violation: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self.world = world
        self.gateway = gateway
        self.violation = violation
        self.changed = changed
        self.windows = Windows()
        self.url = ""
        self.shards = 1

    def add_routes(self, app: web.Application, routes: Sequence[Route]) -> None:
        """All of them, below /api/v10."""
        for method, path, handler, status in routes:
            app.router.add_route(method, f"/api/v10{path}", self._guarded(path, handler, status))
        app.router.add_route("*", "/api/v10/{rest:.*}", self._unknown)

    async def _unknown(self, request: web.Request) -> web.Response:
        self.violation(f"called {request.method} {request.path}, which does not exist")
        return answer({"message": "404: Not Found", "code": 0}, 404)

    def _guarded(
        self, path: str, handler: Handler, status: int
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if request.headers.get("Authorization") != f"Bot {self.world.token}":
                return answer({"message": "401: Unauthorized", "code": 0}, 401)
            names = {k: unquote(v) for k, v in request.match_info.items()}
            channel = self.world.channels.get(names.get("channel", ""))
            if channel is not None and (left := channel.flood_until - time.monotonic()) > 0:
                return flooded(round(left, 3))
            fits, headers = self.windows.take(bucket_of(request.method, path, names))
            if not fits:
                return flooded(float(headers["X-RateLimit-Reset-After"]), headers=headers)
            try:
                found = handler(self, request[CALL], names)
            except ApiError as e:
                return answer(e.body(), e.status, headers)
            finally:
                self.changed()
            if found is None:
                return web.Response(status=204, headers=headers)
            return answer(found, status, headers)

        return handle

    # Messages ----------------------------------------------------------------------------------------------------

    def post(self, channel: Channel, body: Json, files: dict[str, Any]) -> Json:
        """A message of the bot. A nonce that is known gives the message it made."""
        for name in strange_fields(body):
            self.violation(f"a message has the field {name}, which Discord does not know")
        check_message(body, len(files))
        nonce = str(body.get("nonce") or "")
        if nonce and body.get("enforce_nonce") and (channel.id, nonce) in self.world.nonces:
            return channel.messages[self.world.nonces[channel.id, nonce]].body
        if channel.person in self.world.blocked:
            raise ApiError(403, 50007, "Cannot send messages to this user")
        if "send" in channel.denied:
            raise ApiError(403, 50013, "Missing Permissions")
        if channel.locked:
            raise ApiError(400, 160005, "Thread is locked")
        channel.archived = False
        stored = self.new_message(channel, self.world.bot, body, files, by_bot=True)
        if nonce:
            self.world.nonces[channel.id, nonce] = stored.id
        return stored.body

    def new_message(
        self,
        channel: Channel,
        author: Json,
        body: Json,
        files: dict[str, Any] | None = None,
        *,
        by_bot: bool = False,
        tell: bool = True,
    ) -> Stored:
        """Store a message and tell the gateway's sessions."""
        message_id = self.world.ids.next()
        kept = self.keep_files(channel, body, files or {})
        content = str(body.get("content") or "")
        full: Json = {
            "id": message_id,
            "type": body.get("type", DEFAULT),
            "channel_id": channel.id,
            "content": content,
            "author": author,
            "timestamp": stamp(message_id),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": self.mentioned(content),
            "mention_roles": [],
            "attachments": kept,
            "embeds": body.get("embeds") or [],
            "pinned": False,
            "components": numbered(body.get("components")),
            "flags": body.get("flags", 0),
        }
        full |= self.replied(channel, body.get("message_reference"))
        if body.get("nonce"):
            full["nonce"] = body["nonce"]
        stored = Stored(full, by_bot, texts=[content])
        channel.messages[message_id] = stored
        if tell:
            self.tell("MESSAGE_CREATE", channel, full)
        return stored

    def tell(self, event: str, channel: Channel, body: Json) -> None:
        """Dispatch a message event, which also says who the member is."""
        if channel.guild is None:
            self.gateway.dispatch(event, {**body, "channel_type": DM})
            return
        member = {**self.world.member_body(body["author"]["id"])}
        del member["user"]
        data = {**body, "guild_id": channel.guild, "member": member, "channel_type": channel.type}
        self.gateway.dispatch(event, data, channel.guild)

    def mentioned(self, content: str) -> list[Json]:
        """Users whose mention is in a text."""
        users = self.world.users
        return [u for i, u in users.items() if f"<@{i}>" in content or f"<@!{i}>" in content]

    def replied(self, channel: Channel, reference: Json | None) -> Json:
        """The part of a message that says what it replies to. Raises ApiError."""
        if not reference:
            return {}
        found = channel.messages.get(str(reference.get("message_id")))
        if found is None or found.deleted:
            if reference.get("fail_if_not_exists", True):
                raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
            return {}
        about = {"message_id": found.id, "channel_id": channel.id}
        if channel.guild:
            about["guild_id"] = channel.guild
        body = {k: v for k, v in found.body.items() if k != "referenced_message"}
        return {
            "type": REPLY,
            "message_reference": {**about, "type": 0},
            "referenced_message": body,
        }

    def keep_files(self, channel: Channel, body: Json, files: dict[str, Any]) -> list[Json]:
        """Store uploads; returns the attachments. Raises ApiError."""
        if sum(len(f.data) for f in files.values()) > FILE_LIMIT:
            raise ApiError(413, 40005, "Request entity too large")
        kept = []
        for about in body.get("attachments") or []:
            upload = files.get(f"files[{about['id']}]")
            if upload is None:
                raise invalid("attachments", "ATTACHMENT_NOT_FOUND", f"no file {about['id']}")
            name = about.get("filename", upload.name)
            file = File(self.world.ids.next(), name, upload.media_type, upload.data)
            kept.append(self.attachment(channel, file, about.get("description")))
        return kept

    def attachment(self, channel: Channel, file: File, about: str | None = None) -> Json:
        """A stored file as an attachment."""
        self.world.files[file.id] = file
        url = f"{self.url}/cdn/attachments/{channel.id}/{file.id}/{file.name}?ex=1"
        body = {"id": file.id, "filename": file.name, "size": len(file.data), "url": url}
        body |= {"proxy_url": url, "content_type": file.media_type}
        return body | ({"description": about} if about else {})

    def edit(self, channel: Channel, stored: Stored, body: Json, files: dict[str, Any]) -> Json:
        """New content for a message of the bot; what is not named stays."""
        for name in strange_fields(body):
            self.violation(f"an edit has the field {name}, which Discord does not know")
        check_message(body, len(files), edit=True)
        if not stored.by_bot:
            raise ApiError(403, 50005, "Cannot edit a message authored by another user")
        if channel.archived:
            raise ApiError(400, 50083, "Thread is archived")
        changed = {k: body[k] for k in ("content", "embeds") if k in body}
        if "components" in body:
            changed["components"] = numbered(body["components"])
        if "attachments" in body:
            changed["attachments"] = self.keep_files(channel, body, files)
        after = {**stored.body, **changed}
        if not (after["content"] or after["embeds"] or after["attachments"]):
            raise ApiError(400, 50006, "Cannot send an empty message")
        stored.body = {**after, "edited_timestamp": stamp()}
        stored.texts.append(stored.text)
        self.tell("MESSAGE_UPDATE", channel, stored.body)
        return stored.body


def bucket_of(method: str, path: str, names: dict[str, str]) -> str:
    """The window that a call belongs to: its route, and the channel."""
    route = f"{method}{path}".replace("{", "").replace("}", "").replace("/", "-")
    return f"{route} {names.get('channel', '')}"
