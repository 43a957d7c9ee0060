"""The words between chat platforms and the gateway.

All immutable; ids are strings; texts are Unicode Markdown.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self


@dataclass(frozen=True, slots=True)
class Address:
    """A place where messages go. `thread` is a forum topic, a thread, or None.

    `account` is the bot's own id on the platform, so that two bots never mix.
    """

    channel: str
    account: str
    chat: str
    thread: str | None = None

    def __str__(self) -> str:
        parts = [self.channel, self.account, self.chat, *([self.thread] if self.thread else [])]
        return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address that `str` printed. Raises ValueError."""
        parts = [p.replace("%3A", ":").replace("%25", "%") for p in text.split(":")]
        if not 3 <= len(parts) <= 4:
            raise ValueError(f"{text!r} is not an address such as telegram:777:123")
        return cls(*parts)


class Kind(StrEnum):
    """What came in.

    BUTTON: `text` is the button's data. FORM: `text` is the form's data, `fields` what was filled
    in.

    HOME: a person opened the bot's own page (Slack's App Home); the gateway answers through
    `CanHome`. DUE, TASK and HOOK come from no platform: the time of something scheduled has come; a background task has
    ended, and `text` is its id; a program has posted `data` to a hook.
    """

    MESSAGE = "message"
    BUTTON = "button"
    FORM = "form"
    HOME = "home"
    DUE = "due"
    TASK = "task"
    HOOK = "hook"


OURS = frozenset({Kind.DUE, Kind.TASK, Kind.HOOK})  # what no channel may emit


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote.

    `id` is the platform's stable id; `name` is for showing only, never for deciding.
    """

    id: str
    name: str = ""
    language: str | None = None  # IETF tag as the platform gives it


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file.

    Incoming ones carry `ref`, what the channel needs to fetch it; outgoing ones carry `data`.
    """

    name: str
    media_type: str
    data: bytes | None = None
    ref: str | None = None
    size: int | None = None
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A line of a form.

    `name` comes back with what was filled in; `value` is what stands there first.
    """

    name: str
    label: str
    value: str = ""
    multiline: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """What a press may open where the platform has dialogs (Slack and Discord modals).

    `data` as in Button.
    """

    title: str
    data: str
    fields: tuple[Field, ...]
    submit: str = "OK"


@dataclass(frozen=True, slots=True)
class Button:
    """A button. `data` comes back in the press, at most 64 bytes (Telegram's limit).

    With a `form`, a channel that has dialogs opens it and emits Kind.FORM when it is submitted;
    others emit Kind.BUTTON, and the gateway asks for the values in words. One that is `dialog_only` is nothing but the
    way to its form, which words can do without: a channel without dialogs leaves it out. More than five buttons may be
    shown as a menu.
    """

    label: str
    data: str
    style: Literal["plain", "primary", "danger"] = "plain"
    form: Form | None = None
    dialog_only: bool = False


def without_dialogs(buttons: Iterable[Button]) -> tuple[Button, ...]:
    """What of these a channel without dialogs shows."""
    return tuple(button for button in buttons if not button.dialog_only)


@dataclass(frozen=True, slots=True)
class Inbound:
    """One thing a person did.

    `key` is unique on (channel, account) and equal for each redelivery (DESIGN.md 3.2).

    `addressed`: private chat, mention or reply to the bot. `message_id` is what it refers to on the
    platform (the message itself, or the one whose button was pressed); `callback` answers a button
    press. `album`: messages that a person sent as one carry the same value here; each keeps a key
    of its own, and the gateway joins them. `again`: the key of an earlier message of the same author and place that
    this one says anew, as it was or in other words; that one is taken back.
    """

    address: Address
    key: str
    author: Author
    text: str
    at: dt.datetime
    kind: Kind = Kind.MESSAGE
    private: bool = True
    addressed: bool = True
    message_id: str | None = None
    reply_to: str | None = None
    callback: str | None = None
    attachments: tuple[Attachment, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    album: str | None = None
    again: str | None = None
    data: str | None = (
        None  # of the gateway's own kinds: what came beside the words, and is nobody's
    )


@dataclass(frozen=True, slots=True)
class Outbound:
    """One reply or notice: Markdown of any length, files shown after it, buttons under its last part.

    `id` is stable for all tries of one reply, unique in the installation, or empty; platforms with
    an idempotency key make it of this. `again`: an earlier process may have sent parts that the
    receipt does not know; a channel that can look does so first. `steps`: what was done for it, for
    a channel that shows this beside a message and has no preview of it.
    """

    address: Address
    text: str
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None
    silent: bool = False
    id: str = ""
    again: bool = False
    steps: "tuple[Step, ...]" = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A line of what goes on: a tool or a sub-agent.

    `parent` is the id of the sub-agent's step it belongs to.
    """

    id: str
    label: str
    state: Literal["running", "ok", "failed"] = "running"
    detail: str = ""
    agent: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The whole present state of a reply in the making; a later preview replaces an earlier one.

    `text` is Markdown that may end anywhere; `status` is one short line (empty: none); `steps` in
    order of start. `usage` is one line for places that show it: model, tokens, money, context fill.
    """

    text: str = ""
    status: str = ""
    steps: tuple[Step, ...] = ()
    thinking: str = ""
    buttons: tuple[Button, ...] = ()
    usage: str = ""
