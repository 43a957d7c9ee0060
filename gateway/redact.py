"""Secrets are replaced before anything is logged: known values, secrets' shapes, and text under secret keys.

Token counters (`input_tokens`, `max_tokens`) are no secrets and stay (requirements: SCR-2, SCR-4; defect 16).
"""

import re
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

MASK = "[redacted]"
SHORTEST = 6  # a shorter known value would cut holes into ordinary words

_SHAPES = re.compile(
    r"""
      (?<![A-Za-z0-9])(?:
          sk-[A-Za-z0-9_-]{16,}                                  # Anthropic, OpenAI and many compatible providers
        | xox[abeprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}  # Slack
        | AIza[A-Za-z0-9_-]{30,}                                 # Google
        | [MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}  # Discord
        | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+  # JSON web tokens
      )
    | \d+:[A-Za-z0-9_-]{30,}                                     # Telegram, also inside .../bot<token>/getMe
    | (?<=://)[^\s/:@]*:[^\s/@]+(?=@)                            # user:password in addresses
    # Authorization headers; a digit tells a token from the word "bearer" in a sentence
    | (?i:(?<=bearer\ )(?=\S*\d)|(?<=authorization:\ basic\ ))[A-Za-z0-9._~+/=-]{8,}
    """,
    re.VERBOSE,
)
# Cheap words without which no shape can match: most texts are done after these tests.
_HINTS = ("sk-", "xox", "xapp-", "AIza", "eyJ", ":", "earer ", "EARER ", ".")

_SECRET_KEY = re.compile(
    r"(?:^|[_-])(?:api_?key|token|password|passwd|secret|authorization|cookie|console_token)$",
    re.IGNORECASE,
)


class Redactor:
    """Replaces secrets. Also a structlog processor. `known` may be called again at any time."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self.known(values)

    def known(self, values: Iterable[str]) -> None:
        """Add values that must never show; those under `SHORTEST` characters are left to the shapes and keys."""
        self._values |= {value for value in values if len(value) >= SHORTEST}
        longest_first = sorted(self._values, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        if any(hint in text for hint in _HINTS):
            text = _SHAPES.sub(MASK, text)
        return text

    def value(self, value: Any) -> Any:
        """The value without secrets; mappings and lists are copied, never changed in place."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.field(str(key), below) for key, below in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(below) for below in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        return self.text(str(value))

    def field(self, key: str, value: Any) -> Any:
        """The value of a key: text under a secret key goes whole, numbers stay."""
        if isinstance(value, str | bytes) and value and _SECRET_KEY.search(key):
            return MASK
        return self.value(value)

    def __call__(
        self, logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """One log line, as structlog hands it over."""
        for key, value in event.items():
            event[key] = self.field(key, value)
        return event
