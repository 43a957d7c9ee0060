"""The Slack twin against clients that nobody here wrote: slack-bolt and the SDK's own helpers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.twins.slack import APP_TOKEN, BOT_TOKEN, SECRET, SlackTwin


class Bolt:
    """An app as bolt's documentation has it."""

    def __init__(self, twin: SlackTwin) -> None:
        self.client = AsyncWebClient(token=BOT_TOKEN, base_url=twin.base_url, retry_handlers=[])
        self.app = AsyncApp(
            token=BOT_TOKEN,
            signing_secret=SECRET,
            client=self.client,
            process_before_response=True,
        )
        self.seen: list[str] = []
        self.app.event("message")(self.on_message)
        self.app.event("app_mention")(self.on_mention)
        self.app.command("/swarm")(self.on_command)
        self.app.action("yes")(self.on_yes)
        self.app.view("form")(self.on_form)

    async def on_message(self, event: dict[str, Any], say: Any) -> None:
        self.seen.append(f"message {event['text']}")
        key = {
            "type": "button",
            "action_id": "yes",
            "text": {"type": "plain_text", "text": "Yes"},
            "value": "1",
        }
        await say(text="Sure?", blocks=[{"type": "actions", "elements": [key]}])

    async def on_mention(self, event: dict[str, Any]) -> None:
        self.seen.append(f"mention {event['text']}")

    async def on_command(self, ack: Any, command: dict[str, Any]) -> None:
        await ack(f"got {command['text']}")

    async def on_yes(self, ack: Any, body: dict[str, Any], client: AsyncWebClient) -> None:
        await ack()
        field = {
            "type": "input",
            "block_id": "b",
            "label": {"type": "plain_text", "text": "Name"},
            "element": {"type": "plain_text_input", "action_id": "a"},
        }
        view = {
            "type": "modal",
            "callback_id": "form",
            "title": {"type": "plain_text", "text": "Form"},
            "submit": {"type": "plain_text", "text": "OK"},
            "blocks": [field],
        }
        await client.views_open(trigger_id=body["trigger_id"], view=view)

    async def on_form(self, ack: Any, view: dict[str, Any]) -> None:
        self.seen.append(f"form {view['state']['values']['b']['a']['value']}")
        await ack()


@pytest.fixture
async def twin() -> AsyncIterator[SlackTwin]:
    async with SlackTwin() as one:
        one.channel("C1")
        yield one
        assert one.violations == []


async def converse(twin: SlackTwin, bolt: Bolt) -> None:
    twin.say("D1", "hello")
    (reply,) = await twin.wait_replies("D1")
    twin.press("D1", reply.ts, "Yes")
    await twin.wait_for(lambda: twin.view)
    await twin.settled()
    twin.submit({"Name": "alice"})
    command = twin.slash("help")
    twin.both = False
    twin.mention("C1", "hi")
    await twin.settled()
    assert all(d.acked for d in twin.deliveries)
    assert bolt.seen == ["message hello", "form alice", "mention <@U0BOT> hi"]
    answer = command.answer
    assert "got help" in (answer if isinstance(answer, str) else answer["text"])


async def test_bolt_talks_over_socket_mode(twin: SlackTwin) -> None:
    bolt = Bolt(twin)
    handler = AsyncSocketModeHandler(bolt.app, APP_TOKEN, ping_interval=1)
    await handler.connect_async()
    try:
        await converse(twin, bolt)
        await twin.link.refresh()
        twin.say("D1", "after the refresh")
        await twin.wait_for(lambda: bolt.seen[-1] == "message after the refresh")
    finally:
        await handler.close_async()


async def test_bolt_talks_over_http(twin: SlackTwin) -> None:
    bolt = Bolt(twin)
    app = web.Application()
    for end in ("events", "commands", "interactive"):
        path = f"/webhooks/slack/{end}"
        router = bolt.app.web_app(path).router
        (route,) = [route for route in router.routes() if route.method == "POST"]
        app.router.add_post(path, route.handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    twin.link.http = "http://{}:{}".format(*runner.addresses[0][:2])
    try:
        await converse(twin, bolt)
    finally:
        await runner.cleanup()


async def test_the_sdks_own_retry_posts_twice_which_is_why_it_is_off(twin: SlackTwin) -> None:
    twin.fault("chat.postMessage", drop="after")
    client = AsyncWebClient(token=BOT_TOKEN, base_url=twin.base_url)
    await client.chat_postMessage(channel="D1", text="once?")
    assert len(twin.replies("D1")) == 2


async def test_the_sdks_stream_and_upload_helpers_work(twin: SlackTwin) -> None:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=twin.base_url, retry_handlers=[])
    root = twin.say("D1", "hello")
    stream = await client.chat_stream(channel="D1", thread_ts=root, buffer_size=1)
    await stream.append(markdown_text="**so** ")
    await stream.append(markdown_text="far")
    await stream.stop()
    (shown,) = twin.replies("D1")
    assert (shown.text, shown.streaming) == ("**so** far", False)
    await client.files_upload_v2(channel="D1", content="a,b", filename="a.csv", thread_ts=root)
    assert twin.replies("D1")[-1].files[0]["name"] == "a.csv"


@pytest.mark.parametrize(
    ("method", "args", "code"),
    [
        ("chat.postMessage", {"channel": "C9", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": "D1"}, "no_text"),
        ("chat.postMessage", {"channel": "D1", "text": "x" * 40_001}, "msg_too_long"),
        ("chat.postMessage", {"channel": "D1", "blocks": [{"type": "magic"}]}, "invalid_blocks"),
        ("chat.update", {"channel": "D1", "ts": "1.1", "text": "x"}, "message_not_found"),
        ("chat.startStream", {"channel": "D1"}, "invalid_thread_ts"),
        ("views.open", {"trigger_id": "t", "view": {"type": "modal"}}, "expired_trigger_id"),
        ("reactions.add", {"channel": "D1", "timestamp": "1", "name": "x"}, "message_not_found"),
        ("files.info", {"file": "F9"}, "file_not_found"),
    ],
)
async def test_the_twin_is_strict(
    twin: SlackTwin, method: str, args: dict[str, Any], code: str
) -> None:
    client = AsyncWebClient(token=BOT_TOKEN, base_url=twin.base_url, retry_handlers=[])
    with pytest.raises(SlackApiError) as e:
        await client.api_call(method, json=args)
    assert e.value.response["error"] == code


async def test_an_unknown_method_and_a_ping_to_everybody_are_violations() -> None:
    async with SlackTwin() as twin:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=twin.base_url, retry_handlers=[])
        with pytest.raises(SlackApiError, match="unknown_method"):
            await client.api_call("chat.shout")
        await client.chat_postMessage(channel="D1", text="<!channel> hello")
        assert len(twin.violations) == 2


async def test_people_press_only_what_is_there(twin: SlackTwin) -> None:
    ts = twin.say("D1", "hello")
    with pytest.raises(AssertionError, match="no button"):
        twin.press("D1", ts, "Yes")
    with pytest.raises(AssertionError, match="no modal"):
        twin.submit({})
    await asyncio.sleep(0)
    await twin.link.stop()
