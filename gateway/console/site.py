"""/console: the pages. Log-in, the menu, views as HTML, actions as forms that come back to where they were sent from.

Each form carries the log-in's own proof (`form`), besides SameSite=Strict cookies and the server's Origin check.
"""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from aiohttp import web

from gateway.console import render
from gateway.console.api import require
from gateway.console.calls import Action, Call, Done, Refused, View, missing
from gateway.console.flash import Flash, Told
from gateway.console.house import House
from gateway.console.menu import FOLLOWS, MENU
from gateway.console.pulse import Pulse
from gateway.console.roles import may
from gateway.console.routing import Router
from gateway.console.texts import phrase
from gateway.console.visitor import Doorman, Visitor, WrongToken
from gateway.console.wanting import from_form, from_query
from gateway.http.tries import TooManyTries
from gateway.people.identity import Language

log = logging.getLogger(__name__)
PREFIX = "/console"
STATIC = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
LANGUAGE = "swarmgate-console-language"  # a cookie: it says nothing of anybody
LONGEST = 100  # characters of a file's name: a much longer one is an error of the disk
SAFE = ("GET", "HEAD")


class Site:
    """Answers requests below /console."""

    def __init__(
        self,
        house: House,
        doorman: Doorman,
        pulse: Pulse,
        flash: Flash,
        views: list[View],
        actions: list[Action],
    ) -> None:
        self._house = house
        self._doorman = doorman
        self._pulse = pulse
        self._router = Router(views, actions)
        self._flash = flash

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        path = request.rel_url.raw_path.removeprefix(PREFIX).rstrip("/")
        if path.startswith("/static/"):
            return _file(path.removeprefix("/static/"))
        if path == "/login":
            return await self._login(request)
        who = await self._doorman.visitor(request)
        if who is None:
            return await self._stranger(request)
        try:
            return await self._answer(request, who, path or "/overview")
        except Refused as e:
            return self._error(request, who, e)

    async def _answer(self, request: web.Request, who: Visitor, path: str) -> web.StreamResponse:
        if path == "/events" and request.method == "GET":
            return await self._pulse.stream(request, who.login)
        if request.method == "POST":
            return await self._post(request, who, path)
        found = self._router.find(path)
        if found.view is None or request.method not in SAFE:
            raise Refused(405, "method_not_allowed", "This address takes no such request.")
        require(who, found.view.role)
        wanted = from_query(found.view.query, request)
        call = Call(self._house, who, found.path, wanted, language_of(request))
        data = await found.view.read(call)
        return self._page(request, who, found.view.template, found.view, data=data, wanted=wanted)

    async def _post(self, request: web.Request, who: Visitor, path: str) -> web.StreamResponse:
        form = await request.post()
        if not self._doorman.sent_by_us(request, str(form.get("form", ""))):
            raise Refused(403, "forged", "This form is not from this log-in: load the page again.")
        if path == "/logout":
            return await self._log_out(request)
        if path == "/language":
            return _language_set(str(form.get("language", "")), _back(form.get("back")))
        found = self._router.find(path)
        if found.action is None:
            raise Refused(405, "method_not_allowed", "This address takes no such request.")
        to = _back(form.get("back"))
        try:
            require(who, found.action.role)
            wanted = from_form(found.action.body, form)
            call = Call(self._house, who, found.path, wanted, language_of(request))
            done = await found.action.do(call)
            if not isinstance(done, Done):
                raise missing()  # it answers programs alone
            told, to = Told("good", done.said), done.to or to
        except Refused as e:
            told = Told("bad", self._said(e, language_of(request)))
        self._pulse.nudge()
        response = _see(to)
        self._flash.tell(request, response, who, told)
        return response

    # Log-in --------------------------------------------------------------------------------------

    async def _login(self, request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return await self._log_in(request)
        to = _back(request.query.get("next"))
        if await self._doorman.visitor(request) is not None:
            return _see(to)
        return self._login_page(request, to)

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        to = _back(form.get("next"))
        response = _see(to)
        try:
            who = await self._doorman.log_in(request, response, str(form.get("token", "")))
        except TooManyTries as e:
            wait = int(e.retry_after) + 1
            log.warning("console_login_refused", extra={"remote": request.remote, "reason": "rate"})
            page = self._login_page(request, to, "wait", status=429, seconds=wait)
            page.headers["Retry-After"] = str(wait)
            return page
        except WrongToken:
            log.warning(
                "console_login_refused", extra={"remote": request.remote, "reason": "token"}
            )
            return self._login_page(request, to, "wrong", status=401)
        log.info("console_login", extra={"by": who, "remote": request.remote})
        return response

    def _login_page(
        self, request: web.Request, to: str, note: str = "", *, status: int = 200, seconds: int = 0
    ) -> web.Response:
        values = {"next": to, "note": note, "seconds": seconds}
        return _html(render.page("login.html", language_of(request), **values), status)

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        response = _see("/console/login")
        await self._doorman.log_out(request, response)
        return response

    async def _stranger(self, request: web.Request) -> web.StreamResponse:
        """Nobody we know: to the log-in page, or in at once where a trusted proxy names somebody."""
        asks = request.method in SAFE
        to = _back(request.rel_url.raw_path_qs)
        response = _see(to if asks else "/console")
        who = await self._doorman.let_in(request, response)
        if who is not None:
            log.info("console_login", extra={"by": who, "remote": request.remote})
            return response
        if asks and not request.path.endswith("/events"):
            return _see(f"/console/login?next={quote(to, safe='/')}")
        return self._login_page(request, "/console", "over", status=401)

    # Answers -------------------------------------------------------------------------------------

    def _page(
        self,
        request: web.Request,
        who: Visitor,
        template: str,
        view: View | None,
        *,
        status: int = 200,
        **values: Any,
    ) -> web.Response:
        told = self._flash.told(request, who)
        text = render.page(
            template,
            language_of(request),
            who=who,
            may=lambda role: may(who.role, role),
            menu=[entry for entry in MENU if may(who.role, entry.role)],
            nav=view.nav if view else "",
            follows=FOLLOWS.get(view.nav, "") if view else "",
            title=view.title if view else "Console",
            here=request.rel_url.raw_path_qs,
            told=told,
            **values,
        )
        response = _html(text, status)
        if told is not None:
            self._flash.forget(request, response)
        return response

    def _error(self, request: web.Request, who: Visitor, e: Refused) -> web.Response:
        said = self._said(e, language_of(request))
        return self._page(request, who, "error.html", None, status=e.status, said=said)

    def _said(self, e: Refused, language: Language) -> str:
        return phrase(str(e), language)


def language_of(request: web.Request) -> Language:
    """The language that was chosen in the console, else the browser's."""
    chosen = request.cookies.get(LANGUAGE, "") or request.headers.get("Accept-Language", "")
    return "zh" if chosen.lower().startswith("zh") else "en"


def _language_set(language: str, to: str) -> web.Response:
    response = _see(to)
    if language in ("en", "zh"):
        response.set_cookie(
            LANGUAGE, language, max_age=31_536_000, path="/", httponly=True, samesite="Strict"
        )
    return response


def _back(wanted: object) -> str:
    """A page of the console, whatever a form or an address says."""
    text = str(wanted or "")
    parts = urlsplit(text) if text.isascii() and text.isprintable() and "\\" not in text else None
    inside = parts is not None and not parts.scheme and not parts.netloc
    if not inside or not (text == PREFIX or text.startswith((f"{PREFIX}/", f"{PREFIX}?"))):
        return PREFIX
    return PREFIX if text.startswith(f"{PREFIX}/login") else text


def _see(to: str) -> web.Response:
    return web.Response(status=303, headers={"Location": to, "Cache-Control": "no-store"})


def _html(text: str, status: int) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    return web.Response(text=text, status=status, content_type="text/html", headers=headers)


def _file(name: str) -> web.StreamResponse:
    path = STATIC / name
    kind = TYPES.get(path.suffix)
    if kind is None or "/" in name or len(name) > LONGEST or not path.is_file():
        raise web.HTTPNotFound
    return web.FileResponse(path, headers={"Content-Type": kind, "Cache-Control": "no-cache"})
