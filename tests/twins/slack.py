"""The Slack twin: Web API, Socket Mode and signed HTTP on loopback, and the people of one workspace.

Known differences from the real thing: one team, one app; files are shared at once; no shared channels, no scheduled
messages, no canvases; rate limits only where a fault says so; `rich_text` is neither sent nor taken.
"""

from aiohttp import web

from tests.twins.slack_api import Api
from tests.twins.slack_link import Delivery, Link
from tests.twins.slack_people import People
from tests.twins.slack_state import (
    APP_TOKEN,
    BOT_ID,
    BOT_TOKEN,
    BOT_USER,
    SECRET,
    TEAM,
    ApiError,
    Json,
    Post,
    State,
    decoded,
)
from tests.twins.twin import CALL


class SlackTwin(People):
    """One workspace T1 with one app.

    User's side: `say`, `mention`, `edit`, `delete`, `upload`, `slash`, `press`, `submit`, `shortcut`,
    `message_shortcut`, `react`, `open_home`, `assistant`, `channel`, `archive`, `kick`, `redeliver`. What people see:
    `posts`, `replies`, `view`, `home`. Things handed to the app are in `deliveries`.
    """

    name = "slack"

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.api = Api(self.state, self.violation)
        self.link = Link(self.changes, self.violation, SECRET)
        self.deliveries: list[Delivery] = []
        self.scopes: set[str] = set()  # what the token has; empty: Slack does not say
        self.both = True  # whether the app subscribes to message and app_mention

    @property
    def base_url(self) -> str:
        """For AsyncWebClient."""
        return f"{self.url}/api/"

    async def start(self, port: int = 0) -> str:
        """See Twin."""
        self.api.base = await super().start(port)
        return self.url

    async def stop(self) -> None:
        """See Twin."""
        await self.link.stop()
        await super().stop()

    def add_routes(self, app: web.Application) -> None:
        """The provider's side."""
        app.router.add_route("*", "/api/{method}", self._method)
        app.router.add_post("/upload/{id}", self._upload)
        app.router.add_get("/files/{id}/{name}", self._download)
        app.router.add_get("/link", self.link.serve)

    async def _method(self, request: web.Request) -> web.Response:
        method, call = request.match_info["method"], request[CALL]
        args = {key: decoded(value) for key, value in call.params.items()}
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            if method == "apps.connections.open":
                return web.json_response(self._connection(token))
            body = self.api.answer(method, args, token)
        except ApiError as e:
            return web.json_response({"ok": False, "error": e.code, **e.more})
        self.changes.notify()
        scopes = ",".join(sorted(self.scopes - self.api.missing))
        return web.json_response(body, headers={"x-oauth-scopes": scopes} if scopes else None)

    def _connection(self, token: str) -> Json:
        if token != APP_TOKEN:
            raise ApiError("not_allowed_token_type" if token == BOT_TOKEN else "invalid_auth")
        url = self.url.replace("http", "ws", 1)
        return {"ok": True, "url": f"{url}/link?ticket={self.link.ticket()}"}

    async def _upload(self, request: web.Request) -> web.Response:
        file = self.state.files.get(request.match_info["id"])
        parts = list(request[CALL].files.values())
        data = parts[0].data if parts else await request.read()
        if file is None or len(data) != file.length:
            return web.Response(status=400, text="wrong length")
        file.data = data
        return web.Response(text=f"OK - {file.length}")

    async def _download(self, request: web.Request) -> web.Response:
        file = self.state.files.get(request.match_info["id"])
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token != BOT_TOKEN or "files:read" in self.api.missing:
            page = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>"
            return web.Response(text=page, content_type="text/html")
        if file is None:
            return web.Response(status=404)
        return web.Response(body=file.data, content_type=file.media_type)

    # What people see ---------------------------------------------------------------------------------------------

    def posts(self, room_id: str, thread: str | None = None) -> list[Post]:
        """What is visible, oldest first; of one thread (with its root) if `thread` is given."""
        found = self.state.room(room_id).posts.values()
        return [p for p in found if not p.deleted and thread in {None, p.thread, p.ts}]

    def replies(self, room_id: str, thread: str | None = None) -> list[Post]:
        """The bot's visible messages, but the root of an assistant thread."""
        return [p for p in self.posts(room_id, thread) if p.by_bot and p.thread != p.ts]

    async def wait_replies(
        self, room_id: str, count: int = 1, timeout: float = 5.0, thread: str | None = None
    ) -> list[Post]:
        """The bot's visible messages, as soon as there are `count` of them."""

        def look() -> list[Post]:
            found = self.replies(room_id, thread)
            return found if len(found) >= count else []

        return await self.wait_for(look, timeout)

    async def settled(self, timeout: float = 5.0) -> list[Delivery]:
        """All deliveries, when each is acked or given up."""
        await self.wait_for(lambda: all(d.over for d in self.deliveries), timeout)
        return self.deliveries


__all__ = ["APP_TOKEN", "BOT_ID", "BOT_TOKEN", "BOT_USER", "SECRET", "TEAM", "SlackTwin"]
