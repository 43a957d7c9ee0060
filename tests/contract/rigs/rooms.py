"""Groups with threads: what people do there beside their private chats, and what they see.

A thread is a forum topic in Telegram, a thread of a channel in Slack and Discord.
"""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from channels.discord.channel import DiscordChannel
from channels.discord.config import DiscordConfig
from channels.slack.channel import SlackChannel
from channels.slack.config import SlackConfig
from channels.telegram.channel import TelegramChannel
from channels.telegram.config import TelegramConfig
from channels.types import Address
from gateway.inbound.seen import Known
from tests.contract.rigs.base import Rig, Shown
from tests.contract.rigs.discord import OTHER as DISCORD_OTHER
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import OTHER as TELEGRAM_OTHER
from tests.contract.rigs.telegram import TelegramRig
from tests.twins.slack import APP_TOKEN, BOT_TOKEN, SECRET
from tests.twins.twin import Call, Fault
from tests.unit.channels import discord_rig, slack_rig, telegram_rig

GROUP = -100
SLACK_ROOM = "C1"
EDIT_REFUSED = 50005  # Discord: somebody else's message


class Room(Rig):
    """A rig with a group in which the bot is.

    Attributes:
        knows: whether the bot is in a thread, as the gateway wires it; set it before `open`.
        shift: seconds that the channel's clock is ahead of the real one.
        person: the id of the private chat's person; `bob` is another person of the group.
    """

    twin: Any
    knows: Known | None = None
    bob = "2"

    def __init__(self) -> None:
        super().__init__()
        self.shift = 0.0

    def clock(self) -> float:
        """The channel's: real time, so that previews keep their pace, and as much more as the test says."""
        return time.monotonic() + self.shift

    @abstractmethod
    async def fresh(self) -> None:
        """A new process begins: it has a channel of its own."""

    async def restart(self) -> None:
        """End the channel and begin a new one at the same platform."""
        await self.stop()
        await self.fresh()
        await self.start()

    # What people do ----------------------------------------------------------------------------------------------

    @abstractmethod
    async def ask(self, words: str, *, user: str = bob) -> Address:
        """Call the bot in the group, at a place that is new; returns the thread."""

    @abstractmethod
    async def tell(self, thread: Address, words: str, *, user: str = bob) -> None:
        """Go on in a thread of the bot, in the way that the platform asks for."""

    @abstractmethod
    async def talk(self, words: str, *, user: str = bob) -> Address:
        """People begin a thread among themselves; returns it."""

    @abstractmethod
    async def murmur(self, thread: Address, words: str, *, user: str = bob) -> None:
        """Write there without meaning the bot."""

    @abstractmethod
    async def call(self, thread: Address, words: str, *, user: str = bob) -> None:
        """Mention the bot in a running thread."""

    @abstractmethod
    async def push(self, thread: Address, label: str, *, user: str = bob) -> None:
        """Press a button of the newest message that has it there."""

    async def slash(self, name: str) -> None:
        """Use a slash command in the private chat, where those are no messages."""
        raise NotImplementedError

    @abstractmethod
    async def elsewhere_say(self, words: str) -> None:
        """Another person writes to the bot in private."""

    # What the platform does --------------------------------------------------------------------------------------

    @abstractmethod
    def limit_place(self, place: Address, seconds: float) -> Callable[[], None]:
        """429 for messages to this place; returns what ends it. Slack says it once."""

    @abstractmethod
    def refuse_edit(self) -> None:
        """Refuse the next edit for good."""

    @abstractmethod
    def expire(self) -> None:
        """From now on each acknowledgement of a press comes too late for the platform."""

    @abstractmethod
    def heard(self) -> bool:
        """Whether the platform knows that the last press has arrived."""

    # What they see -----------------------------------------------------------------------------------------------

    @abstractmethod
    def there(self, thread: Address) -> list[Shown]:
        """The bot's messages in a thread."""

    @abstractmethod
    def loose(self) -> list[Shown]:
        """The bot's messages in the group outside of all threads."""

    @abstractmethod
    def calls_to(self, place: Address) -> list[Call]:
        """Requests about this place, in order."""

    def texts(self, thread: Address) -> list[str]:
        """The texts of the bot's messages in a thread."""
        return [shown.text for shown in self.there(thread)]


