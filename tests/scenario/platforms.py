"""Telegram, Slack and Discord at once: three twins and a model twin in this process, the gateway in another."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.contract.rigs.base import Rig, Shown
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.scenario.plugin import Plugin
from tests.scenario.process import Gateway, environment
from tests.scenario.stage import KEY, MODEL
from tests.twins.anthropic import AnthropicTwin
from tests.twins.slack import APP_TOKEN, BOT_TOKEN

WAIT_S = 30.0
PRESET = """
version: 1
name: platforms
title: Platforms
description: A lead with an analyst, prices, a payment that needs a yes, and questions.
supervisor:
  role: Lead
  prompt: You lead.
  tools: [analyze_stock, chart, pay, ask_user]
  limits: {time: 5m, tool_timeout: 60s, tool_rounds: 10}
agents:
  analysis:
    role: Analyst
    description: Reads prices.
    prompt: You read prices.
    tools: [analyze_stock, chart]
    limits: {time: 2m, tool_timeout: 60s, tool_rounds: 5}
"""
RIGS: dict[str, type[Rig]] = {rig.name: rig for rig in (TelegramRig, SlackRig, DiscordRig)}


class Platforms:
    """A person at each platform, in a private chat with the one bot that runs there."""

    def __init__(
        self, folder: Path, rigs: dict[str, Rig], model: AnthropicTwin | None, preset: str = PRESET
    ) -> None:
        self.rigs = rigs
        self.model = model
        self.plugin = Plugin(folder / "plugin")
        self._preset = yaml.safe_load(preset)["name"]
        (folder / "presets").mkdir()
        (folder / "presets" / f"{self._preset}.yaml").write_text(preset, "utf-8")
        env = environment(self.plugin.folder, SCENARIO_FOLDER=str(self.plugin.folder))
        self.gateway = Gateway(folder, self._settings(), env)

    @property
    def telegram(self) -> TelegramRig:
        """Telegram's side."""
        rig = self.rigs["telegram"]
        assert isinstance(rig, TelegramRig)
        return rig

    @property
    def slack(self) -> SlackRig:
        """Slack's side."""
        rig = self.rigs["slack"]
        assert isinstance(rig, SlackRig)
        return rig

    @property
    def discord(self) -> DiscordRig:
        """Discord's side."""
        rig = self.rigs["discord"]
        assert isinstance(rig, DiscordRig)
        return rig

    def _settings(self) -> dict[str, Any]:
        models: dict[str, Any] = {"default": "demo"}
        if self.model is not None:
            provider = {"api_key": KEY, "base_url": self.model.url}
            models = {"default": MODEL, "providers": {"anthropic": provider}}
        return {
            "version": 1,
            "preset": self._preset if self.model else "trading-desk",
            "http": {"port": 0},
            "models": models,
            "channels": self._channels(),
            "access": {"default": "allow"},
        }

    def _channels(self) -> dict[str, Any]:
        telegram, slack, discord = self.telegram.twin, self.slack.twin, self.discord.twin
        return {
            "telegram": {
                "enabled": True,
                "token": telegram.token,
                "base_url": telegram.base_url,
                "base_file_url": telegram.base_file_url,
            },
            "slack": {
                "enabled": True,
                "bot_token": BOT_TOKEN,
                "app_token": APP_TOKEN,
                "base_url": slack.base_url,
            },
            "discord": {
                "enabled": True,
                "token": discord.token,
                "api_url": discord.api_url,
                "gateway_url": discord.gateway_url,
                "cdn_url": discord.cdn_url,
            },
        }

    # Waiting -----------------------------------------------------------------------------------------------------

    async def until(self, look: Callable[[], Any], timeout: float = WAIT_S) -> Any:
        """The first true value of `look`, which may look at anything: twins, files, the database."""
        async with asyncio.timeout(timeout):
            while not (found := look()):
                await asyncio.sleep(0.02)
        return found

    async def start(self) -> None:
        """Start the gateway, and wait until each platform has its one consumer."""
        await self.gateway.start()
        await self.until(lambda: all(rig.consumers() == 1 for rig in self.rigs.values()))

    async def settled(self) -> None:
        """Wait until nothing is open."""
        await self.until(lambda: not self.open_rows())

    def open_rows(self) -> int:
        """Inbox rows that are not done and replies that are not sent."""
        inbox = self.gateway.count("inbox", "status < 2")
        return inbox + self.gateway.count("outbox", "status < 2")

    async def said(self, name: str, count: int) -> list[Shown]:
        """The bot's visible messages at a platform, once there are `count` and nothing is open."""
        rig = self.rigs[name]
        await self.until(lambda: len(rig.visible()) >= count)
        await self.settled()
        return rig.visible()

    def sound(self) -> None:
        """No protocol was broken, no reply was parked, no finished model call was made again."""
        for name, rig in self.rigs.items():
            assert (name, rig.violations) == (name, [])
        assert self.gateway.count("outbox", "status = 3") == 0
        if self.model is not None:
            assert self.model.violations == []
            assert self.model.repeated() == []


@asynccontextmanager
async def platforms(
    folder: Path, *, demo: bool = False, preset: str = PRESET
) -> AsyncIterator[Platforms]:
    """Three platforms and a gateway that is not started yet; `demo`: with the demo planner as its model.

    `preset` is the text of the one that is used with the model twin.
    """
    async with AsyncExitStack() as stack:
        rigs = {name: await stack.enter_async_context(kind()) for name, kind in RIGS.items()}
        model = None if demo else await stack.enter_async_context(AnthropicTwin())
        assert model is None or isinstance(model, AnthropicTwin)
        made = Platforms(folder, rigs, model, preset)
        try:
            yield made
        finally:
            await made.gateway.close()
