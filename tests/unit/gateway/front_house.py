"""A whole front over a real core, served on loopback: web chat, console, API, hooks and probes, for several people."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from sqlalchemy import Connection, text
from yarl import URL

from gateway.app import Core, build
from gateway.front import Front, front_of
from gateway.http.auth import CookieSessions, load_secret
from gateway.http.passes import StoredPasses
from gateway.settings.settings import Settings
from tests.house import until
from tests.unit.gateway.console_house import ADMIN, OF, on, settings_in

OPEN: dict[str, Any] = {
    "access": {"default": "allow"},
    "sessions": {"rate_limit": {"messages_per_minute": 1_000_000}},
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; a stream of events is not read."""

    status: int
    kind: str
    body: bytes
    headers: Any = field(repr=False)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class FrontHouse:
    """A running front. People of the web chat are made as they are asked for."""

    core: Core
    settings: Settings
    front: Front
    client: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return self.front.server.local_url

    def routes(self) -> list[tuple[str, str]]:
        """Every (method, path) that the server has, with braces where an id stands; * for any method."""
        app = self.front.server._runner.app
        found = {(r.method, r.resource.canonical) for r in app.router.routes() if r.resource}
        return sorted(found)

    def person(self, name: str) -> dict[str, str]:
        """The headers of a browser at a page of ours in which this person is logged in to the web chat."""
        secret = load_secret(self.settings.data_dir / "web-secret")
        response, port = web.Response(), URL(self.url).port
        request = _Asks(f"127.0.0.1:{port}")
        passes = StoredPasses(self.core.db)
        cookies = CookieSessions(secret, passes, self.core.clock)
        cookies.begin(request, response, name)  # type: ignore[arg-type]
        (cookie,) = response.cookies.values()
        return {"Origin": self.url, "Cookie": f"{cookie.key}={cookie.value}"}

    def program(self, role: str) -> dict[str, str]:
        """The headers of a program with the token of a role."""
        return {"Authorization": f"Bearer {OF[role]}"}

    async def send(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> Answer:
        """One request, its path as it is written."""
        url = URL(f"{self.url}{path}", encoded=True)
        async with self.client.request(
            method, url, data=body, headers=headers, allow_redirects=False
        ) as r:
            streams = r.content_type == "text/event-stream"
            return Answer(r.status, r.content_type, b"" if streams else await r.read(), r.headers)

    async def post(self, path: str, who: dict[str, str], **fields: Any) -> Answer:
        """JSON, posted."""
        body = json.dumps(fields).encode()
        return await self.send("POST", path, who | {"Content-Type": "application/json"}, body)

    async def session(self, who: dict[str, str]) -> str:
        """A new session of the web chat."""
        return str((await self.send("POST", "/chat/sessions", who)).json()["id"])

    async def say(self, who: dict[str, str], session: str, words: str) -> None:
        """Write into a session."""
        answer = await self.post(
            "/chat/messages", who, session=session, key=str(uuid.uuid4()), text=words
        )
        assert answer.status == 202, (words, answer)

    async def history(self, who: dict[str, str], session: str) -> list[dict[str, Any]]:
        """What a page shows of a session, as its stream of events begins."""
        url = f"{self.url}/chat/events?session={session}"
        async with self.client.get(url, headers=who) as response:
            assert response.status == 200
            async for line in response.content:
                if line.startswith(b"data: "):
                    found: list[dict[str, Any]] = json.loads(line[6:])["messages"]
                    return found
        raise AssertionError("no history")

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""

        def work(conn: Connection) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in conn.execute(text(query))]

        return await self.core.db.read(work)

    async def quiet(self) -> None:
        """Until nothing waits and nothing runs."""
        while await self.rows("select 1 from inbox where status < 2"):
            await asyncio.sleep(0.02)
        await until(lambda: not self.core.engine.busy() and not self.core.senders.pending())


@dataclass
class _Asks:
    """Of a request, what cookies are named by."""

    host: str


@asynccontextmanager
async def front_house(
    folder: Path, database_url: str = "sqlite", *, still: bool = False, **more: Any
) -> AsyncIterator[FrontHouse]:
    """A front with a core that answers; `still`: what is stored stays as it was stored."""
    http = {"console_token": ADMIN, "port": 0}
    settings = settings_in(folder, **OPEN | {"http": http} | on(database_url) | more)
    core = await build(settings)
    if still:
        core.engine.wake = lambda *_: None  # type: ignore[method-assign]
    front = front_of(core, settings, [], lambda _: None)
    await front.server.start()
    await core.channels.start([*front.channels], core.intake.accept)
    await core.senders.start()
    await core.engine.start()
    front.health.serving = True
    try:
        async with aiohttp.ClientSession() as client:
            yield FrontHouse(core, settings, front, client)
    finally:
        await core.channels.leave()
        await core.engine.stop(1)
        await core.senders.stop(1)
        await core.channels.stop()
        await front.server.stop()
        await core.mcp.stop()
        await core.models.close()
        await core.roles.stop()
        await core.db.close()
