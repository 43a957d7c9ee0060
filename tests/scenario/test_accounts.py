"""Several bots of one platform in one process: each with its people, places, order and floods; a broken one alone."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.scenario.process import Gateway, environment
from tests.twins.discord import DiscordTwin
from tests.twins.slack import APP_TOKEN, BOT_TOKEN, SlackTwin
from tests.twins.telegram import TelegramTwin

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

WAIT_S = 30.0
SECOND = "777000000000000002"
SECOND_TOKEN = "Nzc3MDAwMDAwMDAwMDAwMDAy.twin.secret"
PLATFORMS = ["telegram", "slack", "discord"]


class Bot:
    """One bot with its twin: person 5 in a private chat, as text goes in and comes out."""

    def __init__(self, twin: TelegramTwin | SlackTwin | DiscordTwin) -> None:
        self.twin = twin

    def say(self, text: str) -> None:
        """Person 5 (U1 in Slack) writes."""
        match self.twin:
            case TelegramTwin():
                self.twin.say(5, text)
            case SlackTwin():
                self.twin.say("D1", text)
            case DiscordTwin():
                self.twin.dm("5", text)

    def texts(self) -> list[str]:
        """What the bot has said to that person."""
        match self.twin:
            case TelegramTwin():
                return [m.text for m in self.twin.replies(5)]
            case SlackTwin():
                return [post.shown for post in self.twin.replies("D1")]
            case DiscordTwin():
                return [m.text for m in self.twin.replies(self.twin.dm_channel("5"))]

    async def ask(self, text: str) -> str:
        """Say it; the next thing that the bot says."""
        before = len(self.texts())
        self.say(text)
        shown = await self.twin.changes.until(lambda: self.texts()[before:], WAIT_S)
        return shown[-1]


class Pair:
    """Two bots on each platform, and one whose token is refused."""

    def __init__(self, folder: Path, bots: dict[str, tuple[Bot, Bot]]) -> None:
        self.bots = bots
        self.gateway = Gateway(folder, self._settings(), environment())

    def _settings(self) -> dict[str, Any]:
        def telegram(twin: Any, **more: Any) -> dict[str, Any]:
            urls = {"base_url": twin.base_url, "base_file_url": twin.base_file_url}
            return {"enabled": True, "token": twin.token, **urls, **more}

        def slack(twin: Any) -> dict[str, Any]:
            tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}
            return {"enabled": True, **tokens, "base_url": twin.base_url}

        def discord(twin: Any) -> dict[str, Any]:
            urls = {"api_url": twin.api_url, "gateway_url": twin.gateway_url}
            return {"enabled": True, "token": twin.token, "cdn_url": twin.cdn_url, **urls}

        def twins(name: str) -> tuple[Any, Any]:
            one, other = self.bots[name]
            return one.twin, other.twin

        channels = {}
        for name, made in (("telegram", telegram), ("slack", slack), ("discord", discord)):
            one, other = twins(name)
            channels[name] = made(one) | {"accounts": {"second": made(other)}}
        broken = telegram(twins("telegram")[0], token="999:WRONG")
        channels["telegram"]["accounts"]["broken"] = broken
        return {
            "version": 1,
            "http": {"port": 0},
            "models": {"default": "demo"},
            "channels": channels,
            "access": {"default": "allow"},
        }

    def open_rows(self, account: str) -> int:
        """Replies of one bot that are not sent."""
        lanes = self.gateway.rows("select lane from outbox where status < 2")
        return sum(f":{account}:" in lane for (lane,) in lanes)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    """Started, with all bots but the broken one ready."""
    async with started(tmp_path_factory.mktemp("pair")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def flooded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    """A pair for floods, which are longer than any test."""
    async with started(tmp_path_factory.mktemp("flooded")) as made:
        yield made


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Pair]:
    """Two bots on each platform in one process."""
    async with AsyncExitStack() as stack:
        found: dict[str, tuple[Bot, Bot]] = {}
        for name, twins in (
            ("telegram", (TelegramTwin(), TelegramTwin("888:TWIN", "second_bot"))),
            ("slack", (SlackTwin(), SlackTwin())),
            ("discord", (DiscordTwin(), DiscordTwin(SECOND_TOKEN, SECOND))),
        ):
            one, other = [await stack.enter_async_context(twin) for twin in twins]
            found[name] = (Bot(one), Bot(other))  # type: ignore[arg-type]
        other_team = {"ok": True, "team_id": "T2", "user_id": "U0BOT", "bot_id": "B0BOT"}
        found["slack"][1].twin.fault("auth.test", times=-1, status=200, body=other_team)
        made = Pair(folder, found)
        try:
            await made.gateway.start()
            yield made
            for name, bots in found.items():
                assert (name, [b.twin.violations for b in bots]) == (name, [[], []])
        finally:
            await made.gateway.close()


async def test_one_bot_whose_token_is_refused_is_reported_and_the_others_run(pair: Pair) -> None:
    await pair.gateway.said("bot_refused")
    [line] = [one for one in pair.gateway.lines if one["event"] == "bot_refused"]
    assert line["key"] == "channels.telegram.accounts.broken.token"
    assert line["reason"] == "the token is refused by Telegram"
    assert pair.gateway.running


@pytest.mark.parametrize("name", PLATFORMS)
async def test_equal_messages_to_two_bots_are_two_messages(pair: Pair, name: str) -> None:
    """Ids of messages and chats are the platform's, and may be the same for two bots."""
    one, other = pair.bots[name]
    before = [len(bot.texts()) for bot in (one, other)]
    one.say("/help")
    assert "/new" in await other.ask("/help")
    await one.twin.changes.until(lambda: one.texts()[before[0] :], WAIT_S)
    assert [len(bot.texts()) for bot in (one, other)] == [n + 1 for n in before]


