"""Secrets are replaced before anything is logged or stored: known values, secrets' shapes, and text under secret keys.

Token counters (`input_tokens`, `max_tokens`) are no secrets and stay (SCR-2, SCR-3, SCR-4; defect 16).

A text is searched for a shape only when it holds the few letters without which the shape cannot be, since nearly every
text holds none; each expression begins with a literal and has no unbounded run before it, so that a long hostile text
costs no more than its length.
"""

import base64
import re
from collections.abc import Iterable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

MASK = "[redacted]"
_NUMBERS = (bool, int, float)
_MAPPINGS = (dict, Mapping)  # the first is found at once, the second by a search among its kin
_LISTS = (list, tuple, set, frozenset)
_PLAIN = frozenset({bool, int, float, type(None)})  # never replaced, whatever their key
SHORTEST = 6  # a shorter known value would cut holes into ordinary words

# What a shape cannot be without, a quick search that must succeed, and what is replaced.
_SHAPES: tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str]], ...] = (
    # Anthropic, OpenAI and many compatible providers
    ("sk-", None, re.compile(r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}")),
    # Slack
    ("xox", None, re.compile(r"xox(?<![A-Za-z0-9]xox)[abeprs]-[A-Za-z0-9-]{10,}")),
    ("xapp-", None, re.compile(r"xapp-(?<![A-Za-z0-9]xapp-)[A-Za-z0-9-]{10,}")),
    # Google
    ("AIza", None, re.compile(r"AIza(?<![A-Za-z0-9]AIza)[A-Za-z0-9_-]{30,}")),
    # GitHub, Amazon
    ("gh", None, re.compile(r"gh(?<![A-Za-z0-9]gh)[oprsu]_[A-Za-z0-9]{36,}")),
    ("github_pat_", None, re.compile(r"github_pat_[A-Za-z0-9_]{22,}")),
    ("AKIA", None, re.compile(r"AKIA(?<![A-Za-z0-9]AKIA)[0-9A-Z]{16}(?![0-9A-Z])")),
    # JSON web tokens
    ("eyJ", None, re.compile(r"eyJ(?<![A-Za-z0-9]eyJ)(?a:[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+)")),
    # Telegram, also inside .../bot<token>/getMe
    (
        ":",
        re.compile(r":[A-Za-z0-9_-]{30}"),
        re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{30,}"),
    ),
    # Discord
    (
        ".",
        re.compile(r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}"),
        re.compile(
            r"(?<![A-Za-z0-9])[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
        ),
    ),
    # user:password in addresses
    ("://", None, re.compile(r"(?<=://)[^\s/:@]{0,256}:[^\s/@]{1,512}(?=@)")),
    # Authorization headers; a digit tells a token from the word "bearer" in a sentence
    ("earer ", None, re.compile(r"(?<=earer )(?=[^\s]{0,256}[0-9])[A-Za-z0-9._~+/=-]{8,}")),
    ("EARER ", None, re.compile(r"(?<=EARER )(?=[^\s]{0,256}[0-9])[A-Za-z0-9._~+/=-]{8,}")),
    (
        "asic ",
        None,
        re.compile(r"(?<=asic )(?i:(?<=authorization:\ basic\ ))[A-Za-z0-9._~+/=-]{8,}"),
    ),
    (
        "PRIVATE KEY-----",
        None,
        re.compile(r"(?<=PRIVATE KEY-----)[A-Za-z0-9+/=\s\\]{40,}"),
    ),
)

# What follows a secret's name in JSON, settings, forms and addresses: quoted text, or a word with a digit. `token`
# alone may name a coin or its contract (0x…), so only a long value with a digit counts.
_NAMES = ("key", "token", "secret", "passw", "cookie", "authorization", "密码")
_FOLLOWED = tuple(
    re.compile(name + r"(?:or)?d?(?:[_-]?key)?(?:\\?[\"'])?\s{0,4}[:=：]") for name in _NAMES
)
_NAMED = re.compile(
    r"""
    (?P<name>
        (?:[Aa][Pp][Ii][_-]?[Kk][Ee][Yy]
          |[Ss][Ee][Cc][Rr][Ee][Tt](?:[_-]?[Kk][Ee][Yy])?
          |[Pp][Aa][Ss][Ss][Ww](?:[Oo][Rr])?[Dd]
          |[Cc][Oo][Oo][Kk][Ii][Ee]|[Aa]uthorization|AUTHORIZATION|密码
          |(?<=[A-Za-z0-9]) [_-]? [Tt][Oo][Kk][Ee][Nn])
        (?:\\?["'])? \s{0,4} [:=：] \s{0,4}
    )
    (?: (?P<quote>\\?["']) (?P<quoted>[^"'\\\n]{4,2000}) (?=\\?["'])
      | (?P<word>(?=[^\s"'&,;}]{0,256}[0-9])[^\s"'&,;}\[]{6,}) )
    |
    (?P<short>[Tt][Oo][Kk][Ee][Nn] (?:\\?["'])? \s{0,4} [:=] \s{0,4} (?:\\?["'])? )
    (?P<long>(?!0x)(?=[A-Za-z_.~+/=-]{0,256}[0-9])[A-Za-z0-9_.~+/=-]{16,})
    """,
    re.VERBOSE,
)

_KEY_WORDS = r"(?:api[_-]?keys?|token|passwords?|passwd|secrets?|secret[_-]?key|authorization|cookies?|private[_-]?key)"
_SECRET_KEY = re.compile(
    rf"(?i:(?:^|[_.-]){_KEY_WORDS}$)|(?:[a-z](?:ApiKey|Token|Secret|Password)$)"
)


class Redactor:
    """Replaces secrets. Also a structlog processor. `known` may be called again at any time."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self.known(values)

    def known(self, values: Iterable[str]) -> None:
        """Add values that must never show; those under `SHORTEST` characters are left to the shapes and keys."""
        whole = (value for value in values if len(value) >= SHORTEST)
        more = {*self._values, *(form for value in whole for form in _forms(value))}
        self._values = tuple(sorted(more, key=lambda value: (-len(value), value)))  # longest first

    def text(self, text: str) -> str:
        """The text without secrets; the very same object where there are none."""
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        for hint, probe, shape in _SHAPES:
            if hint in text and (probe is None or probe.search(text)):
                text = shape.sub(MASK, text)
        if (":" in text or "=" in text or "：" in text) and _is_named(text):
            text = _NAMED.sub(_masked, text)
        return text

    def value(self, value: Any) -> Any:
        """The value without secrets; mappings and lists are copied, never changed in place."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, _NUMBERS):
            return value
        if isinstance(value, _MAPPINGS):
            return {
                key: below if type(below) in _PLAIN else self.field(str(key), below)
                for key, below in value.items()
            }
        if isinstance(value, _LISTS):
            return [self.value(below) for below in value]
        return self.text(str(value))

    def field(self, key: str, value: Any) -> Any:
        """The value of a key: text under a secret key goes whole (also in a list), numbers stay."""
        if not _is_secret(key):
            return self.value(value)
        if isinstance(value, str | bytes) and value:
            return MASK
        if isinstance(value, _LISTS):
            return [self.field(key, below) for below in value]
        return self.value(value)

    def __call__(
        self, logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """One log line, as structlog hands it over."""
        for key, value in event.items():
            event[key] = self.field(key, value)
        return event


def _forms(value: str) -> set[str]:
    """A value as it is, as it stands in an address, and in base64 without what fills that up."""
    data = value.encode(errors="replace")
    encoded = {base64.b64encode(data), base64.urlsafe_b64encode(data)}
    return {value, quote(value, safe=""), quote(value), *(e.decode().rstrip("=") for e in encoded)}


@lru_cache(maxsize=1_024)
def _is_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _is_named(text: str) -> bool:
    folded = text.lower()
    return any(
        name in folded and followed.search(folded)
        for name, followed in zip(_NAMES, _FOLLOWED, strict=True)
    )


def _masked(found: re.Match[str]) -> str:
    if found["quoted"] is not None:
        return f"{found['name']}{found['quote']}{MASK}"
    if found["word"] is not None:
        if found["word"].isdecimal() and "oken" in found["name"]:
            return found[0]  # a counter
        return f"{found['name']}{MASK}"
    return f"{found['short']}{MASK}"
