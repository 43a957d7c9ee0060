"""The tools that this installation has, built from the settings; those of other packages join by entry point."""

from dataclasses import dataclass, field
from pathlib import Path

from agent_core.book import Portfolio
from agent_core.compaction.request import compact
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.reports import Reports
from agent_core.instructions import Skills
from agent_core.tools.alerts import Alerts, alert_tools
from agent_core.tools.analysis import analysis_tools
from agent_core.tools.archive import archive_tools
from agent_core.tools.ask import ask_tools
from agent_core.tools.backtest import backtest_tools
from agent_core.tools.calendar import calendar_tools
from agent_core.tools.chart import chart_tools
from agent_core.tools.decision import decision_tools
from agent_core.tools.fundamentals import fundamentals_tools
from agent_core.tools.history import History, history_tools
from agent_core.tools.indicators import indicator_tools
from agent_core.tools.knowledge import knowledge_tools
from agent_core.tools.market import market_tools
from agent_core.tools.notes import notes_tools
from agent_core.tools.profiles import OwnProfiles, profile_tools
from agent_core.tools.regime import regime_tools
from agent_core.tools.registry import Registry, foreign_tools
from agent_core.tools.remind import Reminders, remind_tools
from agent_core.tools.report import Shelf, report_tools
from agent_core.tools.risk import risk_tools
from agent_core.tools.screen import screen_tools
from agent_core.tools.sizing import sizing_tools
from agent_core.tools.skills import skill_tools
from agent_core.tools.tasks import task_tools
from agent_core.tools.wyckoff import wyckoff_tools
from gateway.outside import Outside
from gateway.trading.house import OrderHouse
from gateway.turns.grounds import invented


def _bundled() -> Sources:
    return Sources([BundledSource()])


@dataclass(frozen=True, slots=True)
class Equipment:
    """What the tools stand on. Without a part its tools say so: the list of tools is the same everywhere.

    `history`: past chats can be searched; `knowledge`: the operator's own background texts; `book`: what persons hold;
    `profiles`: what their books say of symbols; `reports`: who has fundamentals and filings;
    `skills`: instructions for frequent jobs; `outside`: the web, sent files, workspaces; `orders`: books and
    orders; `alerts` and `reminders`: who keeps them.
    """

    sources: Sources = field(default_factory=_bundled)
    history: History | None = None
    knowledge: Path | None = None
    book: Portfolio | None = None
    profiles: OwnProfiles | None = None
    reports: Reports | None = None
    skills: Skills | None = None
    outside: Outside = field(default_factory=Outside)
    orders: OrderHouse = field(default_factory=OrderHouse)
    alerts: Alerts | None = None
    reminders: Reminders | None = None


def toolbox(given: Equipment | None = None) -> Registry:
    """All tools. Prices and texts are read at their first use, so that this is cheap."""
    has = given or Equipment()
    return Registry(
        [
            *market_tools(has.sources),
            *analysis_tools(has.sources),
            *chart_tools(has.sources),
            *indicator_tools(has.sources),
            *risk_tools(has.sources),
            *sizing_tools(has.sources),
            *regime_tools(has.sources),
            *wyckoff_tools(has.sources),
            *screen_tools(has.sources),
            *backtest_tools(has.sources, has.book),
            *report_tools(
                has.sources, Shelf(has.book, has.orders.books, has.orders.rates, invented)
            ),
            *decision_tools(has.sources, has.book, has.orders.books),
            *profile_tools(has.sources, has.profiles),
            *calendar_tools(),
            *fundamentals_tools(has.reports),
            *ask_tools(),
            *archive_tools(),
            *history_tools(has.history),
            *knowledge_tools(has.knowledge),
            *notes_tools(),
            *task_tools(),
            *alert_tools(has.sources, has.alerts),
            *remind_tools(has.reminders),
            *skill_tools(has.skills),
            *has.outside.tools(),
            *has.orders.tools(has.sources),
            compact,
            *foreign_tools(),
        ]
    )
