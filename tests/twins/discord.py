"""The Discord twin: REST, gateway and CDN on loopback, and the people who use the bot.

Known differences from the real thing: one rate-limit window a route and channel, of one second; lengths are counted in
UTF-16 units, the strictest reading; no voice, roles, webhooks of channels, forums or polls; a thread's first system
message has no reference; permissions are only those that a test takes away; no presence; nonces are known for ever.
"""

import base64
import time
from typing import Any

from aiohttp import web

from tests.twins.discord_gateway import Gateway
from tests.twins.discord_interactions import (
    COMMAND_USE,
    COMPONENT,
    SUBMIT,
    TYPING,
    Interactions,
)
from tests.twins.discord_rest import Rest, answer, flooded
from tests.twins.discord_routes import ROUTES, open_thread
from tests.twins.discord_state import (
    COMMAND,
    DEFAULT,
    REPLY,
    TEXT,
    Channel,
    File,
    Guild,
    Interaction,
    Json,
    Stored,
    World,
)
from tests.twins.twin import Fault, Twin

BOT = "777000000000000001"
TOKEN = f"{base64.b64encode(BOT.encode()).decode().rstrip('=')}.twin.secret"


class JsonFault(Fault):
    """A fault whose JSON has the content type that Discord's has."""

    def answer(self) -> web.Response:
        """What `status` says."""
        assert self.status is not None
        if isinstance(self.body, dict | list):
            return answer(self.body, self.status, self.headers)
        return super().answer()


