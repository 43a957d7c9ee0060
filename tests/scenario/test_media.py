"""The gateway as a process, reached by webhook: pictures, albums, documents and voice messages through Telegram."""

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.scenario.stage import Stage, stage
from tests.twins.llm_script import Turn, say
from tests.twins.openai import OpenAITwin
from tests.unit.gateway.media_house import drawn

SECRET = "planted-webhook-secret"
GROUP = -100


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def hooked(folder: Path) -> AsyncIterator[tuple[Stage, OpenAITwin]]:
    """A stage in webhook mode with somebody who hears voice messages. The gateway is not started yet."""
    async with OpenAITwin() as ears, stage(folder) as made:
        assert isinstance(ears, OpenAITwin)
        settings = made.defaults()
        port = free_port()
        settings["http"] = {"port": port, "public_url": f"http://127.0.0.1:{port}"}
        settings["channels"]["telegram"] |= {"mode": "webhook", "webhook_secret": SECRET}
        settings["models"]["providers"]["openai"] = {"api_key": "k", "base_url": f"{ears.url}/v1"}
        settings["models"]["transcriber"] = "openai/whisper-1"
        made.gateway.settings = settings
        made.gateway.config.write_text(json.dumps(settings))
        yield made, ears
        assert ears.violations == []


def pictures(request: dict[str, Any]) -> list[bytes]:
    """The pictures of a model request."""
    return [
        base64.b64decode(block["source"]["data"])
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "image"
    ]


@pytest.mark.slow
async def test_what_people_send_reaches_the_model_by_webhook(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (made, ears):
        await made.gateway.start()
        telegram = made.telegram
        for pattern in ("compare", "read", "how is GOOG"):
            made.model.reply_to(pattern, [Turn([say(f"answer to {pattern}")])])
        ears.hears = "how is GOOG doing?"
        red, blue = drawn(40, 30), drawn(50, 20)
        telegram.album(31, [red, blue], "compare")
        telegram.document(
            32, "日期,收盘\n2012-01-03,665.41\n".encode(), "goog.csv", "text/csv", "read"
        )
        telegram.voice(33)
        await made.answered([31, 32, 33])
        assert made.texts(31) == ["answer to compare"]
        assert made.texts(32) == ["answer to read"]
        assert made.texts(33) == ["answer to how is GOOG"]
        [request] = made.requests("compare")
        assert pictures(request) == [red, blue]
        [request] = made.requests("goog.csv")
        assert "665.41" in str(request)
        assert not telegram.matching("getUpdates")
        assert {status for _, status in telegram.api.webhooks.posts} == {200}
        assert await made.gateway.terminate() == 0
        made.sound()
        assert SECRET not in made.gateway.log()


@pytest.mark.slow
async def test_a_foreign_post_is_refused_and_a_long_answer_in_a_group_gets_its_marks(
    tmp_path: Path,
) -> None:
    async with hooked(tmp_path) as (made, _):
        await made.gateway.start()
        url = made.telegram.state.webhook["url"]
        async with aiohttp.ClientSession() as session:
            for headers in ({}, {"X-Telegram-Bot-Api-Secret-Token": "guess"}):
                async with session.post(url, json={"update_id": 1}, headers=headers) as response:
                    assert response.status == 401
            large = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
            async with session.post(url, data=b"{", headers=large) as response:
                assert response.status == 400
        await made.gateway.said("telegram_webhook_refused")
        made.telegram.group(GROUP)
        made.model.reply_to("slowly", [Turn([say("there it is")], delay=2.0)])
        made.telegram.say(GROUP, "@swarm_bot slowly", user=34)
        await made.answered([GROUP])
        [asked] = [m for m in made.telegram.chat(GROUP) if not m.by_bot]
        await made.until(lambda: asked.reactions == ["👀", "👍"])
        made.sound()


@pytest.mark.slow
async def test_a_kill_while_a_file_is_fetched_loses_nothing(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (made, _):
        await made.gateway.start()
        made.model.reply_to("what", [Turn([say("a red square")])])
        made.telegram.fault("GET /file/", hang=True)
        picture = drawn()
        made.telegram.photo(35, picture, "what is it?")
        await made.telegram.wait_call("GET /file/", answered=False)
        await made.gateway.kill()
        await asyncio.sleep(0)
        await made.gateway.start()
        await made.answered([35])
        assert made.texts(35) == ["a red square"]
        [request] = made.requests("what is it")
        assert pictures(request) == [picture]
        assert made.gateway.count("transcript", "kind = 'user'") == 1
        made.sound()
