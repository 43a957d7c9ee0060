"""/usage, as people see it, and the sums behind it (MDL-3)."""

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import Connection

from agent_core.models.scripted import Answer
from agent_core.storage.statements import add_usage, ensure_session
from agent_core.types import Usage
from gateway.budgets import usage
from gateway.budgets.usage import Scope, Tally
from gateway.commands.usage import dollars
from gateway.storage.db import Database
from tests.house import START, House, on_sqlite

pytestmark = on_sqlite

CACHED = Usage(1_000, 200, 8_000, 1_000, 0.25, 0, 0.75)
UNKNOWN = Usage(100, 20, usd=None, usd_uncached=None)


async def told(house: House, words: str = "/usage", **more: Any) -> list[str]:
    return (await house.ask(words, **more))[-1].splitlines()


async def test_use_of_this_conversation_and_of_the_person(db: Database) -> None:
    """ASM-12: calls, tokens, the cache's share, dollars, and what caching saved."""
    async with House(db, [Answer("one", usage=CACHED), Answer("two", usage=CACHED)]) as house:
        await house.ask("first")
        await house.ask("/new")
        await house.ask("second")
        assert await told(house) == [
            "This conversation:",
            "",
            "- Model calls: 1",
            "- Tokens read: 10,000, 80 % of them from the cache",
            "- Tokens written: 200",
            "- Cost: $0.25",
            "- Saved by caching: $0.50",
            "",
            "You, last 7 days (UTC):",
            "",
            "- Model calls: 2",
            "- Tokens read: 20,000, 80 % of them from the cache",
            "- Tokens written: 400",
            "- Cost: $0.50",
            "- Saved by caching: $1.00",
        ]


async def test_an_unknown_price_is_said_and_never_counted_as_nothing(db: Database) -> None:
    """MDL-3."""
    async with House(db, [Answer("one", usage=UNKNOWN), Answer("two", usage=CACHED)]) as house:
        await house.ask("first")
        lines = await told(house)
        assert lines.count("- Cost: unknown (the model has no known price)") == 2
        assert not any("Saved" in line for line in lines)
        await house.ask("second")
        lines = await told(house)
        assert "- Cost: $0.25, and what calls without a known price cost (1)" in lines


async def test_nothing_yet(db: Database) -> None:
    async with House(db, []) as house:
        assert await told(house) == [
            "This conversation: nothing yet",
            "",
            "You, last 7 days (UTC): nothing yet",
        ]


async def test_in_a_group_only_the_groups_own_conversation_is_told(db: Database) -> None:
    async with House(db, [Answer("one", usage=CACHED)]) as house:
        await house.ask("mine")
        lines = await told(house, chat="-5", private=False)
        assert lines == [
            "This conversation: nothing yet",
            "",
            "What you have used in all: ask me in a private chat.",
        ]


@pytest.mark.parametrize("rest", ["0", "367", "x", "-1", "1.5", "٣", "99999"])
async def test_a_wrong_number_of_days_is_answered_with_how_to(db: Database, rest: str) -> None:
    async with House(db, []) as house:
        assert (await told(house, f"/usage {rest}"))[0] == "How to use it:"


async def test_days_in_chinese_and_old_calls_are_left_out(db: Database) -> None:
    def old(conn: Connection) -> None:
        row_at = START - dt.timedelta(days=2)
        ensure_session(conn, "old", "telegram:1", row_at)
        add_usage(
            conn,
            turn_id=1,
            session_id="old",
            owner="telegram:1",
            model="m",
            usage=CACHED,
            now=row_at,
        )

    async with House(db, []) as house:
        await db.write(old)
        await house.ask("/language zh")
        assert (await told(house, "/usage 1"))[-1] == "您今天（UTC）： 暂无用量"
        assert "- 模型调用：1 次" in await told(house, "/usage 3")
        assert "- 缓存节省：$0.50" in await told(house, "/usage 3")


async def test_several_models_are_told_apart_the_dearest_first(db: Database) -> None:
    def rows(conn: Connection) -> None:
        ensure_session(conn, "s", "telegram:1", START)
        for model, used in (("b/cheap", UNKNOWN), ("a/dear", CACHED)):
            add_usage(
                conn,
                turn_id=1,
                session_id="s",
                owner="telegram:1",
                model=model,
                usage=used,
                now=START,
            )

    async with House(db, []) as house:
        await db.write(rows)
        lines = await told(house)
        assert lines[-2:] == [
            "- `a/dear`: calls 1, read 10,000, written 200, $0.25",
            "- `b/cheap`: calls 1, read 100, written 20, unknown (the model has no known price)",
        ]


async def test_a_session_counts_with_its_sub_agents(db: Database) -> None:
    def work(conn: Connection) -> tuple[Tally, Tally]:
        for session in ("s", "s/c1", "sx"):
            ensure_session(conn, session, "telegram:1", START)
            add_usage(
                conn,
                turn_id=1,
                session_id=session,
                owner="telegram:1",
                model="m",
                usage=CACHED,
                now=START,
            )
        return usage.total(conn, Scope(session="s")), usage.total(
            conn, Scope(owners=["telegram:2"])
        )

    mine, others = await db.write(work)
    assert (mine.calls, mine.saved) == (2, 1.0)
    assert others == Tally()
    assert others.cost == 0.0


async def test_days_follow_the_time_zone(db: Database) -> None:
    late = dt.datetime(2026, 1, 4, 23, 30, tzinfo=dt.UTC)

    def work(conn: Connection) -> list[Tally]:
        ensure_session(conn, "s", "telegram:1", late)
        add_usage(
            conn, turn_id=1, session_id="s", owner="telegram:1", model="m", usage=CACHED, now=late
        )
        return usage.by(conn, Scope(), "day", "Asia/Shanghai")

    assert [t.key for t in await db.write(work)] == ["2026-01-05"]
    assert usage.first_moment(late, 2, "Asia/Shanghai") == dt.datetime(
        2026, 1, 3, 16, tzinfo=dt.UTC
    )


def test_dollars_are_read_easily(database_url: str) -> None:
    del database_url
    assert [dollars(v) for v in (0, 0.0123, 0.1, 1_234.5)] == [
        "$0.00",
        "$0.0123",
        "$0.10",
        "$1,234.50",
    ]
