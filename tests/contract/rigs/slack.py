"""Slack: one direct chat, over Socket Mode."""

from typing import Any

from channels.slack.channel import SlackChannel
from channels.slack.config import SlackConfig
from channels.types import Address
from tests.contract.rigs.base import PATIENCE_S, Rig, Shown
from tests.twins.receipt import MemoryReceipt
from tests.twins.slack import APP_TOKEN, BOT_TOKEN, BOT_USER, SECRET, SlackTwin
from tests.unit.channels.slack_rig import ACCOUNT, QUICK

POST = "chat.postMessage$"


class SlackRig(Rig):
    """Our own metadata is looked up in the history. chat.postMessage: 40,000 characters, 3,000 a section."""

    name = "slack"
    limit = 12_000
    author = "T1:U1"

    async def open(self) -> None:
        """See Rig."""
        self.twin = SlackTwin()
        await self.twin.start()
        tokens: dict[str, Any] = {
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "signing_secret": SECRET,
        }
        self.channel = SlackChannel(SlackConfig(**tokens, base_url=self.twin.base_url, **QUICK))

    async def shut(self) -> None:
        """See Rig."""
        await self.twin.stop()

    @property
    def address(self) -> Address:
        """See Rig."""
        return Address("slack", ACCOUNT, "D1")

    def elsewhere(self) -> Address:
        """See Rig."""
        return Address("slack", ACCOUNT, "D2")

    async def say(self, text: str) -> None:
        """See Rig."""
        self.twin.say("D1", text)

    async def again(self) -> None:
        """See Rig."""
        self.twin.redeliver()

    async def press(self, label: str) -> None:
        """See Rig."""
        found = [m for m in self.visible() if label in m.buttons]
        self.twin.press("D1", found[-1].id, label)

    async def attach(self, name: str, data: bytes, text: str = "") -> None:
        """See Rig."""
        self.twin.upload("D1", data, name, text=text)

    async def echo(self, text: str) -> None:
        """See Rig."""
        self.twin.say("D1", text, user=BOT_USER, bot_id="B0BOT")

    def told(self) -> bool:
        """All envelopes are acknowledged."""
        return all(d.acked for d in self.twin.deliveries)

    async def until_told(self) -> None:
        """See Rig."""
        await self.twin.wait_for(self.told, PATIENCE_S)

    async def answered(self) -> None:
        """See Rig."""
        await self.until_told()

    def lose_answer(self, receipt: MemoryReceipt) -> None:
        """See Rig."""
        self.twin.fault(POST, drop="after")

    def flood(self, seconds: float) -> None:
        """See Rig."""
        body = {"ok": False, "error": "ratelimited"}
        headers = {"Retry-After": f"{seconds:.0f}"}
        self.twin.fault(POST, status=429, headers=headers, body=body)

    def fail(self, skip: int) -> None:
        """See Rig."""
        self.twin.fault(POST, skip=skip, status=503, body="<html>")

    def refuse_markup(self) -> None:
        """See Rig."""
        self.twin.fault(POST, status=200, body={"ok": False, "error": "invalid_blocks"})

    def visible(self, address: Address | None = None) -> list[Shown]:
        """See Rig."""
        files = self.twin.state.files
        return [
            Shown(
                p.ts,
                p.shown,
                tuple(b["label"] for b in p.buttons),
                tuple(files[f["id"]].data for f in p.files),
            )
            for p in self.twin.replies((address or self.address).chat)
            if p.only_for is None
        ]

    def preview(self) -> str:
        """See Rig: a stream that is still open, which has no text of its own kind."""
        return "\n".join(p.shown for p in self.twin.replies("D1") if p.streaming)

    def consumers(self) -> int:
        """Open sockets."""
        return sum(not socket.closed for socket in self.twin.link.sockets)

    def posted(self) -> int:
        """See Rig."""
        return len(self.twin.matching("chat.(postMessage|startStream)$|completeUploadExternal$"))

    @property
    def violations(self) -> list[str]:
        """See Rig."""
        return self.twin.violations