class DiscordTwin(Twin):
    """One bot, one server with one channel ("general").

    User's side: `say`, `mention`, `dm`, `send_file`, `slash`, `autocomplete`, `press`, `select`, `submit`, `edit`,
    `delete`, `block`, `kick`, `archive`, `flood`, `redeliver`. The link: `drop`, `lose_sessions`, `invalidate`.
    What people see: `chat`, `replies`, `threads`.
    """

    name = "discord"

    def __init__(self, token: str = TOKEN, bot: str = BOT) -> None:
        super().__init__()
        self.token = token
        self.world = World(token, bot)
        self.gateway = Gateway(self.world, self.violation)
        self.rest = Rest(self.world, self.gateway, self.violation, self.changes.notify)
        self.interactions = Interactions(self.rest, self.changes.notify)
        self.gateway.changed = self.changes.notify
        self.guild = self.new_guild("Server")
        self.general = self.new_channel("general")
        self._last: tuple[str, Channel, Json] | None = None

    @property
    def api_url(self) -> str:
        """The REST API."""
        return f"{self.url}/api/v10"

    @property
    def gateway_url(self) -> str:
        """The gateway."""
        return f"{self.url.replace('http', 'ws', 1)}/gateway"

    @property
    def cdn_url(self) -> str:
        """The CDN."""
        return f"{self.url}/cdn"

    async def start(self, port: int = 0) -> str:
        """See Twin.start."""
        url = await super().start(port)
        self.rest.url, self.gateway.url = url, self.gateway_url
        return url

    async def stop(self) -> None:
        """Close all connections."""
        self.gateway.end(None)
        await super().stop()

    def add_routes(self, app: web.Application) -> None:
        """REST, gateway, CDN."""
        self.interactions.add_routes(app)
        app.router.add_get("/gateway", self.gateway.handle)
        app.router.add_get("/gateway/", self.gateway.handle)
        app.router.add_get("/cdn/attachments/{channel}/{file}/{name}", self._file)
        self.rest.add_routes(app, ROUTES)

    def fault(self, match: str, **rule: Any) -> Fault:
        """Add a rule (see Fault)."""
        made = JsonFault(match, **rule)
        self.faults.append(made)
        return made

    def flood_fault(self, match: str, wait: float, *, via: bool = True, **rule: Any) -> Fault:
        """429 for matching calls; without `via` as Cloudflare would send it."""
        response = flooded(wait)
        headers = {"Retry-After": response.headers["Retry-After"]}
        if via:
            headers["Via"] = response.headers["Via"]
        body = {"message": "You are being rate limited.", "retry_after": wait, "global": False}
        return self.fault(match, status=429, body=body, headers=headers, **rule)

    async def _file(self, request: web.Request) -> web.Response:
        found = self.world.files.get(request.match_info["file"])
        if found is None or found.gone:
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=found.data)

    # Places ------------------------------------------------------------------------------------------------------

    def new_guild(self, name: str) -> str:
        """A server with the bot in it."""
        guild = Guild(self.world.ids.next(), name)
        self.world.guilds[guild.id] = guild
        self.gateway.dispatch("GUILD_CREATE", self.world.guild_body(guild), guild.id)
        return guild.id

    def new_channel(self, name: str, guild: str | None = None, kind: int = TEXT) -> str:
        """A channel in a server."""
        home = self.world.guilds[guild or self.guild]
        channel = Channel(self.world.ids.next(), kind, name, home.id)
        self.world.channels[channel.id] = channel
        home.channels.append(channel.id)
        self.gateway.dispatch("CHANNEL_CREATE", self.world.channel_body(channel), home.id)
        return channel.id

    def new_thread(self, channel: str, name: str = "Thread", user: str = "1") -> str:
        """A thread that a person opens, without a first message."""
        self.world.person(user)
        parent = self.world.channels[channel]
        return open_thread(self.rest, parent, self.world.ids.next(), name, user).id

    def dm_channel(self, user: str) -> str:
        """The direct chat with a person."""
        return self.world.dm(user).id

    # What people do ----------------------------------------------------------------------------------------------

    def say(
        self,
        channel: str,
        text: str,
        *,
        user: str = "1",
        reply_to: str | None = None,
        files: dict[str, bytes] | None = None,
        **more: Any,
    ) -> str:
        """Write a message; returns its id. `more` is merged into what is told (type, webhook_id …)."""
        place = self.world.channels[channel]
        assert not place.locked, "the thread is locked"
        place.archived = False
        body: Json = {"content": text, **more}
        if reply_to:
            body["message_reference"] = {"message_id": reply_to}
        stored = self.rest.new_message(place, self.world.person(user), body, tell=False)
        kept = [
            File(self.world.ids.next(), n, _media(n), data) for n, data in (files or {}).items()
        ]
        stored.body["attachments"] = [self.rest.attachment(place, file) for file in kept]
        stored.body |= {k: v for k, v in more.items() if k != "type"}
        self._tell("MESSAGE_CREATE", place, stored.body)
        return stored.id

    def mention(self, channel: str, text: str, *, user: str = "1", **more: Any) -> str:
        """Write a message that mentions the bot."""
        return self.say(channel, f"<@{self.world.bot['id']}> {text}", user=user, **more)

    def dm(self, user: str, text: str, **more: Any) -> str:
        """Write to the bot directly."""
        return self.say(self.dm_channel(user), text, user=user, **more)

    def slash(self, channel: str, name: str, *values: str, user: str = "1") -> Interaction:
        """Use a slash command. Asserts that it was synced and takes so many values."""
        return self._use(COMMAND_USE, channel, name, values, user)

    async def autocomplete(
        self, channel: str, name: str, typed: str, *, user: str = "1"
    ) -> list[tuple[str, str]]:
        """Type into a command's argument; what is offered."""
        found = self._use(TYPING, channel, name, (typed,), user)
        await self.wait_for(lambda: found.choices is not None)
        return [(c["name"], c["value"]) for c in found.choices or []]

    def press(self, message: str, button: str, *, user: str = "1") -> Interaction:
        """Press a button by its label or custom id. Asserts that it is there."""
        place, stored = self.world.find(message)
        assert not stored.deleted, "the message is deleted"
        parts = [p for p in stored.components if p["type"] == 2]
        found = [p for p in parts if button in {p["label"], p["custom_id"]}]
        assert found, f"no button {button!r} on message {message}"
        data = {"component_type": 2, "custom_id": found[0]["custom_id"], "id": found[0]["id"]}
        return self.interactions.start(COMPONENT, place.id, user, data, message)

    def select(self, message: str, choice: str, *, user: str = "1") -> Interaction:
        """Choose in a menu by label or value. Asserts that it is there."""
        place, stored = self.world.find(message)
        for part in stored.components:
            for option in part.get("options", []) if part["type"] == 3 else []:
                if choice in {option["label"], option["value"]}:
                    data = {"component_type": 3, "custom_id": part["custom_id"], "id": part["id"]}
                    data["values"] = [option["value"]]
                    return self.interactions.start(COMPONENT, place.id, user, data, message)
        raise AssertionError(f"no choice {choice!r} on message {message}")

    def submit(self, opened: Interaction, **values: str) -> Interaction:
        """Fill in a dialog that was opened and submit it; fields that are not named stay as they are."""
        assert opened.modal is not None, "no dialog was opened"
        rows, modal = [], opened.modal
        for row in modal["components"]:
            (part,) = row["components"]
            value = values.pop(part["custom_id"], part.get("value", ""))
            kept = {"type": 4, "id": 2, "custom_id": part["custom_id"], "value": value}
            rows.append({"type": 1, "id": 1, "components": [kept]})
        assert not values, f"no such fields: {sorted(values)}"
        data = {"custom_id": modal["custom_id"], "components": rows, "resolved": {}}
        return self.interactions.start(SUBMIT, opened.channel, opened.user, data, opened.message)

    def edit(self, message: str, text: str) -> None:
        """Edit one's own message."""
        place, stored = self.world.find(message)
        assert not stored.by_bot, "people edit their own messages"
        stored.body = {**stored.body, "content": text}
        self._tell("MESSAGE_UPDATE", place, stored.body)

    def delete(self, message: str) -> None:
        """Delete a message."""
        self.world.find(message)[1].deleted = True
        self.changes.notify()

    def block(self, user: str) -> None:
        """Take no messages from the bot any more."""
        self.world.blocked.add(user)

    def kick(self, guild: str | None = None) -> None:
        """Put the bot out of a server."""
        home = self.world.guilds[guild or self.guild]
        home.left = True
        self.gateway.dispatch("GUILD_DELETE", {"id": home.id}, home.id)

    def remove(self, channel: str) -> None:
        """Delete a channel."""
        self.world.channels[channel].closed = (404, 10003, "Unknown Channel")

    def archive(self, thread: str, *, locked: bool = False) -> None:
        """Put a thread away; locked, only moderators take it up again."""
        place = self.world.channels[thread]
        place.archived, place.locked = True, locked
        body = self.world.channel_body(place)
        self.gateway.dispatch("THREAD_UPDATE", body, place.guild)

    def flood(self, channel: str, seconds: float) -> None:
        """Answer every call to this channel with 429 for so long."""
        self.world.channels[channel].flood_until = time.monotonic() + seconds

    def redeliver(self) -> None:
        """Tell the newest message of a person once more."""
        assert self._last is not None, "nobody has written"
        self.rest.tell(*self._last)

    # The link ----------------------------------------------------------------------------------------------------

    def drop(self, code: int | None = 4000) -> None:
        """End the gateway's connections with a close code (None: reset); sessions are kept."""
        self.gateway.end(code)

    def lose_sessions(self) -> None:
        """End the connections and forget the sessions: a RESUME is refused."""
        self.gateway.end(4000)
        self.gateway.forget()

    def invalidate(self, *, resumable: bool) -> None:
        """Say that the session is invalid (op 9)."""
        self.gateway.control(9, resumable)
        if not resumable:
            self.gateway.forget()

    # What people see ---------------------------------------------------------------------------------------------

    def chat(self, channel: str, user: str | None = None) -> list[Stored]:
        """The visible messages, oldest first, as last edited; with a `user`, those for that person only as well."""
        found = (
            self.world.channels[channel].messages.values() if channel in self.world.channels else ()
        )
        kinds = {DEFAULT, REPLY, COMMAND}
        kept = [m for m in found if not m.deleted and m.body["type"] in kinds]
        return [m for m in kept if m.only_for in {None, user}]

    def replies(self, channel: str) -> list[Stored]:
        """The bot's visible messages."""
        return [m for m in self.chat(channel) if m.by_bot]

    def threads(self, channel: str) -> list[Channel]:
        """Threads of a channel."""
        return [c for c in self.world.channels.values() if c.parent == channel]

    async def wait_replies(
        self, channel: str, count: int = 1, timeout: float = 5.0
    ) -> list[Stored]:
        """The bot's visible messages, as soon as there are `count` of them."""

        def look() -> list[Stored]:
            found = self.replies(channel)
            return found if len(found) >= count else []

        return await self.wait_for(look, timeout)

    # Shared ------------------------------------------------------------------------------------------------------

    def _tell(self, event: str, place: Channel, body: Json) -> None:
        if event == "MESSAGE_CREATE":
            self._last = (event, place, body)
        self.rest.tell(event, place, body)
        self.changes.notify()

    def _use(
        self, kind: int, channel: str, name: str, values: tuple[str, ...], user: str
    ) -> Interaction:
        command = next((c for c in self.world.commands if c["name"] == name), None)
        assert command is not None, f"/{name} was not synced"
        options = command.get("options", [])
        assert len(values) <= len(options), f"/{name} takes {len(options)} values"
        needed = sum(1 for option in options if option.get("required"))
        assert len(values) >= needed, f"/{name} needs {needed} values"
        given = [
            {"type": 3, "name": option["name"], "value": value}
            for option, value in zip(options, values, strict=False)
        ]
        if kind == TYPING:
            assert options[0].get("autocomplete"), f"/{name} offers nothing"
            given[0]["focused"] = True
        data = {"id": command["id"], "name": name, "type": 1, "options": given}
        return self.interactions.start(kind, channel, user, data)


def _media(name: str) -> str:
    kinds = {"png": "image/png", "csv": "text/csv", "txt": "text/plain; charset=utf-8"}
    return kinds.get(name.rpartition(".")[2], "application/octet-stream")
