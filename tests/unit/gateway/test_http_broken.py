"""What is asked is answered, also when our own code or the database fails, and the answer tells nothing of why."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from sqlalchemy import Connection, insert
from sqlalchemy.exc import OperationalError

from agent_core.storage.statements import ensure_session
from agent_core.storage.tables import Trace
from gateway.http.app import HttpServer
from tests.house import START
from tests.unit.gateway.console_house import console_house

WHY = "the-reason-is-nobodys-business"
PAGE = {"Accept": "text/html,*/*;q=0.8"}


async def broken(request: web.Request) -> web.Response:
    if request.query.get("why") == "database":
        raise OperationalError(WHY, {}, OSError(WHY))
    raise RuntimeError(WHY)


async def half(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse()
    await stream.prepare(request)
    await stream.write(b"half")
    raise RuntimeError(WHY)


@asynccontextmanager
async def serving() -> AsyncIterator[aiohttp.ClientSession]:
    routes = [web.get("/api/broken", broken), web.get("/page", broken), web.get("/half", half)]
    server = HttpServer("127.0.0.1", 0, routes=routes)
    await server.start()
    try:
        async with aiohttp.ClientSession(server.local_url) as client:
            yield client
    finally:
        await server.stop()


@pytest.mark.parametrize(
    ("why", "status", "code"), [("bug", 500, "broken"), ("database", 503, "away")]
)
async def test_a_program_is_told_an_id_that_the_log_knows_and_no_reason(
    why: str, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as client, client.get("/api/broken", params={"why": why}) as response:
        said = await response.json()
        assert (response.status, said["error"]) == (status, code)
        assert said["id"] in said["message"]
        assert WHY not in str(said)
        assert ("Retry-After" in response.headers) is (why == "database")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    (line,) = [r for r in caplog.records if r.message == "request_failed"]
    assert (line.__dict__["id"], line.__dict__["path"]) == (said["id"], "/api/broken")
    assert line.exc_info
    assert WHY in str(line.exc_info[1])


async def test_a_person_is_told_in_a_sentence_of_their_language() -> None:
    async with serving() as client:
        async with client.get("/page", headers=PAGE) as response:
            assert (response.status, response.content_type) == (500, "text/plain")
            assert (await response.text()).startswith("Something broke here.")
        async with client.get("/page", headers=PAGE | {"Accept-Language": "zh-CN"}) as response:
            assert (await response.text()).startswith("此处出错。")


async def test_an_answer_that_breaks_half_way_is_cut_off_and_not_glued_to_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "gateway.http.wire")
    async with serving() as client, client.get("/half") as response:
        with pytest.raises(aiohttp.ClientError):
            await response.read()


async def test_what_the_server_itself_refuses_has_the_same_shape_for_programs() -> None:
    async with serving() as client:
        async with client.get("/api/nothing") as response:
            assert (await response.json()) == {"error": "not_found", "message": "Not Found."}
        async with client.post("/api/broken") as response:
            assert (response.status, (await response.json())["error"]) == (
                405,
                "method_not_allowed",
            )
            assert response.headers["Allow"]
        async with client.get("/nothing") as response:
            assert (response.status, response.content_type) == (404, "text/plain")


async def test_what_is_no_http_is_one_line_of_the_log_and_no_alarm(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with serving() as client, client.get(f"/page?{'x' * 9_000}") as response:
        assert response.status == 400
    (line,) = [r for r in caplog.records if r.message == "request_unreadable"]
    assert (line.levelno, line.exc_info) == (logging.INFO, None)


def _trace_that_nobody_can_read(conn: Connection) -> None:
    ensure_session(conn, "s1", "telegram:1", START)
    values = Trace(
        session_id="s1", turn_id=1, owner="telegram:1", event="final", body="{", at=START
    )
    conn.execute(insert(Trace.__table__), values.model_dump(exclude={"id"}))  # type: ignore[attr-defined]


async def test_the_api_and_the_console_say_so_where_a_row_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with console_house(tmp_path) as house:
        await house.core.db.write(_trace_that_nobody_can_read)
        async with house.program("viewer") as client:
            async with client.get("/api/v1/search") as response:
                said = json.loads(await response.text())
                assert (response.status, said["error"]) == (500, "broken")
            async with client.get("/api/v1") as response:
                assert (response.status, (await response.json())["error"]) == (404, "not_found")
        async with house.visit("viewer") as visit:
            async with visit.client.get("/console/search", headers=PAGE) as response:
                assert response.status == 500
                assert "Something broke here" in await response.text()
            await visit.see("/overview")
    assert said["id"] in {r.__dict__.get("id") for r in caplog.records}
