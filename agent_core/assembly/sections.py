"""What a request carries beside the person's words: the situation of this turn (ASM-9, ASM-10).

It stands apart from the static system text, which never varies.
"""

import datetime as dt
from zoneinfo import ZoneInfo

from agent_core.types import Context

NAME_CHARS = 64
_TAGS = (
    *("<context>", "</context>", "[上下文信息]", "<runtime-note>", "</runtime-note>"),
    *("<system-reminder>", "</system-reminder>"),
)


def situation(
    now: dt.datetime, timezone: str, *, place: str, language: str, author: str = ""
) -> Context:
    """The clock, the place and, where several people talk, who does.

    Stored in the user's row, so that a request can be rebuilt byte for byte.
    """
    local = now.astimezone(ZoneInfo(timezone))
    lines = [
        f"now: {local:%Y-%m-%d %H:%M} {timezone}",
        f"place: {place}",
        f"language: {language}",
    ]
    if author:
        lines.append(f"author: {author}")
    return Context("\n".join(lines))


def own_words(text: str) -> str:
    """A person's words, in which our own tags are made harmless."""
    for tag in _TAGS:
        if tag in text:
            text = text.replace(
                tag, tag.replace("<", "‹").replace(">", "›").replace("[", "［").replace("]", "］")
            )
    return text


def author_line(name: str, person: str) -> str:
    """A person's name and id for the model.

    The name is data that anybody chooses: it stays one short line, opens no tag, and cannot pass
    for an id, which alone stands in parentheses.
    """
    shown = " ".join(own_words(name).replace("(", "‹").replace(")", "›").split())[:NAME_CHARS]
    return f"{shown} ({person})" if shown else f"({person})"


def runtime_note(text: str) -> str:
    """Words of the runtime to the model, marked as such."""
    return f"<runtime-note>\n{text}\n</runtime-note>"
