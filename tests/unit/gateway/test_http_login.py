from collections.abc import AsyncIterator

import aiohttp
import pytest

from gateway.http.tries import TRIES
from tests.browser.memory_host import Gateway


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    await gateway.start()
    yield gateway
    await gateway.stop()


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[aiohttp.ClientSession]:
    jar = aiohttp.CookieJar(unsafe=True)
    headers = {"Origin": gateway.url}
    async with aiohttp.ClientSession(gateway.url, cookie_jar=jar, headers=headers) as client:
        yield client


async def test_the_page_asks_for_a_login_and_the_interface_answers_401(
    client: aiohttp.ClientSession,
) -> None:
    async with client.get("/") as response:
        assert response.url.path == "/login"
        assert "One-time code" in await response.text()
    async with client.get("/chat/sessions") as response:
        assert response.status == 401
        assert (await response.json())["error"] == "logged_out"


async def test_a_code_opens_the_page_once(gateway: Gateway, client: aiohttp.ClientSession) -> None:
    code = await gateway.code()
    for _ in range(2):  # a link preview follows the address and uses nothing up
        async with client.get("/login", params={"code": code}) as response:
            assert code in await response.text()
    async with client.post("/login", data={"code": code}, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (303, "/")
        cookie = response.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert code not in cookie
    async with client.get("/chat/sessions") as response:
        assert (await response.json())["person"] == "alice"
    async with aiohttp.ClientSession(gateway.url) as other:
        data, headers = {"code": code}, {"Origin": gateway.url}
        async with other.post("/login", data=data, headers=headers) as response:
            assert response.status == 401
            assert "used already" in await response.text()


async def test_logging_out_ends_the_cookie(gateway: Gateway, client: aiohttp.ClientSession) -> None:
    await client.post("/login", data={"code": await gateway.code()})
    async with client.post("/logout") as response:
        assert response.url.path == "/login"
        (left,) = response.history
        assert (
            left.headers["Clear-Site-Data"] == '"cache", "storage"'
        )  # drafts and pictures go, too
    async with client.get("/chat/sessions") as response:
        assert response.status == 401


async def test_another_sites_form_cannot_log_in(gateway: Gateway) -> None:
    headers = {"Origin": "https://evil.example.net"}
    async with (
        aiohttp.ClientSession(gateway.url) as client,
        client.post("/login", data={"code": await gateway.code()}, headers=headers) as response,
    ):
        assert response.status == 403


async def test_too_many_wrong_codes_have_to_wait(client: aiohttp.ClientSession) -> None:
    for _ in range(TRIES):
        await client.post("/login", data={"code": "AAAA-AAAA-AAAA"})
    async with client.post("/login", data={"code": "AAAA-AAAA-AAAA"}) as response:
        assert response.status == 429
        assert int(response.headers["Retry-After"]) > 0


async def test_a_new_code_is_printed_but_not_shown_and_not_too_often(
    gateway: Gateway, client: aiohttp.ClientSession
) -> None:
    async with client.post("/login/again") as response:
        assert response.status == 200
        (code,) = gateway.printed
        assert code not in await response.text()
    async with client.post("/login/again") as response:
        assert response.status == 429
    assert len(gateway.printed) == 1
    async with client.post("/login", data={"code": code}) as response:
        assert response.url.path == "/"


async def test_the_code_in_the_address_cannot_carry_markup(client: aiohttp.ClientSession) -> None:
    async with client.get("/login", params={"code": '"><script>alert(1)</script>'}) as response:
        assert "<script>alert" not in await response.text()


async def test_the_form_speaks_the_persons_language(client: aiohttp.ClientSession) -> None:
    async with client.get("/login", headers={"Accept-Language": "zh-CN,zh;q=0.9"}) as response:
        assert "一次性代码" in await response.text()
