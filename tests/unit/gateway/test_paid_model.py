"""Learning is paid from the pots of the person who is learnt from, and waits where they have no room (MEM-5)."""

import asyncio
import logging
from typing import Any

import pytest

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelInfo, ModelRequest, Need, Price
from agent_core.types import Usage
from gateway.budgets.paid_model import PaidModel
from gateway.storage.db import Database
from tests.harness import call
from tests.house import House, on_sqlite, settings, until

PRICED = ModelInfo("scripted/dear", 200_000, 8_192, True, "none", Price(10.0, 40.0, 1.0, 12.5))
CHEAP = ModelInfo("scripted/cheap", 200_000, 8_192, True, "none", Price(0.1, 0.1, 0.1, 0.1))
UNPRICED = ModelInfo("scripted/new", 200_000, 8_192, True, "none", None)
LINE = "[偏好] 偏好尾盘买入"
DAY_S = 86_400.0
POTS = {"user_day": {"usd": 1.0}, "channel_day": {"usd": 1.0}, "day": {"usd": 5.0, "runs": 90}}


def teacher(*answers: Any, info: ModelInfo = PRICED) -> ScriptedModel:
    return ScriptedModel(list(answers), info=info)


def costs(usd: float, text: str = LINE) -> Answer:
    return Answer(text, usage=Usage(2_000, 100, usd=usd, usd_uncached=usd))


def house(
    db: Database, teaches: ScriptedModel, spent: float = 0.1, pots: Any = None, **more: Any
) -> House:
    """A person tells of a habit in two turns that cost `spent` dollars, of a model that needs little room."""
    chat = [
        Answer(calls=(call("echo"),), usage=Usage(1, 1, usd=spent, usd_uncached=spent)),
        Answer("好的。", usage=Usage()),
        Answer("记下了。", usage=Usage()),
    ]
    rules = settings(budgets=POTS if pots is None else pots)
    return House(db, teacher(*chat, info=CHEAP), rules=rules, teacher=teaches, still=True, **more)


async def told(home: House) -> None:
    """The habit, and the end of the session."""
    await home.ask("我偏好尾盘买入")
    await home.ask("止损 8%")
    await home.ask("/new")
    await until(lambda: not home.learning.busy)


async def pots(home: House) -> dict[str, float]:
    """Cents that are spent, by the kind of the pot."""
    rows = await home.all("select kind, usd from budget_pot")
    return {row.kind: round(row.usd / 1e7, 6) for row in rows}


async def held(home: House) -> int:
    return int(await home.one("select coalesce(sum(usd_held), 0) from budget_pot"))


async def learnt(home: House) -> int:
    return int(await home.one("select count(*) from memory where kind <> 'marker'"))


async def test_learning_is_paid_by_the_person_and_is_no_run_of_anybody(db: Database) -> None:
    async with house(db, teacher(costs(0.2))) as home:
        await told(home)
        assert await learnt(home) == 1
        assert await pots(home) == {"user_day": 30.0, "channel_day": 10.0, "day": 30.0}
        assert await home.one("select runs from budget_pot where kind = 'day'") == 2
        assert await home.one("select count(*) from usage where usd = 0.2") == 1
        assert await held(home) == 0
        assert await home.one("select count(*) from budget_hold") == 0


async def test_a_pot_without_room_puts_learning_off_until_it_begins_anew(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    teaches = teacher(costs(0.2))
    async with house(db, teaches, spent=0.98) as home:
        await told(home)
        assert teaches.requests == []
        assert await pots(home) == {"user_day": 98.0, "channel_day": 98.0, "day": 98.0}
        assert [
            r.__dict__["job"] for r in caplog.records if r.message == "learning_lacks_room"
        ] == ["extract"]
        await home.later(DAY_S / 2 - 60)
        assert teaches.requests == []
        await home.later(120)  # midnight
        await until(lambda: not home.learning.busy)
        assert await learnt(home) == 1


@on_sqlite
async def test_the_worst_case_is_set_aside_while_a_model_reads_and_given_back_at_a_stop(
    db: Database,
) -> None:
    reads = asyncio.Event()

    async def slow(_: ModelRequest) -> Answer:
        reads.set()
        await asyncio.Event().wait()
        raise AssertionError("never")

    async with house(db, ScriptedModel(slow, info=PRICED)) as home:
        await home.ask("我偏好尾盘买入")
        await home.ask("止损 8%")
        await home.ask("/new")
        async with asyncio.timeout(30):
            await reads.wait()
        assert await held(home) >= 1_024 * 40_000  # nano-dollars for as many tokens as it may write
    assert await held(home) == 0


async def test_what_a_death_left_set_aside_is_given_back_at_the_next_start(db: Database) -> None:
    async with house(db, teacher()) as home:
        dies = PaidModel(home.model, db, home.budgets, "telegram:1", 7)
        await dies._reserve(Need("scripted/dear", 100, 0.5))
        assert await held(home) == 2 * 500_000_000
    async with house(db, teacher()) as home:
        assert await held(home) == 0
        assert await home.one("select count(*) from budget_hold") == 0


@on_sqlite
async def test_what_learning_has_used_up_is_told_at_the_next_turn(db: Database) -> None:
    warns = {"user_day": {"usd": 1.0, "warn_at": 0.5}}
    async with house(db, teacher(costs(0.5)), pots=warns) as home:
        await told(home)
        assert not any("is used" in text for text in home.channel.texts("1"))
    async with House(
        db,
        teacher(costs(0.01, "hello again")),
        rules=settings(budgets=warns),
    ) as home:
        home._keys = 50
        assert any("61 % of your budget" in text for text in await home.ask("hello"))


@on_sqlite
@pytest.mark.parametrize(("word", "asked"), [("refuse", 0), ("warn", 1), ("allow", 1)])
async def test_a_model_without_a_price_learns_where_such_models_may_be_used(
    db: Database, word: str, asked: int
) -> None:
    teaches = ScriptedModel([Answer(LINE, usage=Usage(9, 9, usd=None))], info=UNPRICED)
    async with house(db, teaches, pots=POTS | {"unpriced_models": word}) as home:
        await told(home)
        assert len(teaches.requests) == asked
        assert await home.one("select sum(unpriced) from budget_pot") == 2 * asked
