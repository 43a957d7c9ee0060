"""The operators' token: what `/metrics`, the details of `/readyz`, the console and its API ask for.

`http.console_token` of the settings; where it is empty one is made and kept in `data_dir`, so that nothing stands open
by default. Replicas that share a database but no `data_dir` need one in their settings, else each has its own.
"""

import hmac
import os
import re
import secrets
from pathlib import Path

from aiohttp import web

from gateway.settings.settings import Settings

FILE = "console-token"
TOKEN_BYTES = 32  # of randomness: 43 letters
SHORTEST = 16  # letters of a kept token; a shorter file was cut off
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]+) *", re.IGNORECASE)  # RFC 6750, section 2.1


class ConsoleToken:
    """A token to compare with. It is in no `repr` and no text of this object."""

    def __init__(self, value: str) -> None:
        if not value:
            raise ValueError("an empty token would let everybody in")
        self._value = value

    @property
    def value(self) -> str:
        """The token itself, for redaction and for whoever is shown it on purpose."""
        return self._value

    def same(self, given: str) -> bool:
        """Whether this is the token; takes as long for a wrong one as for the right one of its length."""
        return hmac.compare_digest(self._value.encode(), given.encode(errors="replace"))

    def allows(self, request: web.Request) -> bool:
        """Whether the request carries `Authorization: Bearer <token>`. Tokens in addresses do not count."""
        given = bearer(request)
        return given is not None and self.same(given)

    def __repr__(self) -> str:
        return "ConsoleToken(…)"


def bearer(request: web.Request) -> str | None:
    """The token of the request's Authorization header; None without exactly one of the scheme Bearer."""
    headers = request.headers.getall("Authorization", [])
    found = _BEARER.fullmatch(headers[0].strip()) if len(headers) == 1 else None
    return found[1] if found else None


def unauthorized() -> web.Response:
    """401, for a request that `ConsoleToken.allows` not: the same whether a token was missing or wrong."""
    return web.Response(
        status=401,
        text="Authorization: Bearer <http.console_token> is needed\n",
        headers={"WWW-Authenticate": 'Bearer realm="swarmgate"', "Cache-Control": "no-store"},
    )


def console_token(settings: Settings) -> ConsoleToken:
    """The token of the settings, else the kept one, made with mode 0600 where there is none yet.

    Reads and writes a small file: at start, not on a request. Raises OSError where `data_dir` cannot be written.
    """
    if set_one := settings.http.console_token:
        return ConsoleToken(set_one.get_secret_value())
    return ConsoleToken(_kept(settings.data_dir / FILE))


def _kept(path: Path) -> str:
    """The token in `path`. Two processes that make it at once agree on one; a cut-off one is made anew."""
    try:
        path.chmod(0o600)
        token = path.read_text("ascii").strip()
        if len(token) >= SHORTEST:
            return token
        path.unlink()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    except UnicodeDecodeError:
        path.unlink(missing_ok=True)
    _make(path)
    return _kept(path)


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)  # all at once, and never over another's
    except FileExistsError:
        pass  # another process was quicker: its token holds
    finally:
        draft.unlink()
