"""One-time codes and cookies of the web chat, at every replica and across restarts."""

import asyncio
import datetime as dt
import stat
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from gateway.http.auth import (
    CODE_TIME,
    COOKIE_SECONDS,
    CookieSessions,
    OneTimeCodes,
    load_secret,
)
from gateway.http.passes import MAX_CODES, Passes, StoredPasses
from gateway.http.tries import TRIES, TRY_SECONDS, TooManyTries
from gateway.storage.db import Database
from tests.twins.passes import MemoryPasses


class Time:
    """A clock of which the test is the hand."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.at, dt.UTC)

    def monotonic(self) -> float:
        return self.at


class Doors:
    """Codes and cookies of one gateway; two of them on one database are two replicas."""

    def __init__(
        self, passes: Passes, clock: Time, *, secret: bytes = b"k" * 32, url: str | None = None
    ) -> None:
        self.codes = OneTimeCodes(passes, clock, monotonic=clock.monotonic)
        self.cookies = CookieSessions(secret, passes, clock, public_url=url)


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def doors(clock: Time) -> Doors:
    return Doors(MemoryPasses(), clock)


async def test_a_code_is_read_as_people_type_it(doors: Doors) -> None:
    code = await doors.codes.issue("alice")
    typed = f"  {code.lower().replace('-', ' ')} "
    assert await doors.codes.redeem(typed, "1.2.3.4") == "alice"


async def test_wrong_codes_are_rate_limited_per_address_and_the_right_one_then_waits(
    doors: Doors, clock: Time
) -> None:
    code = await doors.codes.issue("alice")
    for _ in range(TRIES):
        assert await doors.codes.redeem("AAAA-AAAA-AAAA", "6.6.6.6") is None
    with pytest.raises(TooManyTries) as caught:
        await doors.codes.redeem(code, "6.6.6.6")
    assert 0 < caught.value.retry_after <= TRY_SECONDS
    assert await doors.codes.redeem(code, "1.2.3.4") == "alice", "another address is not held up"
    clock.at += TRY_SECONDS + 1
    assert await doors.codes.redeem("AAAA-AAAA-AAAA", "6.6.6.6") is None


async def test_wrong_codes_from_many_addresses_are_limited_together(doors: Doors) -> None:
    for n in range(TRIES * 10):
        await doors.codes.redeem("AAAA-AAAA-AAAA", f"10.0.{n // 250}.{n % 250}")
    with pytest.raises(TooManyTries):
        await doors.codes.redeem("AAAA-AAAA-AAAA", "1.2.3.4")


async def test_a_code_of_one_replica_logs_its_person_in_at_another_once(
    db: Database, clock: Time
) -> None:
    here, there = Doors(StoredPasses(db), clock), Doors(StoredPasses(db), clock)
    code = await here.codes.issue("alice")
    both = [d.codes.redeem(code, "1.2.3.4") for d in (here, there)]
    assert sorted(await asyncio.gather(*both), key=str) == [None, "alice"]
    rows = await db.read(lambda conn: list(conn.exec_driver_sql("select * from web_code")))
    assert not rows


async def test_a_code_is_good_for_ten_minutes(db: Database, clock: Time) -> None:
    codes = Doors(StoredPasses(db), clock).codes
    early, late = await codes.issue("alice"), await codes.issue("alice")
    clock.at += CODE_TIME.total_seconds() - 1
    assert await codes.redeem(early, "1.2.3.4") == "alice"
    clock.at += 1
    assert await codes.redeem(late, "1.2.3.4") is None


async def test_the_oldest_of_too_many_codes_gives_way(db: Database, clock: Time) -> None:
    codes = Doors(StoredPasses(db), clock).codes
    first = await codes.issue("alice")
    rest = []
    for _ in range(MAX_CODES):
        clock.at += 1
        rest.append(await codes.issue("alice"))
    assert await codes.redeem(first, "1.2.3.4") is None
    assert await codes.redeem(rest[0], "1.2.3.4") == "alice"


async def test_who_reads_the_table_of_codes_is_not_let_in(db: Database, clock: Time) -> None:
    codes = Doors(StoredPasses(db), clock).codes
    code = await codes.issue("alice")
    rows = await db.read(lambda conn: list(conn.exec_driver_sql("select * from web_code")))
    assert code.replace("-", "") not in str(rows)
    assert await codes.redeem(rows[0].id, "1.2.3.4") is None


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


def begun(doors: Doors, person: str, host: str = "localhost:8080") -> tuple[str, str]:
    """The cookie of a log-in."""
    response = web.Response()
    doors.cookies.begin(asking(host=host), response, person)
    return cookie_of(response)


async def test_a_cookie_names_its_person_across_restarts_for_thirty_days(
    doors: Doors, clock: Time
) -> None:
    cookie = begun(doors, "爱丽丝:1")
    after_restart = Doors(MemoryPasses(), clock)
    assert await after_restart.cookies.person(asking(cookie)) == "爱丽丝:1"
    clock.at += COOKIE_SECONDS
    assert await after_restart.cookies.person(asking(cookie)) is None


@pytest.mark.parametrize("change", [lambda v: "x" + v, lambda v: v[:-2] + "xx", lambda v: "a.b.c"])
async def test_a_changed_cookie_is_refused(doors: Doors, clock: Time, change) -> None:
    name, value = begun(doors, "alice")
    assert await doors.cookies.person(asking((name, change(value)))) is None
    other = Doors(MemoryPasses(), clock, secret=b"o" * 32)
    assert await other.cookies.person(asking((name, value))) is None
    assert await doors.cookies.person(asking((name, "\xe4.1.2.3"))) is None


async def test_a_logged_out_cookie_is_refused_at_every_replica_and_other_cookies_stay(
    db: Database, clock: Time
) -> None:
    here, there = Doors(StoredPasses(db), clock), Doors(StoredPasses(db), clock)
    ended, held = begun(here, "alice"), begun(here, "alice")
    await here.cookies.end(asking(ended), web.Response())
    await here.cookies.end(asking(ended), web.Response())
    assert await there.cookies.person(asking(ended)) is None
    assert await there.cookies.person(asking(held)) == "alice"


async def test_what_was_logged_out_is_forgotten_when_its_time_is_over(
    db: Database, clock: Time
) -> None:
    doors = Doors(StoredPasses(db), clock)
    await doors.cookies.end(asking(begun(doors, "alice")), web.Response())
    clock.at += COOKIE_SECONDS + 1
    later = begun(doors, "alice")
    await doors.cookies.end(asking(later), web.Response())
    rows = await db.read(lambda conn: list(conn.exec_driver_sql("select id from web_ended")))
    assert [row.id for row in rows] == [later[1].split(".")[2]]


def test_the_cookie_is_secure_under_a_public_https_address(clock: Time) -> None:
    doors = Doors(MemoryPasses(), clock, url="https://chat.example.org")
    response = web.Response()
    doors.cookies.begin(asking(host="chat.example.org"), response, "alice")
    (morsel,) = response.cookies.values()
    assert morsel.key == "__Host-swarmgate"
    assert morsel["secure"]
    assert morsel["httponly"]
    assert morsel["samesite"] == "Strict"


async def test_two_gateways_on_one_machine_do_not_share_a_cookie(doors: Doors) -> None:
    cookie = begun(doors, "alice")
    assert cookie[0] == "swarmgate-8080"
    assert await doors.cookies.person(asking(cookie, host="localhost:8081")) is None
