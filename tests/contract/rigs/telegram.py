"""Telegram: one private chat with the twin's bot."""

from typing import Any

from channels.telegram.channel import TelegramChannel
from channels.telegram.config import TelegramConfig
from channels.types import Address
from tests.contract.rigs.base import PATIENCE_S, Rig, Shown
from tests.twins.receipt import MemoryReceipt
from tests.twins.telegram import TelegramTwin
from tests.unit.channels.telegram_rig import CHAT, QUICK

OTHER = 6


class TelegramRig(Rig):
    """Bot API: 4,096 UTF-16 units; no key and no look-up for what was sent."""

    name = "telegram"
    limit = 4096
    keyed = False
    author = str(CHAT)

    async def open(self) -> None:
        """See Rig."""
        self.twin = TelegramTwin()
        await self.twin.start()
        for chat in (CHAT, OTHER):
            self.twin.say(chat, "/start")  # a bot can write only to those who wrote to it
        self.twin.state.updates.pending.clear()
        urls: dict[str, Any] = {
            "base_url": self.twin.base_url,
            "base_file_url": self.twin.base_file_url,
        }
        self.channel = TelegramChannel(TelegramConfig(self.twin.token, **urls, **QUICK))
        self._callback = ""

    async def shut(self) -> None:
        """See Rig."""
        await self.twin.stop()

    @property
    def address(self) -> Address:
        """See Rig."""
        return Address("telegram", "777", str(CHAT))

    def elsewhere(self) -> Address:
        """See Rig."""
        return Address("telegram", "777", str(OTHER))

    async def say(self, text: str) -> None:
        """See Rig."""
        self.twin.say(CHAT, text)

    async def again(self) -> None:
        """See Rig."""
        self.twin.redeliver()

    async def press(self, label: str) -> None:
        """See Rig."""
        found = [m for m in self.visible() if label in m.buttons]
        self._callback = self.twin.press(CHAT, int(found[-1].id), label)

    async def attach(self, name: str, data: bytes, text: str = "") -> None:
        """See Rig."""
        self.twin.document(CHAT, data, name, caption=text)

    async def echo(self, text: str) -> None:
        """Telegram shows a bot what it wrote in a channel post or through another account; from itself all the same."""
        me: dict[str, Any] = {
            k: self.twin.state.me[k] for k in ("id", "is_bot", "first_name", "username")
        }
        more: dict[str, Any] = {"from": me}
        self.twin.say(CHAT, text, **more)

    def told(self) -> bool:
        """The offset has moved on."""
        return not self.twin.unconfirmed

    async def until_told(self) -> None:
        """See Rig."""
        await self.twin.wait_for(self.told, PATIENCE_S)

    async def answered(self) -> None:
        """See Rig."""
        await self.twin.wait_for(lambda: self.twin.state.callbacks[self._callback][1], PATIENCE_S)

    def lose_answer(self, receipt: MemoryReceipt) -> None:
        """See Rig."""
        self.twin.fault("sendMessage$", drop="after")

    def flood(self, seconds: float) -> None:
        """See Rig."""
        self.twin.flood(CHAT, seconds)

    def fail(self, skip: int) -> None:
        """See Rig."""
        self.twin.fault("sendMessage$", skip=skip, status=500, body="<html>")

    def refuse_markup(self) -> None:
        """See Rig."""
        text = "Bad Request: can't parse entities: x"
        body = {"ok": False, "error_code": 400, "description": text}
        self.twin.fault("sendMessage$", status=400, body=body)

    def visible(self, address: Address | None = None) -> list[Shown]:
        """See Rig."""
        found = self.twin.replies(int((address or self.address).chat))
        return [
            Shown(
                str(m.id),
                m.text,
                tuple(b["text"] for b in m.buttons),
                (self.twin.state.files[m.file_id].data,) if m.file_id else (),
            )
            for m in found
        ]

    def preview(self) -> str:
        """See Rig."""
        return self.twin.draft(CHAT) or ""

    def consumers(self) -> int:
        """Polls that are held open."""
        return sum(call.status is None for call in self.twin.matching("getUpdates$"))

    def posted(self) -> int:
        """See Rig."""
        return len(self.twin.matching("/send(Message|Photo|Document)$"))

    @property
    def violations(self) -> list[str]:
        """See Rig."""
        return self.twin.violations
