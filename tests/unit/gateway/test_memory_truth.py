"""Each class of statements has its own store, and a memory is never the only source of a price or a holding (MSC-5)."""

import datetime as dt

import pytest

from agent_core.assembly.classes import HEADINGS
from agent_core.assembly.gather import gather_context
from agent_core.assembly.truth import REFERENCE, TRUTHS
from agent_core.book import Event, Holding, Profile, Report
from agent_core.storage.tables_memory import MemoryRow
from gateway.storage.db import Database
from gateway.toolbox import toolbox
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server

__all__ = ["database_url", "db", "postgres_server"]
NOW = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]


def test_the_table_names_sections_and_tools_that_exist() -> None:
    known = toolbox().names
    for truth in TRUTHS:
        assert set(truth.sections) <= {*HEADINGS, "recall"}
        assert set(truth.tools) <= known
    stores = {truth.about: truth.store for truth in TRUTHS}
    assert stores["positions and costs"] == "portfolio"
    assert stores["prices"] == "market data"
    sections = [s for t in TRUTHS if t.store == "memory" for s in t.sections]
    for truth in TRUTHS:
        if truth.about in ("prices", "positions and costs"):
            assert not set(truth.sections) & set(sections)
            assert truth.sections or truth.tools


async def fill(db: Database, owner: str) -> StoredPortfolio:
    book = StoredPortfolio(db)
    await book.put(owner, Holding("NVDA", 50, 120, NOW, "USD"))
    await book.put(owner, Profile("NVDA", "profile-store", NOW, signal="signal-store"))
    await book.put(owner, Event("decision", "decision-store", NOW, ("NVDA",)))
    await book.put(owner, Report("report-store", NOW))
    values = {
        "owner": owner,
        "scope": "private",
        "kind": "plan",
        "text": "memory-store: 100 NVDA at 99",
        "hash": "h",
        "codes": " NVDA ",
        "source": "remember:s1",
        "credibility": "mixed",
        "topic_key": "",
        "meta": "{}",
        "level": "raw",
        "quality": 0.5,
        "access_count": 0,
        "created_at": NOW,
    }
    await db.write(lambda conn: conn.execute(_MEMORY.insert().values(**values)))
    return book


async def test_each_statement_is_answered_from_its_own_store(db: Database) -> None:
    book = await fill(db, "alice")
    found = await gather_context("alice", "private", "NVDA?", (), NOW, book, None)
    lines = found.contexts[0].text.splitlines()
    assert "\n".join(lines).startswith(REFERENCE)

    def line(word: str) -> str:
        (only,) = (line for line in lines if word in line)
        return only

    assert "portfolio · objective fact] NVDA" in line("50 at 120 USD")
    assert "signal:" in line("signal-store")
    assert "· logic tool]" in line("signal-store")
    assert "NVDA profile:" in line("profile-store")
    assert "NVDA decision:" in line("decision-store")
    assert "· report · logic tool]" in line("report-store")
    assert "· note · mixed] NVDA plan:" in line("memory-store")


async def test_what_a_memory_says_of_a_position_never_stands_as_one(db: Database) -> None:
    book = await fill(db, "alice")
    for holding in await book.records("alice", Holding):
        await book.remove("alice", Holding, holding.id)
    found = await gather_context("alice", "private", "我的持仓里的NVDA呢", (), NOW, book, None)
    text = found.contexts[0].text
    assert "NVDA (NVIDIA, 英伟达): not in the portfolio" in text
    assert HEADINGS["holdings"] not in text
    assert "no note or memory is the source of either" in text


@pytest.mark.parametrize("owner", ["bob", ""])
async def test_nothing_of_one_person_reaches_another(db: Database, owner: str) -> None:
    """MEM-17."""
    book = await fill(db, "alice")
    found = await gather_context(owner, "private", "我的持仓里的NVDA呢", (), NOW, book, None)
    assert found.contexts == ()
