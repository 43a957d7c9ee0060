"""A group in which the bot was called: Telegram's group chat, a thread of Slack, a thread of Discord."""

from abc import ABC, abstractmethod

from tests.contract.rigs.base import Rig
from tests.contract.rigs.discord import PERSON, DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.twins.discord import BOT
from tests.twins.telegram import USERNAME
from tests.unit.channels.telegram_rig import CHAT

GROUP = -100


class Room(ABC):
    """One conversation of a group."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Mention the bot."""

    @abstractmethod
    def texts(self) -> list[str]:
        """What the bot shows here, in order."""


class _Telegram(Room):
    def __init__(self, rig: TelegramRig) -> None:
        self._twin = rig.twin
        if GROUP not in rig.twin.state.chats:
            rig.twin.group(GROUP)

    def say(self, text: str) -> None:
        self._twin.say(GROUP, f"@{USERNAME} {text}", user=CHAT)

    def texts(self) -> list[str]:
        return [m.text for m in self._twin.replies(GROUP)]


class _Slack(Room):
    def __init__(self, rig: SlackRig) -> None:
        self._twin = rig.twin
        rig.twin.channel("C1")
        self._root = rig.twin.say("C1", "what do you think?", user="U3")

    def say(self, text: str) -> None:
        self._twin.mention("C1", text, thread=self._root)

    def texts(self) -> list[str]:
        return [p.shown for p in self._twin.replies("C1", self._root)]


class _Discord(Room):
    def __init__(self, rig: DiscordRig) -> None:
        self._twin = rig.twin
        self._thread = rig.twin.new_thread(rig.twin.general, user=PERSON)

    def say(self, text: str) -> None:
        self._twin.say(self._thread, f"<@{BOT}> {text}", user=PERSON)

    def texts(self) -> list[str]:
        return [m.text for m in self._twin.replies(self._thread)]


def room(rig: Rig) -> Room:
    """A new conversation of a group at this platform (Telegram has one group)."""
    match rig:
        case TelegramRig():
            return _Telegram(rig)
        case SlackRig():
            return _Slack(rig)
        case DiscordRig():
            return _Discord(rig)
    raise TypeError(f"{rig.name} has no groups")


def whisper(rig: Rig, text: str) -> None:
    """Another person writes in the other private chat, `rig.elsewhere()`."""
    chat = rig.elsewhere().chat
    match rig:
        case TelegramRig():
            rig.twin.say(int(chat), text)
        case SlackRig():
            rig.twin.say(chat, text)
        case DiscordRig():
            rig.twin.dm("6", text)
