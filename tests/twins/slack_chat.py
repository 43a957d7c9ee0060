"""The chat.* methods of the Slack twin: messages and streams."""

from collections.abc import Callable
from typing import Any

from tests.twins.slack_rules import TEXT_LIMIT, check_blocks, mrkdwn_of, strays
from tests.twins.slack_state import BOT_USER, ApiError, Json, Post, Room, State


class Chat:
    """Answers one method each."""

    def __init__(self, state: State, violation: Callable[[str], None]) -> None:
        self.state = state
        self.violation = violation
        self.streams = True  # whether the workspace has chat.startStream
        self.stream_blocks = True  # whether streams take chunks of blocks
        self.tables = True  # whether it takes table blocks

    def _content(self, args: Json) -> tuple[str, list[Json]]:
        text, blocks = str(args.get("text") or ""), args.get("blocks") or []
        if not text and not blocks:
            raise ApiError("no_text")
        if len(text) > TEXT_LIMIT:
            raise ApiError("msg_too_long")
        self._check(blocks)
        if not blocks and args.get("mrkdwn") is not False:
            self._look([text])
        self._look(mrkdwn_of(blocks))
        for block in blocks:
            block.setdefault("block_id", f"b{self.state.next()}")
        return text, blocks

    def _check(self, blocks: Any) -> None:
        check_blocks(blocks)
        if not self.tables and any(b["type"] == "table" for b in blocks):
            raise ApiError("invalid_blocks", response_metadata={"messages": ["unsupported type"]})

    def _look(self, texts: list[str]) -> None:
        for text in texts:
            for stray in strays(text):
                self.violation(f"unescaped {stray!r} in {text[:80]!r}")

    def on_chat_postmessage(self, args: Json) -> Json:
        room = self.state.writable(str(args.get("channel", "")))
        text, blocks = self._content(args)
        post = Post(self.state.ts(), room.id, BOT_USER, text, args.get("thread_ts"), blocks)
        if post.thread is not None and post.thread not in room.posts:
            raise ApiError("thread_not_found")
        post.metadata, post.by_bot = args.get("metadata") or {}, True
        post.unfurl = args.get("unfurl_links") is not False
        post.texts = [post.shown]
        self._appear(room, post)
        return {"channel": room.id, "ts": post.ts, "message": post.body()}

    def _appear(self, room: Room, post: Post) -> None:
        """A message of the bot ends the status of its assistant thread."""
        room.posts[post.ts] = post
        if about := self.state.threads.get((room.id, post.thread or "")):
            about["status"] = ""

    def on_chat_postephemeral(self, args: Json) -> Json:
        room = self.state.writable(str(args.get("channel", "")))
        text, blocks = self._content(args)
        post = Post(self.state.ts(), room.id, BOT_USER, text, args.get("thread_ts"), blocks)
        post.by_bot, post.only_for = True, str(args["user"])
        room.posts[post.ts] = post
        return {"message_ts": post.ts}

    def on_chat_update(self, args: Json) -> Json:
        post = self.state.post(str(args["channel"]), str(args["ts"]))
        self.state.writable(post.channel)
        if post.streaming:
            raise ApiError("streaming_state_conflict")
        text, blocks = self._content(args)
        if "blocks" not in args:
            blocks = post.blocks  # without the argument the old ones stay
        post.text, post.blocks, post.tasks = text, blocks, {}
        post.metadata = args.get("metadata") or post.metadata
        post.texts.append(post.shown)
        return {"channel": post.channel, "ts": post.ts, "text": text}

    def on_chat_delete(self, args: Json) -> Json:
        post = self.state.post(str(args["channel"]), str(args["ts"]))
        if post.streaming:
            raise ApiError("streaming_state_conflict")
        post.deleted = True
        return {"channel": post.channel, "ts": post.ts}

    def on_chat_startstream(self, args: Json) -> Json:
        if not self.streams:
            raise ApiError("method_not_supported_for_channel_type")
        room = self.state.writable(str(args.get("channel", "")))
        thread = args.get("thread_ts")
        if not thread or thread not in room.posts:
            raise ApiError("invalid_thread_ts")
        if room.kind != "im" and not (
            args.get("recipient_user_id") and args.get("recipient_team_id")
        ):
            raise ApiError("missing_recipient_user_id")
        post = Post(self.state.ts(), room.id, BOT_USER, "", thread, by_bot=True, streaming=True)
        self._append(post, args)  # what is refused leaves nothing behind
        self._appear(room, post)
        return {"channel": room.id, "ts": post.ts}

    def _streaming(self, args: Json) -> Post:
        post = self.state.post(str(args["channel"]), str(args["ts"]))
        if not post.streaming:
            raise ApiError("message_not_in_streaming_state")
        return post

    def _append(self, post: Post, args: Json) -> None:
        pieces = [str(args.get("markdown_text") or "")]
        for chunk in args.get("chunks") or []:
            if chunk["type"] == "markdown_text":
                pieces.append(str(chunk["text"]))
            elif chunk["type"] == "task_update":
                if chunk["status"] not in {"pending", "in_progress", "complete", "error"}:
                    raise ApiError("invalid_chunks")
                post.tasks[chunk["id"]] = chunk
            elif chunk["type"] == "blocks" and self.stream_blocks:
                self._check(chunk["blocks"])
                post.blocks = [*post.blocks, *chunk["blocks"]]
            elif chunk["type"] != "plan_update":
                raise ApiError("invalid_chunks")
        if any(len(piece) > 12_000 for piece in pieces):
            raise ApiError("msg_too_long")
        post.text += "".join(pieces)
        post.texts.append(post.text)

    def on_chat_appendstream(self, args: Json) -> Json:
        post = self._streaming(args)
        if not (args.get("markdown_text") or args.get("chunks")):
            raise ApiError("no_text")
        self._append(post, args)
        return {"channel": post.channel, "ts": post.ts}

    def on_chat_stopstream(self, args: Json) -> Json:
        post = self._streaming(args)
        self._append(post, args)
        if args.get("blocks"):
            self._check(args["blocks"])
            post.blocks = args["blocks"]
        post.metadata = args.get("metadata") or post.metadata
        post.streaming = False
        return {"channel": post.channel, "ts": post.ts, "message": post.body()}
