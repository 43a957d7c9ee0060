"""Files that people send in the web chat: handed over first, then named by a message; and messages said anew."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from channels.base import CanDownload
from channels.errors import Refused
from channels.types import Attachment
from channels.web.host import FileData
from tests.browser.memory_host import MAX_BYTES, MAX_FILES, Gateway
from tests.unit.channels.test_web_channel import KEY, client, gateway, listening, post

__all__ = ["client", "gateway"]  # fixtures


async def upload(
    client: aiohttp.ClientSession,
    data: bytes | AsyncIterator[bytes],
    name: str = "notes.txt",
    kind: str = "text/plain",
    session: str = "s1",
) -> tuple[int, Any]:
    params = {"session": session, "name": name}
    headers = {"Content-Type": kind}
    async with client.post("/chat/files", params=params, data=data, headers=headers) as response:
        return response.status, await response.json()


async def test_a_file_is_handed_over_once_and_comes_in_with_its_message(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    status, file = await upload(client, b"42 apples", "../a\\b/no\x07tes 走势.txt")
    assert (status, file["name"], file["size"]) == (201, "no tes 走势.txt", 9)
    assert (await upload(client, b"42 apples"))[1]["ref"] == file["ref"]
    async with listening(client) as events:
        fields = {"session": "s1", "key": KEY, "text": "", "files": [file["ref"], file["ref"]]}
        assert (await post(client, "/chat/messages", **fields))[0] == 202
        _, told = await events.next()
        assert [f["ref"] for f in told["message"]["files"]] == [file["ref"]]
    (got,) = gateway.taken
    (came,) = got.attachments
    assert (got.text, came.media_type, came.size) == ("", "text/plain", 9)
    assert isinstance(gateway.channel, CanDownload)
    assert await gateway.channel.download(came, 100) == b"42 apples"
    with pytest.raises(Refused):
        await gateway.channel.download(came, 8)
    with pytest.raises(Refused):
        await gateway.channel.download(Attachment("a", "b", ref="alice/gone"), 100)


async def test_a_file_that_does_not_fit_is_refused_with_a_reason(
    client: aiohttp.ClientSession,
) -> None:
    async def unsized() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * (MAX_BYTES // 2)

    assert (await upload(client, b""))[1]["error"] == "file_empty"
    assert (await upload(client, b"x", "a.zip", "application/zip"))[1]["error"] == "file_kind"
    for large in (b"x" * (MAX_BYTES + 1), unsized()):
        status, body = await upload(client, large)
        assert (status, body["error"]) == (413, "file_large")
    assert (await upload(client, b"x", session="other"))[0] == 404
    limits = {"bytes": MAX_BYTES, "count": MAX_FILES}
    async with client.get("/chat/sessions") as response:
        assert (await response.json())["files"] == limits


async def test_who_is_not_logged_in_hands_nothing_over(gateway: Gateway) -> None:
    headers = {"Origin": gateway.url}
    async with aiohttp.ClientSession(gateway.url, headers=headers) as stranger:
        assert (await upload(stranger, b"42"))[0] == 401
    assert gateway.host.files == {}


async def test_a_message_names_ones_own_files_only(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    gateway.host.files["bob", "b1"] = FileData(b"secret", "text/plain", "a.txt")
    for files, error in (
        (["b1"], "unknown_file"),
        (["b1"] * (MAX_FILES + 1), "files_many"),
        ("b1", "bad_request"),
        ([1], "bad_request"),
    ):
        fields = {"session": "s1", "key": KEY, "text": "look", "files": files}
        assert (await post(client, "/chat/messages", **fields))[1]["error"] == error
    assert not gateway.taken


async def test_a_message_says_which_one_it_says_anew(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    fields = {"session": "s1", "key": f"{KEY}-r1", "text": "hi", "again": KEY}
    async with listening(client) as events:
        assert (await post(client, "/chat/messages", **fields))[0] == 202
        assert (await events.next())[1]["message"]["again"] == KEY
    assert gateway.taken[0].again == KEY
    bad = {**fields, "again": "no key!"}
    assert (await post(client, "/chat/messages", **bad))[1]["error"] == "bad_request"
