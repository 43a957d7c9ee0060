"""The Bot API methods of the Telegram twin: what the bot calls."""

import asyncio
import time
from typing import Any

from tests.twins.telegram_args import Args, caption, markup
from tests.twins.telegram_reactions import REACTIONS
from tests.twins.telegram_state import ApiError, Chat, Json, State, Stored, bad
from tests.twins.telegram_text import MAX_TEXT, TextError, checked
from tests.twins.telegram_webhook import WebhookSender
from tests.twins.twin import Call, Changes, Upload

ACTIONS = {"typing", "upload_photo", "upload_document", "record_voice", "choose_sticker"}
PHOTO_LIMIT, FILE_LIMIT, DOWNLOAD_LIMIT = 10 * 2**20, 50 * 2**20, 20 * 2**20


class Api:
    """Answers one method each; names are the Bot API's in lower case behind `on_`."""

    def __init__(self, state: State, changes: Changes) -> None:
        self.state = state
        self.changes = changes
        self.callback_life = 30.0
        self.polls = 0
        self.webhooks = WebhookSender(state, changes)

    async def answer(self, method: str, call: Call) -> Any:
        """The result. Raises ApiError; 404 for a method that does not exist."""
        handler = getattr(self, f"on_{method.lower()}", None)
        if handler is None:
            raise ApiError(404, "Not Found: method not found")
        args = Args(call)
        try:
            result = handler(args)
            return await result if asyncio.iscoroutine(result) else result
        except TextError as e:
            raise bad(str(e)) from e

    # Updates -----------------------------------------------------------------------------------------------------

    def on_getme(self, _: Args) -> Json:
        return self.state.me

    async def on_getupdates(self, args: Args) -> list[Json]:
        updates = self.state.updates
        if self.state.webhook.get("url"):
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        self.polls += 1
        mine = self.polls
        self.changes.notify()  # ends an older poll
        if (offset := args.int("offset")) is not None:
            updates.confirm(offset)
        limit = args.int("limit") or 100
        timeout = args.int("timeout") or 0

        def look() -> bool:
            return self.polls != mine or bool(updates.pending or updates.again)

        try:
            await self.changes.until(look, timeout) if timeout else look()
        except TimeoutError:
            return []
        if self.polls != mine:
            raise ApiError(
                409,
                "Conflict: terminated by other getUpdates request; "
                "make sure that only one bot instance is running",
            )
        return updates.take(limit)

    def on_setwebhook(self, args: Args) -> bool:
        return self.webhooks.set(args)

    def on_deletewebhook(self, _: Args) -> bool:
        return self.webhooks.delete()

    def on_getwebhookinfo(self, _: Args) -> Json:
        return self.webhooks.info()

    # Messages ----------------------------------------------------------------------------------------------------

    def on_sendmessage(self, args: Args) -> Json:
        chat = self.state.reachable(args.chat())
        text, entities = checked(args.text("text"), args.text("parse_mode"), MAX_TEXT, "message")
        return self.post(chat, args, {"text": text, "entities": entities}).body

    def on_sendphoto(self, args: Args) -> Json:
        chat = self.state.reachable(args.chat())
        return self.post(chat, args, {**self.photo(args.upload("photo")), **caption(args.all)}).body

    def on_senddocument(self, args: Args) -> Json:
        chat = self.state.reachable(args.chat())
        media = self.document(args.upload("document"))
        return self.post(chat, args, {**media, **caption(args.all)}).body

    def on_editmessagetext(self, args: Args) -> Json:
        message = self.mine(args)
        text, entities = checked(args.text("text"), args.text("parse_mode"), MAX_TEXT, "message")
        if message.kind != "text":
            raise bad("there is no text in the message to edit")
        return self.change(message, args, {"text": text, "entities": entities})

    def on_editmessagecaption(self, args: Args) -> Json:
        return self.change(self.mine(args), args, caption(args.all))

    def on_editmessagereplymarkup(self, args: Args) -> Json:
        return self.change(self.mine(args), args, {})

    def on_editmessagemedia(self, args: Args) -> Json:
        message = self.mine(args)
        media: Json = args.json("media")
        upload = args.upload_of(str(media["media"]))
        new = self.photo(upload) if media["type"] == "photo" else self.document(upload)
        for key in ("text", "entities", "photo", "document"):
            message.body.pop(key, None)
        return self.change(message, args, {**new, **caption(media)})

    def on_deletemessage(self, args: Args) -> bool:
        chat = self.state.reachable(args.chat())
        message = chat.messages.get(args.int("message_id") or 0)
        if message is None or message.deleted:
            raise bad("message to delete not found")
        message.deleted = True
        return True

    def on_sendmessagedraft(self, args: Args) -> bool:
        chat = self.state.reachable(args.chat())
        draft = args.int("draft_id")
        if chat.type != "private":
            raise bad("TEXTDRAFT_PEER_INVALID")
        if not draft:
            raise bad("TEXTDRAFT_ID_INVALID")
        text, _ = checked(args.text("text") or "…", args.text("parse_mode"), MAX_TEXT, "message")
        chat.drafts[draft] = (text, time.monotonic())
        chat.draft_log.append(text)
        return True

    def on_sendchataction(self, args: Args) -> bool:
        chat = self.state.reachable(args.chat())
        action = args.text("action") or ""
        if action not in ACTIONS:
            raise bad("wrong parameter action in request")
        self.check_thread(chat, args)
        chat.actions.append((action, args.int("message_thread_id")))
        return True

    # The rest ----------------------------------------------------------------------------------------------------

    def on_answercallbackquery(self, args: Args) -> bool:
        callback = args.text("callback_query_id") or ""
        asked, answered = self.state.callbacks.get(callback, (0.0, True))
        if answered or time.monotonic() - asked > self.callback_life:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.state.callbacks[callback] = (asked, True)
        self.state.answers[callback] = {"text": args.text("text") or ""}
        return True

    def on_setmycommands(self, args: Args) -> bool:
        commands: list[Json] = args.json("commands")
        if len(commands) > 100:
            raise bad("BOT_COMMANDS_TOO_MUCH")
        for c in commands:
            name = c["command"]
            plain = name.replace("_", "a")
            if not (
                1 <= len(name) <= 32 and plain.isascii() and plain.isalnum() and name.islower()
            ):
                raise bad("BOT_COMMAND_INVALID")
            if not 1 <= len(c["description"]) <= 256:
                raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
        self.state.commands[self.menu_key(args)] = commands
        return True

    def on_setmessagereaction(self, args: Args) -> bool:
        chat = self.state.reachable(args.chat())
        message = chat.messages.get(args.int("message_id") or 0)
        if message is None or message.deleted:
            raise bad("message to react not found")
        wanted: list[Json] = args.json("reaction") or []
        if len(wanted) > 1:
            raise bad("REACTIONS_TOO_MANY")
        if any(r.get("type") != "emoji" or r.get("emoji") not in REACTIONS for r in wanted):
            raise bad("REACTION_INVALID")
        message.reaction = str(wanted[0]["emoji"]) if wanted else ""
        message.reactions.append(message.reaction)
        return True

    def on_getmycommands(self, args: Args) -> list[Json]:
        return self.state.commands.get(self.menu_key(args), [])

    def on_deletemycommands(self, args: Args) -> bool:
        self.state.commands.pop(self.menu_key(args), None)
        return True

    def on_getchat(self, args: Args) -> Json:
        chat = self.state.reachable(args.chat())
        limits = {"accent_color_id": 0, "max_reaction_count": 11}
        gifts = dict.fromkeys(
            (
                "unlimited_gifts",
                "limited_gifts",
                "unique_gifts",
                "premium_subscription",
                "gifts_from_channels",
            ),
            False,
        )
        return {**chat.body(), **limits, "accepted_gift_types": gifts}

    def on_createforumtopic(self, args: Args) -> Json:
        chat = self.state.reachable(args.chat())
        if not chat.forum:
            raise bad("the chat is not a forum")
        thread = self.state.next()
        chat.topics[thread] = args.text("name") or ""
        return {"message_thread_id": thread, "name": chat.topics[thread], "icon_color": 7322096}

    def on_getfile(self, args: Args) -> Json:
        file = self.state.files.get(args.text("file_id") or "")
        if file is None:
            raise bad("wrong file_id or the file is temporarily unavailable")
        if file.size > DOWNLOAD_LIMIT:
            raise bad("file is too big")
        unique = {"file_id": file.id, "file_unique_id": f"U{file.id}"}
        return {**unique, "file_size": file.size, "file_path": file.path}

    # Shared ------------------------------------------------------------------------------------------------------

    def menu_key(self, args: Args) -> tuple[str, str]:
        scope: Json = args.json("scope") or {"type": "default"}
        return str(scope["type"]), args.text("language_code") or ""

    def check_thread(self, chat: Chat, args: Args) -> Json:
        thread = args.int("message_thread_id")
        if thread is None:
            return {}
        if chat.type == "private" or thread not in chat.topics:
            raise bad("message thread not found")
        return {"message_thread_id": thread, "is_topic_message": True}

    def post(self, chat: Chat, args: Args, content: Json) -> Stored:
        """Store a message of the bot; it ends the chat's drafts."""
        body = {**self.check_thread(chat, args), **content, **markup(args)}
        reply: Json = args.json("reply_parameters") or {}
        if target := reply.get("message_id"):
            found = chat.messages.get(int(target))
            if found is not None and not found.deleted:
                body["reply_to_message"] = found.body
            elif not reply.get("allow_sending_without_reply"):
                raise bad("message to be replied not found")
        message_id = self.state.next()
        head = {"message_id": message_id, "date": int(time.time()), "chat": chat.body()}
        sender = {k: self.state.me[k] for k in ("id", "is_bot", "first_name", "username")}
        stored = Stored({**head, "from": sender, **body}, by_bot=True)
        stored.texts.append(stored.text)
        chat.messages[message_id] = stored
        chat.drafts.clear()
        return stored

    def mine(self, args: Args) -> Stored:
        """The bot's own message that is to be edited. Raises ApiError."""
        chat = self.state.reachable(args.chat())
        message = chat.messages.get(args.int("message_id") or 0)
        if message is None or message.deleted:
            raise bad("message to edit not found")
        if not message.by_bot:
            raise bad("message can't be edited")
        return message

    def change(self, message: Stored, args: Args, content: Json) -> Json:
        """Edit: an omitted markup takes the keyboard away. Raises ApiError when nothing changes."""
        old = {k: v for k, v in message.body.items() if k not in {"reply_markup", "edit_date"}}
        new = {**old, **content}
        new_markup = markup(args)
        if new == old and new_markup.get("reply_markup") == message.body.get("reply_markup"):
            raise bad(
                "message is not modified: specified new message content and reply markup are "
                "exactly the same as a current content and reply markup of the message"
            )
        message.body = {**new, **new_markup, "edit_date": int(time.time())}
        message.texts.append(message.text)
        return message.body

    def photo(self, upload: Upload) -> Json:
        if len(upload.data) > PHOTO_LIMIT:
            raise bad("file is too big")
        if not upload.data.startswith((b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF")):
            raise bad("IMAGE_PROCESS_FAILED")
        file = self.state.keep_file(upload.name, upload.data)
        sizes = ((90, "s"), (800, "x"))
        return {
            "photo": [
                {"file_id": file.id, "file_unique_id": f"U{file.id}{n}", "width": w, "height": w}
                for w, n in sizes
            ]
        }

    def document(self, upload: Upload) -> Json:
        if len(upload.data) > FILE_LIMIT:
            raise bad("file is too big")
        if not upload.data:
            raise bad("file must be non-empty")
        file = self.state.keep_file(upload.name, upload.data)
        ids = {"file_id": file.id, "file_unique_id": f"U{file.id}"}
        about = {"file_name": upload.name, "mime_type": upload.media_type, "file_size": file.size}
        return {"document": {**ids, **about}}