class TelegramRoom(Room, TelegramRig):
    """A forum: the thread is a topic, where the bot hears what mentions it."""

    async def open(self) -> None:
        """See Room."""
        await TelegramRig.open(self)
        self.twin.group(GROUP, forum=True)
        await self.fresh()

    async def fresh(self) -> None:
        """See Room."""
        urls = {"base_url": self.twin.base_url, "base_file_url": self.twin.base_file_url}
        more: dict[str, Any] = {**urls, **telegram_rig.QUICK}
        config = TelegramConfig(self.twin.token, **more)
        self.channel = TelegramChannel(config, clock=self.clock)

    async def ask(self, words: str, *, user: str = Room.bob) -> Address:
        """See Room."""
        thread = Address("telegram", "777", str(GROUP), str(self.twin.topic(GROUP)))
        await self.call(thread, words, user=user)
        return thread

    async def tell(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room."""
        await self.call(thread, words, user=user)

    async def talk(self, words: str, *, user: str = Room.bob) -> Address:
        """See Room."""
        thread = Address("telegram", "777", str(GROUP), str(self.twin.topic(GROUP)))
        await self.murmur(thread, words, user=user)
        return thread

    async def murmur(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room."""
        self.twin.say(GROUP, words, user=int(user), thread=int(thread.thread or 0))

    async def call(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room."""
        await self.murmur(thread, f"@swarm_bot {words}", user=user)

    async def push(self, thread: Address, label: str, *, user: str = Room.bob) -> None:
        """See Room."""
        found = [m.id for m in self.there(thread) if label in m.buttons]
        self.twin.press(GROUP, int(found[-1]), label, user=int(user))

    async def elsewhere_say(self, words: str) -> None:
        """See Room."""
        self.twin.say(TELEGRAM_OTHER, words)

    def limit_place(self, place: Address, seconds: float) -> Callable[[], None]:
        """See Room."""
        self.twin.flood(int(place.chat), seconds)
        return lambda: self.twin.flood(int(place.chat), 0.0)

    def refuse_edit(self) -> None:
        """See Room."""
        text = "Bad Request: message can't be edited"
        body = {"ok": False, "error_code": 400, "description": text}
        self.twin.fault("editMessageText$", status=400, body=body)

    def expire(self) -> None:
        """See Room."""
        text = "Bad Request: query is too old and response timeout expired or query ID is invalid"
        body = {"ok": False, "error_code": 400, "description": text}
        self.twin.fault("answerCallbackQuery$", status=400, body=body, times=-1)

    def heard(self) -> bool:
        """See Room."""
        return all(answered for _, answered in self.twin.state.callbacks.values())

    def there(self, thread: Address) -> list[Shown]:
        """See Room."""
        return self._shown(self.twin.replies(int(thread.chat), int(thread.thread or 0)))

    def loose(self) -> list[Shown]:
        """See Room."""
        return self._shown([m for m in self.twin.replies(GROUP) if m.thread is None])

    def _shown(self, found: list[Any]) -> list[Shown]:
        return [Shown(str(m.id), m.text, tuple(b["text"] for b in m.buttons)) for m in found]

    def calls_to(self, place: Address) -> list[Call]:
        """See Room."""
        return [c for c in self.twin.calls if str(c.params.get("chat_id")) == place.chat]


class SlackRoom(Room, SlackRig):
    """A channel; the thread of a mention is the place."""

    author = "T1:U1"

    async def open(self) -> None:
        """See Room."""
        await SlackRig.open(self)
        self.twin.channel(SLACK_ROOM)
        self.twin.both = False
        await self.fresh()

    async def fresh(self) -> None:
        """See Room."""
        tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "signing_secret": SECRET}
        more: dict[str, Any] = {**tokens, **slack_rig.QUICK}
        config = SlackConfig(base_url=self.twin.base_url, **more)
        self.channel = SlackChannel(config, knows=self.knows, clock=self.clock)

    def _thread(self, ts: str) -> Address:
        return Address("slack", slack_rig.ACCOUNT, SLACK_ROOM, ts)

    async def ask(self, words: str, *, user: str = Room.bob) -> Address:
        """See Room."""
        return self._thread(self.twin.mention(SLACK_ROOM, words, user=f"U{user}"))

    async def tell(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room: no mention is needed."""
        await self.murmur(thread, words, user=user)

    async def talk(self, words: str, *, user: str = Room.bob) -> Address:
        """See Room."""
        return self._thread(self.twin.say(SLACK_ROOM, words, user=f"U{user}"))

    async def murmur(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room."""
        self.twin.say(SLACK_ROOM, words, user=f"U{user}", thread=thread.thread)

    async def call(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room."""
        self.twin.mention(SLACK_ROOM, words, user=f"U{user}", thread=thread.thread)

    async def push(self, thread: Address, label: str, *, user: str = Room.bob) -> None:
        """See Room."""
        found = [m.id for m in self.there(thread) if label in m.buttons]
        self.twin.press(SLACK_ROOM, found[-1], label, user=f"U{user}")

    async def slash(self, name: str) -> None:
        """See Room."""
        self.twin.slash(name)

    async def elsewhere_say(self, words: str) -> None:
        """See Room."""
        self.twin.say("D2", words)

    def limit_place(self, place: Address, seconds: float) -> Callable[[], None]:
        """See Room."""
        body = {"ok": False, "error": "ratelimited"}
        headers = {"Retry-After": f"{seconds:.0f}"}
        rule = Told(
            r"chat\.(postMessage|update|startStream|appendStream)$",
            status=429,
            headers=headers,
            body=body,
        )
        self.twin.faults.append(rule)
        return rule.end

    def refuse_edit(self) -> None:
        """See Room."""
        self.twin.fault(
            "chat.update$", body={"ok": False, "error": "cant_update_message"}, status=200
        )

    def expire(self) -> None:
        """See Room: an interaction whose ack is late is shown as failed and comes only once."""
        self.twin.link.ack_within = 0.0

    def heard(self) -> bool:
        """See Room."""
        return all(delivery.acked for delivery in self.twin.deliveries)

    def there(self, thread: Address) -> list[Shown]:
        """See Room."""
        return self._shown(self.twin.replies(thread.chat, thread.thread))

    def loose(self) -> list[Shown]:
        """See Room."""
        return self._shown([p for p in self.twin.replies(SLACK_ROOM) if p.thread is None])

    def _shown(self, found: list[Any]) -> list[Shown]:
        return [
            Shown(p.ts, p.shown, tuple(b["label"] for b in p.buttons))
            for p in found
            if p.only_for is None
        ]

    def calls_to(self, place: Address) -> list[Call]:
        """See Room."""
        calls = self.twin.calls
        return [c for c in calls if c.params.get("channel") == place.chat]


class Told(Fault):
    """A fault that is over when it was told once, or when the test says so."""

    def end(self) -> None:
        """Spoil nothing more."""
        self.times = self.used


class DiscordRoom(Room, DiscordRig):
    """A server's channel; a mention opens a thread at itself."""

    async def open(self) -> None:
        """See Room."""
        await DiscordRig.open(self)
        await self.fresh()

    async def fresh(self) -> None:
        """See Room."""
        urls = {
            "api_url": self.twin.api_url,
            "gateway_url": self.twin.gateway_url,
            "cdn_url": self.twin.cdn_url,
        }
        more: dict[str, Any] = {**urls, **discord_rig.QUICK}
        self.channel = DiscordChannel(DiscordConfig(self.twin.token, **more), clock=self.clock)

    def _thread(self, message: str) -> Address:
        return replace(self.address, chat=self.twin.general, thread=message)

    async def ask(self, words: str, *, user: str = Room.bob) -> Address:
        """See Room."""
        return self._thread(self.twin.mention(self.twin.general, words, user=user))

    async def tell(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room: the thread is the bot's own, so no mention is needed."""
        await self.murmur(thread, words, user=user)

    async def talk(self, words: str, *, user: str = Room.bob) -> Address:
        """See Room."""
        thread = self._thread(self.twin.new_thread(self.twin.general, user=user))
        await self.murmur(thread, words, user=user)
        return thread

    async def murmur(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room; the thread of a mention is there as soon as the bot has opened it."""
        await self.twin.wait_for(lambda: thread.thread in self.twin.world.channels)
        self.twin.say(thread.thread, words, user=user)

    async def call(self, thread: Address, words: str, *, user: str = Room.bob) -> None:
        """See Room."""
        self.twin.mention(thread.thread, words, user=user)

    async def push(self, thread: Address, label: str, *, user: str = Room.bob) -> None:
        """See Room."""
        found = [m.id for m in self.there(thread) if label in m.buttons]
        self.pressed = self.twin.press(found[-1], label, user=user)

    async def slash(self, name: str) -> None:
        """See Room."""
        await self.channel.menu([(name, name)], None)  # type: ignore[attr-defined]
        self.twin.slash(self.address.chat, name, user=self.author)

    async def elsewhere_say(self, words: str) -> None:
        """See Room."""
        self.twin.dm(DISCORD_OTHER, words)

    def limit_place(self, place: Address, seconds: float) -> Callable[[], None]:
        """See Room."""
        where = place.thread or place.chat
        self.twin.flood(where, seconds)
        return lambda: self.twin.flood(where, 0.0)

    def refuse_edit(self) -> None:
        """See Room."""
        text = "Cannot edit a message authored by another user"
        body = {"code": EDIT_REFUSED, "message": text}
        self.twin.fault(r"PATCH .*/messages/\d+$", status=403, body=body)

    def expire(self) -> None:
        """See Room."""
        self.twin.interactions.deadline = -1.0

    def heard(self) -> bool:
        """See Room."""
        return self.pressed is not None and self.pressed.answered is not None

    def there(self, thread: Address) -> list[Shown]:
        """See Room."""
        return self._shown(self.twin.replies(thread.thread))

    def loose(self) -> list[Shown]:
        """See Room."""
        return self._shown(self.twin.replies(self.twin.general))

    def _shown(self, found: list[Any]) -> list[Shown]:
        return [Shown(m.id, m.text, tuple(m.buttons)) for m in found if m.only_for is None]

    def calls_to(self, place: Address) -> list[Call]:
        """See Room."""
        where = f"/channels/{place.thread or place.chat}/"
        return [c for c in self.twin.calls if where in c.path]


ROOMS: dict[str, type[Room]] = {room.name: room for room in (TelegramRoom, SlackRoom, DiscordRoom)}


async def stays(look: Callable[[], Any], seconds: float = 0.4) -> None:
    """It is the same for a while: nothing that was due comes late."""
    before = look()
    await asyncio.sleep(seconds)
    assert look() == before
