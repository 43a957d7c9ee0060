import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from channels.base import CanAnswerButtons, CanStream, Channel, HasRoutes
from channels.types import Address, Attachment, Button, Kind, Outbound, Preview, Step
from channels.web import routes as web_routes
from channels.web.host import FileData, FileItem
from tests.browser.memory_host import Gateway
from tests.twins.receipt import MemoryReceipt

KEY = "6e2f7a52-3f5e-4a7e-9a39-0b6b5f6d4a01"
HERE = Address("web", "local", "s1")


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    gateway.host.add("s1", "alice")
    gateway.host.add("other", "bob")
    await gateway.start()
    yield gateway
    await gateway.stop()


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[aiohttp.ClientSession]:
    jar = aiohttp.CookieJar(unsafe=True)
    headers = {"Origin": gateway.url, "Accept-Language": "zh-CN,zh;q=0.9"}
    async with aiohttp.ClientSession(gateway.url, cookie_jar=jar, headers=headers) as client:
        await client.post("/login", data={"code": await gateway.code()})
        yield client


class Events:
    """Reads server-sent events."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.comments = 0

    async def next(self) -> tuple[str, Any]:
        name = ""
        async with asyncio.timeout(5):
            while True:
                line = (await self.response.content.readline()).decode().rstrip("\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    return name, json.loads(line[6:])


@asynccontextmanager
async def listening(client: aiohttp.ClientSession, session: str = "s1") -> AsyncIterator[Events]:
    async with client.get("/chat/events", params={"session": session}) as response:
        assert response.status == 200
        events = Events(response)
        assert (await events.next())[0] == "history"
        yield events


async def post(client: aiohttp.ClientSession, path: str, **fields: object) -> tuple[int, Any]:
    async with client.post(path, json=fields) as response:
        return response.status, await response.json()


def test_it_is_a_channel_that_streams_answers_buttons_and_has_routes() -> None:
    channel = Gateway().channel
    for protocol in (Channel, CanStream, CanAnswerButtons, HasRoutes):
        assert isinstance(channel, protocol)


async def test_a_message_is_taken_before_it_is_confirmed(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    status, body = await post(client, "/chat/messages", session="s1", key=KEY, text="hi")
    assert (status, body) == (202, {"id": KEY})
    (inbound,) = gateway.taken
    assert (inbound.address, inbound.key, inbound.text) == (HERE, KEY, "hi")
    assert (inbound.author.id, inbound.author.language) == ("alice", "zh-CN")
    assert inbound.private
    assert inbound.addressed
    assert inbound.kind is Kind.MESSAGE


async def test_the_same_key_twice_is_one_message(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    for _ in range(2):
        status, _ = await post(client, "/chat/messages", session="s1", key=KEY, text="hi")
        assert status == 202
    assert len(gateway.taken) == 1


async def test_a_press_comes_in_as_a_button_and_its_answer_reaches_the_page(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    async with listening(client) as events:
        fields = {"session": "s1", "key": KEY, "message_id": "m1", "data": "stop:7"}
        status, _ = await post(client, "/chat/presses", **fields)
        assert status == 202
        inbound = await gateway.presses.get()
        assert (inbound.kind, inbound.text, inbound.message_id) == (Kind.BUTTON, "stop:7", "m1")
        assert await events.next() == ("answer", {"key": KEY, "text": ""})


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"session": "other", "key": KEY, "text": "hi"}, 404, "unknown_session"),
        ({"session": None, "key": KEY, "text": "hi"}, 404, "unknown_session"),
        ({"session": "s1", "key": "k", "text": "hi"}, 400, "bad_request"),
        ({"session": "s1", "key": KEY, "text": "  "}, 400, "bad_request"),
        ({"session": "s1", "key": KEY}, 400, "bad_request"),
        ({"session": "s1", "key": KEY, "text": "x" * 100_001}, 413, "too_long"),
    ],
)
async def test_a_bad_message_is_refused_with_a_reason(
    gateway: Gateway,
    client: aiohttp.ClientSession,
    fields: dict[str, object],
    status: int,
    error: str,
) -> None:
    got, body = await post(client, "/chat/messages", **fields)
    assert (got, body["error"]) == (status, error)
    assert body["message"]
    assert not gateway.taken


async def test_a_body_over_a_mebibyte_is_refused_like_a_long_message(
    client: aiohttp.ClientSession,
) -> None:
    data = io.BytesIO(b'{"text": "' + b"x" * 1_100_000 + b'"}')
    headers = {"Content-Type": "application/json"}
    async with client.post("/chat/messages", data=data, headers=headers) as response:
        assert response.status == 413
        assert (await response.json())["error"] == "too_long"


async def test_a_body_that_is_no_json_object_is_refused(client: aiohttp.ClientSession) -> None:
    for data in (b"[]", b"{", b"\xff"):
        headers = {"Content-Type": "application/json"}
        async with client.post("/chat/messages", data=data, headers=headers) as response:
            assert response.status == 400
    async with client.post("/chat/messages", data=b"{}") as response:
        assert response.status == 400, "a form of another site can post text, but not JSON"


async def test_without_a_running_channel_the_page_is_told_to_try_again(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    gateway._run.cancel()  # type: ignore[union-attr]
    await asyncio.sleep(0)
    status, body = await post(client, "/chat/messages", session="s1", key=KEY, text="hi")
    assert (status, body["error"]) == (503, "not_running")


async def test_a_turn_streams_to_every_tab_and_ends_in_one_message(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    receipt = MemoryReceipt()
    async with listening(client) as one, listening(client) as two:
        await post(client, "/chat/messages", session="s1", key=KEY, text="hi")
        for tab in (one, two):
            name, data = await tab.next()
            assert (name, data["message"]["id"]) == ("user", KEY)
        stream = gateway.channel.stream(HERE, receipt, private=True, reply_to=None)
        steps = (Step("1", "Prices of GOOG"),)
        stop = (Button("Stop", "stop:1", "danger"),)
        await stream.show(Preview(text="GOOG", steps=steps, buttons=stop))
        name, data = await one.next()
        assert (name, data["text"], data["buttons"][0]["data"]) == ("preview", "GOOG", "stop:1")
        await stream.show(Preview(text="GOOG rose", steps=steps, buttons=stop))
        _, data = await one.next()
        assert data["text_add"] == " rose"
        await stream.close()
        file = FileItem("b1", "goog.png", "image/png", "GOOG 2012")
        message_id = await gateway.reply(HERE, "GOOG rose.", receipt=receipt, files=[file])
        for tab in (one, two):
            while True:
                name, data = await tab.next()
                if name == "message":
                    break
            assert data["message"]["id"] == message_id
            assert data["preview"]
            assert data["message"]["files"][0]["url"] == "/chat/files/b1"
            assert data["message"]["steps"][0]["label"] == "Prices of GOOG"
    async with client.get("/chat/events", params={"session": "s1"}) as response:
        _, data = await Events(response).next()
        assert [m["id"] for m in data["messages"]] == [KEY, message_id]
        assert data["live"] is None


async def test_a_tab_that_comes_back_in_the_middle_gets_the_whole_state(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    stream = gateway.channel.stream(HERE, MemoryReceipt(), private=True, reply_to=None)
    await stream.show(Preview(text="half an ans"))
    async with listening(client) as events:
        name, data = await events.next()
        assert (name, data["text"]) == ("preview", "half an ans")


async def test_a_client_that_never_reads_does_not_hold_a_turn_up(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    async with listening(client):
        stream = gateway.channel.stream(HERE, MemoryReceipt(), private=True, reply_to=None)
        async with asyncio.timeout(2):
            for n in range(2_000):
                await stream.show(Preview(text="x" * 1_000 + str(n)))
            for _ in range(500):
                out = Outbound(HERE, "y" * 1_000)
                await gateway.channel.send(out, MemoryReceipt())


async def test_sending_again_repeats_neither_id_nor_history() -> None:
    channel = Gateway().channel
    receipt = MemoryReceipt()
    await channel.send(Outbound(HERE, "hello"), receipt)
    await channel.send(Outbound(HERE, "hello"), receipt)
    assert receipt.log == [("shown", receipt.ids[0], True)]


async def test_a_file_without_a_ref_travels_inside_the_message(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    async with listening(client) as events:
        attachment = Attachment("a.txt", "text/plain", data=b"hi")
        await gateway.channel.send(Outbound(HERE, "here", (attachment,)), MemoryReceipt())
        _, data = await events.next()
        assert data["message"]["files"][0]["url"] == "data:text/plain;base64,aGk="


async def test_a_silent_stream_says_that_it_lives(
    gateway: Gateway, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_routes, "HEARTBEAT", 0.01)
    async with listening(client) as events:
        await asyncio.sleep(0.1)
        await gateway.reply(HERE, "hello")
        await events.next()
        assert events.comments >= 2


async def test_another_persons_session_and_files_are_not_there(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    gateway.host.files["bob", "b1"] = FileData(b"png", "image/png", "a.png")
    for path in ("/chat/events?session=other", "/chat/events?session=", "/chat/files/b1"):
        async with client.get(path) as response:
            assert response.status == 404
    async with client.get("/chat/sessions") as response:
        assert [s["id"] for s in (await response.json())["sessions"]] == ["s1"]


@pytest.mark.parametrize(
    ("media_type", "shown"),
    [("image/png", True), ("image/svg+xml", False), ("text/html", False), ("text/csv", False)],
)
async def test_only_pictures_without_scripts_are_shown_in_place(
    gateway: Gateway, client: aiohttp.ClientSession, media_type: str, shown: bool
) -> None:
    gateway.host.files["alice", "b/1"] = FileData(b"data", media_type, '走势"1".x')
    async with client.get("/chat/files/b%2F1") as response:
        assert await response.read() == b"data"
        assert (response.content_type == media_type) is shown
        assert response.headers["Content-Disposition"].startswith(
            "inline" if shown else "attachment"
        )


@pytest.mark.parametrize("name", ["nothing.js", "..%2Froutes.py", "../hub.py", "vendor/NOTICE"])
async def test_only_the_pages_own_files_are_served(
    client: aiohttp.ClientSession, name: str
) -> None:
    async with client.get(f"/static/{name}") as response:
        assert response.status == 404
    async with client.get("/static/app.js") as response:
        assert response.status == 200
        assert response.content_type == "text/javascript"


async def test_commands_come_in_the_persons_language(client: aiohttp.ClientSession) -> None:
    async with client.get("/chat/commands?language=zh-CN") as response:
        commands = (await response.json())["commands"]
    assert commands[0] == {"name": "help", "description": "命令列表"}


async def test_stopping_ends_open_streams_at_once(gateway: Gateway) -> None:
    other = Gateway()
    other.host.add("s1", "alice")
    await other.start()
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(
        other.url, cookie_jar=jar, headers={"Origin": other.url}
    ) as client:
        await client.post("/login", data={"code": await other.code()})
        async with listening(client) as events:
            async with asyncio.timeout(1):
                await other.stop()
                assert await events.response.content.read() == b"\n"


async def test_a_reply_that_another_process_has_stored_lets_the_page_load_anew(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    """Only whoever looks at that session; the event says nothing itself."""
    async with listening(client) as events:
        gateway.channel.refresh("other")
        gateway.channel.refresh("s1")
        assert await events.next() == ("reload", {})
