"""The tools and models that the presets of these tests may name."""

from pathlib import Path

TOOLS = frozenset(
    {
        "analyze_stock",
        "ask_user",
        "chart",
        "compact",
        "get_market_history",
        "get_market_overview",
        "restore_archive",
        "search_stock_by_name",
    }
)
MODELS = frozenset({"anthropic/*", "local/small"})
FIXTURES = Path(__file__).parents[2] / "fixtures" / "presets"
