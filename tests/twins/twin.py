"""The base of every protocol twin: one loopback server with a call log, faults, waiting and a control plane.

A twin speaks a provider's wire protocol to the real client library, and offers methods for the user's side to the
test. A subclass implements `add_routes`. Paths that begin with `/__` are the control plane of black-box tests; they
are neither logged nor faulted.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from aiohttp import web
from multidict import CIMultiDict

from tests.twins.control import add_control
from tests.twins.weather import Weather

MAX_BODY = 128 * 2**20
T = TypeVar("T")


@dataclass(slots=True)
class Upload:
    """A file of a multipart body."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(slots=True)
class Call:
    """One request. `status` is None while it is being answered, 0 when the connection was reset."""

    n: int
    t: float
    method: str
    path: str
    headers: CIMultiDict[str] = field(repr=False)
    params: dict[str, Any]
    files: dict[str, Upload]
    status: int | None = None
    reply: Any = None

    def public(self) -> dict[str, Any]:
        """The call as JSON for the control plane."""
        files = {k: {"name": f.name, "size": len(f.data)} for k, f in self.files.items()}
        return {
            **{k: getattr(self, k) for k in ("n", "t", "method", "path", "params", "status")},
            "headers": dict(self.headers),
            "files": files,
            "reply": self.reply,
        }


CALL = web.RequestKey("call", Call)


@dataclass(slots=True)
class Fault:
    """A rule that spoils requests whose "METHOD /path" matches `match` (a regular expression, searched).

    `skip` matches go through first, then `times` are spoilt (-1: for ever).

    `status`/`body`/`headers` answer without a side effect (a dict or list as body is sent as JSON). `delay` sleeps and
    then handles; `delay_after` handles and then sits on the answer; `drop` resets the connection before or after the
    side effect; `hang` never answers and has no side effect.
    """

    match: str
    times: int = 1
    skip: int = 0
    status: int | None = None
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    delay_after: float = 0.0
    drop: Literal["before", "after"] | None = None
    hang: bool = False
    used: int = 0

    def takes(self, line: str) -> bool:
        """Whether this request is spoilt; counts it."""
        if not re.search(self.match, line) or self.times == self.used:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.used += 1
        return True

    @property
    def used_up(self) -> bool:
        """Whether it has spoilt all it was to spoil."""
        return self.times == self.used

    def answer(self) -> web.Response:
        """What `status` says."""
        assert self.status is not None
        if isinstance(self.body, dict | list):
            return web.json_response(self.body, status=self.status, headers=self.headers)
        return web.Response(text=str(self.body), status=self.status, headers=self.headers)


