"""What the Discord twin knows: people, servers, channels, messages as last edited, files, interactions."""

import datetime as dt
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

EPOCH_MS = 1420070400000
TEXT, DM, VOICE, THREAD = 0, 1, 2, 11
DEFAULT, STARTER, REPLY, COMMAND = 0, 21, 19, 20
EPHEMERAL, LOADING, HAS_THREAD = 1 << 6, 1 << 7, 1 << 5


class ApiError(Exception):
    """An answer of the REST API that is not 2xx."""

    def __init__(self, status: int, code: int, message: str, errors: Json | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.errors = status, code, message, errors

    def body(self) -> Json:
        """As JSON."""
        body: Json = {"message": self.message, "code": self.code}
        return body | ({"errors": self.errors} if self.errors else {})


def invalid(where: str, code: str, message: str) -> ApiError:
    """400 for a field of a form."""
    errors: Json = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(where.split(".")):
        errors = {name: errors}
    return ApiError(400, 50035, "Invalid Form Body", errors)


class Snowflakes:
    """Ids that grow with time."""

    def __init__(self) -> None:
        self._last = 0
        self._count = itertools.count(1)

    def next(self) -> str:
        """A new id, greater than all before."""
        made = (int(time.time() * 1000) - EPOCH_MS) << 22
        self._last = max(self._last + 1, made)
        return str(self._last)


def stamp(snowflake: str | None = None) -> str:
    """ISO time of an id, or now."""
    seconds = time.time() if snowflake is None else ((int(snowflake) >> 22) + EPOCH_MS) / 1000
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


def user_body(user: str, name: str, *, bot: bool = False) -> Json:
    """A user as JSON."""
    return {
        "id": user,
        "username": name.lower(),
        "global_name": name,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
        "flags": 0,
        "public_flags": 0,
        "primary_guild": None,
    }


@dataclass(slots=True)
class Stored:
    """A message with what the API does not show: whether it was deleted, its earlier texts, who alone sees it."""

    body: Json
    by_bot: bool
    deleted: bool = False
    texts: list[str] = field(default_factory=list)
    only_for: str | None = None

    @property
    def id(self) -> str:
        """The message's id."""
        return str(self.body["id"])

    @property
    def text(self) -> str:
        """Content as last edited."""
        return str(self.body["content"])

    @property
    def embeds(self) -> list[Json]:
        """Embeds as last edited."""
        return list(self.body["embeds"])

    @property
    def files(self) -> list[Json]:
        """Attachments."""
        return list(self.body["attachments"])

    @property
    def components(self) -> list[Json]:
        """All buttons and menus, row by row."""
        return [part for row in self.body["components"] for part in row["components"]]

    @property
    def buttons(self) -> list[str]:
        """Labels of the buttons."""
        return [part["label"] for part in self.components if part["type"] == 2]

    @property
    def reactions(self) -> dict[str, int]:
        """How often each emoji stands under it."""
        return {r["emoji"]["name"]: r["count"] for r in self.body.get("reactions", [])}


@dataclass(slots=True)
class Channel:
    """A channel, thread or direct chat. `closed`: the error that every call gets; `denied`: rights the bot has not."""

    id: str
    type: int
    name: str = ""
    guild: str | None = None
    parent: str | None = None
    owner: str | None = None
    person: str | None = None
    messages: dict[str, Stored] = field(default_factory=dict)
    typing: list[float] = field(default_factory=list)
    closed: tuple[int, int, str] | None = None
    denied: set[str] = field(default_factory=set)
    archived: bool = False
    locked: bool = False
    flood_until: float = 0.0
    archive_minutes: int = 1440

    @property
    def last(self) -> str | None:
        """The newest message's id."""
        return max(self.messages, key=int, default=None)


@dataclass(slots=True)
class Guild:
    """A server."""

    id: str
    name: str
    channels: list[str] = field(default_factory=list)
    left: bool = False


@dataclass(slots=True)
class File:
    """A file that either side uploaded. `gone`: the signed address has run out."""

    id: str
    name: str
    media_type: str
    data: bytes
    gone: bool = False


@dataclass(slots=True)
class Interaction:
    """One use of a command, button, menu or dialog, and how far its answer is."""

    id: str
    token: str
    kind: int
    channel: str
    user: str
    data: Json
    message: str | None = None
    born: float = field(default_factory=time.monotonic)
    answered: int | None = None  # the callback's type
    modal: Json | None = None
    choices: list[Json] | None = None
    original: str | None = None  # the id of the message that the first answer became
    followups: list[Json] = field(default_factory=list)


class World:
    """Everything that outlives a request."""

    def __init__(self, token: str, bot: str) -> None:
        self.token = token
        self.bot = user_body(bot, "Swarm", bot=True)
        self.ids = Snowflakes()
        self.users: dict[str, Json] = {bot: self.bot}
        self.guilds: dict[str, Guild] = {}
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, File] = {}
        self.interactions: dict[str, Interaction] = {}
        self.nonces: dict[tuple[str, str], str] = {}
        self.commands: list[Json] = []
        self.blocked: set[str] = set()
        self.content_intent = True

    def person(self, user: str) -> Json:
        """A user who is not the bot; comes into being."""
        return self.users.setdefault(user, user_body(user, f"User{user}"))

    def channel(self, channel: object) -> Channel:
        """As the bot may use it. Raises ApiError."""
        found = self.channels.get(str(channel))
        if found is None:
            raise ApiError(404, 10003, "Unknown Channel")
        if found.guild and self.guilds[found.guild].left:
            raise ApiError(403, 50001, "Missing Access")
        if found.closed is not None:
            raise ApiError(*found.closed)
        return found

    def message(self, channel: object, message: object) -> Stored:
        """A message that is there. Raises ApiError."""
        found = self.channel(channel).messages.get(str(message))
        if found is None or found.deleted or found.only_for:
            raise ApiError(404, 10008, "Unknown Message")
        return found

    def find(self, message: str) -> tuple[Channel, Stored]:
        """A message by its id alone, for the user's side. Asserts that it exists."""
        for channel in self.channels.values():
            if message in channel.messages:
                return channel, channel.messages[message]
        raise AssertionError(f"no message {message}")

    def dm(self, user: str) -> Channel:
        """The direct chat with a person; comes into being."""
        found = next((c for c in self.channels.values() if c.person == user), None)
        if found is None:
            self.person(user)
            found = Channel(self.ids.next(), DM, person=user)
            self.channels[found.id] = found
        return found

    # JSON --------------------------------------------------------------------------------------------------------

    def channel_body(self, channel: Channel) -> Json:
        """A channel as JSON."""
        body: Json = {
            "id": channel.id,
            "type": channel.type,
            "last_message_id": channel.last,
            "flags": 0,
        }
        if channel.type == DM:
            return body | {"recipients": [self.users[str(channel.person)]]}
        body |= {"guild_id": channel.guild, "name": channel.name, "parent_id": channel.parent}
        if channel.type != THREAD:
            return body | {"position": 0, "permission_overwrites": [], "topic": None, "nsfw": False}
        return body | {
            "owner_id": channel.owner,
            "message_count": len(channel.messages),
            "member_count": 1,
            "total_message_sent": len(channel.messages),
            "rate_limit_per_user": 0,
            "thread_metadata": {
                "archived": channel.archived,
                "locked": channel.locked,
                "auto_archive_duration": channel.archive_minutes,
                "archive_timestamp": stamp(channel.id),
                "create_timestamp": stamp(channel.id),
            },
            "member": {"join_timestamp": stamp(channel.id), "flags": 0},
        }

    def member_body(self, user: str) -> Json:
        """A member as JSON, with the user."""
        about = {"roles": [], "flags": 0, "joined_at": stamp("1"), "nick": None, "avatar": None}
        return about | {"user": self.users[user], "deaf": False, "mute": False, "pending": False}

    def guild_body(self, guild: Guild) -> Json:
        """A server as GUILD_CREATE has it; every field that may be null is there."""
        nulls = ("icon", "splash", "discovery_splash", "afk_channel_id", "application_id", "banner")
        nulls += ("system_channel_id", "rules_channel_id", "vanity_url_code", "description")
        nulls += ("public_updates_channel_id", "safety_alerts_channel_id")
        empty = ("emojis", "stickers", "features", "voice_states", "presences")
        empty += ("stage_instances", "guild_scheduled_events", "soundboard_sounds")
        zeros = ("verification_level", "default_message_notifications", "explicit_content_filter")
        zeros += ("mfa_level", "afk_timeout", "system_channel_flags", "premium_tier", "nsfw_level")
        role = {"id": guild.id, "name": "@everyone", "permissions": "1071698660929", "position": 0}
        role |= {"color": 0, "hoist": False, "managed": False, "mentionable": False, "flags": 0}
        role |= {"colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None}}
        channels = [self.channels[c] for c in guild.channels]
        return {
            **dict.fromkeys(nulls),
            **{name: [] for name in empty},
            **dict.fromkeys(zeros, 0),
            "id": guild.id,
            "name": guild.name,
            "owner_id": "1",
            "roles": [role],
            "channels": [self.channel_body(c) for c in channels if c.type != THREAD],
            "threads": [
                self.channel_body(c) for c in channels if c.type == THREAD and not c.archived
            ],
            "members": [self.member_body(self.bot["id"])],
            "member_count": 2,
            "joined_at": stamp(guild.id),
            "unavailable": False,
            "large": False,
            "preferred_locale": "en-US",
            "premium_progress_bar_enabled": False,
        }
