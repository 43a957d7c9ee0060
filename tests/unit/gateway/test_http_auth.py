import stat
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from gateway.http.auth import (
    CODE_SECONDS,
    COOKIE_SECONDS,
    MAX_CODES,
    CookieSessions,
    OneTimeCodes,
    load_secret,
)
from gateway.http.tries import TRIES, TRY_SECONDS, TooManyTries


class Time:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_code_logs_its_person_in_once() -> None:
    codes = OneTimeCodes()
    code = codes.issue("alice")
    assert codes.redeem(code, "1.2.3.4") == "alice"
    assert codes.redeem(code, "1.2.3.4") is None


def test_a_code_is_read_as_people_type_it() -> None:
    codes = OneTimeCodes()
    code = codes.issue("alice")
    assert codes.redeem(f"  {code.lower().replace('-', ' ')} ", "1.2.3.4") == "alice"


def test_a_code_is_good_for_ten_minutes() -> None:
    time = Time()
    codes = OneTimeCodes(monotonic=time)
    early, late = codes.issue("alice"), codes.issue("alice")
    time.now += CODE_SECONDS - 1
    assert codes.redeem(early, "1.2.3.4") == "alice"
    time.now += 1
    assert codes.redeem(late, "1.2.3.4") is None


def test_wrong_codes_are_rate_limited_per_address_and_the_right_one_then_waits() -> None:
    time = Time()
    codes = OneTimeCodes(monotonic=time)
    code = codes.issue("alice")
    for _ in range(TRIES):
        assert codes.redeem("AAAA-AAAA-AAAA", "6.6.6.6") is None
    with pytest.raises(TooManyTries) as caught:
        codes.redeem(code, "6.6.6.6")
    assert 0 < caught.value.retry_after <= TRY_SECONDS
    assert codes.redeem(code, "1.2.3.4") == "alice", "another address is not held up"
    time.now += TRY_SECONDS + 1
    assert codes.redeem("AAAA-AAAA-AAAA", "6.6.6.6") is None


def test_wrong_codes_from_many_addresses_are_limited_together() -> None:
    codes = OneTimeCodes()
    for n in range(TRIES * 10):
        codes.redeem("AAAA-AAAA-AAAA", f"10.0.{n // 250}.{n % 250}")
    with pytest.raises(TooManyTries):
        codes.redeem("AAAA-AAAA-AAAA", "1.2.3.4")


def test_the_oldest_of_too_many_codes_gives_way() -> None:
    codes = OneTimeCodes()
    first = codes.issue("alice")
    rest = [codes.issue("alice") for _ in range(MAX_CODES)]
    assert codes.redeem(first, "1.2.3.4") is None
    assert codes.redeem(rest[0], "1.2.3.4") == "alice"


def test_the_secret_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "web-secret"
    secret = load_secret(path)
    assert len(secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert load_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_secret_that_a_crash_cut_off_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "web-secret"
    path.write_bytes(b"half")
    assert len(load_secret(path)) == 32


def cookie_of(response: web.Response) -> tuple[str, str]:
    (morsel,) = response.cookies.values()
    return morsel.key, morsel.value


def asking(cookie: tuple[str, str] | None = None, host: str = "localhost:8080") -> web.Request:
    headers = {"Host": host}
    if cookie:
        headers["Cookie"] = f"{cookie[0]}={cookie[1]}"
    return make_mocked_request("GET", "/", headers=headers)


def test_a_cookie_names_its_person_across_restarts_for_thirty_days() -> None:
    time = Time()
    response = web.Response()
    CookieSessions(b"k" * 32, now=time).begin(asking(), response, "爱丽丝:1")
    cookie = cookie_of(response)
    after_restart = CookieSessions(b"k" * 32, now=time)
    assert after_restart.person(asking(cookie)) == "爱丽丝:1"
    time.now += COOKIE_SECONDS
    assert after_restart.person(asking(cookie)) is None


@pytest.mark.parametrize("change", [lambda v: "x" + v, lambda v: v[:-2] + "xx", lambda v: "a.b.c"])
def test_a_changed_cookie_is_refused(change) -> None:
    sessions = CookieSessions(b"k" * 32)
    response = web.Response()
    sessions.begin(asking(), response, "alice")
    name, value = cookie_of(response)
    assert sessions.person(asking((name, change(value)))) is None
    assert CookieSessions(b"o" * 32).person(asking((name, value))) is None
    assert sessions.person(asking((name, "\xe4.1.2.3"))) is None


def test_a_logged_out_cookie_is_refused_and_other_cookies_stay() -> None:
    sessions = CookieSessions(b"k" * 32)
    cookies = []
    for _ in range(2):
        response = web.Response()
        sessions.begin(asking(), response, "alice")
        cookies.append(cookie_of(response))
    sessions.end(asking(cookies[0]), web.Response())
    assert sessions.person(asking(cookies[0])) is None
    assert sessions.person(asking(cookies[1])) == "alice"


def test_the_cookie_is_secure_under_a_public_https_address() -> None:
    sessions = CookieSessions(b"k" * 32, public_url="https://chat.example.org")
    response = web.Response()
    sessions.begin(asking(host="chat.example.org"), response, "alice")
    (morsel,) = response.cookies.values()
    assert morsel.key == "__Host-swarmgate"
    assert morsel["secure"]
    assert morsel["httponly"]
    assert morsel["samesite"] == "Strict"


def test_two_gateways_on_one_machine_do_not_share_a_cookie() -> None:
    sessions = CookieSessions(b"k" * 32)
    response = web.Response()
    sessions.begin(asking(host="localhost:8080"), response, "alice")
    assert cookie_of(response)[0] == "swarmgate-8080"
    assert sessions.person(asking(cookie_of(response), host="localhost:8081")) is None
