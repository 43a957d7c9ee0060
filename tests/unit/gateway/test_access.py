"""Who may talk to the bot (CHN-1): default deny, by stable ids, with a code that an operator approves."""

import datetime as dt
import re

import pytest

from gateway.people.access import (
    PAIRING_HOURS,
    UnknownCode,
    Verdict,
    approve,
    people,
    revoke,
)
from gateway.settings.access import Access
from gateway.storage.db import Database
from tests.harness import judged
from tests.house import on_sqlite

pytestmark = pytest.mark.statements

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
PAIRING = Access()
STRANGER = "telegram:5"


async def asks(
    db: Database, person: str = STRANGER, policy: Access = PAIRING, hours: float = 0.0
) -> Verdict:
    at = NOW + dt.timedelta(hours=hours)
    return await db.write(lambda conn: judged(conn, policy, person, "Mallory", at))


async def test_a_stranger_gets_one_code_and_keeps_it(db: Database) -> None:
    first, second = await asks(db), await asks(db, hours=1)
    assert not first.allowed
    assert first.code == second.code
    assert re.fullmatch(r"[A-HJ-NP-Z]{4}-\d{4}", first.code or "")


async def test_a_code_ends_and_another_is_made(db: Database) -> None:
    old = (await asks(db)).code
    later = NOW + dt.timedelta(hours=PAIRING_HOURS)
    with pytest.raises(UnknownCode, match=str(old)):
        await db.write(lambda conn: approve(conn, str(old), later))
    assert (await asks(db, hours=PAIRING_HOURS)).code != old


async def test_a_code_opens_the_person_it_names_once(db: Database) -> None:
    """openclaw#17631."""
    code = str((await asks(db)).code)
    await asks(db, "telegram:6")
    row = await db.write(lambda conn: approve(conn, f" {code.lower()} ", NOW))
    assert row == {"id": STRANGER, "name": "Mallory", "access": "allowed"}
    assert (await asks(db)).allowed
    assert not (await asks(db, "telegram:6")).allowed
    assert not (await asks(db, "slack:5")).allowed
    with pytest.raises(UnknownCode):
        await db.write(lambda conn: approve(conn, code, NOW))


@on_sqlite
async def test_an_unknown_code_says_what_to_do(db: Database) -> None:
    with pytest.raises(UnknownCode, match="writes again for a new one"):
        await db.write(lambda conn: approve(conn, "ABCD-1234", NOW))


@on_sqlite
@pytest.mark.parametrize("policy", [Access(allow=(STRANGER,)), Access(operators=(STRANGER,))])
async def test_whom_the_settings_name_is_in(db: Database, policy: Access) -> None:
    assert (await asks(db, policy=policy)).allowed
    assert not (await asks(db, "telegram:6", policy)).allowed


@on_sqlite
async def test_deny_makes_no_code_and_no_row(db: Database) -> None:
    assert await asks(db, policy=Access(default="deny")) == Verdict(False)
    assert await db.read(lambda conn: people(conn, NOW)) == []


@on_sqlite
async def test_allow_lets_in_and_remembers(db: Database) -> None:
    assert (await asks(db, policy=Access(default="allow"))).allowed
    assert [p["id"] for p in await db.read(lambda conn: people(conn, NOW))] == [STRANGER]


@on_sqlite
@pytest.mark.parametrize("person", ["web:me", "terminal:me"])
async def test_who_is_on_this_machine_is_in(db: Database, person: str) -> None:
    assert (await asks(db, person, Access(default="deny"))).allowed
    assert not (await asks(db, "website:me", Access(default="deny"))).allowed


@on_sqlite
@pytest.mark.parametrize(
    "policy",
    [PAIRING, Access(default="allow"), Access(allow=(STRANGER,)), Access(operators=(STRANGER,))],
)
async def test_a_revoked_person_is_out_whatever_else_says(db: Database, policy: Access) -> None:
    await asks(db, policy=Access(default="allow"))
    assert await db.write(lambda conn: revoke(conn, STRANGER))
    assert await asks(db, policy=policy) == Verdict(False)
    assert not await db.write(lambda conn: revoke(conn, "telegram:999"))


async def test_operators_see_who_is_in_and_who_waits(db: Database) -> None:
    await asks(db, "telegram:6", Access(default="allow"))
    code = (await asks(db)).code
    assert await db.read(lambda conn: people(conn, NOW)) == [
        {"id": "telegram:6", "name": "Mallory", "access": "allowed", "code": ""},
        {"id": STRANGER, "name": "Mallory", "access": "pairing", "code": code},
    ]
    later = NOW + dt.timedelta(hours=PAIRING_HOURS)
    assert len(await db.read(lambda conn: people(conn, later))) == 1
