"""What a request carries beside the person's words: the situation of this turn (ASM-9, ASM-10).

It stands apart from the static system text, which never varies.
"""

import datetime as dt
from zoneinfo import ZoneInfo

from agent_core.types import Context

_TAGS = ("<context>", "</context>", "[上下文信息]", "<runtime-note>", "</runtime-note>")


def situation(now: dt.datetime, timezone: str, *, place: str, language: str) -> Context:
    """The clock and the place.

    Stored in the user's row, so that a request can be rebuilt byte for byte.
    """
    local = now.astimezone(ZoneInfo(timezone))
    lines = [
        f"now: {local:%Y-%m-%d %H:%M} {timezone}",
        f"place: {place}",
        f"language: {language}",
    ]
    return Context("\n".join(lines))


def own_words(text: str) -> str:
    """A person's words, in which our own tags are made harmless."""
    for tag in _TAGS:
        if tag in text:
            text = text.replace(
                tag, tag.replace("<", "‹").replace(">", "›").replace("[", "［").replace("]", "］")
            )
    return text


def runtime_note(text: str) -> str:
    """Words of the runtime to the model, marked as such."""
    return f"<runtime-note>\n{text}\n</runtime-note>"