@pytest.mark.parametrize("name", PLATFORMS)
async def test_a_conversation_is_with_one_bot(pair: Pair, name: str) -> None:
    one, other = pair.bots[name]
    await one.ask("/preset solo")
    assert "solo" in await one.ask("/status")
    assert "solo" not in await other.ask("/status")
    await other.ask("hello there")
    assert "hello there" in await other.ask("/sessions")
    assert "hello there" not in await one.ask("/sessions")


@pytest.mark.parametrize("name", ["telegram", "discord"])
async def test_each_bot_shows_the_command_menu(pair: Pair, name: str) -> None:
    match = r"setMyCommands$" if name == "telegram" else r"PUT .*/commands$"
    for bot in pair.bots[name]:
        await bot.twin.wait_call(match)


async def test_a_link_is_confirmed_where_its_code_was_asked_for(pair: Pair) -> None:
    asked, bystander = pair.bots["telegram"]
    _, claims = pair.bots["slack"]
    found = re.search(r"/link ([A-Z0-9-]+)", await asked.ask("/link"))
    assert found is not None
    quiet, before = len(bystander.texts()), len(asked.texts())
    await claims.ask(f"/link {found[1]}")
    await asked.twin.changes.until(lambda: asked.texts()[before:], WAIT_S)
    assert "wants to be linked" in asked.texts()[-1]
    assert len(bystander.texts()) == quiet


@pytest.mark.parametrize("name", PLATFORMS)
async def test_a_flood_of_one_bot_keeps_no_other_waiting(flooded: Pair, name: str) -> None:
    one, other = flooded.bots[name]
    before = one.texts()
    match one.twin:
        case TelegramTwin() as twin:
            twin.flood(5, 600)
        case DiscordTwin() as twin:
            twin.flood(twin.dm_channel("5"), 600)
        case SlackTwin() as twin:
            wait = {"Retry-After": "600"}
            twin.fault("chat.postMessage", times=-1, status=429, body={"ok": False}, headers=wait)
    account = {"telegram": "777", "slack": "T1.U0BOT", "discord": "777000000000000001"}[name]
    one.say("/help")
    one.say("/help")
    replies = [await other.ask("/help"), await other.ask("/status")]
    assert "/new" in replies[0]
    async with asyncio.timeout(WAIT_S):
        while flooded.open_rows(account) < 2:
            await asyncio.sleep(0.02)
    assert one.texts() == before
