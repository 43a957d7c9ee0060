"""Data vendors on loopback: small responses written by hand after each vendor's documented format."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

DAY = dt.date.fromisoformat
NOON = dt.datetime(2024, 3, 8, 12, 0, tzinfo=dt.UTC)  # a Friday, before New York opens

Answer = tuple[int, str, str, dict[str, str]]


class Watch:
    """A clock that is set by hand."""

    def __init__(self, now: dt.datetime = NOON) -> None:
        self.at = now
        self.seconds = 1_000.0

    def now(self) -> dt.datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds

    def pass_by(self, **span: float) -> None:
        """Let time pass."""
        delta = dt.timedelta(**span)
        self.at += delta
        self.seconds += delta.total_seconds()


class Vendor:
    """One server. `pages` maps a path to what it answers: text, JSON, (status, text), or a function of the query."""

    def __init__(self, pages: dict[str, Any]) -> None:
        self.pages = dict(pages)
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self.server = TestServer(app)

    async def __aenter__(self) -> "Vendor":
        await self.server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()

    @property
    def url(self) -> str:
        return str(self.server.make_url("")).rstrip("/")

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, dict(request.query), dict(request.headers)))
        page = self.pages.get(request.path)
        if isinstance(page, Callable):  # type: ignore[arg-type]
            page = page(dict(request.query))
        if page is None:
            return web.Response(status=404)
        if isinstance(page, web.Response):
            return page
        if isinstance(page, str):
            return web.Response(text=page, content_type="text/plain")
        return web.json_response(page)


def html(status: int = 200) -> web.Response:
    """What vendors answer when they want a person and not a program."""
    text = "<!DOCTYPE html><html><body>Just a moment...</body></html>"
    return web.Response(status=status, text=text, content_type="text/html")


def limit(seconds: int) -> web.Response:
    """Too many requests."""
    return web.Response(status=429, headers={"Retry-After": str(seconds)})
