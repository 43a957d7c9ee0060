"""Roles of people: given by an admin in the console, within what the settings allow, and noted in the audit."""

import datetime as dt
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest_asyncio
from sqlalchemy import Connection

from agent_core.approvals import Rule
from gateway.people import access, roles
from gateway.settings.access import Access
from gateway.storage.db import Database
from tests.harness import judged
from tests.unit.gateway.asking import PAY
from tests.unit.gateway.console_house import ConsoleHouse, console_house, on
from tests.unit.gateway.test_approval_rules import pay, press, ruled

NOW = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
RULES: dict[str, Any] = {
    "operators": ["telegram:9"],
    "roles": {"pm": {"members": ["telegram:5"]}, "trader": {"models": ["demo"]}},
}


@pytest_asyncio.fixture
async def house(tmp_path: Path, database_url: str) -> AsyncIterator[ConsoleHouse]:
    async with console_house(tmp_path, access=RULES, **on(database_url)) as house:
        for person in ("telegram:1", "telegram:5"):
            await house.core.db.write(partial(_known, person=person))
        yield house


def _known(conn: Connection, person: str) -> None:
    judged(conn, Access(default="allow"), person, "Alice", NOW)


async def give(house: ConsoleHouse, who: str, person: str, role: str) -> tuple[int, dict[str, Any]]:
    path = f"/api/v1/people/{person}/role"
    async with house.program(who) as client, client.post(path, json={"role": role}) as response:
        return response.status, await response.json()


async def test_an_admin_gives_a_role_and_the_audit_says_who_changed_what(
    house: ConsoleHouse,
) -> None:
    async with house.visit("admin") as visit:
        page = await visit.see("/people/telegram%3A1")
        assert '<option value="trader"' in page
        assert "operator</option>" not in page
        said = await visit.do("/people/telegram%3A1/role", role="trader")
        assert "telegram:1 has the role trader now." in said
        assert ">trader</td>" in await visit.see("/people")
        assert "user → trader" in await visit.see("/access")
    async with house.visit("operator") as visit:
        assert "/role" not in await visit.see("/people/telegram%3A1")
        refused = await visit.do("/people/telegram%3A1/role", role="user")
        assert "This needs the role admin" in refused
    held = await house.core.db.read(
        lambda conn: roles.role_of(conn, house.settings.access, "telegram:1")
    )
    assert held == "trader"


async def test_the_settings_stay_the_owner_of_roles(house: ConsoleHouse) -> None:
    """Nobody becomes an operator by the console, and whom the settings name has the role that they say."""
    for role in ("operator", "owner"):
        status, said = await give(house, "admin", "telegram:1", role)
        assert (status, said["error"]) == (409, "no_such_role")
    status, said = await give(house, "admin", "telegram:5", "trader")
    assert (status, said["error"]) == (409, "named")
    assert (await give(house, "admin", "telegram:77", "trader"))[0] == 404
    assert (await give(house, "operator", "telegram:1", "trader"))[0] == 403
    async with house.visit("admin") as visit:
        assert "the role is changed there" in await visit.see("/people/telegram%3A5")


async def test_a_role_counts_only_while_the_settings_have_it(house: ConsoleHouse) -> None:
    assert (await give(house, "admin", "telegram:1", "trader"))[0] == 200
    rules = house.settings.access
    named = rules.model_copy(update={"operators": ("telegram:1",)})
    without = rules.model_copy(update={"roles": {}})

    def seen(conn: Connection) -> list[str]:
        return [roles.role_of(conn, access, "telegram:1") for access in (rules, named, without)]

    assert await house.core.db.read(seen) == ["trader", "operator", "user"]

    def held(conn: Connection) -> list[str]:
        access.revoke(conn, "telegram:1")
        return list(roles.members(conn, rules, "trader"))

    assert await house.core.db.write(held) == [], "whoever is shut out decides nothing"


async def test_a_given_role_may_approve_what_its_rule_asks_for(db: Database) -> None:
    by_pm = Rule("pay", by=("role:pm",), not_requester=True, where="ops_channel")
    async with ruled(db, PAY, "paid", by=(by_pm,)) as it:
        await pay(it)
        await press(it, "ok:1", 2)
        assert it.tools.calls == [], "without the role the yes counts for nothing"
        await db.write(lambda conn: roles.give(conn, "telegram:2", "pm"))
        await press(it, "ok:1", 2)
        assert it.tools.calls == [("pay", "bob 3")]
