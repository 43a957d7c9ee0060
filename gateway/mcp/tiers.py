"""Which of our tools `swarmgate mcp` may show to others, by tier (MSC-4, MCP-1, MCP-3).

Tier 1 is the local history of conversations, 2 markets and backtests, 3 a person's own data and what is written of it.
A tool that stands here nowhere is never shown: asking a person, memory, archives, background tasks, delegations, files,
the web, shell commands and orders belong to the loop of this gateway, not to somebody else's.
"""

from collections.abc import Iterable

from agent_core.tools.spec import ToolSpec

TIERS: dict[int, frozenset[str]] = {
    1: frozenset({"query_history"}),
    2: frozenset(
        {
            "analyze_stock",
            "chart",
            "correlation",
            "filings",
            "fundamentals",
            "get_market_history",
            "get_market_overview",
            "indicators",
            "market_calendar",
            "market_regime",
            "position_size",
            "risk_metrics",
            "run_backtest",
            "screen_stocks",
            "search_stock_by_name",
            "wyckoff_diagnose",
        }
    ),
    3: frozenset(
        {
            "generate_ai_report",
            "generate_strategy_decision",
            "get_stock_profiles",
            "portfolio",
            "update_portfolio",
        }
    ),
}
PERSONAL = (1, 3)  # tiers whose tools speak of one person


def offered(
    tools: Iterable[ToolSpec], tier: int, *, person: bool, approvals: bool
) -> list[ToolSpec]:
    """The tools up to a tier, in the order of `tools`.

    Without a `person` none that speaks of one; without `approvals` none of which each call needs their yes.
    """
    names = {
        name
        for level, group in TIERS.items()
        if level <= tier and (person or level not in PERSONAL)
        for name in group
    }
    return [
        spec for spec in tools if spec.name in names and (approvals or not spec.requires_approval)
    ]
