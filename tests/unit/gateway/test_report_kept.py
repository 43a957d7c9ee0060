"""A report in the background: its file reaches the chat, its conclusion the context of the days after (SIX-1)."""

import asyncio
import datetime as dt
from collections.abc import Iterator

import pytest

from agent_core.book import Event, Focus, Holding, Look, Profile, Report
from agent_core.finance import work
from agent_core.finance.fx import Rates
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.models.scripted import Answer
from agent_core.tools.decision import decision_tools
from agent_core.tools.report import Shelf, report_tools
from gateway.storage.db import Database
from gateway.trading.portfolio import StoredPortfolio
from gateway.trading.portfolio_desk import PortfolioDesk
from tests.harness import agent, call, team
from tests.house import START, House, on_sqlite, until

ALICE = "telegram:1"


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    yield
    asyncio.run(work.close())


@pytest.mark.slow
@on_sqlite
async def test_a_report_and_a_decision_run_in_the_background_and_are_known_afterwards(
    db: Database,
) -> None:
    """TGV-3, BGT-1, BGT-3, RMB-2, SIX-1."""
    report = call("generate_ai_report", "r1", symbols=["IBM"], start="2012", end="2012")
    decision = call("generate_strategy_decision", "d1", symbol="IBM", end="2012")
    names = ("generate_ai_report", "generate_strategy_decision")
    book = StoredPortfolio(db)
    script = [Answer(calls=(report, decision)), "They run.", "Done.", "Done again."]
    async with House(db, script, the_team=team(agent(tools=names))) as it:
        prices = Sources([BundledSource()])
        desk = PortfolioDesk(db, it.clock, Quotes(prices, Rates(), it.clock))
        for who, said in ((ALICE, "alice: keep IBM"), ("telegram:2", "bob: sell IBM")):
            await book.put(who, Event("decision", said, START, ("IBM",)))
        await book.put("telegram:2", Holding("IBM", 10, 100.0, START, currency="USD"))
        for tool in (*report_tools(prices, Shelf(book, desk)), *decision_tools(prices, book, desk)):
            it.turns.services.registry.add(tool)
        assert await it.ask("report on IBM, and what to do") == ["They run."]
        await until(lambda: not it.tasks.busy)
        await it.quiet()
        sent = [file.name for reply in it.channel.order for file in reply.files]
        assert "report-stock-IBM-2012-01-03_2012-12-31.pdf" in sent
        assert "IBM-2012-01-03_2012-12-31.png" in sent
        shown = "".join(str(request.messages) for request in it.model.requests)
        assert "IBM: 191.55 USD on 2012-12-31" in shown
        assert "IBM on 2012-12-31, medium trend" in shown
        assert "alice: keep IBM" in shown
        assert "bob" not in shown
        assert '"held":false' in shown.replace("\\", ""), "what bob holds is not alice's"

    (kept,) = await book.records(ALICE, Report)
    assert kept.text.startswith("IBM: 191.55 USD on 2012-12-31")
    kinds = sorted(event.kind for event in await book.records(ALICE, Event))
    assert kinds == ["decision", "decision", "report"]
    (profile,) = await book.records(ALICE, Profile)
    assert profile.symbol == "IBM"
    assert profile.signal.startswith("2012-12-31: "), (
        "the report left the decision's signal as it was"
    )

    async def known(days: float) -> tuple[int, int]:
        later = START + dt.timedelta(days=days)
        seen = await book.look(Look(ALICE, "private", later, True, lambda _: Focus(("IBM",))))
        return len(seen.reports), len(seen.decisions)

    assert [await known(days) for days in (2.9, 3.1, 7.1)] == [(1, 2), (0, 2), (0, 0)]
