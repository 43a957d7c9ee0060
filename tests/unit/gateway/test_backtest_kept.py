"""A backtest in the books of the database: an event and profiles, for the owner alone (RMB-2)."""

import asyncio
from collections.abc import Iterator

import pytest

from agent_core.book import Event, Profile
from agent_core.finance import work
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.backtest import backtest_tools
from agent_core.tools.spec import ToolContext
from gateway.db import Database
from gateway.portfolio import StoredPortfolio
from tests.house import START, Watch


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    yield
    asyncio.run(work.close())


async def test_each_backtest_adds_an_event_and_renews_the_profile(db: Database) -> None:
    book = StoredPortfolio(db)
    (tool,) = backtest_tools(Sources([BundledSource()]), book)
    ctx = ToolContext("telegram:1", "s", 1, "c1", "en", Watch())
    said = []
    for strategy in ("macd", "momentum"):
        done = await tool.call(ctx, {"symbols": ["IBM"], "strategy": strategy, "start": "2012"})
        said.append(done.summary)
    events = await book.records("telegram:1", Event)
    assert [event.text for event in events] == said[::-1]
    assert {(e.kind, e.codes, e.source, e.credibility, e.at) for e in events} == {
        ("backtest", ("IBM",), "run_backtest", "logic tool", START)
    }
    (profile,) = await book.records("telegram:1", Profile)
    assert (profile.symbol, profile.text) == ("IBM", said[1])
    assert profile.signal.endswith("on 2012-12-31 by momentum(126,0)")
    assert await book.records("telegram:2", Event) == []
    assert await book.records("telegram:2", Profile) == []
