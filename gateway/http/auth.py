"""Who is at the browser: one-time codes open a session, a signed cookie keeps it.

A code is printed where Swarmgate runs, so that only who sees that terminal or log can log in. It is good once and for
ten minutes. The cookie holds the person, an expiry and a nonce, signed by HMAC-SHA256 with a secret that lives in
`data_dir`; so it survives a restart and needs no table. A logged-out cookie is refused until the process ends, and
deleted in the browser for good.
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from gateway.http.cookie import CookieOf
from gateway.http.tries import Throttle

ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # no 0 O 1 I L U: they are read as each other
CODE_LETTERS = 12  # 58 bits
CODE_SECONDS = 600.0
MAX_CODES = 20
COOKIE_SECONDS = 30 * 86400
SECRET_BYTES = 32


def _digest(code: str) -> bytes:
    letters = "".join(c for c in code.upper() if c in ALPHABET)
    return hashlib.sha256(letters.encode()).digest()


class OneTimeCodes:
    """Codes such as `ABCD-2345-WXYZ`: single use, ten minutes, compared in constant time, wrong ones rate-limited."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._codes: dict[bytes, tuple[str, float]] = {}
        self._tries = Throttle(monotonic=monotonic)

    def issue(self, person: str) -> str:
        """A new code that logs `person` in. The oldest of more than 20 open codes gives way."""
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
        self._sweep()
        while len(self._codes) >= MAX_CODES:
            del self._codes[next(iter(self._codes))]
        self._codes[_digest(letters)] = (person, self._now() + CODE_SECONDS)
        return "-".join(letters[i : i + 4] for i in range(0, CODE_LETTERS, 4))

    def redeem(self, code: str, remote: str) -> str | None:
        """The person of the code, which is used up now; None when it is wrong, used or too old.

        `remote` is the address that asks. Raises TooManyTries, also for a right code.
        """
        self._sweep()
        self._tries.check(remote)
        wanted, found = _digest(code), None
        for digest in self._codes:  # all of them, so that time tells nothing
            if hmac.compare_digest(digest, wanted):
                found = digest
        if found is not None:
            return self._codes.pop(found)[0]
        self._tries.wrong(remote)
        return None

    def _sweep(self) -> None:
        now = self._now()
        self._codes = {d: c for d, c in self._codes.items() if c[1] > now}


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


class CookieSessions:
    """Signed cookies, good for 30 days: HttpOnly, SameSite=Strict, Secure where `public_url` is https."""

    def __init__(
        self,
        secret: bytes,
        *,
        public_url: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._secret = secret
        self._cookie = CookieOf("swarmgate", public_url)
        self._now = now
        self._ended: dict[str, float] = {}

    def person(self, request: web.Request) -> str | None:
        """Whose cookie the request carries; None without a valid one."""
        parts = request.cookies.get(self._cookie.name(request), "").split(".")
        if len(parts) != 4:
            return None
        person, expires, nonce, signature = parts
        signed = f"{person}.{expires}.{nonce}"
        if not hmac.compare_digest(self._sign(signed).encode(), signature.encode()):
            return None
        if nonce in self._ended or int(expires) <= self._now():
            return None
        try:
            return _unb64(person).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None

    def begin(self, request: web.Request, response: web.StreamResponse, person: str) -> None:
        """Log `person` in with this response."""
        expires = int(self._now()) + COOKIE_SECONDS
        signed = f"{_b64(person.encode())}.{expires}.{secrets.token_hex(8)}"
        response.set_cookie(
            self._cookie.name(request),
            f"{signed}.{self._sign(signed)}",
            max_age=COOKIE_SECONDS,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=self._cookie.secure(request),
        )

    def end(self, request: web.Request, response: web.StreamResponse) -> None:
        """Log out: the cookie is refused from now on, and deleted with this response."""
        name = self._cookie.name(request)
        if self.person(request) is not None:
            _, expires, nonce, _ = request.cookies[name].split(".")
            now = self._now()
            self._ended = {n: e for n, e in self._ended.items() if e > now}
            self._ended[nonce] = float(expires)
        response.del_cookie(
            name, path="/", httponly=True, samesite="Strict", secure=self._cookie.secure(request)
        )

    def _sign(self, text: str) -> str:
        return _b64(hmac.new(self._secret, text.encode(), hashlib.sha256).digest())
