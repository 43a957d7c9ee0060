"""/api/v1: the console's data and actions as JSON, for programs with a token and for scripts of our own pages."""

import json
from typing import Any

from aiohttp import web
from pydantic import TypeAdapter

from gateway.console import openapi
from gateway.console.calls import Action, Call, Refused, View
from gateway.console.house import House
from gateway.console.roles import may
from gateway.console.routing import Found, Router
from gateway.console.visitor import FORM_HEADER, Doorman, Visitor, WrongToken
from gateway.console.wanting import from_json, from_query
from gateway.http.tries import TooManyTries
from gateway.settings.console import Role

PREFIX = "/api/v1"
SAFE = ("GET", "HEAD")


class Api:
    """Answers requests below /api/v1. Every refusal is JSON: `error` for programs, `message` for people."""

    def __init__(
        self,
        house: House,
        doorman: Doorman,
        views: list[View],
        actions: list[Action],
    ) -> None:
        self._house = house
        self._doorman = doorman
        self._router = Router(views, actions)
        self._document = json.dumps(openapi.document(views, actions), ensure_ascii=False)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        try:
            return await self._answer(request)
        except Refused as e:
            return refusal(e)
        except TooManyTries as e:
            wait = int(e.retry_after) + 1
            said = Refused(429, "too_many_tries", f"Too many wrong tokens: wait {wait} s.")
            return refusal(said, {"Retry-After": str(wait)})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        who = await self._visitor(request)
        path = request.rel_url.raw_path.removeprefix(PREFIX)
        if path == "/openapi.json":
            if request.method not in SAFE:
                raise _NotAllowed(["GET", "HEAD"])
            return web.Response(
                text=self._document, content_type="application/json", headers=_HEADERS
            )
        found = self._router.find(path)
        if request.method in SAFE and found.view:
            return await self._view(request, who, found, found.view)
        if request.method == "POST" and found.action:
            return await self._action(request, who, found, found.action)
        raise _NotAllowed(found.methods)

    async def _view(
        self, request: web.Request, who: Visitor, found: Found, view: View
    ) -> web.Response:
        require(who, view.role)
        wanted = from_query(view.query, request)
        call = Call(self._house, who, found.path, wanted, "en")
        return _json(view.answer, await view.read(call))

    async def _action(
        self, request: web.Request, who: Visitor, found: Found, action: Action
    ) -> web.Response:
        require(who, action.role)
        wanted = await from_json(action.body, request)
        call = Call(self._house, who, found.path, wanted, "en")
        return _json(action.answer, await action.do(call))

    async def _visitor(self, request: web.Request) -> Visitor:
        try:
            who = self._doorman.program(request) or await self._doorman.visitor(request)
        except WrongToken:
            who = None
        if who is None:
            raise Refused(401, "unauthorized", "Authorization: Bearer <token> is needed.")
        if who.how == "cookie" and request.method not in SAFE:
            self._require_ours(request)
        return who

    def _require_ours(self, request: web.Request) -> None:
        """A cookie alone proves no intent: raises Refused (403) where no page of ours asks."""
        if not self._doorman.sent_by_us(request, request.headers.get(FORM_HEADER, "")):
            raise Refused(403, "forged", f"The header {FORM_HEADER} is missing or wrong.")


_HEADERS = {"Cache-Control": "no-store"}


class _NotAllowed(Refused):
    def __init__(self, methods: list[str]) -> None:
        super().__init__(405, "method_not_allowed", f"Use {', '.join(methods)}.")
        self.methods = methods


def require(who: Visitor, role: Role) -> None:
    """Raises Refused (403) where a visitor may not do this."""
    if not may(who.role, role):
        raise Refused(403, "forbidden", f"This needs the role {role}; yours is {who.role}.")


def refusal(refused: Refused, headers: dict[str, str] | None = None) -> web.Response:
    """A refusal as JSON."""
    more = dict(_HEADERS) | (headers or {})
    if refused.status == 401:
        more["WWW-Authenticate"] = 'Bearer realm="swarmgate"'
    if isinstance(refused, _NotAllowed):
        more["Allow"] = ", ".join(refused.methods)
    body = {"error": refused.code, "message": str(refused)}
    return web.json_response(body, status=refused.status, headers=more)


def _json(kind: Any, value: Any) -> web.Response:
    body = TypeAdapter(kind).dump_json(value)
    return web.Response(body=body, content_type="application/json", headers=_HEADERS)
