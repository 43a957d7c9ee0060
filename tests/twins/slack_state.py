"""What the Slack twin knows: channels, posts, files, views, triggers."""

import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

TEAM, BOT_USER, BOT_ID, APP = "T1", "U0BOT", "B0BOT", "A0APP"
BOT_TOKEN, APP_TOKEN, SECRET = "xoxb-twin", "xapp-twin", "twin-secret"


class ApiError(Exception):
    """`{"ok": false, "error": code, ...}`."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code = code
        self.more = more


@dataclass
class Post:
    """One message. `texts` are all the states that people saw, oldest first."""

    ts: str
    channel: str
    user: str
    text: str
    thread: str | None = None
    blocks: list[Json] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    files: list[Json] = field(default_factory=list)
    by_bot: bool = False
    deleted: bool = False
    streaming: bool = False
    only_for: str | None = None
    tasks: dict[str, Json] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    reactions: set[tuple[str, str]] = field(default_factory=set)
    unfurl: bool = True

    @property
    def shown(self) -> str:
        """What a person reads: the blocks, else the text."""
        return "\n".join(filter(None, map(block_text, self.blocks))) or self.text

    @property
    def buttons(self) -> list[Json]:
        """Buttons and the options of menus, in order."""
        return elements(self.blocks)

    def body(self, *, metadata: bool = True) -> Json:
        """As the history lists it."""
        found: Json = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text}
        found |= {"bot_id": BOT_ID} if self.by_bot else {}
        found |= {"thread_ts": self.thread} if self.thread else {}
        found |= {"blocks": self.blocks} if self.blocks else {}
        found |= {"files": self.files} if self.files else {}
        return found | ({"metadata": self.metadata} if metadata and self.metadata else {})


@dataclass
class Room:
    """A DM or a channel."""

    id: str
    user: str | None = None  # of a DM
    members: set[str] = field(default_factory=set)
    archived: bool = False
    posts: dict[str, Post] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """channel_type."""
        return "im" if self.id.startswith("D") else "channel"


@dataclass
class Upload:
    """A file on its way or there."""

    id: str
    name: str
    length: int
    data: bytes = b""
    media_type: str = "application/octet-stream"
    shares: list[tuple[str, str]] = field(default_factory=list)
    complete: bool = False


class State:
    """All of one workspace with one app."""

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}
        self.files: dict[str, Upload] = {}
        self.views: dict[str, Json] = {}
        self.homes: dict[str, Json] = {}
        self.triggers: dict[str, tuple[float, bool]] = {}  # id: (when, used)
        self.threads: dict[tuple[str, str], Json] = {}  # assistant threads: status, title, prompts
        self.locales: dict[str, str] = {}
        self._numbers = itertools.count(1)

    def next(self) -> int:
        """A number that was never given."""
        return next(self._numbers)

    def ts(self) -> str:
        """A new time stamp, later than all before."""
        return f"{int(time.time())}.{self.next():06d}"

    def room(self, room_id: str) -> Room:
        """A room; a DM exists when it is named first."""
        if room_id not in self.rooms:
            if not room_id.startswith("D"):
                raise ApiError("channel_not_found")
            self.rooms[room_id] = Room(room_id, user=f"U{room_id[1:]}")
        return self.rooms[room_id]

    def writable(self, room_id: str) -> Room:
        """A room the bot may write to."""
        if room_id.startswith("U"):
            room_id = f"D{room_id[1:]}"
        room = self.room(room_id)
        if room.archived:
            raise ApiError("is_archived")
        if room.kind != "im" and BOT_USER not in room.members:
            raise ApiError("not_in_channel")
        return room

    def post(self, room_id: str, ts: str) -> Post:
        """The bot's own post. Raises message_not_found, cant_update_message."""
        found = self.room(room_id).posts.get(ts)
        if found is None or found.deleted:
            raise ApiError("message_not_found")
        if not found.by_bot:
            raise ApiError("cant_update_message")
        return found

    def trigger(self) -> str:
        """A new trigger_id."""
        trigger = f"trigger.{self.next()}"
        self.triggers[trigger] = (time.monotonic(), False)
        return trigger


def elements(blocks: list[Json]) -> list[Json]:
    """Each thing to press, with its block; an option of a menu carries the menu."""
    found = []
    for block in blocks:
        for element in block.get("elements", []) if block["type"] == "actions" else []:
            if element["type"] == "button":
                found.append({"block": block, "element": element, "label": element["text"]["text"]})
            for option in element.get("options", []):
                entry = {"block": block, "element": element, "option": option}
                found.append({**entry, "label": option["text"]["text"]})
    return found


def block_text(block: Json) -> str:
    """The words of a block."""
    match block["type"]:
        case "section" | "header":
            return str(block["text"]["text"])
        case "markdown":
            return str(block["text"])
        case "context":
            return " ".join(str(e.get("text", "")) for e in block["elements"])
        case "table":
            return "\n".join("\t".join(c["text"] for c in row) for row in block["rows"])
        case "divider":
            return "---"
    return ""


def decoded(value: Any) -> Any:
    """An argument: objects may come as JSON strings."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
