"""Logging in and out: the form that takes a one-time code, and the cookie it buys.

GET never uses a code up, since link previews and prefetches follow addresses; the page posts it.
"""

import html
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from string import Template

from aiohttp import web

from gateway.http.auth import CookieSessions, OneTimeCodes
from gateway.http.tries import TooManyTries

PAGES = Path(__file__).parent / "pages"
FILES = {"login.css": "text/css; charset=utf-8", "login.js": "text/javascript; charset=utf-8"}
RENEW_SECONDS = 10.0  # a new code at most this often: it is printed into somebody's terminal

TEXTS = {
    "en": {
        "lang": "en",
        "title": "Log in · Swarmgate",
        "heading": "Log in to Swarmgate",
        "hint": "Enter the one-time code that was printed where Swarmgate runs.",
        "label": "One-time code",
        "submit": "Log in",
        "again": "Print a new code",
        "wrong": "This code is wrong, was used already, or is older than 10 minutes. Print a new one.",
        "wait": "Too many wrong codes. Try again in {seconds} seconds.",
        "printed": "A new code was printed where Swarmgate runs: in its terminal or its log.",
        "soon": "A code was printed just now: look into the terminal or the log of Swarmgate.",
    },
    "zh": {
        "lang": "zh",
        "title": "登录 · Swarmgate",
        "heading": "登录 Swarmgate",
        "hint": "请输入 Swarmgate 运行处打印的一次性代码。",
        "label": "一次性代码",
        "submit": "登录",
        "again": "打印新代码",
        "wrong": "代码有误、已被使用，或已超过 10 分钟。请打印新代码。",
        "wait": "错误次数过多，请在 {seconds} 秒后重试。",
        "printed": "新代码已打印在 Swarmgate 的终端或日志中。",
        "soon": "刚刚已打印过代码，请查看 Swarmgate 的终端或日志。",
    },
}


@cache
def _template() -> Template:
    return Template((PAGES / "login.html").read_text(encoding="utf-8"))


def _language(request: web.Request) -> str:
    return "zh" if request.headers.get("Accept-Language", "").lower().startswith("zh") else "en"


class Login:
    """The routes /login, /login/again and /logout.

    `renew` makes and prints a new code when somebody at the form asks for one; None leaves that button out.
    """

    def __init__(
        self,
        codes: OneTimeCodes,
        sessions: CookieSessions,
        *,
        renew: Callable[[], Awaitable[None]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._codes = codes
        self._sessions = sessions
        self._renew = renew
        self._now = monotonic
        self._renewed = float("-inf")

    def routes(self) -> Sequence[web.RouteDef]:
        """All routes, with absolute paths."""
        return [
            web.get("/login", self._show),
            web.post("/login", self._log_in),
            web.post("/login/again", self._again),
            web.post("/logout", self._log_out),
            web.get("/login/{name}", self._file),
        ]

    async def _show(self, request: web.Request) -> web.StreamResponse:
        code = request.query.get("code", "")
        if not code and await self._sessions.person(request) is not None:
            raise web.HTTPSeeOther("/")
        return self._page(request, code=code)

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        try:
            person = await self._codes.redeem(str(form.get("code", "")), request.remote or "")
        except TooManyTries as e:
            wait = int(e.retry_after) + 1
            response = self._page(request, "wait", status=429, seconds=wait)
            response.headers["Retry-After"] = str(wait)
            return response
        if person is None:
            return self._page(request, "wrong", status=401)
        response = web.Response(status=303, headers={"Location": "/", "Cache-Control": "no-store"})
        self._sessions.begin(request, response, person)
        return response

    async def _again(self, request: web.Request) -> web.StreamResponse:
        if self._renew is None:
            raise web.HTTPNotFound
        now = self._now()
        if now - self._renewed < RENEW_SECONDS:
            return self._page(request, "soon", status=429)
        self._renewed = now
        await self._renew()
        return self._page(request, "printed")

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        # what the page keeps in the browser: drafts, messages on their way, pictures
        kept = {"Clear-Site-Data": '"cache", "storage"'}
        response = web.Response(status=303, headers={"Location": "/login", **kept})
        await self._sessions.end(request, response)
        return response

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in FILES:
            raise web.HTTPNotFound
        headers = {"Content-Type": FILES[name], "Cache-Control": "no-cache"}
        return web.FileResponse(PAGES / name, headers=headers)

    def _page(
        self,
        request: web.Request,
        note: str = "",
        *,
        code: str = "",
        status: int = 200,
        seconds: int = 0,
    ) -> web.Response:
        texts = TEXTS[_language(request)]
        body = _template().substitute(
            texts,
            code=html.escape(code, quote=True),
            note=texts[note].format(seconds=seconds) if note else "",
            tone="good" if note == "printed" else "bad",
            note_hidden="" if note else "hidden",
            again_hidden="" if self._renew else "hidden",
        )
        headers = {"Cache-Control": "no-store"}
        return web.Response(text=body, status=status, content_type="text/html", headers=headers)
