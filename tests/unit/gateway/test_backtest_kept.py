"""A backtest in the books of the database: an event and profiles, for the owner alone (RMB-2).

Both databases keep a book alike: tests/unit/gateway/test_memory_portfolio.py.
"""

import asyncio
from collections.abc import Iterator

import pytest

from agent_core.book import Event, Profile
from agent_core.finance import work
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.models.scripted import Answer
from agent_core.tools.backtest import backtest_tools
from agent_core.tools.spec import ToolContext
from gateway.storage.db import Database
from gateway.trading.portfolio import StoredPortfolio
from tests.harness import agent, call, team
from tests.house import START, House, Watch, on_sqlite, until


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    yield
    asyncio.run(work.close())


@on_sqlite
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


@on_sqlite
async def test_a_backtest_runs_in_the_background_and_its_end_brings_figures_and_files(
    db: Database,
) -> None:
    """TGV-3, BGT-1, BGT-3: the model has a task id at once; the result wakes it, and the picture reaches the chat."""
    asked = {"symbols": ["IBM"], "strategy": "macd", "start": "2012"}
    script = [Answer(calls=(call("run_backtest", "b1", **asked),)), "It runs.", "It is done."]
    the_team = team(agent(tools=("run_backtest", "check_background_tasks")))
    async with House(db, script, the_team=the_team) as it:
        (tool,) = backtest_tools(Sources([BundledSource()]), StoredPortfolio(db))
        it.turns.services.registry.add(tool)
        assert await it.ask("test macd on IBM") == ["It runs."]
        await until(lambda: not it.tasks.busy)
        await it.quiet()
        assert it.channel.texts("1")[-1] == "It is done."
        (event,) = await StoredPortfolio(db).records("telegram:1", Event)
        shown = str(it.model.requests[-1].messages)
        assert event.text in shown, "the notification has the line that is kept"
        assert "max_drawdown_pct" in shown
        assert [file.name for file in it.channel.order[-1].files] == [
            "backtest-IBM-2012-01-03_2012-12-31.png",
            "backtest-IBM-2012-01-03_2012-12-31-trades.csv",
        ]
