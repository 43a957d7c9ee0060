"""Slack's message text as a person wrote it: references and links decoded, entities undone."""

import html
import re
from dataclasses import dataclass

_ANGLES = re.compile(r"<([^<>]+)>")


@dataclass(frozen=True, slots=True)
class Words:
    """The text without mentions of the bot, and whether there was one."""

    text: str
    mentioned: bool


def read(source: str, bot_user: str) -> Words:
    """Decode a message's `text`."""
    mentioned = False

    def replace(match: re.Match[str]) -> str:
        nonlocal mentioned
        inner, _, label = match[1].partition("|")
        if inner == f"@{bot_user}":
            mentioned = True
            return ""
        return _shown(inner, label)

    text = _ANGLES.sub(replace, source)
    if mentioned:
        text = re.sub(r"[ \t]{2,}", " ", text)
    return Words(html.unescape(text).strip(), mentioned)


def _shown(inner: str, label: str) -> str:
    """What stands for `<inner|label>`."""
    if inner.startswith(("@", "#")):
        return f"{inner[0]}{(label or inner[1:]).lstrip('@#')}"
    if inner.startswith("!"):
        return label or f"@{inner[1:].partition('^')[0]}"
    address = inner.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in {inner, address} or inner.endswith((f"://{label}", f"://{label}/")):
        return address
    return f"[{label}]({inner})"
