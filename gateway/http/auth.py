"""Who is at the browser: one-time codes open a session, a signed cookie keeps it.

A code is printed where Swarmgate runs, so that only who sees that terminal or log can log in. It is good once and for
ten minutes. The cookie holds the person, an expiry and a nonce, signed by HMAC-SHA256 with a secret that lives in
`data_dir`; so a log-in needs no row. Codes that are open and cookies that were logged out are rows, which every replica
and the process after a restart know.
"""

import base64
import binascii
import datetime as dt
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from agent_core.ports import Clock
from gateway.http.cookie import CookieOf
from gateway.http.passes import Passes
from gateway.http.tries import Throttle

ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # no 0 O 1 I L U: they are read as each other
CODE_LETTERS = 12  # 58 bits
CODE_TIME = dt.timedelta(minutes=10)
COOKIE_SECONDS = 30 * 86400
SECRET_BYTES = 32


def _digest(code: str) -> str:
    """By which the code is found: a table of digests opens nothing, and looking one up tells nothing by its time."""
    letters = "".join(c for c in code.upper() if c in ALPHABET)
    return hashlib.sha256(letters.encode()).hexdigest()


class OneTimeCodes:
    """Codes such as `ABCD-2345-WXYZ`: single use, ten minutes, good at every replica, wrong ones rate-limited."""

    def __init__(
        self, passes: Passes, clock: Clock, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._passes = passes
        self._clock = clock
        self._tries = Throttle(monotonic=monotonic)

    async def issue(self, person: str) -> str:
        """A new code that logs `person` in."""
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
        now = self._clock.now()
        await self._passes.offer(_digest(letters), person, now, now + CODE_TIME)
        return "-".join(letters[i : i + 4] for i in range(0, CODE_LETTERS, 4))

    async def redeem(self, code: str, remote: str) -> str | None:
        """The person of the code, which is used up now; None when it is wrong, used or too old.

        `remote` is the address that asks. Raises TooManyTries, also for a right code.
        """
        self._tries.check(remote)
        person = await self._passes.take(_digest(code), self._clock.now())
        if person is None:
            self._tries.wrong(remote)
        return person


def load_secret(path: Path) -> bytes:
    """The signing secret in `path`, made with mode 0600 if it is not there. Deleting the file logs everybody out."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        path.chmod(0o600)
        secret = path.read_bytes()
        if len(secret) >= SECRET_BYTES:
            return secret
        path.unlink()  # cut off by a crash while it was made
        return load_secret(path)
    with os.fdopen(handle, "wb") as file:
        secret = secrets.token_bytes(SECRET_BYTES)
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    return secret


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True, slots=True)
class _Held:
    """What a valid cookie holds."""

    person: str
    nonce: str
    until: dt.datetime


class CookieSessions:
    """Signed cookies, good for 30 days: HttpOnly, SameSite=Strict, Secure where `public_url` is https."""

    def __init__(
        self, secret: bytes, passes: Passes, clock: Clock, *, public_url: str | None = None
    ) -> None:
        self._secret = secret
        self._passes = passes
        self._clock = clock
        self._cookie = CookieOf("swarmgate", public_url)

    async def person(self, request: web.Request) -> str | None:
        """Whose cookie the request carries; None without a valid one."""
        held = self._read(request)
        if held is None or await self._passes.refused(held.nonce):
            return None
        return held.person

    def _read(self, request: web.Request) -> _Held | None:
        """What the request's cookie holds; None where we did not sign it, or its time is over."""
        parts = request.cookies.get(self._cookie.name(request), "").split(".")
        if len(parts) != 4:
            return None
        person, expires, nonce, signature = parts
        signed = f"{person}.{expires}.{nonce}"
        if not hmac.compare_digest(self._sign(signed).encode(), signature.encode(errors="replace")):
            return None
        until = dt.datetime.fromtimestamp(int(expires), dt.UTC)
        if until <= self._clock.now():
            return None
        try:
            return _Held(_unb64(person).decode(), nonce, until)
        except (binascii.Error, UnicodeDecodeError):
            return None

    def begin(self, request: web.Request, response: web.StreamResponse, person: str) -> None:
        """Log `person` in with this response."""
        expires = int(self._clock.now().timestamp()) + COOKIE_SECONDS
        signed = f"{_b64(person.encode())}.{expires}.{secrets.token_hex(8)}"
        value = f"{signed}.{self._sign(signed)}"
        self._cookie.put(request, response, value, COOKIE_SECONDS)

    async def end(self, request: web.Request, response: web.StreamResponse) -> None:
        """Log out: the cookie is refused from now on, and deleted with this response."""
        held = self._read(request)
        if held is not None:
            now = self._clock.now()
            await self._passes.refuse(held.nonce, held.person, now, held.until)
        self._cookie.drop(request, response)

    def _sign(self, text: str) -> str:
        return _b64(hmac.new(self._secret, text.encode(errors="replace"), hashlib.sha256).digest())
