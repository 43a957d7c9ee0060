"""A command or a turn: read off the words alone, so that a row is routed alike before and after a restart."""

import re
from dataclasses import dataclass
from typing import Literal

from channels.types import OURS, Kind

# These do not wait in the lane: they must work while a turn runs (DESIGN.md 3.3); who wants to be forgotten need not
# wait for an answer first, and who waits for a pot may look what is in it.
AT_ONCE = frozenset(
    {"start", "help", "stop", "halt", "status", "approve", "deny", "forget", "budget"}
)
IN_LANE = frozenset(
    {
        "new",
        "model",
        "preset",
        "sessions",
        "resume",
        "fork",
        "undo",
        "retry",
        "thinking",
        "language",
        "usage",
    }
    | {"remind", "alert", "link", "compact", "why", "archive", "memory", "skills"}
)
ALIASES = {"reset": "new", "newsession": "new"}  # what people know from other gateways (CHN-2)
LATE = "late"  # of our own rows: a decision that came after its turn had ended
COMMANDS = AT_ONCE | IN_LANE
_COMMAND = re.compile(r"[/!]([a-z][a-z0-9_]{0,31})(?:\s+(.*))?\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Route:
    """Where a message goes. `name` and `rest` are a command's; unknown ones are answered with the help line."""

    to: Literal["turn", "lane", "at_once", "button", "task", "unknown"]
    name: str = ""
    rest: str = ""


def route(text: str, kind: Kind = Kind.MESSAGE) -> Route:
    """Route one message. `task` is the news of a background task, which is nobody's words (BGT-4)."""
    if kind in OURS:  # the words of a scheduled run are no command
        return Route("task", rest=text) if kind is Kind.TASK else Route("turn")
    if kind in (Kind.BUTTON, Kind.FORM):
        name, _, rest = text.partition(":")
        return Route("button", name, rest)
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return Route("turn")
    name, rest = match[1].lower(), (match[2] or "").strip()
    name = ALIASES.get(name, name)
    if name in AT_ONCE:
        return Route("at_once", name, rest)
    if name in IN_LANE:
        return Route("lane", name, rest)
    # "/tmp is full" is a question; "/frobnicate" alone is a mistyped command.
    return Route("turn") if rest else Route("unknown", name)
