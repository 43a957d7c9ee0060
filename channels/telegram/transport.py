"""HTTP for python-telegram-bot, on aiohttp.

The library lets its HTTP layer be replaced (`BaseRequest`). This one costs less than half the CPU of the default one
per call and no TLS context per client, and it tells what the outbox must know: whether a request has left or not.
"""

import io
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from telegram.error import BadRequest, NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, RequestData

from channels.errors import Refused

CONNECT_TIMEOUT = 5.0
# Uploads are up to 50 MB, and the platform answers only after the last byte.
UPLOAD_TIMEOUT = 120.0
USER_AGENT = "swarmgate"
_URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


class NotSentError(NetworkError):
    """No connection came about: the request has not left."""


class ServerError(NetworkError):
    """The platform answered 5xx: it did not do it."""


class FloodError(TelegramError):
    """429, with the seconds to wait."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"retry after {retry_after:g} s")
        self.retry_after = retry_after


def seconds(value: object, default: float) -> float:
    """A time-out as the library hands it over: a number, or a marker for "the default"."""
    return float(value) if isinstance(value, int | float) else default


def proxy_for(url: str) -> str | None:
    """HTTPS_PROXY and the like: Telegram is not reachable directly from everywhere.

    Asked once: aiohttp's own `trust_env` asks in a thread for every call.
    """
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def refuse_status(code: int, payload: bytes) -> None:
    """Raise for the statuses that the library maps too coarsely."""
    if code == 429:
        try:
            wait = float(json.loads(payload)["parameters"]["retry_after"])
        except (ValueError, KeyError, TypeError):
            wait = 5.0
        raise FloodError(wait)
    if code == 413:
        raise BadRequest("Request Entity Too Large")
    if code == 504:
        raise TimedOut(f"status {code}")
    if code >= 500:
        raise ServerError(f"status {code}")


def form(data: RequestData) -> tuple[aiohttp.FormData | bytes, Mapping[str, str] | None]:
    """The body and its headers: urlencoded, or multipart when there are files."""
    files: Mapping[str, Any] | None = data.multipart_data
    if not files:  # nearly always: encoded here, since aiohttp's own forms cost more than the rest of its request
        return urlencode(data.json_parameters).encode(), _URLENCODED
    body = aiohttp.FormData(data.json_parameters)
    for name, (filename, content, media_type) in files.items():
        # As a stream: megabytes at once would hold up the loop.
        stream = io.BytesIO(content) if isinstance(content, bytes) else content
        body.add_field(name, stream, filename=filename, content_type=media_type)
    return body, None


class Transport(BaseRequest):
    """Keep-alive connections, at most `pool` of them; opened at the first call, reopened after `shutdown`.

    The proxy is the environment's for `base_url`.
    """

    def __init__(self, pool: int, read_timeout: float, base_url: str) -> None:
        self._pool = pool
        self._proxy = proxy_for(base_url)
        self._read_timeout = read_timeout
        self._session: aiohttp.ClientSession | None = None
        self.last = b""  # the last answer, for an update that the library cannot read

    @property
    def read_timeout(self) -> float:
        """Seconds of silence."""
        return self._read_timeout

    async def initialize(self) -> None:
        """Nothing: the session opens when it is needed."""

    async def shutdown(self) -> None:
        """Close all connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def session(self) -> aiohttp.ClientSession:
        """The open session."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._pool)
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers={"User-Agent": USER_AGENT},
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=self._proxy,
            )
        return self._session

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = None,
        write_timeout: object = None,
        connect_timeout: object = None,
        pool_timeout: object = None,
    ) -> tuple[int, bytes]:
        """One request. Raises NotSentError, FloodError, ServerError, TimedOut or NetworkError (perhaps done)."""
        upload = request_data is not None and bool(request_data.multipart_data)
        read = UPLOAD_TIMEOUT if upload else seconds(read_timeout, self._read_timeout)
        connect = seconds(connect_timeout, CONNECT_TIMEOUT)
        timeout = aiohttp.ClientTimeout(
            total=2 * connect + read, sock_connect=connect, sock_read=read
        )
        body, headers = (None, None) if request_data is None else form(request_data)
        calling = self.session().request(method, url, data=body, headers=headers, timeout=timeout)
        try:
            async with calling as response:
                code, payload = response.status, await response.read()
                self.last = payload
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as e:
            raise NotSentError(f"cannot connect: {type(e).__name__}") from e
        except TimeoutError as e:
            raise TimedOut from e
        except (aiohttp.ClientError, OSError) as e:
            # Never with the exception's text: it may hold the address, and the address holds the token.
            raise NetworkError(type(e).__name__) from e
        refuse_status(code, payload)
        return code, payload

    async def fetch(self, url: str, limit: int) -> bytes:
        """Download at most `limit` bytes. Raises Refused (larger, gone), NotSentError, TimedOut, NetworkError."""
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT, sock_read=self._read_timeout)
        data = bytearray()
        try:
            async with self.session().get(url, timeout=timeout) as response:
                refuse_status(response.status, b"")
                if response.status != 200:
                    raise Refused(f"the file is gone (status {response.status})")
                async for piece in response.content.iter_chunked(2**16):
                    data += piece
                    if len(data) > limit:
                        raise Refused(f"the file is larger than {limit} bytes")
        except TimeoutError as e:
            raise TimedOut from e
        except (aiohttp.ClientError, OSError) as e:
            raise NetworkError(type(e).__name__) from e
        return bytes(data)
