"""The part of a long text that answers a question best. Pure."""

from collections.abc import Collection

from agent_core import words
from agent_core.text import ELLIPSIS, clip, one_line, sentences


def passage(text: str, wanted: Collection[str], chars: int) -> str:
    """At most `chars` characters of a text, beginning with the sentence from which on most of the words stand."""
    flat = one_line(text[: words.MAX_CHARS])
    if len(flat) <= chars:
        return flat
    parts = sentences(flat)
    have = [set(words.words(part)).intersection(wanted) for part in parts]
    best = max(range(len(parts)), key=lambda at: (len(_from(parts, have, at, chars)), -at))
    shown = "".join(parts[best:]).lstrip()
    return clip(shown, chars) if best == 0 else clip(ELLIPSIS + shown, chars)


def _from(parts: list[str], have: list[set[str]], first: int, chars: int) -> set[str]:
    """The wanted words of the sentences that fit, from one on."""
    found, length = set[str](), 0
    for at in range(first, len(parts)):
        length += len(parts[at])
        if at > first and length > chars:
            break
        found |= have[at]
    return found
