"""The Web API of the Slack twin: what the bot calls. `chat.postMessage` is `on_chat_postmessage`."""

import time
from collections.abc import Callable

from tests.twins.slack_chat import Chat
from tests.twins.slack_rules import check_view, mrkdwn_of
from tests.twins.slack_state import (
    BOT_ID,
    BOT_TOKEN,
    BOT_USER,
    TEAM,
    ApiError,
    Json,
    Post,
    State,
    Upload,
)

EMOJI = {"eyes", "white_check_mark", "x", "hourglass_flowing_sand", "hourglass", "thumbsup"}
SCOPES = {
    "chat.": "chat:write",
    "reactions.": "reactions:write",
    "files.get": "files:write",
    "files.complete": "files:write",
    "files.info": "files:read",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
    "conversations.open": "im:write",
    "users.": "users:read",
    "assistant.": "assistant:write",
}


class Api(Chat):
    """Answers one method each."""

    def __init__(self, state: State, violation: Callable[[str], None]) -> None:
        super().__init__(state, violation)
        self.base = ""
        self.trigger_life = 3.0
        self.missing: set[str] = set()  # scopes the token does not have

    def answer(self, method: str, args: Json, token: str) -> Json:
        """The reply's body. Raises ApiError."""
        if token != BOT_TOKEN:
            raise ApiError("invalid_auth")
        handler = getattr(self, "on_" + method.replace(".", "_").lower(), None)
        if handler is None:
            self.violation(f"called {method}, which does not exist")
            raise ApiError("unknown_method")
        for prefix, scope in SCOPES.items():
            if method.startswith(prefix) and scope in self.missing:
                raise ApiError("missing_scope", needed=scope, provided="commands")
        return {"ok": True, **(handler(args) or {})}

    def on_auth_test(self, _: Json) -> Json:
        who = {"team_id": TEAM, "user_id": BOT_USER, "bot_id": BOT_ID}
        return {"url": "https://twin.example/", "team": "Twin", "user": "swarmgate", **who}

    # assistant, reactions ------------------------------------------------------------------------------------------

    def _assistant(self, args: Json) -> Json:
        key = (str(args["channel_id"]), str(args["thread_ts"]))
        if key not in self.state.threads:
            raise ApiError("invalid_thread_ts")
        return self.state.threads[key]

    def on_assistant_threads_setstatus(self, args: Json) -> Json:
        thread = self._assistant(args)
        thread["status"] = args["status"]
        thread.setdefault("statuses", []).append(args["status"])
        return {}

    def on_assistant_threads_settitle(self, args: Json) -> Json:
        self._assistant(args)["title"] = args["title"]
        return {}

    def on_assistant_threads_setsuggestedprompts(self, args: Json) -> Json:
        thread = self._assistant(args)
        if not 0 < len(args["prompts"]) <= 4:
            raise ApiError("invalid_arguments")
        thread["prompts"] = args["prompts"]
        return {}

    def _reacted(self, args: Json) -> tuple[Post, tuple[str, str]]:
        post = self.state.room(str(args["channel"])).posts.get(str(args["timestamp"]))
        if post is None:
            raise ApiError("message_not_found")
        if args["name"] not in EMOJI:
            raise ApiError("invalid_name")
        return post, (BOT_USER, str(args["name"]))

    def on_reactions_add(self, args: Json) -> Json:
        post, reaction = self._reacted(args)
        if reaction in post.reactions:
            raise ApiError("already_reacted")
        post.reactions.add(reaction)
        return {}

    def on_reactions_remove(self, args: Json) -> Json:
        post, reaction = self._reacted(args)
        if reaction not in post.reactions:
            raise ApiError("no_reaction")
        post.reactions.discard(reaction)
        return {}

    # views ---------------------------------------------------------------------------------------------------------

    def on_views_open(self, args: Json) -> Json:
        trigger = str(args.get("trigger_id", ""))
        at, used = self.state.triggers.get(trigger, (0.0, True))
        if trigger not in self.state.triggers or time.monotonic() - at > self.trigger_life:
            raise ApiError("expired_trigger_id")
        if used:
            raise ApiError("exchanged_trigger_id")
        check_view(args["view"])
        self.state.triggers[trigger] = (at, True)
        view_id = f"V{self.state.next()}"
        about = {"id": view_id, "hash": "h1", "root_view_id": view_id, "state": {"values": {}}}
        view = {**args["view"], **about, "team_id": TEAM, "bot_id": BOT_ID}
        for block in view["blocks"]:
            block.setdefault("block_id", f"b{self.state.next()}")
        self.state.views[view_id] = view
        return {"view": view}

    def on_views_publish(self, args: Json) -> Json:
        check_view(args["view"])
        self._look(mrkdwn_of(args["view"]["blocks"]))
        for block in args["view"]["blocks"]:
            block.setdefault("block_id", f"b{self.state.next()}")
        view = {**args["view"], "id": f"V{self.state.next()}", "hash": "h1"}
        self.state.homes[str(args["user_id"])] = view
        return {"view": view}

    # files ---------------------------------------------------------------------------------------------------------

    def on_files_getuploadurlexternal(self, args: Json) -> Json:
        file_id, length = f"F{self.state.next()}", int(args["length"])
        if length <= 0 or not args.get("filename"):
            raise ApiError("invalid_arguments")
        self.state.files[file_id] = Upload(file_id, str(args["filename"]), length)
        return {"upload_url": f"{self.base}/upload/{file_id}", "file_id": file_id}

    def on_files_completeuploadexternal(self, args: Json) -> Json:
        found = [self.state.files.get(f["id"]) for f in args["files"]]
        files = [f for f in found if f is not None and len(f.data) == f.length and not f.complete]
        if len(files) != len(found) or not files:
            raise ApiError("file_not_found")
        if channel := args.get("channel_id"):
            room = self.state.writable(str(channel))
            comment = str(args.get("initial_comment") or "")
            self._look([comment])
            post = Post(self.state.ts(), room.id, BOT_USER, comment, args.get("thread_ts"))
            if post.thread is not None and post.thread not in room.posts:
                raise ApiError("invalid_thread_ts")
            post.by_bot, post.files = True, [self.file_body(f) for f in files]
            room.posts[post.ts] = post
            for file in files:
                file.shares.append((room.id, post.ts))
        for file in files:
            file.complete = True
        return {"files": [{"id": f.id, "title": f.name} for f in files]}

    def on_files_info(self, args: Json) -> Json:
        file = self.state.files.get(str(args["file"]))
        if file is None:
            raise ApiError("file_not_found")
        shares: Json = {}
        for channel, ts in file.shares:
            shares.setdefault("private", {}).setdefault(channel, []).append({"ts": ts})
        return {"file": {**self.file_body(file), "shares": shares}}

    def file_body(self, file: Upload) -> Json:
        """A file as messages carry it."""
        url = f"{self.base}/files/{file.id}/{file.name}"
        about = {"id": file.id, "name": file.name, "title": file.name, "size": file.length}
        return {**about, "mimetype": file.media_type, "mode": "hosted", "url_private_download": url}

    # conversations, users --------------------------------------------------------------------------------------------

    def on_conversations_open(self, args: Json) -> Json:
        user = str(args["users"])
        room = self.state.room(f"D{user[1:]}")
        return {"channel": {"id": room.id}}

    def on_conversations_info(self, args: Json) -> Json:
        room = self.state.room(str(args["channel"]))
        return {"channel": {"id": room.id, "is_im": room.kind == "im", "user": room.user}}

    def on_conversations_history(self, args: Json) -> Json:
        return self._page(args, [p for p in self._listed(args) if p.thread in {None, p.ts}][::-1])

    def on_conversations_replies(self, args: Json) -> Json:
        ts = str(args["ts"])
        found = [p for p in self._listed(args) if ts in {p.ts, p.thread}]
        if not found and not args.get("oldest"):
            raise ApiError("thread_not_found")
        return self._page(args, found)

    def _listed(self, args: Json) -> list[Post]:
        room = self.state.writable(str(args["channel"]))
        oldest = float(args.get("oldest") or 0)
        found = [p for p in room.posts.values() if not p.deleted and p.only_for is None]
        latest = float(args.get("latest") or "inf")
        return [p for p in found if oldest < float(p.ts) < latest]

    def _page(self, args: Json, posts: list[Post]) -> Json:
        at, limit = int(args.get("cursor") or 0), int(args.get("limit") or 100)
        metadata = str(args.get("include_all_metadata", "")).lower() in {"true", "1"}
        more = at + limit < len(posts)
        cursor = {"response_metadata": {"next_cursor": str(at + limit) if more else ""}}
        shown = posts[at : at + limit]
        return {"messages": [p.body(metadata=metadata) for p in shown], "has_more": more, **cursor}

    def on_users_info(self, args: Json) -> Json:
        user = str(args["user"])
        name = f"user{user[1:]}"
        body: Json = {"id": user, "team_id": TEAM, "name": name, "is_bot": user == BOT_USER}
        body["profile"] = {"display_name": name, "real_name": f"User {user[1:]}"}
        if str(args.get("include_locale", "")).lower() in {"true", "1"}:
            body["locale"] = self.state.locales.get(user, "en-US")
        return {"user": body}
