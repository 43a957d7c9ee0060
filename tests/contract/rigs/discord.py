"""Discord: one direct chat, over the gateway."""

from typing import Any

from channels.discord.channel import DiscordChannel
from channels.discord.config import DiscordConfig
from channels.types import Address
from tests.contract.rigs.base import PATIENCE_S, Rig, Shown
from tests.twins.discord import BOT, DiscordTwin
from tests.twins.discord_state import Interaction
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.discord_rig import QUICK

PERSON, OTHER = "5", "6"
POST = r"POST .*/channels/\d+/messages$"


class DiscordRig(Rig):
    """2,000 characters; a nonce makes one message of two tries. Messages are acknowledged to nobody."""

    name = "discord"
    limit = 2000
    tells = False
    author = PERSON

    async def open(self) -> None:
        """See Rig."""
        self.twin = DiscordTwin()
        await self.twin.start()
        urls: dict[str, Any] = {
            "api_url": self.twin.api_url,
            "gateway_url": self.twin.gateway_url,
            "cdn_url": self.twin.cdn_url,
        }
        self.channel = DiscordChannel(DiscordConfig(self.twin.token, **urls, **QUICK))
        self.pressed: Interaction | None = None

    async def shut(self) -> None:
        """See Rig."""
        await self.twin.stop()

    @property
    def address(self) -> Address:
        """See Rig."""
        return Address("discord", BOT, self.twin.dm_channel(PERSON))

    def elsewhere(self) -> Address:
        """See Rig."""
        return Address("discord", BOT, self.twin.dm_channel(OTHER))

    async def say(self, text: str) -> None:
        """See Rig."""
        self.twin.dm(PERSON, text)

    async def again(self) -> None:
        """See Rig."""
        self.twin.redeliver()

    async def press(self, label: str) -> None:
        """See Rig."""
        found = [m for m in self.visible() if label in m.buttons]
        self.pressed = self.twin.press(found[-1].id, label, user=PERSON)

    async def attach(self, name: str, data: bytes, text: str = "") -> None:
        """See Rig."""
        self.twin.dm(PERSON, text, files={name: data})

    async def answered(self) -> None:
        """See Rig."""
        pressed = self.pressed
        assert pressed is not None
        await self.twin.wait_for(lambda: pressed.answered is not None, PATIENCE_S)

    def lose_answer(self, receipt: MemoryReceipt) -> None:
        """See Rig."""
        self.twin.fault(POST, drop="after")

    def flood(self, seconds: float) -> None:
        """See Rig."""
        self.twin.flood(self.address.chat, seconds)

    def fail(self, skip: int) -> None:
        """See Rig."""
        self.twin.fault(POST, skip=skip, status=503, body="<html>")

    def visible(self, address: Address | None = None) -> list[Shown]:
        """See Rig."""
        files = self.twin.world.files
        return [
            Shown(m.id, m.text, tuple(m.buttons), tuple(files[f["id"]].data for f in m.files))
            for m in self.twin.replies((address or self.address).chat)
            if m.only_for is None
        ]

    def preview(self) -> str:
        """See Rig: previews are messages here."""
        return ""

    def consumers(self) -> int:
        """Sessions that hear events; a connection that has not identified yet hears none."""
        return sum(s.connection is not None for s in self.twin.gateway.sessions.values())

    def posted(self) -> int:
        """See Rig."""
        return len(self.twin.matching(POST))

    @property
    def violations(self) -> list[str]:
        """See Rig."""
        return self.twin.violations
