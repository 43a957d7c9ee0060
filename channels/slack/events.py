"""An event of Slack's as what it means, or None for what is not for us."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from channels.slack.words import Words, read
from channels.types import Address, Attachment

Json = dict[str, Any]

# Everything else with a subtype is an edit, a join, a bot's post …
SUBTYPES = {None, "file_share", "thread_broadcast", "me_message"}


@dataclass(frozen=True, slots=True)
class Me:
    """The app in its workspace, as auth.test describes it."""

    team: str
    user: str
    bot: str = ""

    @property
    def account(self) -> str:
        """What addresses carry: no colon may be in it."""
        return f"{self.team}.{self.user}"

    def address(self, chat: str, thread: str | None = None) -> Address:
        """A place of this app's."""
        return Address("slack", self.account, chat, thread)


@dataclass(frozen=True, slots=True)
class Said:
    """A person's message. `fresh`: it opens its thread."""

    address: Address
    key: str
    team: str
    user: str
    words: Words
    at: dt.datetime
    ts: str
    private: bool
    fresh: bool
    files: tuple[Attachment, ...]


def ident(value: object) -> str:
    """An id of Slack's. Raises TypeError for what is none: `null` would make one person of many."""
    if not isinstance(value, str) or not value:
        raise TypeError("this is no id")
    return value


def is_private(channel: str, kind: object = None) -> bool:
    """A direct message between two: by channel_type, else by the id."""
    return kind == "im" if kind else channel.startswith("D")


def said(event: Json, team: str, me: Me) -> Said | None:
    """A `message` or `app_mention`. Raises KeyError, TypeError, ValueError for a shape that is none."""
    if event.get("subtype") not in SUBTYPES or event.get("hidden"):
        return None
    user = event.get("user")
    if not user or event.get("bot_id") or user in {me.user, "USLACKBOT"}:
        return None
    channel, ts, thread = ident(event["channel"]), ident(event["ts"]), event.get("thread_ts")
    private = is_private(channel, event.get("channel_type"))
    fresh = thread is None or thread == ts
    # In a channel a message opens a thread of its own; a DM is one place, but for its threads.
    place = str(thread) if thread else (None if private else ts)
    if private and fresh:
        place = None
    return Said(
        address=me.address(channel, place),
        key=f"m:{channel}:{ts}",
        team=str(event.get("user_team") or event.get("team") or team),
        user=ident(user),
        words=read(str(event.get("text") or ""), me.user),
        at=dt.datetime.fromtimestamp(float(ts), dt.UTC),
        ts=ts,
        private=private,
        fresh=fresh,
        files=tuple(_file(file) for file in event.get("files") or ()),
    )


def _file(file: Json) -> Attachment:
    name = str(file.get("name") or file.get("title") or "file")
    media_type = str(file.get("mimetype") or "application/octet-stream")
    ref = file.get("url_private_download") or file["id"]
    return Attachment(name, media_type, ref=str(ref), size=file.get("size"))
