"""What people do in the Slack twin; each of it is handed to the app as Slack does."""

import json
import time
from typing import Any

from tests.twins.slack_api import Api
from tests.twins.slack_link import Delivery, Link
from tests.twins.slack_state import (
    APP,
    BOT_USER,
    TEAM,
    Json,
    Post,
    Room,
    State,
    Upload,
    elements,
)
from tests.twins.twin import Twin

MENTION = f"<@{BOT_USER}>"


class People(Twin):
    """The user's side. People press only what is there, and submit only what is open."""

    state: State
    api: Api
    link: Link
    deliveries: list[Delivery]
    both: bool

    def channel(self, room_id: str, *, bot: bool = True) -> str:
        """Make a channel, with the bot in it."""
        assert room_id.startswith("C"), "channel ids begin with C"
        self.state.rooms[room_id] = Room(room_id, members={BOT_USER} if bot else set())
        return room_id

    def say(
        self, room_id: str, text: str, *, user: str = "U1", thread: str | None = None, **more: Any
    ) -> str:
        """Write a message as it arrives (mentions as `<@U…>`); returns its ts. `more` is merged into the event."""
        room = self.state.room(room_id)
        user = room.user or user
        post = Post(self.state.ts(), room_id, user, text, thread, texts=[text])
        post.files = list(more.get("files", ()))
        room.posts[post.ts] = post
        event = {"type": "message", **self._about(post, room), **more}
        mentioned = MENTION in text and room.kind != "im"
        if not mentioned or self.both:
            self._event(event)
        if mentioned:
            self._event({**event, "type": "app_mention"})
        return post.ts

    def _about(self, post: Post, room: Room) -> Json:
        found: Json = {"user": post.user, "text": post.text, "ts": post.ts, "channel": room.id}
        found |= {"channel_type": room.kind, "event_ts": post.ts, "team": TEAM}
        return found | ({"thread_ts": post.thread} if post.thread else {})

    def mention(self, room_id: str, text: str, **more: Any) -> str:
        """Write to the bot in a channel."""
        return self.say(room_id, f"{MENTION} {text}", **more)

    def upload(
        self,
        room_id: str,
        data: bytes,
        name: str = "notes.txt",
        media_type: str = "text/plain",
        text: str = "",
        **more: Any,
    ) -> str:
        """Send a file."""
        file = Upload(f"F{self.state.next()}", name, len(data), data, media_type, complete=True)
        self.state.files[file.id] = file
        body = self.api.file_body(file)
        return self.say(room_id, text, subtype="file_share", files=[body], **more)

    def edit(self, room_id: str, ts: str, text: str) -> None:
        """Edit a message."""
        room = self.state.room(room_id)
        post = room.posts[ts]
        post.text = text
        self._subtype(room, "message_changed", message=self._about(post, room))

    def delete(self, room_id: str, ts: str) -> None:
        """Delete a message, anybody's."""
        room = self.state.room(room_id)
        room.posts[ts].deleted = True
        self._subtype(room, "message_deleted", deleted_ts=ts)

    def join(self, room_id: str, user: str) -> None:
        """A person joins a channel."""
        text = f"<@{user}> has joined the channel"
        self._subtype(self.state.room(room_id), "channel_join", user=user, text=text)

    def _subtype(self, room: Room, subtype: str, **more: Any) -> None:
        ts = self.state.ts()
        event = {"type": "message", "subtype": subtype, "channel": room.id, "ts": ts}
        self._event({**event, "channel_type": room.kind, "event_ts": ts, **more})

    def archive(self, room_id: str) -> None:
        """Archive a channel."""
        self.state.room(room_id).archived = True

    def kick(self, room_id: str) -> None:
        """Remove the bot from a channel."""
        self.state.room(room_id).members.discard(BOT_USER)

    def slash(
        self, text: str, *, room: str = "D1", user: str = "U1", command: str = "/swarm"
    ) -> Delivery:
        """Invoke the slash command; never inside a thread, where Slack has none."""
        kind = self.state.room(room).kind
        about = {"team_id": TEAM, "channel_id": room, "user_id": user, "api_app_id": APP}
        name = {"channel_name": "directmessage" if kind == "im" else "general"}
        trigger = {"trigger_id": self.state.trigger(), "response_url": f"{self.url}/response"}
        payload = {"command": command, "text": text, "user_name": "user", **about, **name}
        return self._deliver("slash_commands", {**payload, **trigger})

    def press(self, room_id: str, ts: str, label: str, *, user: str = "U1") -> Delivery:
        """Press a button or choose from a menu, by its label. Asserts that it is there."""
        post = self.state.room(room_id).posts[ts]
        assert not post.deleted, "the message is deleted"
        container = {"type": "message", "message_ts": ts, "channel_id": room_id}
        container |= {"thread_ts": post.thread} if post.thread else {}
        more = {"channel": {"id": room_id}, "message": post.body(), "container": container}
        return self._press(post.buttons, label, user, more)

    def press_home(self, label: str, *, user: str = "U1") -> Delivery:
        """Press a button on the bot's page."""
        view = self.state.homes[user]
        more = {"container": {"type": "view", "view_id": view["id"]}, "view": view}
        return self._press(elements(view["blocks"]), label, user, more)

    def _press(self, there: list[Json], label: str, user: str, more: Json) -> Delivery:
        found = [b for b in there if b["label"] == label]
        assert found, f"no button {label!r}; there are {[b['label'] for b in there]}"
        element = found[0]["element"]
        head = {"action_id": element["action_id"], "type": element["type"]}
        action = {**head, "block_id": found[0]["block"]["block_id"], "action_ts": str(time.time())}
        if "option" in found[0]:
            action["selected_option"] = found[0]["option"]
        else:
            action["value"] = element.get("value", "")
        body = {"type": "block_actions", "actions": [action], **more}
        return self._deliver("interactive", {**body, **self._actor(user)})

    def _actor(self, user: str) -> Json:
        person = {"id": user, "name": f"user{user[1:]}", "username": "user", "team_id": TEAM}
        team = {"id": TEAM, "domain": "twin"}
        return {
            "user": person,
            "team": team,
            "api_app_id": APP,
            "trigger_id": self.state.trigger(),
            "response_url": f"{self.url}/response",
        }

    @property
    def view(self) -> Json | None:
        """The newest modal that is open."""
        return next(reversed(self.state.views.values()), None) if self.state.views else None

    def submit(self, values: dict[str, str], *, user: str = "U1") -> Delivery:
        """Submit the newest modal; `values` by label, the rest as it stands."""
        view = self.view
        assert view is not None, "no modal is open"
        state: Json = {}
        labels = []
        for block in view["blocks"]:
            if block["type"] == "input":
                element, label = block["element"], block["label"]["text"]
                labels.append(label)
                value = values.get(label, element.get("initial_value"))
                state[block["block_id"]] = {
                    element["action_id"]: {"type": element["type"], "value": value or None}
                }
        assert set(values) <= set(labels), f"there are the fields {labels}"
        body = {"type": "view_submission", "view": {**view, "state": {"values": state}}}
        return self._deliver("interactive", {**body, **self._actor(user)})

    def shortcut(self, callback_id: str, *, user: str = "U1") -> Delivery:
        """A global shortcut."""
        body = {"type": "shortcut", "callback_id": callback_id, "action_ts": str(time.time())}
        return self._deliver("interactive", {**body, **self._actor(user)})

    def message_shortcut(
        self, callback_id: str, room_id: str, ts: str, *, user: str = "U1"
    ) -> Delivery:
        """A shortcut on a message."""
        post = self.state.room(room_id).posts[ts]
        body = {"type": "message_action", "callback_id": callback_id, "channel": {"id": room_id}}
        body |= {"message_ts": ts, "message": post.body(), "action_ts": str(time.time())}
        return self._deliver("interactive", {**body, **self._actor(user)})

    def open_home(self, *, user: str = "U1", tab: str = "home") -> Delivery:
        """Open the bot's page."""
        room = self.state.room(f"D{user[1:]}")
        event = {"type": "app_home_opened", "user": user, "channel": room.id, "tab": tab}
        return self._event({**event, "event_ts": self.state.ts()})

    def assistant(self, *, user: str = "U1") -> str:
        """Open an assistant thread; returns its thread_ts."""
        room = self.state.room(f"D{user[1:]}")
        root = Post(self.state.ts(), room.id, BOT_USER, "New Assistant Thread", by_bot=True)
        root.thread, root.texts = root.ts, [root.text]
        room.posts[root.ts] = root
        self.state.threads[room.id, root.ts] = {}
        about = {"user_id": user, "channel_id": room.id, "thread_ts": root.ts, "context": {}}
        event = {"type": "assistant_thread_started", "assistant_thread": about}
        self._event({**event, "event_ts": self.state.ts()})
        return root.ts

    def redeliver(self, delivery: Delivery | None = None) -> Delivery:
        """Hand something (the last thing) over once more."""
        old = delivery or self.deliveries[-1]
        return self._deliver(old.type, old.payload)

    # Shared ------------------------------------------------------------------------------------------------------

    def _event(self, event: Json) -> Delivery:
        who = {"team_id": TEAM, "user_id": BOT_USER, "is_bot": True, "is_enterprise_install": False}
        wrapper = {
            "token": "verification",
            "team_id": TEAM,
            "api_app_id": APP,
            "type": "event_callback",
            "event_id": f"Ev{self.state.next()}",
            "event_time": int(time.time()),
            "authorizations": [who],
            "event": event,
        }
        return self._deliver("events_api", wrapper)

    def _deliver(self, type_: str, payload: Json) -> Delivery:
        delivery = self.link.deliver(type_, json.loads(json.dumps(payload)))
        self.deliveries.append(delivery)
        return delivery
