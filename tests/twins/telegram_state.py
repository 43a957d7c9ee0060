"""What the Telegram twin knows: chats, messages as last edited, files, callbacks, and the queue of updates."""

import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """An answer of the Bot API that is not ok."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code, self.description, self.parameters = code, description, parameters

    def body(self) -> Json:
        """As JSON."""
        body: Json = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad(text: str) -> ApiError:
    """400."""
    return ApiError(400, f"Bad Request: {text}")


@dataclass(slots=True)
class Stored:
    """A message with what the API does not show: whether it was deleted, and its earlier texts."""

    body: Json
    by_bot: bool
    deleted: bool = False
    texts: list[str] = field(default_factory=list)
    reaction: str = ""
    reactions: list[str] = field(default_factory=list)

    @property
    def id(self) -> int:
        """message_id."""
        return int(self.body["message_id"])

    @property
    def text(self) -> str:
        """Text or caption as last edited."""
        return str(self.body.get("text", self.body.get("caption", "")))

    @property
    def entities(self) -> list[Json]:
        """Entities of text or caption."""
        found: list[Json] = self.body.get("entities", self.body.get("caption_entities", []))
        return found

    @property
    def thread(self) -> int | None:
        """The forum topic."""
        return self.body.get("message_thread_id")

    @property
    def buttons(self) -> list[Json]:
        """All buttons, row by row."""
        rows = self.body.get("reply_markup", {}).get("inline_keyboard", [])
        return [button for row in rows for button in row]

    @property
    def kind(self) -> str:
        """text, photo, document or voice."""
        kinds = ("photo", "document", "voice", "text")
        return next((k for k in kinds if k in self.body), "text")

    @property
    def file_id(self) -> str | None:
        """The largest photo's, the document's or the voice's file id."""
        if "photo" in self.body:
            return str(self.body["photo"][-1]["file_id"])
        media = self.body.get("document") or self.body.get("voice")
        return media and str(media["file_id"])


@dataclass(slots=True)
class Chat:
    """A chat. `closed` is the description of the 403 that every call gets; `moved` the id after a migration."""

    id: int
    type: str
    title: str = ""
    forum: bool = False
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Stored] = field(default_factory=dict)
    drafts: dict[int, tuple[str, float]] = field(default_factory=dict)
    draft_log: list[str] = field(default_factory=list)
    actions: list[tuple[str, int | None]] = field(default_factory=list)
    closed: str = ""
    moved: int | None = None
    flood_until: float = 0.0

    def body(self) -> Json:
        """As JSON."""
        body: Json = {"id": self.id, "type": self.type}
        if self.type == "private":
            return body | {"first_name": self.title}
        return body | {"title": self.title} | ({"is_forum": True} if self.forum else {})


@dataclass(slots=True)
class File:
    """A file that was uploaded by either side."""

    id: str
    path: str
    data: bytes
    size: int


class Updates:
    """The queue. Nothing leaves it on delivery: only a higher offset confirms (Bot API, getUpdates)."""

    def __init__(self) -> None:
        self.next_id = 1000
        self.all: dict[int, Json] = {}
        self.pending: dict[int, Json] = {}
        self.again: list[Json] = []
        self.delivered: list[int] = []

    def push(self, kind: str, body: Json) -> int:
        """Queue an update; returns its id."""
        self.next_id += 1
        update = {"update_id": self.next_id, kind: body}
        self.all[self.next_id] = self.pending[self.next_id] = update
        return self.next_id

    def confirm(self, offset: int) -> None:
        """Forget what is below `offset`; a negative one keeps only the last updates."""
        keep = sorted(self.pending)[offset:] if offset < 0 else None
        for update_id in list(self.pending):
            if update_id < offset or (keep is not None and update_id not in keep):
                del self.pending[update_id]

    def take(self, limit: int) -> list[Json]:
        """What a poll brings now."""
        again, self.again = self.again, []
        found = again + [self.pending[i] for i in sorted(self.pending)][:limit]
        self.delivered += [u["update_id"] for u in found]
        return found


class State:
    """Everything that outlives a request."""

    def __init__(self, token: str, username: str) -> None:
        self.token = token
        self.me: Json = {
            "id": int(token.split(":", 1)[0]),
            "is_bot": True,
            "first_name": "Swarm",
            "username": username,
            "can_join_groups": True,
            "can_read_all_group_messages": True,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
        }
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, File] = {}
        self.callbacks: dict[str, tuple[float, bool]] = {}  # id -> (asked at, answered)
        self.answers: dict[str, Json] = {}
        self.commands: dict[tuple[str, str], list[Json]] = {}
        self.webhook: Json = {}
        self.updates = Updates()
        self.ids = 0

    def next(self) -> int:
        """A fresh number."""
        self.ids += 1
        return self.ids

    def chat(self, chat_id: int) -> Chat:
        """The chat a person is in; a private one comes into being. Asserts that a group exists."""
        if chat_id > 0 and chat_id not in self.chats:
            self.chats[chat_id] = Chat(chat_id, "private", title=f"User {chat_id}")
        assert chat_id in self.chats, f"no group {chat_id}: make it with group()"
        return self.chats[chat_id]

    def reachable(self, chat_id: int) -> Chat:
        """The chat as the bot may use it. Raises ApiError (400, 403, 429)."""
        chat = self.chats.get(chat_id)
        if chat is None:
            raise bad("chat not found")
        if chat.moved is not None:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=chat.moved,
            )
        if chat.closed:
            raise ApiError(403, f"Forbidden: {chat.closed}")
        left = chat.flood_until - time.monotonic()
        if left > 0:
            wait = int(left) + 1
            raise ApiError(429, f"Too Many Requests: retry after {wait}", retry_after=wait)
        return chat

    def keep_file(self, name: str, data: bytes) -> File:
        """Store a file and give it an id and a path."""
        number = self.next()
        file = File(f"FILE{number}", f"documents/{number}_{name}", data, len(data))
        self.files[file.id] = file
        return file
