"""The tools and models that the presets of these tests may name."""

from pathlib import Path

from gateway.toolbox import toolbox

TOOLS = toolbox().names
SOURCES = {"bundled": True, "yfinance": True, "stooq": False}  # and which are enabled
ACTING = frozenset({"place_order"})  # changes something outside
SKILLS = frozenset({"checkup", "report"})
# Of the second one nothing is known yet.
SERVERS: dict[str, frozenset[str]] = {
    "files": frozenset({"mcp_files_find", "mcp_files_read"}),
    "notes": frozenset(),
}
LEAD = frozenset({"update_portfolio"})  # for supervisors alone
MODELS = frozenset({"anthropic/*", "local/small"})
FIXTURES = Path(__file__).parents[2] / "fixtures" / "presets"


def price(model: str) -> tuple[float, float] | None:
    return (3.0, 15.0) if model.startswith("anthropic/") else None
