"""What the tests of tools beyond the gateway share: a context, a little web on loopback, a guard that admits it."""

import datetime as dt
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from agent_core.tools.spec import Consent, ToolContext, ToolOutput, ToolSpec
from agent_core.tools.web_guard import Guard

NOW = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)


class Still:
    def now(self) -> dt.datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def context(
    owner: str = "telegram:1", session: str = "s1", language: Any = "en", **more: Any
) -> ToolContext:
    return ToolContext(owner, session, 1, "c1", language, Still(), **more)


def approved(bound: str) -> ToolContext:
    return context(consent=Consent(1, "telegram:1", bound=bound))


async def answer(spec: ToolSpec, ctx: ToolContext | None = None, **args: Any) -> dict[str, Any]:
    """What the model reads."""
    output = await spec.call(ctx or context(), args)
    found: dict[str, Any] = json.loads(output.content)
    return found


async def whole(spec: ToolSpec, ctx: ToolContext | None = None, **args: Any) -> ToolOutput:
    return await spec.call(ctx or context(), args)


def named(specs: Sequence[ToolSpec], name: str) -> ToolSpec:
    return next(spec for spec in specs if spec.name == name)


@dataclass
class Site:
    """A server with one handler for every path. `guard` admits it under the name news.example, and nothing else."""

    port: int
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    def url(self, path: str = "/") -> str:
        return f"http://news.example:{self.port}{path}"

    @property
    def guard(self) -> Guard:
        async def lookup(host: str, port: int) -> Sequence[str]:
            self.looked_up.append(host)
            return {"news.example": ["127.0.0.1"], "inside.example": ["10.0.0.8"]}[host]

        mine = frozenset({f"news.example:{self.port}", f"127.0.0.1:{self.port}"})
        return Guard(allowed=mine, lookup=lookup)


@asynccontextmanager
async def site(handler: Callable[[web.Request], Any]) -> AsyncIterator[Site]:
    made = Site(0)

    async def noted(request: web.Request) -> web.StreamResponse:
        made.paths.append(request.path_qs)
        made.headers.append(dict(request.headers))
        found: web.StreamResponse = await handler(request)
        return found

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", noted)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()


def page(body: str, media_type: str = "text/html", charset: str = "utf-8") -> Callable[..., Any]:
    """A handler that always answers with this text."""

    async def handler(_: web.Request) -> web.Response:
        headers = {"Content-Type": f"{media_type}; charset={charset}"}
        return web.Response(body=body.encode(charset), headers=headers)

    return handler
