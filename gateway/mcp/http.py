"""Our MCP server over HTTP on this machine: loopback only, and only for those who know the token."""

import hmac
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.problems import OperatorError, Problem

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

HOST = "127.0.0.1"
PATH = "/mcp"
TOKEN_FILE = "mcp-token"  # noqa: S105 - the name of a file
VARIABLE = "SWARMGATE_MCP_TOKEN"
SHORTEST = 16
STOP_S = 3
Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


def token_of(data_dir: Path, given: str) -> str:
    """The token that clients send: the given one, else one that is made and kept in `data_dir`, mode 0600.

    Raises OperatorError for a given one that is too short.
    """
    if not given:
        return _kept(data_dir / TOKEN_FILE)
    if len(given) < SHORTEST:
        cure = f"use {SHORTEST} characters or more, or leave {VARIABLE} out: one is made and kept"
        raise OperatorError([Problem(f"{VARIABLE} is too short", cure)])
    return given


def _kept(path: Path) -> str:
    with suppress(FileNotFoundError):
        if len(token := path.read_text("ascii").strip()) >= SHORTEST:
            return token
        path.unlink()  # cut off by a crash while it was made
    token = secrets.token_urlsafe(32)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(token + "\n")
    return token


async def serve_http(server: "Server[Any]", port: int, token: str) -> None:
    """Serve until SIGINT or SIGTERM, or until it is cancelled. Raises OSError when the port is taken."""
    import uvicorn

    inner = server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    config = uvicorn.Config(
        guarded(inner, token),
        host=HOST,
        port=port,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=STOP_S,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    await uvicorn.Server(config).serve()


def guarded(app: App, token: str) -> App:
    """The app for requests with the token alone; others get 401, and learn nothing."""
    wanted = f"Bearer {token}".encode()

    async def inner(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        given = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "http" and hmac.compare_digest(given, wanted):
            await app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return inner
