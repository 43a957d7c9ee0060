"""A person's own profiles of symbols reach tools in private alone (DESIGN 3; CRD-2; RMB-2)."""

import datetime as dt
import json
from typing import Any

from agent_core.book import Profile
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.profiles import profile_tools
from agent_core.tools.spec import ToolContext
from gateway.memory.own_profiles import StoredProfiles
from gateway.storage.db import Database
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server
from tests.harness import ALICE, BOB
from tests.house import House

__all__ = ["database_url", "db", "postgres_server"]
AT = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
GROUP: dict[str, Any] = {"chat": "-5", "private": False}


def kept(symbol: str, text: str, credibility: str = "logic tool") -> Profile:
    return Profile(symbol, text, AT, signal="hold", source="backtest", credibility=credibility)


async def last_turn(house: House, chat: str) -> int:
    query = f"select max(t.id) from turn t join inbox i on i.id = t.id where i.conversation_id = 'telegram:777:{chat}'"
    return int(await house.one(query))


async def test_own_profiles_are_read_in_private_and_never_in_a_group(db: Database) -> None:
    book, profiles = StoredPortfolio(db), StoredProfiles(db)
    async with House(db, ["one", "two"]) as house:
        await house.ask("hello")
        await house.ask("hello group", **GROUP)
        await book.put(ALICE, kept("GOOG", "alice's own"))
        await book.put(ALICE, kept("IBM", "of another symbol"))
        await book.put(BOB, kept("GOOG", "bob's own"))
        here = await profiles.profiles(ALICE, await last_turn(house, "1"), ["GOOG", "MSFT"])
        assert [profile.text for profile in here] == ["alice's own"]
        assert await profiles.profiles(ALICE, await last_turn(house, "-5"), ["GOOG"]) == []
        assert await profiles.profiles(ALICE, 999_999, ["GOOG"]) == []


class Shelf:
    """Profiles in memory."""

    def __init__(self, *held: Profile) -> None:
        self.held = held

    async def profiles(self, owner: str, turn_id: int, symbols: object) -> tuple[Profile, ...]:
        return self.held


class Still:
    """A clock that stands."""

    def now(self) -> dt.datetime:
        return AT

    def monotonic(self) -> float:
        return 0.0


async def answer(*held: Profile, as_of: dt.date | None = None) -> dict[str, Any]:
    (spec,) = profile_tools(Sources([BundledSource()]), Shelf(*held))
    ctx = ToolContext(ALICE, "s", 1, "c", "en", Still(), as_of)
    fields: dict[str, Any] = json.loads((await spec.call(ctx, {"symbols": ["GOOG"]})).content)
    return fields


async def test_an_own_profile_comes_with_its_date_source_and_level() -> None:
    found = await answer(kept("GOOG", "strong hands", "emotional view"))
    assert found["items"][0]["own_profile"] == {
        "text": "strong hands", "signal": "hold", "updated_at": "2026-03-02", "source": "backtest",
        "credibility": "emotional view",
    }  # fmt: skip
    assert found["credibility"] == "emotional view"
    assert found["source"] == "symbol table, bundled, own book"


async def test_a_profile_that_is_newer_than_the_run_is_not_known_to_it() -> None:
    found = await answer(kept("GOOG", "of the future"), as_of=dt.date(2012, 12, 31))
    assert found["items"][0]["own_profile"] is None
    assert found["credibility"] == "objective fact"