class Changes:
    """Something waits here until a predicate over the twin's state holds.

    A condition variable for one event loop: `notify` needs no lock and so may be called from plain functions.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Let every waiter look again."""
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, look: Callable[[], T], timeout: float) -> T:
        """The first true value of `look()`. Raises TimeoutError after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            while not (found := look()):
                future = asyncio.get_running_loop().create_future()
                self._waiting.add(future)
                try:
                    await future
                finally:
                    self._waiting.discard(future)
        return found


class Twin:
    """A loopback server; a subclass adds the provider's routes and the user's side.

    Attributes:
        calls: every request in order of arrival.
        violations: protocol errors of the code under test; a test ends with `assert twin.violations == []`.
        faults: rules that are tried in order; the first that takes a request spoils it.
        weather: spoils requests that no rule takes, at random.
    """

    name = "twin"

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.weather: Weather | None = None
        self.changes = Changes()
        self.url = ""
        self._runner: web.AppRunner | None = None

    def add_routes(self, app: web.Application) -> None:
        """Add the provider's API."""
        raise NotImplementedError

    async def start(self, port: int = 0) -> str:
        """Listen on loopback; returns (and keeps in `url`) the address without a trailing slash."""
        app = web.Application(middlewares=[self._middleware], client_max_size=MAX_BODY)
        self.add_routes(app)
        add_control(app, self)
        # handler_cancellation: a twin notices a client that goes away in the middle of an answer.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=0.2, access_log=None
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        host, bound = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{bound}"
        return self.url

    async def stop(self) -> None:
        """Close all connections. Harmless when called twice."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def __aenter__(self) -> "Twin":
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    # The test's side ---------------------------------------------------------------------------------------------

    def fault(self, match: str, **rule: Any) -> Fault:
        """Add a rule (see Fault)."""
        rule_ = Fault(match, **rule)
        self.faults.append(rule_)
        return rule_

    def tune(self, **attributes: Any) -> None:
        """Set time knobs and other attributes that exist."""
        for key, value in attributes.items():
            if not hasattr(self, key):
                raise AttributeError(f"{self.name} has no knob {key}")
            setattr(self, key, value)

    def violation(self, text: str) -> None:
        """Record a protocol error of the code under test."""
        self.violations.append(text)
        self.changes.notify()

    async def wait_for(self, look: Callable[[], T], timeout: float = 5.0) -> T:
        """The first true value of `look()`, which is tried at each change. Raises TimeoutError."""
        return await self.changes.until(look, timeout)

    async def wait_call(
        self,
        match: str | Callable[[Call], object],
        *,
        after: int = 0,
        answered: bool = True,
        timeout: float = 5.0,
    ) -> Call:
        """The first call with n > `after` that matches (a regular expression on "METHOD /path", or a predicate).

        With `answered` it must have been answered (or reset) too. Raises TimeoutError.
        """

        def look() -> Call | None:
            calls = self.matching(match, after)
            return next((c for c in calls if not answered or c.status is not None), None)

        found = await self.changes.until(look, timeout)
        assert found is not None
        return found

    def matching(self, match: str | Callable[[Call], object], after: int = 0) -> list[Call]:
        """The calls so far that match, in order."""
        if isinstance(match, str):
            pattern = re.compile(match)
            return [c for c in self.calls[after:] if pattern.search(f"{c.method} {c.path}")]
        return [c for c in self.calls[after:] if match(c)]

    # The server's side -------------------------------------------------------------------------------------------

    @web.middleware
    async def _middleware(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path.startswith("/__"):
            return await handler(request)
        params, files = await read_body(request)
        call = Call(
            len(self.calls) + 1,
            time.monotonic(),
            request.method,
            request.path,
            CIMultiDict(request.headers),
            params,
            files,
        )
        self.calls.append(call)
        request[CALL] = call
        self.changes.notify()
        try:
            response = await self._spoilt(request, handler)
            call.status = response.status
            call.reply = reply_of(response) if call.reply is None else call.reply
        except web.HTTPException as e:
            call.status = e.status
            raise
        finally:
            call.status = call.status or 0
            self.changes.notify()
        return response

    async def _spoilt(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        line = f"{request.method} {request.path}"
        fault = next((f for f in self.faults if f.takes(line)), None)
        if fault is None and self.weather is not None:
            fault = self.weather.strikes(request[CALL])
        if fault is None:
            return await handler(request)
        if fault.hang:
            self.changes.notify()
            await asyncio.Event().wait()
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.drop == "before":
            reset(request)
        if fault.status is not None:
            return fault.answer()
        response = await handler(request)
        if fault.drop == "after":
            reset(request)
        if fault.delay_after:
            await asyncio.sleep(fault.delay_after)
        return response


def reset(request: web.Request) -> None:
    """Reset the TCP connection; never returns."""
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError


async def read_body(request: web.Request) -> tuple[dict[str, Any], dict[str, Upload]]:
    """Parameters and files of a request: query, then JSON, urlencoded or multipart, merged.

    A JSON body that is no object is the parameter "" (empty name).
    """
    params: dict[str, Any] = dict(request.query)
    files: dict[str, Upload] = {}
    if not request.can_read_body:
        return params, files
    kind = request.content_type
    if kind == "application/json" or kind.endswith("+json"):
        body = json.loads(await request.read() or b"{}")
        params.update(body if isinstance(body, dict) else {"": body})
    elif kind in {"multipart/form-data", "application/x-www-form-urlencoded"}:
        for key, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                media = value.content_type or "application/octet-stream"
                files[key] = Upload(value.filename, media, value.file.read())
                value.file.close()
            else:
                params[key] = value if isinstance(value, str) else value.decode()
    return params, files


def reply_of(response: web.StreamResponse) -> Any:
    """What was answered, decoded when it is JSON; None for a stream."""
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes):
        return None
    if response.content_type == "application/json":
        return json.loads(response.body)
    return response.text if response.content_type.startswith("text/") else None
