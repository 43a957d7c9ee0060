"""Who asks: by a cookie that was bought with a token, by a token itself (the API), or through a proxy that is trusted.

Default deny: no address, loopback least of all, is let in for what it is.
"""

import datetime as dt
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import web

from gateway.console import logins
from gateway.console.keys import Key, Keyring
from gateway.http.cookie import CookieOf
from gateway.http.token import bearer
from gateway.http.tries import Throttle
from gateway.settings.console import Console, Role
from gateway.storage.db import Database

FORM_HEADER = "X-Console-Form"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who may be here. `id` names them in the audit: `token:<name>` or `proxy:<name>`.

    `form` is what their forms carry; a program with a token sends none (`how` bearer). `login` is the log-in's id.
    """

    id: str
    role: Role
    how: Literal["cookie", "bearer"]
    form: str = field(default="", repr=False)
    login: str = ""

    @property
    def name(self) -> str:
        """The name alone."""
        return self.id.partition(":")[2]


class Doorman:
    """Knows every visitor. Raises TooManyTries where an address guesses tokens."""

    def __init__(
        self,
        db: Database,
        keys: Keyring,
        settings: Console,
        *,
        public_url: str | None,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._db = db
        self._keys = keys
        self._settings = settings
        self._now = now
        self._cookie = CookieOf("swarmgate-console", public_url)
        self._throttle = Throttle()

    async def visitor(self, request: web.Request) -> Visitor | None:
        """Who asks, by cookie."""
        cookie = request.cookies.get(self._cookie.name(request), "")
        if not cookie:
            return None
        login_id, now = logins.id_of(cookie), self._now()
        login = await self._db.read(lambda conn: logins.find(conn, login_id, now))
        role = None if login is None else self._role(request, login)
        if login is None or role is None:
            return None
        return Visitor(login.owner, role, "cookie", logins.form_token(cookie), login.id)

    def program(self, request: web.Request) -> Visitor | None:
        """Who asks, by `Authorization: Bearer`; None without that header. Raises WrongToken, TooManyTries."""
        if "Authorization" not in request.headers:
            return None
        key = self._key(request, bearer(request) or "")
        return Visitor(f"token:{key.name}", key.role, "bearer")

    async def log_in(self, request: web.Request, response: web.StreamResponse, token: str) -> str:
        """Begin a log-in with this answer; returns who it is. Raises WrongToken, TooManyTries."""
        key = self._key(request, token)
        return await self._begin(request, response, f"token:{key.name}", key.mark)

    async def let_in(self, request: web.Request, response: web.StreamResponse) -> str | None:
        """Begin a log-in for whom a trusted proxy names; None where it names nobody who may come in."""
        person = self._proxied(request)
        if person is None:
            return None
        return await self._begin(request, response, f"proxy:{person}", "")

    async def log_out(self, request: web.Request, response: web.StreamResponse) -> None:
        """End the log-in of this request for good, and delete its cookie."""
        name = self._cookie.name(request)
        if cookie := request.cookies.get(name, ""):
            await self._db.write(lambda conn: logins.end(conn, logins.id_of(cookie)))
        self._cookie.drop(request, response)

    def sent_by_us(self, request: web.Request, given: str) -> bool:
        """Whether a form, or a script's request, comes from a page of this log-in."""
        cookie = request.cookies.get(self._cookie.name(request), "")
        return bool(cookie) and logins.is_form_token(cookie, given)

    async def _begin(
        self, request: web.Request, response: web.StreamResponse, owner: str, mark: str
    ) -> str:
        agent, now = request.headers.get("User-Agent", ""), self._now()
        hours = self._settings.session_hours
        cookie = await self._db.write(
            lambda conn: logins.begin(conn, owner, mark, agent, now, hours)
        )
        self._cookie.put(request, response, cookie, hours * 3600)
        return owner

    def _key(self, request: web.Request, token: str) -> Key:
        remote = request.remote or ""
        self._throttle.check(remote)
        key = self._keys.find(token)
        if key is None:
            self._throttle.wrong(remote)
            raise WrongToken
        return key

    def _role(self, request: web.Request, login: logins.Login) -> Role | None:
        """What this log-in may do now: settings and proxies may have changed since it began."""
        kind, _, name = login.owner.partition(":")
        if kind == "proxy":
            same = self._proxied(request) == name
            return self._settings.proxy.users.get(name) if same else None
        key = self._keys.holds(name, login.mark)
        return key.role if key else None

    def _proxied(self, request: web.Request) -> str | None:
        """Whom a trusted proxy names, if that person may come in. One header exactly: two may be an attack."""
        proxy = self._settings.proxy
        if proxy.header is None or not self._is_proxy(request.remote or ""):
            return None
        named = request.headers.getall(proxy.header, [])
        name = named[0].strip() if len(named) == 1 else ""
        return name if name in proxy.users else None

    def _is_proxy(self, remote: str) -> bool:
        try:
            address = ipaddress.ip_address(remote)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self._settings.proxy.addresses)


class WrongToken(Exception):
    """No key has this token."""
