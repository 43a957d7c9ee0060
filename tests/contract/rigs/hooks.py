"""Telegram and Slack as they are when the platform posts to us: the same chats, over signed HTTP."""

from typing import Any

from aiohttp import web

from channels.base import HasRoutes
from channels.slack.channel import SlackChannel
from channels.slack.config import SlackConfig
from channels.telegram.channel import TelegramChannel
from channels.telegram.config import TelegramConfig
from tests.contract.rigs.base import Rig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.twins.slack import BOT_TOKEN, SECRET
from tests.unit.channels.slack_rig import QUICK as SLACK_QUICK
from tests.unit.channels.telegram_rig import QUICK as TELEGRAM_QUICK

HOOK_SECRET = "s3cret_-"


class _Served:
    """The server in front of a channel, on one port as long as the rig lives."""

    def __init__(self) -> None:
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def open(self, channel: object | None) -> None:
        """Serve a channel's routes; none: only find a free port."""
        await self.close()
        app = web.Application()
        if channel is not None:
            assert isinstance(channel, HasRoutes)
            app.add_routes(channel.routes())
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()


class TelegramHookRig(TelegramRig):
    """Updates come by POST, and again until one is answered with 200."""

    async def open(self) -> None:
        """See Rig."""
        await super().open()
        self.server = _Served()
        await self.server.open(None)
        urls: dict[str, Any] = {
            "base_url": self.twin.base_url,
            "base_file_url": self.twin.base_file_url,
            "public_url": self.server.url,
        }
        hook: dict[str, Any] = {"mode": "webhook", "webhook_secret": HOOK_SECRET}
        config = TelegramConfig(self.twin.token, **urls, **hook, **TELEGRAM_QUICK)
        self.channel = TelegramChannel(config)

    async def start(self) -> None:
        """See Rig."""
        await self.server.open(self.channel)
        await super().start()

    async def stop(self) -> None:
        """See Rig."""
        await self.server.close()
        await super().stop()

    def consumers(self) -> int:
        """See Rig: one address at most, whatever is set."""
        return int(bool(self.twin.state.webhook.get("url")))


class SlackHttpRig(SlackRig):
    """Signed requests; events come again, with X-Slack-Retry-Num, until one is answered with 200."""

    async def open(self) -> None:
        """See Rig."""
        await super().open()
        self.server = _Served()
        await self.server.open(None)
        self.twin.link.http = self.server.url
        self.twin.link.retry_waits = (0.05,) * 60  # type: ignore[assignment]
        config = SlackConfig(
            bot_token=BOT_TOKEN,
            signing_secret=SECRET,
            mode="http",
            base_url=self.twin.base_url,
            **SLACK_QUICK,
        )
        self.channel = SlackChannel(config)

    async def start(self) -> None:
        """See Rig."""
        await self.server.open(self.channel)
        await super().start()

    async def stop(self) -> None:
        """See Rig."""
        await self.server.close()
        await super().stop()

    def consumers(self) -> int:
        """See Rig."""
        return 1


HOOK_RIGS: tuple[type[Rig], ...] = (TelegramHookRig, SlackHttpRig)
