"""The tools that this installation has, built from the settings; those of other packages join by entry point."""

from pathlib import Path

from agent_core.compaction.request import compact
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.analysis import analysis_tools
from agent_core.tools.archive import archive_tools
from agent_core.tools.ask import ask_tools
from agent_core.tools.chart import chart_tools
from agent_core.tools.history import History, history_tools
from agent_core.tools.knowledge import knowledge_tools
from agent_core.tools.market import market_tools
from agent_core.tools.notes import notes_tools
from agent_core.tools.registry import Registry, foreign_tools


def toolbox(history: History | None = None, knowledge: Path | None = None) -> Registry:
    """All tools. Prices and texts are read at their first use, so that this is cheap.

    `history`: past chats can be searched; `knowledge`: the operator's own background texts.
    """
    sources = Sources([BundledSource()])
    return Registry(
        [
            *market_tools(sources),
            *analysis_tools(sources),
            *chart_tools(sources),
            *ask_tools(),
            *archive_tools(),
            *history_tools(history),
            *knowledge_tools(knowledge),
            *notes_tools(),
            compact,
            *foreign_tools(),
        ]
    )
