"""Webhook mode: what Telegram's posts become, and what it hears in answer."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from channels.telegram.webhook import MAX_BODY, SECRET_HEADER
from channels.types import Inbound
from tests.twins.telegram import TelegramTwin
from tests.unit.channels.telegram_rig import CHAT, GROUP, Rig

SECRET = "s3cret_-"


class Hooked(Rig):
    """A rig whose channel is reached over HTTP."""

    async def serve(self) -> None:
        app = web.Application()
        app.add_routes(self.channel.routes())
        self.runner = web.AppRunner(app, access_log=None)
        await self.runner.setup()
        await web.SockSite(self.runner, self.sock).start()

    async def post(self, **request: Any) -> int:
        headers = {SECRET_HEADER: SECRET} | request.pop("headers", {})
        url = self.channel._config.webhook_url
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, headers=headers, **request) as response,
        ):
            return response.status


@asynccontextmanager
async def hooked(*, running: bool = True) -> AsyncIterator[Hooked]:
    import socket

    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with TelegramTwin() as twin:
        assert isinstance(twin, TelegramTwin)
        twin.group(int(GROUP.chat))
        r = Hooked(twin, mode="webhook", public_url=url, webhook_secret=SECRET)
        r.sock = sock
        await r.serve()
        try:
            if running:
                await r.start()
                await asyncio.wait_for(r.ready.wait(), 3)
            yield r
        finally:
            await r.stop()
            await r.runner.cleanup()
        assert twin.violations == []


async def test_updates_come_by_post_and_are_confirmed_when_they_are_durable() -> None:
    async with hooked() as r:
        message = r.twin.say(CHAT, "hello")
        (got,) = await r.inbound()
        assert (got.text, got.key) == ("hello", f"m:{CHAT}:{message}")
        await r.twin.wait_for(lambda: not r.twin.unconfirmed)
        assert [status for _, status in r.twin.api.webhooks.posts] == [200]
        assert not r.twin.matching("getUpdates")


async def test_the_webhook_is_set_with_its_secret_and_the_updates_that_are_wanted() -> None:
    async with hooked() as r:
        hook = r.twin.state.webhook
        assert hook["url"].endswith("/webhooks/telegram")
        assert hook["secret"] == SECRET
        assert hook["allowed"] == ["message", "callback_query"]
        assert r.twin.matching("getWebhookInfo")


async def test_200_is_said_only_after_emit_returned() -> None:
    """openclaw#42157: answered before the insert is committed, a message is lost in a crash."""
    async with hooked(running=False) as r:
        stored, began = asyncio.Event(), asyncio.Event()

        async def slow(_: Inbound) -> None:
            began.set()
            await stored.wait()

        r.task = asyncio.create_task(r.channel.run(slow, r.ready.set))
        r.twin.say(CHAT, "x")
        await asyncio.wait_for(began.wait(), 3)
        assert r.twin.api.webhooks.posts == []
        stored.set()
        await r.twin.wait_for(lambda: not r.twin.unconfirmed)


async def test_what_could_not_be_stored_comes_again() -> None:
    async with hooked(running=False) as r:
        failures = [OSError("disk full")]
        seen: list[str] = []

        async def emit(inbound: Inbound) -> None:
            if failures:
                raise failures.pop()
            seen.append(inbound.text)

        r.task = asyncio.create_task(r.channel.run(emit, r.ready.set))
        r.twin.say(CHAT, "one")
        r.twin.say(CHAT, "two")
        await r.twin.wait_for(lambda: not r.twin.unconfirmed)
        assert seen == ["one", "two"]
        assert [status for _, status in r.twin.api.webhooks.posts] == [500, 200, 200]


@pytest.mark.parametrize("given", [{}, {SECRET_HEADER: "wrong"}, {SECRET_HEADER: "geheimniß"}])
async def test_a_wrong_secret_is_refused(
    given: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with hooked() as r:
        headers = given or {SECRET_HEADER: ""}
        assert await r.post(json={"update_id": 1}, headers=headers) == 401
        assert r.got == []
    assert "telegram_webhook_refused" in caplog.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b'{"update_id": "x"}', 400),
        (b"[" * 100_000, 400),
        (b" " * (MAX_BODY + 1), 413),
    ],
)
async def test_malformed_and_oversized_bodies_are_refused_and_the_channel_stays_up(
    body: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with hooked() as r:
        assert await r.post(data=io.BytesIO(body)) == status
        assert "telegram_webhook_refused" in caplog.text
        r.twin.say(CHAT, "still here")
        assert [i.text for i in await r.inbound()] == ["still here"]


async def test_a_body_without_a_length_is_limited_too() -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 2**16

    async with hooked() as r:
        assert await r.post(data=endless()) == 413


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 7},
        {"update_id": 7, "message": {"message_id": "no", "chat": 5}},
        {"update_id": 7, "message": 5},
        {"update_id": 7, "poll_answer": {"unknown": True}},
        {"update_id": 7, "something_new": {}},
    ],
)
async def test_an_authentic_update_that_we_cannot_use_is_taken_off(
    update: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A platform that hears anything but 200 sends it for ever."""
    caplog.set_level(logging.INFO)
    async with hooked() as r:
        assert await r.post(json=update) == 200
        assert r.got == []
    assert "7" in caplog.text


async def test_before_the_channel_runs_telegram_is_asked_to_come_again() -> None:
    async with hooked(running=False) as r:
        assert await r.post(json={"update_id": 1}) == 503


async def test_a_redelivered_update_has_the_same_key() -> None:
    async with hooked() as r:
        r.twin.say(CHAT, "x")
        await r.inbound()
        await r.twin.wait_for(lambda: not r.twin.unconfirmed)
        r.twin.redeliver()
        first, second = await r.inbound(2)
        assert first.key == second.key


async def test_setting_the_webhook_is_tried_again() -> None:
    async with hooked(running=False) as r:
        r.twin.fault("setWebhook", status=502, body="<html>")
        await r.start()
        await asyncio.wait_for(r.ready.wait(), 4)
        assert len(r.twin.matching("setWebhook")) == 2


async def test_the_webhook_stays_set_while_the_process_is_down() -> None:
    async with hooked() as r:
        await r.stop()
        assert r.twin.state.webhook["url"]
        r.twin.say(CHAT, "while you were away")
        await r.twin.wait_for(lambda: len(r.twin.api.webhooks.posts) >= 2)
        assert {status for _, status in r.twin.api.webhooks.posts} == {503}
        await r.start()
        assert [i.text for i in await r.inbound()] == ["while you were away"]


async def test_polling_deletes_a_webhook_that_was_left_over() -> None:
    async with TelegramTwin() as twin:
        assert isinstance(twin, TelegramTwin)
        twin.state.webhook = {"url": "https://old.example/webhooks/telegram", "secret": None}
        r = Rig(twin)
        await r.start()
        try:
            twin.say(CHAT, "x")
            assert [i.text for i in await r.inbound()] == ["x"]
            assert twin.matching("deleteWebhook")
        finally:
            await r.stop()
