"""The Telegram twin: a Bot API server on loopback, and the person who chats with the bot.

Known differences from the real thing: people's reactions are not sent, no inline mode, no payments; MarkdownV2 in its
common forms only; a photo keeps its bytes; webhooks are posted one at a time and may go to http on loopback; nested
entities inside code are kept.
"""

import time
from typing import Any

from aiohttp import web

from tests.twins.telegram_api import Api
from tests.twins.telegram_state import ApiError, Chat, File, Json, State, Stored
from tests.twins.telegram_text import found_entities
from tests.twins.twin import CALL, Twin

TOKEN = "777:TWIN"
USERNAME = "swarm_bot"


class TelegramTwin(Twin):
    """One bot. `base_url` and `base_file_url` are what the client library wants.

    User's side: `say`, `press`, `photo`, `document`, `voice`, `album`, `edit`, `delete`, `block`, `unblock`, `group`,
    `topic`, `migrate`, `flood`, `redeliver`. What people see: `chat`, `replies`, `draft`.
    """

    name = "telegram"

    def __init__(self, token: str = TOKEN, username: str = USERNAME) -> None:
        super().__init__()
        self.token = token
        self.state = State(token, username)
        self.api = Api(self.state, self.changes)

    @property
    def base_url(self) -> str:
        """The library appends the token."""
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        """The library appends token and path."""
        return f"{self.url}/file/bot"

    def add_routes(self, app: web.Application) -> None:
        """The Bot API."""
        app.router.add_route("*", "/bot{token}/{method}", self._method)
        app.router.add_get("/file/bot{token}/{path:.+}", self._file)

    async def stop(self) -> None:
        """Close all connections, the webhook's too."""
        await self.api.webhooks.stop()
        await super().stop()

    async def _method(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        try:
            self._authorize(request)
            result = await self.api.answer(method, request[CALL])
        except ApiError as e:
            if e.code == 404:
                self.violation(f"called {method}, which does not exist")
            return web.json_response(e.body(), status=e.code)
        self.changes.notify()
        return web.json_response({"ok": True, "result": result})

    def _authorize(self, request: web.Request) -> None:
        if request.match_info["token"] != self.token:
            raise ApiError(401, "Unauthorized")

    async def _file(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        found = next((f for f in self.state.files.values() if f.path == path), None)
        if found is None or request.match_info["token"] != self.token:
            return web.json_response({"ok": False, "error_code": 404}, status=404)
        return web.Response(body=found.data)

    # What people do ----------------------------------------------------------------------------------------------

    def say(
        self,
        chat_id: int,
        text: str,
        *,
        user: int | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        **more: Any,
    ) -> int:
        """Write a message; returns its id. `more` is merged into the message (entities, from …)."""
        found = found_entities(text)
        body: Json = {"text": text, **({"entities": found} if found else {}), **more}
        return self._arrive(chat_id, body, user=user, thread=thread, reply_to=reply_to)

    def photo(self, chat_id: int, data: bytes = b"\x89PNG", caption: str = "", **place: Any) -> int:
        """Send a photo."""
        file = self.state.keep_file("photo.jpg", data)
        sizes = [
            {"file_id": name, "file_unique_id": f"U{name}", "width": w, "height": w, "file_size": s}
            for name, w, s in ((f"{file.id}-small", 90, 10), (file.id, 800, file.size))
        ]
        return self._arrive(chat_id, {"photo": sizes, **captioned(caption)}, **place)

    def album(
        self, chat_id: int, pictures: list[bytes], caption: str = "", **place: Any
    ) -> list[int]:
        """Send several photos as one album; the first carries the caption."""
        group = {"media_group_id": str(self.state.next())}
        captions = [caption, *[""] * len(pictures)]
        return [
            self.photo(chat_id, p, c, **group, **place)
            for p, c in zip(pictures, captions, strict=False)
        ]

    def document(
        self,
        chat_id: int,
        data: bytes,
        name: str = "notes.txt",
        media_type: str = "text/plain",
        caption: str = "",
        **place: Any,
    ) -> int:
        """Send a file."""
        about = {"file_name": name, "mime_type": media_type}
        media = {**file_body(self.state.keep_file(name, data)), **about}
        return self._arrive(chat_id, {"document": media, **captioned(caption)}, **place)

    def voice(self, chat_id: int, data: bytes = b"OggS", **place: Any) -> int:
        """Send a voice message."""
        about = {"duration": 2, "mime_type": "audio/ogg"}
        media = {**file_body(self.state.keep_file("voice.ogg", data)), **about}
        return self._arrive(chat_id, {"voice": media}, **place)

    def edit(self, chat_id: int, message_id: int, text: str) -> None:
        """Edit one's own message."""
        stored = self.state.chat(chat_id).messages[message_id]
        assert not stored.by_bot, "people edit their own messages"
        stored.body = {**stored.body, "text": text, "edit_date": int(time.time())}
        self._push("edited_message", stored.body)

    def delete(self, chat_id: int, message_id: int) -> None:
        """Delete any message (bots are not told)."""
        self.state.chat(chat_id).messages[message_id].deleted = True
        self.changes.notify()

    def press(self, chat_id: int, message_id: int, button: str, *, user: int | None = None) -> str:
        """Press a button by its label or data; returns the callback id. Asserts that it is there."""
        stored = self.state.chat(chat_id).messages[message_id]
        assert not stored.deleted, "the message is deleted"
        found = [b for b in stored.buttons if button in {b["text"], b.get("callback_data")}]
        assert found, f"no button {button!r} on message {message_id}"
        callback = f"cb{self.state.next()}"
        self.state.callbacks[callback] = (time.monotonic(), False)
        body = {
            "id": callback,
            "from": person(user or chat_id),
            "chat_instance": "1",
            "message": stored.body,
            "data": found[0]["callback_data"],
        }
        self._push("callback_query", body)
        return callback

    def group(self, chat_id: int, title: str = "Group", *, forum: bool = False) -> int:
        """Make a supergroup with the bot in it; ids are negative."""
        assert chat_id < 0, "group ids are negative"
        self.state.chats[chat_id] = Chat(chat_id, "supergroup", title, forum)
        return chat_id

    def topic(self, chat_id: int, name: str = "Topic") -> int:
        """Open a forum topic; returns its thread id."""
        chat = self.state.chat(chat_id)
        assert chat.forum, "only forums have topics"
        thread = self.state.next()
        chat.topics[thread] = name
        return thread

    def migrate(self, chat_id: int, new_id: int) -> None:
        """Upgrade a group: the old id answers with migrate_to_chat_id."""
        old = self.state.chat(chat_id)
        self.group(new_id, old.title)
        old.moved = new_id

    def block(self, chat_id: int) -> None:
        """Block the bot (private chat) or kick it (group)."""
        chat = self.state.chat(chat_id)
        private = chat.type == "private"
        what = "blocked by the user" if private else "kicked from the supergroup chat"
        chat.closed = f"bot was {what}"
        self._member(chat, "kicked", {"until_date": 0})

    def unblock(self, chat_id: int) -> None:
        """Let the bot in again."""
        chat = self.state.chat(chat_id)
        chat.closed = ""
        self._member(chat, "member", {})

    def flood(self, chat_id: int, seconds: float) -> None:
        """Answer every call to this chat with 429 for so long."""
        self.state.chat(chat_id).flood_until = time.monotonic() + seconds

    def redeliver(self, update_id: int | None = None) -> int:
        """Hand an update (the last one) over once more, whatever was confirmed."""
        update_id = update_id or self.state.updates.next_id
        self.state.updates.again.append(self.state.updates.all[update_id])
        self.changes.notify()
        return update_id

    # What people see ---------------------------------------------------------------------------------------------

    def chat(self, chat_id: int, thread: int | None = None) -> list[Stored]:
        """The messages that are visible, oldest first, as last edited; of one topic if `thread` is given."""
        found = self.state.chats[chat_id].messages.values() if chat_id in self.state.chats else ()
        return [m for m in found if not m.deleted and thread in {None, m.thread}]

    def replies(self, chat_id: int, thread: int | None = None) -> list[Stored]:
        """The bot's visible messages."""
        return [m for m in self.chat(chat_id, thread) if m.by_bot]

    def draft(self, chat_id: int) -> str | None:
        """The draft that is on the screen now, about 30 s at most."""
        recent = time.monotonic() - 30.0
        drafts = self.state.chat(chat_id).drafts.values()
        return next((text for text, at in drafts if at > recent), None)

    async def wait_replies(
        self, chat_id: int, count: int = 1, timeout: float = 5.0, thread: int | None = None
    ) -> list[Stored]:
        """The bot's visible messages, as soon as there are `count` of them."""

        def look() -> list[Stored]:
            found = self.replies(chat_id, thread)
            return found if len(found) >= count else []

        return await self.wait_for(look, timeout)

    @property
    def unconfirmed(self) -> list[int]:
        """Ids of updates that the bot has not confirmed by a higher offset."""
        return sorted(self.state.updates.pending)

    # Shared ------------------------------------------------------------------------------------------------------

    def _arrive(
        self,
        chat_id: int,
        content: Json,
        *,
        user: int | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        **more: Any,
    ) -> int:
        chat = self.state.chat(chat_id)
        author = user or (chat_id if chat_id > 0 else 1)
        message_id = self.state.next()
        head = {"message_id": message_id, "date": int(time.time()), "chat": chat.body()}
        body: Json = {**head, "from": person(author), **content, **more}
        if thread is not None:
            assert thread in chat.topics, f"no topic {thread}"
            body |= {"message_thread_id": thread, "is_topic_message": True}
        if reply_to is not None:
            body["reply_to_message"] = chat.messages[reply_to].body
        chat.messages[message_id] = Stored(body, by_bot=False, texts=[str(body.get("text", ""))])
        self._push("message", body)
        return message_id

    def _member(self, chat: Chat, status: str, more: Json) -> None:
        user = {k: self.state.me[k] for k in ("id", "is_bot", "first_name", "username")}
        old = "member" if status == "kicked" else "left"
        body = {
            "chat": chat.body(),
            "from": person(chat.id if chat.id > 0 else 1),
            "date": int(time.time()),
            "old_chat_member": {"user": user, "status": old},
            "new_chat_member": {"user": user, "status": status, **more},
        }
        self._push("my_chat_member", body)

    def _push(self, kind: str, body: Json) -> None:
        self.state.updates.push(kind, body)
        self.changes.notify()


def person(user: int) -> Json:
    """A user as JSON."""
    return {"id": user, "is_bot": False, "first_name": f"User {user}", "language_code": "en"}


def captioned(caption: str) -> Json:
    """A caption with what Telegram finds in it."""
    return {"caption": caption, "caption_entities": found_entities(caption)} if caption else {}


def file_body(file: File) -> Json:
    """The common part of a document or a voice message."""
    return {"file_id": file.id, "file_unique_id": f"U{file.id}", "file_size": file.size}
