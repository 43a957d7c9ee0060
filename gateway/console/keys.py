"""The tokens that open the console, each with its name and role. Compared in constant time, shown by nothing."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.http.token import ConsoleToken
from gateway.settings.console import Console, Role

MAIN = "console"  # the name of `http.console_token`


@dataclass(frozen=True, slots=True)
class Key:
    """Who a token is. `mark` tells two tokens of one name apart, and says nothing of either."""

    name: str
    role: Role
    mark: str


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys, by the sha256 of their tokens."""

    _keys: Mapping[bytes, Key] = field(repr=False)

    @classmethod
    def of(cls, main: ConsoleToken, settings: Console) -> "Keyring":
        """The main token, an admin's, and the named ones of the settings that are not empty."""
        keys = {}
        for name, entry in settings.tokens.items():
            if entry.token is not None:
                digest = _digest(entry.token.get_secret_value())
                keys[digest] = Key(name, entry.role, _mark(digest))
        digest = _digest(main.value)
        keys[digest] = Key(MAIN, "admin", _mark(digest))
        return cls(keys)

    def find(self, token: str) -> Key | None:
        """The key of a token; takes as long for a wrong one as for any right one."""
        wanted, found = _digest(token), None
        for digest, key in self._keys.items():
            if hmac.compare_digest(digest, wanted):
                found = key
        return found

    def holds(self, name: str, mark: str) -> Key | None:
        """The key of this name, if its token is still the one of `mark`."""
        return next((k for k in self._keys.values() if (k.name, k.mark) == (name, mark)), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _mark(digest: bytes) -> str:
    return hashlib.sha256(b"console mark" + digest).hexdigest()[:16]
