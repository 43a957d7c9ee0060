"""The one HTTP server of the process, and the routes that others bring."""

import errno
import socket
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

from agent_core.errors import SwarmgateError
from gateway.http.broken import answers_when_broken, note_start, wire_log
from gateway.http.guard import add_headers, host_origin_guard

MAX_BODY = 1024 * 1024  # bytes of a request
STOP_SECONDS = 1.0  # for answers under way; streams are ended by `on_stop` before that


class CannotListen(SwarmgateError):
    """The server cannot open its port."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"http: cannot listen on {host}:{port}: {reason}")
        self.host = host
        self.port = port


class PortInUse(CannotListen):
    """Another program has the port."""

    def __init__(self, host: str, port: int) -> None:
        cure = "the port is in use; stop the other program or choose another http.port"
        super().__init__(host, port, cure)


class HttpServer:
    """Serves `routes` on `host`:`port`, behind the Host and Origin guard. Port 0 takes any free one.

    A handler that fails is answered for (broken.py).

    Each of `on_stop` is awaited before connections close: it ends what would otherwise be waited for, such as event
    streams.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        public_url: str | None = None,
        routes: Sequence[web.AbstractRouteDef] = (),
        on_stop: Sequence[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        self._host = host
        self._port = port
        self._public_url = public_url
        self._on_stop = on_stop
        app = web.Application(
            client_max_size=MAX_BODY,
            middlewares=[answers_when_broken(), host_origin_guard(host, public_url)],
        )
        app.on_response_prepare.extend((add_headers, note_start))
        app.add_routes(routes)
        self._runner = web.AppRunner(
            app, access_log=None, logger=wire_log, shutdown_timeout=STOP_SECONDS
        )

    @property
    def url(self) -> str:
        """Where a person opens it, without a slash at the end: `public_url`, else the address it listens on."""
        if self._public_url:
            return self._public_url.rstrip("/")
        return self.local_url

    @property
    def local_url(self) -> str:
        """The address it listens on, as seen from this machine. Only after `start`."""
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._host, self._host)  # noqa: S104
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        port = self._runner.addresses[0][1] if self._runner.addresses else self._port
        return f"http://{host}:{port}"

    async def start(self) -> None:
        """Listen. Raises PortInUse or CannotListen, and then leaves nothing open."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host or None, self._port).start()
        except OSError as e:
            await self._runner.cleanup()
            if e.errno == errno.EADDRINUSE:
                raise PortInUse(self._host, self._port) from None
            reason = (
                "this name has no address here" if isinstance(e, socket.gaierror) else e.strerror
            )
            raise CannotListen(self._host, self._port, str(reason)) from None

    async def stop(self) -> None:
        """Refuse new connections, end streams, give answers under way a second. May be called twice."""
        for end in self._on_stop:
            await end()
        await self._runner.cleanup()
