"""What open pages of the console are told: encoded once for all, and nobody waits for who does not read."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from gateway.console.pulse import Pulse
from tests.bench.console import measured

LARGE = "x" * 4_000_000  # more than the buffers of a connection hold


@dataclass
class Station:
    """A pulse on loopback, and the state that it tells of."""

    pulse: Pulse
    server: BaseTestServer
    state: dict[str, object]

    def tell(self, **values: object) -> None:
        self.state |= values
        self.pulse.nudge()


@asynccontextmanager
async def station(**state: object) -> AsyncIterator[Station]:
    async def look() -> dict[str, object]:
        return dict(state)

    async def still_in(logins: frozenset[str]) -> frozenset[str]:
        return logins

    pulse = Pulse(look, still_in, patience_s=0.2)

    async def events(request: web.Request) -> web.StreamResponse:
        return await pulse.stream(request, "login")

    app = web.Application()
    app.add_routes([web.get("/events", events)])
    async with TestServer(app) as server:
        try:
            yield Station(pulse, server, state)
        finally:
            await pulse.stop()


async def said(stream: aiohttp.ClientResponse) -> dict[str, Any]:
    """The next state; a line may be longer than aiohttp's own limit."""
    line = b""
    while not line.startswith(b"data: "):
        line = await stream.content.readuntil(b"\n")
    state: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
    return state


async def test_a_state_is_encoded_once_however_many_look_on() -> None:
    async with station(n=0) as it, aiohttp.ClientSession() as client:
        streams = [await client.get(it.server.make_url("/events")) for _ in range(60)]
        assert {(await said(stream))["n"] for stream in streams} == {0}
        before = it.pulse.encoded
        it.tell(n=1)
        told = [await said(stream) for stream in streams]
        assert {state["n"] for state in told} == {1}
        assert it.pulse.encoded == before + 1
        assert {state["pace"] for state in told} == {6.0}, "ten pages a second among sixty viewers"
        for stream in streams:
            stream.close()


async def test_who_does_not_read_holds_up_nobody_and_is_let_go() -> None:
    async with station(n=0, more=LARGE) as it:
        host, port = it.server.host, it.server.port
        assert port
        reader, writer = await asyncio.open_connection(host, port, limit=1_000)
        writer.write(b"GET /events HTTP/1.1\r\nHost: it\r\n\r\n")
        assert b"200" in await reader.readline()
        async with (
            aiohttp.ClientSession(read_bufsize=2**23) as client,
            client.get(it.server.make_url("/events")) as stream,
        ):
            for n in range(1, 5):
                it.tell(n=n)
                while (await said(stream))["n"] != n:
                    pass
            await asyncio.sleep(0.25)
            it.tell(n=5)
            while (await said(stream))["n"] != 5:
                pass
        it.pulse.nudge()
        left = await asyncio.wait_for(_rest(reader), 10)
        assert left < len(LARGE) * 2, "it was cut off in the middle of what it did not take"
        writer.close()


async def _rest(reader: asyncio.StreamReader) -> int:
    """Bytes until the connection ends, one way or another."""
    count = 0
    try:
        while part := await reader.read(65_536):
            count += len(part)
    except ConnectionError:
        pass
    return count


@pytest.mark.slow
async def test_the_cost_of_open_pages_is_measured_beside_turns() -> None:
    report = await measured(viewers=20, seconds=1.0, rounds=1, pages=True)
    assert report.alone.turns_ms
    assert report.beside.turns_ms, "turns go on beside those who look on"
    assert report.beside.loop_ms > 0
    first, *table = report.lines()
    assert first.startswith("20 viewers: ")
    assert [line.split("|")[1].strip() for line in table[2:4]] == ["without viewers", "with 20"]
