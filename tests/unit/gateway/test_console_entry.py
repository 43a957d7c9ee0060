"""Who gets into the console, as what, and who does not."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.http.tries import TRIES
from tests.unit.gateway.console_house import (
    ADMIN,
    OF,
    ConsoleHouse,
    console_house,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleHouse]:
    """One for all who do not change it for others."""
    async with console_house(tmp_path_factory.mktemp("console")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def own_house(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    async with console_house(tmp_path) as made:
        yield made


async def test_without_a_login_loopback_sees_the_form_and_nothing_else(house: ConsoleHouse) -> None:
    async with house.browser() as client:
        async with client.get("/console/approvals?x=1", allow_redirects=False) as response:
            assert response.status == 303
            assert response.headers["Location"] == "/console/login?next=/console/approvals%3Fx%3D1"
        async with client.get("/console/events") as response:
            assert response.status == 401
        async with client.post("/console/halt", data={"form": "", "reason": "x"}) as response:
            assert response.status == 401
        async with client.get("/api/v1/overview") as response:
            assert response.status == 401
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
            assert (await response.json())["error"] == "unauthorized"
        async with client.get("/api/v1/openapi.json") as response:
            assert response.status == 401


async def test_a_token_opens_a_session_whose_cookie_scripts_and_other_sites_cannot_use(
    house: ConsoleHouse,
) -> None:
    async with (
        house.browser() as client,
        client.post("/console/login", data={"token": ADMIN}, allow_redirects=False) as response,
    ):
        assert response.status == 303
        assert response.headers["Location"] == "/console"
        cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ADMIN not in cookie
    assert "Secure" not in cookie, "plain http on loopback would lose it"
    rows = await house.core.db.read(
        lambda conn: list(conn.exec_driver_sql("select * from console_session"))
    )
    value = cookie.partition("=")[2].partition(";")[0]
    assert rows
    assert value not in str(rows), "the table must open nothing"


@pytest.mark.slow
async def test_behind_tls_the_cookie_is_secure(tmp_path: Path) -> None:
    http = {"console_token": ADMIN, "public_url": "https://desk.example.org"}
    async with console_house(tmp_path, http=http) as house, house.browser() as client:
        headers = {"Host": "desk.example.org", "Origin": "https://desk.example.org"}
        async with client.post(
            "/console/login", data={"token": ADMIN}, headers=headers, allow_redirects=False
        ) as response:
            cookie = response.headers["Set-Cookie"]
    assert cookie.startswith("__Host-swarmgate-console=")
    assert "Secure" in cookie


@pytest.mark.parametrize(
    "next_page",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/consolex",
        "/console\r\nX: y",
        "/console/login?next=/console/login",
    ],
)
async def test_a_login_leads_to_no_other_site(house: ConsoleHouse, next_page: str) -> None:
    async with (
        house.browser() as client,
        client.post(
            "/console/login", data={"token": ADMIN, "next": next_page}, allow_redirects=False
        ) as response,
    ):
        assert response.headers["Location"] == "/console"


@pytest.mark.slow
async def test_guessing_is_slowed_down_also_for_who_then_guesses_right(
    own_house: ConsoleHouse,
) -> None:
    async with own_house.browser() as client:
        for _ in range(TRIES):
            async with client.post("/console/login", data={"token": "wrong"}) as response:
                assert response.status == 401
                assert "opens nothing" in await response.text()
        async with client.post("/console/login", data={"token": ADMIN}) as response:
            assert response.status == 429
            assert int(response.headers["Retry-After"]) > 0
        async with client.get(
            "/api/v1/overview", headers={"Authorization": f"Bearer {ADMIN}"}
        ) as response:
            assert response.status == 429


async def test_a_token_in_an_address_opens_nothing(house: ConsoleHouse) -> None:
    async with house.browser() as client:
        for path in (f"/console?token={ADMIN}", f"/console/login?token={ADMIN}"):
            async with client.get(path) as response:
                assert 'name="token"' in await response.text()
        async with client.get(f"/api/v1/overview?token={ADMIN}") as response:
            assert response.status == 401


@pytest.mark.parametrize(
    ("role", "halts"), [("viewer", False), ("operator", True), ("admin", True)]
)
async def test_roles_are_held_on_pages_and_in_the_api(
    house: ConsoleHouse, role: str, halts: bool
) -> None:
    async with house.program("admin") as client, client.post("/api/v1/resume") as response:
        assert response.status == 200
    async with house.visit(role) as visit:
        page = await visit.see("")
        assert ("Halt trading" in page) is halts
        said = await visit.do("/halt", reason="a test")
        assert ("Trading is halted. Cancelled at once: 0" in said) is halts
        assert ("This needs the role operator" in said) is not halts
    async with house.program(role) as client:
        async with client.post("/api/v1/halt", json={"reason": "again"}) as response:
            assert response.status == (200 if halts else 403)
        async with client.get("/api/v1/overview") as response:
            assert (await response.json())["switch"]["halted"] is halts


async def test_a_form_of_another_site_changes_nothing(house: ConsoleHouse) -> None:
    async with house.visit("admin") as visit:
        data = {"reason": "forged", "back": "/console"}
        for form in ("", "0" * 64):
            async with visit.client.post("/console/halt", data=data | {"form": form}) as response:
                assert response.status == 403
        evil = {"Origin": "https://evil.example"}
        async with visit.client.post(
            "/console/halt", data=data | {"form": visit.form}, headers=evil
        ) as response:
            assert response.status == 403
        async with visit.client.post("/api/v1/halt", json={}) as response:
            assert (response.status, (await response.json())["error"]) == (403, "forged")
        async with visit.client.post(
            "/api/v1/halt", json={}, headers={"X-Console-Form": visit.form}
        ) as response:
            assert response.status == 200


async def test_logging_out_ends_the_session_for_whoever_kept_its_cookie(
    house: ConsoleHouse,
) -> None:
    async with house.visit("operator") as visit:
        kept = {c.key: c.value for c in visit.client.cookie_jar}
        async with visit.client.post(
            "/console/logout", data={"form": visit.form}, allow_redirects=False
        ) as response:
            assert response.headers["Location"] == "/console/login"
    async with (
        house.browser(**kept) as client,
        client.get("/console", allow_redirects=False) as response,
    ):
        assert response.status == 303


@pytest.mark.slow
async def test_another_token_under_the_same_name_ends_old_sessions(tmp_path: Path) -> None:
    async with console_house(tmp_path) as house, house.visit("operator") as visit:
        kept = [(c.key, c.value) for c in visit.client.cookie_jar]
    tokens = {"bob": {"token": "bob-other-0123456789abcdef", "role": "admin"}}
    async with console_house(tmp_path, console={"tokens": tokens}) as house:
        value = kept[0][1]
        name = f"swarmgate-console-{house.url.rpartition(':')[2]}"
        async with (
            house.browser(**{name: value}) as client,
            client.get("/console", allow_redirects=False) as response,
        ):
            assert response.status == 303


PROXY = {"header": "X-Forwarded-User", "addresses": ["127.0.0.0/8"], "users": {"alice": "operator"}}


@pytest.mark.slow
async def test_a_listed_proxy_names_who_comes_in(tmp_path: Path) -> None:
    async with (
        console_house(tmp_path, console={"proxy": PROXY}) as house,
        house.browser() as client,
    ):
        alice = {"X-Forwarded-User": "alice"}
        async with client.get("/console", headers=alice) as response:
            text = await response.text()
            assert "alice" in text
            assert "Halt trading" in text
        async with client.get("/console", allow_redirects=False) as response:
            assert response.status == 303, (
                "the cookie alone, without the proxy's word, is not enough"
            )
        client.cookie_jar.clear()
        async with client.get("/console", headers={"X-Forwarded-User": "bob"}) as response:
            assert 'name="token"' in await response.text()


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [PROXY | {"header": None}, PROXY | {"addresses": ["10.0.0.0/8"]}])
async def test_a_header_that_nobody_vouches_for_is_not_believed(
    tmp_path: Path, proxy: dict[str, object]
) -> None:
    async with (
        console_house(tmp_path, console={"proxy": proxy}) as house,
        house.browser() as client,
        client.get("/console", headers={"X-Forwarded-User": "alice"}) as response,
    ):
        assert 'name="token"' in await response.text()


async def test_pages_run_no_inline_script_and_are_not_kept(house: ConsoleHouse) -> None:
    async with house.visit("viewer") as visit, visit.client.get("/console") as response:
        text = await response.text()
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        assert response.headers["Cache-Control"] == "no-store"
    assert "<script>" not in text
    assert " style=" not in text
    assert " onclick=" not in text
    assert OF["viewer"] not in text
