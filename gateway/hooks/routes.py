"""POST /hooks/NAME: 202 for a new post, 200 for a repeated one; what is wrong is said in one line of JSON.

401 unproven, 403 its person may not talk to the bot, 404 no such hook, 409 its chat is not known yet, 413 too large,
429 too many a minute, 503 the database is away: posting it again is right for the last two alone.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from aiohttp import web

from gateway.engine.fence import AWAY
from gateway.hooks.hooks import Hooks, Taken
from gateway.hooks.proof import Unproven, proven
from gateway.people.rate import Allowance, RateLimit
from gateway.settings.hooks import Hook

log = logging.getLogger(__name__)
_STATUS = {Taken.NEW: 202, Taken.AGAIN: 200, Taken.DENIED: 403, Taken.NOWHERE: 409}


class _Refused(Exception):
    """What is answered instead; `again`: seconds after which it may be posted again."""

    def __init__(self, status: int, text: str, again: int = 0) -> None:
        super().__init__(text)
        self.status = status
        self.again = again


class HookRoutes:
    """The address of the hooks of the settings. `now` in Unix seconds, `clock` monotonic."""

    def __init__(
        self,
        hooks: Mapping[str, Hook],
        desk: Hooks,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hooks = hooks
        self._desk = desk
        self._now = now
        self._clock = clock
        self._rates = {name: RateLimit(hook.per_minute) for name, hook in hooks.items()}

    def routes(self) -> Sequence[web.RouteDef]:
        """To mount; none where there is no hook."""
        return [web.post("/hooks/{name}", self._post)] if self._hooks else []

    async def _post(self, request: web.Request) -> web.Response:
        try:
            taken = await self._take(request, request.match_info["name"])
        except _Refused as no:
            headers = {"Retry-After": str(no.again)} if no.again else None
            return web.json_response({"error": str(no)}, status=no.status, headers=headers)
        word = "status" if taken in (Taken.NEW, Taken.AGAIN) else "error"
        return web.json_response({word: taken.value}, status=_STATUS[taken])

    async def _take(self, request: web.Request, name: str) -> Taken:
        hook = self._hooks.get(name)
        if hook is None:
            raise _Refused(404, "there is no such hook")
        body = await _limited(request, hook.max_bytes)
        try:
            post = proven(hook, request.headers, body, self._now())
        except Unproven as e:
            log.warning("hook_unproven", extra={"hook": name, "reason": str(e)})
            raise _Refused(401, str(e)) from e
        if self._rates[name].check(name, self._clock()) is not Allowance.TAKE:
            raise _Refused(429, f"more than {hook.per_minute} posts a minute", again=60)
        try:
            return await self._desk.take(name, hook, post)
        except AWAY as e:
            log.warning("hook_waits", extra={"hook": name, "reason": type(e).__name__})
            raise _Refused(503, "not stored; post it again", again=5) from e


async def _limited(request: web.Request, limit: int) -> bytes:
    """The raw body. Raises _Refused when it is too large."""
    data = bytearray()
    if (request.content_length or 0) <= limit:
        async for piece in request.content.iter_any():
            data += piece
            if len(data) > limit:
                break
        else:
            return bytes(data)
    raise _Refused(413, f"the body is larger than {limit} bytes")
