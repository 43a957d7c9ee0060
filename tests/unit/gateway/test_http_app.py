from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from gateway.http.app import CannotListen, HttpServer, PortInUse


async def hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


@asynccontextmanager
async def serving(**options: object) -> AsyncIterator[tuple[HttpServer, aiohttp.ClientSession]]:
    routes = [
        web.get("/page", hello),
        web.post("/page", hello),
        web.post("/webhooks/telegram", hello),
    ]
    host = str(options.pop("host", "127.0.0.1"))
    server = HttpServer(host, 0, routes=routes, **options)  # type: ignore[arg-type]
    await server.start()
    try:
        async with aiohttp.ClientSession(server.local_url) as client:
            yield server, client
    finally:
        await server.stop()


async def test_every_answer_carries_the_security_headers() -> None:
    async with serving() as (_, client):
        for path in ("/page", "/nothing"):
            async with client.get(path) as response:
                policy = response.headers["Content-Security-Policy"]
                assert "script-src 'self'" in policy
                assert "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1234", 200),
        ("127.0.0.1", 200),
        ("[::1]:99", 200),
        ("chat.example.org", 200),
        ("evil.example.net", 403),
        ("chat.example.org.evil.net", 403),
        ("localhost:bad", 403),
        ("192.168.1.5:8080", 403),
    ],
)
async def test_foreign_names_are_refused_against_dns_rebinding(host: str, status: int) -> None:
    async with (
        serving(public_url="https://chat.example.org") as (_, client),
        client.get("/page", headers={"Host": host}) as response,
    ):
        assert response.status == status
        if status == 403:
            assert (await response.json())["error"] == "host"


async def test_a_server_on_all_addresses_takes_any_address_but_no_foreign_name() -> None:
    async with serving(host="0.0.0.0") as (_, client):
        async with client.get("/page", headers={"Host": "192.168.1.5:8080"}) as response:
            assert response.status == 200
        async with client.get("/page", headers={"Host": "evil.example.net:8080"}) as response:
            assert response.status == 403


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/page", {"Origin": "http://localhost:8080"}, 200),
        ("POST", "/page", {"Origin": "https://chat.example.org"}, 200),
        ("POST", "/page", {}, 403),
        ("POST", "/page", {"Origin": "null"}, 403),
        ("POST", "/page", {"Origin": "http://localhost:3000"}, 403),
        ("POST", "/page", {"Origin": "https://evil.example.net"}, 403),
        ("POST", "/webhooks/telegram", {}, 200),
        ("POST", "/webhooks/telegram", {"Origin": "https://evil.example.net"}, 403),
        ("GET", "/page", {}, 200),
        ("GET", "/page", {"Origin": "https://evil.example.net"}, 403),
        ("GET", "/page", {"Sec-Fetch-Site": "same-origin"}, 200),
        ("GET", "/page", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403),
        ("GET", "/page", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ("GET", "/page", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
    ],
)
async def test_requests_of_other_sites_pages_are_refused(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    async with serving(public_url="https://chat.example.org") as (_, client):
        wanted = {"Host": "localhost:8080", **headers}
        async with client.request(method, path, headers=wanted) as response:
            assert response.status == status


async def test_a_port_in_use_is_one_clear_error() -> None:
    async with serving() as (server, _):
        port = int(server.local_url.rsplit(":", 1)[1])
        with pytest.raises(PortInUse, match=rf"127\.0\.0\.1:{port}.*http\.port"):
            await HttpServer("127.0.0.1", port).start()


async def test_an_address_that_is_not_here_is_one_clear_error() -> None:
    with pytest.raises(CannotListen, match=r"203\.0\.113\.9"):
        await HttpServer("203.0.113.9", 0).start()


async def test_the_url_is_the_public_one_or_where_it_listens() -> None:
    async with serving(public_url="https://chat.example.org/") as (server, _):
        assert server.url == "https://chat.example.org"
        assert server.local_url.startswith("http://127.0.0.1:")
