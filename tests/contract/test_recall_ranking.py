"""SQLite and PostgreSQL rank alike, to the last digit (guide "recall"; RCL-10)."""

import asyncio
import datetime as dt
import random
from pathlib import Path

import pytest
from sqlalchemy import Connection

from agent_core.memory.found import find_memories, find_rows
from agent_core.memory.question import looked_up, question
from agent_core.storage.recall_index import SAID, Said, add_memory, add_rows
from agent_core.storage.search import postings
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.databases import create_database

NOW = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)
ME, SCOPE = "telegram:1", "private"
SAYINGS = (
    "Stop loss at 8% for NVDA",
    "I never buy after 14:45",
    "茅台跌破支撑不买",
    "尾盘买入比亚迪，止损5%",
    "What's the plan for BTC-USDT?",
    "昨天卖出了一半，5月4日再看",
    "The turtle exit trails by two ATR",
    "00700.HK looks cheap; don't chase",
    "NEAR AND OR NOT * ^ : \" '",
    "🚀 to the moon 🚀",
    "止\u200b损 is stop loss",
)
QUESTIONS = (
    "stop loss",
    "止损多少",
    "茅台能买吗",
    "NVDA?",
    "AND OR NOT",
    "what did I say on May 4th",
    "BTC-USDT plan",
    "when do I buy 尾盘",
    "turtle 'exit' \"trail\"",
    "🚀",
    "buy",
)


def fill(conn: Connection) -> None:
    dice = random.Random(7)
    for session in range(12):
        said = [
            Said(
                n,
                " ".join(dice.choices(SAYINGS, k=dice.randint(1, 3))),
                NOW,
                dice.choice(["", "Ann"]),
            )
            for n in range(1, dice.randint(3, 40))
        ]
        owner = ME if session % 3 else "telegram:2"
        add_rows(conn, owner, SCOPE, f"s{session}", said)
    for number, text in enumerate(SAYINGS):
        add_memory(conn, ME, SCOPE, number, "decision", text, ("NVDA",) if number % 4 == 0 else ())


@pytest.mark.postgres
async def test_both_databases_rank_alike(tmp_path: Path, postgres_server: str) -> None:
    url = create_database(postgres_server).replace("postgresql://", "postgresql+psycopg://", 1)
    ranked = await asyncio.gather(*(answers(at) for at in (f"sqlite:///{tmp_path / 'a.db'}", url)))
    assert ranked[0] == ranked[1]
    assert any(rows for rows, _ in ranked[0].values())


async def answers(url: str) -> dict[str, tuple[object, object]]:
    database = await open_database(url)
    try:
        await database.write(fill)
        return {text: await answer(database, text) for text in QUESTIONS}
    finally:
        await database.close()


async def answer(database: Database, text: str) -> tuple[object, object]:
    asked = question(text, now=NOW)

    def work(conn: Connection) -> tuple[object, object]:
        capped = postings(conn, ME, SCOPE, SAID, looked_up(asked), common=20)
        rows = [
            (find_rows(conn, ME, SCOPE, asked, limit=50, scoped=scoped)) for scoped in (True, False)
        ]
        kept = find_memories(conn, ME, SCOPE, asked, limit=50, scoped=False)
        return (rows, {word: list(docs.items()) for word, docs in capped.words.items()}), kept

    return await database.read(work)
