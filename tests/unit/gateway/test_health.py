"""Probes and figures over HTTP: yes or no for everybody, the reasons and the numbers for whoever has the token."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import pytest
from sqlalchemy import Connection

from channels.manager import ChannelState, State
from gateway.http.app import HttpServer
from gateway.http.health import FRESH_S, Health, Subject
from gateway.http.token import ConsoleToken
from gateway.metrics.meter import Meter
from gateway.metrics.observer import Accepted, Delivered
from gateway.redact import Redactor
from gateway.storage.db import Database
from tests.house import Watch, on_sqlite

T = TypeVar("T")
TOKEN = "an-operators-token-123"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BOT_TOKEN = "7123456789:AAE" + "x1" * 16
CHANNELS = [
    ChannelState("telegram", "777", State.READY, "", 1, 2.04),
    ChannelState("slack", "", State.RESTARTING, f"502 at https://x/bot{BOT_TOKEN}/getMe", 3),
]


@dataclass
class Seldom:
    """A Database whose reads are counted, and may fail or hang."""

    real: Database
    reads: int = 0
    error: Exception | None = None
    gate: asyncio.Event | None = None
    dialect: str = "sqlite"

    async def read(self, work: Callable[[Connection], T]) -> T:
        self.reads += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await self.real.read(work)


@dataclass
class Served:
    """A server with its probes."""

    health: Health
    db: Seldom
    client: aiohttp.ClientSession
    time: list[float] = field(default_factory=lambda: [0.0])

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        async with self.client.get(path, headers=headers) as response:
            return response.status, await response.text()

    async def json(self, path: str) -> tuple[int, Any]:
        async with self.client.get(path, headers=BEARER) as response:
            return response.status, await response.json()


@asynccontextmanager
async def serving(db: Database, meter: Meter | None = None) -> AsyncIterator[Served]:
    seldom, time = Seldom(db), [0.0]
    subject = Subject(
        seldom,  # type: ignore[arg-type]  # reads only
        Watch(),
        meter or Meter(),
        lambda: 2,
        32,
        lambda: CHANNELS,
        redactor=Redactor(),
    )
    health = Health(subject, ConsoleToken(TOKEN), monotonic=lambda: time[0])
    server = HttpServer("127.0.0.1", 0, routes=health.routes())
    await server.start()
    try:
        async with aiohttp.ClientSession(server.local_url) as client:
            yield Served(health, seldom, client, time)
    finally:
        await server.stop()


@on_sqlite
async def test_without_the_token_probes_say_yes_or_no_and_nothing_else(db: Database) -> None:
    async with serving(db) as it:
        assert await it.get("/healthz") == (200, "ok\n")
        assert await it.get("/readyz") == (503, "not ready\n")
        it.health.serving = True
        assert await it.get("/readyz") == (200, "ok\n")
        assert await it.get("/readyz", Authorization="Bearer wrong") == (200, "ok\n")
        assert (await it.get("/readyz", Host="10.0.0.7:8080"))[0] == 200, "probes ask by address"


async def test_with_the_token_readiness_tells_database_engine_and_channels(db: Database) -> None:
    async with serving(db) as it:
        it.health.serving = True
        status, body = await it.json("/readyz")
        assert (status, body["ready"]) == (200, True)
        assert body["database"]["ok"] is True
        assert body["engine"] == {"ok": True, "kind": "local", "running": 2, "slots": 32}
        telegram, slack = body["channels"]
        assert telegram["ok"] is True
        assert telegram["heard_seconds_ago"] == 2.0
        assert (slack["ok"], slack["state"], slack["restarts"]) == (False, "restarting", 3)
        assert BOT_TOKEN not in str(body)


@on_sqlite
async def test_a_database_that_fails_or_hangs_makes_the_process_unready(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.http.health.PATIENCE_S", 0.05)
    async with serving(db) as it:
        it.health.serving = True
        it.db.error = OSError("disk is on fire\nand more")
        status, body = await it.json("/readyz")
        assert (status, body["database"]["problem"]) == (503, "disk is on fire")
        it.db.error, it.db.gate, it.time[0] = None, asyncio.Event(), FRESH_S
        status, body = await it.json("/readyz")
        assert (status, body["database"]["problem"]) == (503, "no answer within 0.05 s")
        assert await it.get("/healthz") == (200, "ok\n"), "a restart would mend nothing"


@on_sqlite
async def test_probes_that_come_often_ask_the_database_once_a_second(db: Database) -> None:
    async with serving(db) as it:
        await asyncio.gather(*(it.get("/readyz") for _ in range(20)))
        assert it.db.reads == 1
        it.time[0] = FRESH_S
        await it.get("/readyz")
        assert it.db.reads == 2


@on_sqlite
@pytest.mark.parametrize("header", ["", "Bearer wrong", f"Basic {TOKEN}"])
async def test_figures_need_the_token(db: Database, header: str) -> None:
    async with serving(db) as it:
        headers = {"Authorization": header} if header else {}
        status, text = await it.get("/metrics", **headers)
        assert status == 401
        assert "swarmgate_" not in text
        assert it.db.reads == 0
        assert (await it.get(f"/metrics?token={TOKEN}"))[0] == 401


async def test_figures_are_what_prometheus_reads(db: Database) -> None:
    """Parsed by the client library's own parser, so by what a scrape would accept."""
    from prometheus_client.parser import text_string_to_metric_families as parse

    meter = Meter()
    meter.fact(Accepted("telegram", "taken", 0.003))
    meter.fact(Delivered("telegram", "sent", 0.2))
    async with serving(db, meter) as it:
        status, text = await it.get("/metrics", **BEARER)
    assert status == 200
    found = {
        (s.name, tuple(sorted(s.labels.items()))): s.value for f in parse(text) for s in f.samples
    }
    assert all(re.fullmatch(r"swarmgate_[a-z0-9_]+", name) for name, _ in found)
    taken = (("channel", "telegram"), ("outcome", "taken"))
    assert found["swarmgate_messages_total", taken] == 1
    assert found["swarmgate_stage_seconds_bucket", (("le", "0.005"), ("stage", "accept"))] == 1
    assert found["swarmgate_stage_seconds_bucket", (("le", "0.002"), ("stage", "accept"))] == 0
    assert found["swarmgate_stage_seconds_count", (("stage", "deliver"),)] == 1
    assert found["swarmgate_inbox_rows", (("state", "new"),)] == 0
    assert found["swarmgate_database_up", ()] == 1
    channel = (("account", "777"), ("channel", "telegram"))
    assert found["swarmgate_channel_up", channel] == 1
    assert found["swarmgate_channel_heard_seconds", channel] == 2.04
    assert found["swarmgate_process_resident_memory_bytes", ()] > 1e6


@on_sqlite
async def test_without_the_database_the_other_figures_are_shown(db: Database) -> None:
    async with serving(db) as it:
        it.db.error = OSError("gone")
        status, text = await it.get("/metrics", **BEARER)
        assert status == 200
        assert "swarmgate_database_up 0.0" in text
        assert "swarmgate_inbox_rows{" not in text
        assert "swarmgate_turns_running 2.0" in text
