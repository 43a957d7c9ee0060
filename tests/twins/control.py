"""The control plane of a twin, for tests that run the product in another process."""

import base64
import contextlib
import dataclasses
import inspect
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from tests.twins.twin import Twin


def jsonable(value: Any) -> Any:
    """For the control plane: dataclasses as objects, bytes as base64, anything else as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)


def reply(value: Any, status: int = 200) -> web.Response:
    """A JSON answer."""
    text = json.dumps(value, default=jsonable, ensure_ascii=False)
    return web.Response(text=text, status=status, content_type="application/json")


async def invoke(twin: "Twin", wanted: dict[str, Any]) -> web.Response:
    """Call one public method (or read one public attribute) of the twin."""
    name = str(wanted["method"])
    found = None if name.startswith("_") else getattr(twin, name, None)
    if found is None:
        return reply({"error": f"{twin.name} has no method {name}"}, 404)
    try:
        result = (
            found(*wanted.get("args", ()), **wanted.get("kwargs", {})) if callable(found) else found
        )
        if inspect.isawaitable(result):
            result = await result
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, TimeoutError) as e:
        return reply({"error": f"{type(e).__name__}: {e}"}, 400)
    return reply({"result": result})


def add_control(app: web.Application, twin: "Twin") -> None:
    """Add the control plane.

    `POST /__/call {"method", "args", "kwargs"}` calls a public method of the twin; `POST /__/fault {...}` adds a rule;
    `GET /__/calls?after=N&match=RE&wait=S` lists answered calls, waiting up to S seconds for a first one;
    `GET /__/violations` lists violations.
    """

    async def call(request: web.Request) -> web.Response:
        return await invoke(twin, await request.json())

    async def fault(request: web.Request) -> web.Response:
        return reply({"result": twin.fault(**await request.json())})

    async def calls(request: web.Request) -> web.Response:
        after = int(request.query.get("after", "0"))
        match = request.query.get("match", "")
        wait = float(request.query.get("wait", "0"))
        if wait:
            with contextlib.suppress(TimeoutError):
                await twin.wait_call(match, after=after, timeout=wait)
        found = [c.public() for c in twin.matching(match, after) if c.status is not None]
        return reply({"result": found})

    async def violations(_: web.Request) -> web.Response:
        return reply({"result": twin.violations})

    app.router.add_post("/__/call", call)
    app.router.add_post("/__/fault", fault)
    app.router.add_get("/__/calls", calls)
    app.router.add_get("/__/violations", violations)
