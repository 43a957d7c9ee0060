"""Presses, dialogs, shortcuts and slash commands, read off their payloads.

`action_id` is a letter for the kind of press, a number, and behind a colon the button's data (see render.py).
"""

import re
from dataclasses import dataclass
from typing import Any

from channels.slack.events import Me, ident, is_private
from channels.slack.forms import CALLBACK, form_of, submitted
from channels.slack.words import read
from channels.types import Address, Form

Json = dict[str, Any]

SHORTCUT = "swarmgate_"
ASK = "ask"
# Words that `/swarm` takes as commands until the gateway says which there are.
COMMANDS = frozenset(
    re.findall(
        r"\w+",
        "start help new stop compact model preset status usage budget memory forget why archive sessions "
        "resume fork undo retry remind alert link language thinking skills halt approve deny",
    )
)
# Behind a mention these take one word more; a sentence that begins with one is a sentence.
_WITH_ONE = frozenset(("approve", "deny", "preset", "model", "resume", "language", "thinking"))
_ACTION = re.compile(r"([bf])\d+:(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Who:
    """Who did something; `name` is for showing."""

    user: str
    team: str
    name: str


@dataclass(frozen=True, slots=True)
class Press:
    """A button or a choice. `address` is None on the bot's own page, which is in no channel."""

    who: Who
    address: Address | None
    data: str
    form: Form | None
    message_id: str | None
    trigger: str


@dataclass(frozen=True, slots=True)
class Submission:
    """A dialog that was filled in."""

    who: Who
    address: Address
    private: bool
    data: str
    fields: tuple[tuple[str, str], ...]
    message_id: str | None
    view: str


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A shortcut as words. `address` is the thread of its message; None for a global one."""

    who: Who
    address: Address | None
    text: str
    trigger: str


def interaction(payload: Json, me: Me) -> Press | Submission | Shortcut | None:
    """What somebody did; None for what is not ours. Raises KeyError, TypeError, ValueError for a shape that is none."""
    match payload.get("type"):
        case "block_actions":
            return _press(payload, me)
        case "view_submission":
            return _submission(payload, me)
        case "shortcut" | "message_action":
            return _shortcut(payload, me)
    return None


def _who(payload: Json) -> Who:
    user = payload["user"]
    team = user.get("team_id") or (payload.get("team") or {}).get("id") or ""
    return Who(
        ident(user["id"]),
        ident(team) if team else "",
        str(user.get("name") or user.get("username") or ""),
    )


def _press(payload: Json, me: Me) -> Press | None:
    data, form = _pressed(payload["actions"][0])
    if data is None:
        return None
    container = payload.get("container") or {}
    channel = (payload.get("channel") or {}).get("id") or container.get("channel_id")
    message = container.get("message_ts")
    address = None
    if channel:
        thread = container.get("thread_ts") or (payload.get("message") or {}).get("thread_ts")
        address = me.address(channel, thread or (None if is_private(channel) else message))
    return Press(_who(payload), address, data, form, message, ident(payload["trigger_id"]))


def _pressed(action: Json) -> tuple[str | None, Form | None]:
    if action["type"] == "static_select":
        return str(action["selected_option"]["value"]), None
    match = _ACTION.fullmatch(str(action["action_id"]))
    if match is None:
        return None, None
    form = form_of(action["value"]) if match[1] == "f" else None
    return match[2], form


def _submission(payload: Json, me: Me) -> Submission | None:
    view = payload["view"]
    if view["callback_id"] != CALLBACK:
        return None
    (chat, thread, message, private, data), fields = submitted(view)
    address = me.address(str(chat), thread)
    return Submission(
        _who(payload), address, bool(private), str(data), fields, message, ident(view["id"])
    )


def _shortcut(payload: Json, me: Me) -> Shortcut | None:
    callback = str(payload["callback_id"])
    if not callback.startswith(SHORTCUT):
        return None
    name = callback.removeprefix(SHORTCUT)
    message = payload.get("message") or {}
    text = read(str(message.get("text") or ""), me.user).text if name == ASK else f"/{name}"
    channel = (payload.get("channel") or {}).get("id")
    address = None
    if channel:
        thread = message.get("thread_ts") or payload["message_ts"]
        in_dm = is_private(channel) and not message.get("thread_ts")
        address = me.address(channel, None if in_dm else str(thread))
    return Shortcut(_who(payload), address, text, ident(payload["trigger_id"])) if text else None


def command_text(source: str, names: frozenset[str]) -> str:
    """`/swarm stop` is "/stop", `/swarm ask …` and anything else is said as it stands."""
    text = source.strip()
    word, _, rest = text.partition(" ")
    name = word.lstrip("/!").lower()
    if not text:
        return "/help"
    if name == ASK and rest.strip():
        return rest.strip()
    return f"/{name} {rest.strip()}".strip() if name in names else text


def called_text(text: str, names: frozenset[str]) -> str:
    """Behind a mention: `@bot stop` is "/stop", as Slack has no slash commands in threads; a sentence stays one."""
    words = text.split()
    name = words[0].rstrip(".!").lower() if words else ""
    if name in names and (len(words) == 1 or (len(words) == 2 and name in _WITH_ONE)):
        return " ".join([f"/{name}", *words[1:]])
    return text
