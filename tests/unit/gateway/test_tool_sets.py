"""The tools of the source design by name, and which run side by side, ask first, or run in the background (TGV-3)."""

from agent_core.tools.registry import ALIASES
from agent_core.tools.spec import ToolSpec
from gateway.presets.team_house import load_presets
from gateway.settings.settings import Settings
from gateway.toolbox import toolbox
from tests.tool_table import shipped

# The names of the source design; further tools have joined each set since.
ANALYSIS = {
    "search_stock_by_name", "analyze_stock", "portfolio", "get_market_overview", "get_market_history", "screen_stocks",
    "generate_ai_report", "generate_strategy_decision", "query_history", "run_backtest",
}  # fmt: skip
OTHERS = {"update_portfolio", "check_background_tasks", "ask_user", "execute_skill"}
LOCAL = {"exec_command", "read_file", "write_file", "web_fetch"}
DELEGATIONS = {"delegate_to_research", "delegate_to_analysis", "delegate_to_trading"}
SIDE_BY_SIDE = {
    "search_stock_by_name", "analyze_stock", "portfolio", "get_market_overview", "get_market_history", "query_history",
    "execute_skill",
}  # fmt: skip


def names(*, where: str) -> set[str]:
    return {spec.name for spec in shipped() if getattr(spec, where)}


def found(name: str) -> ToolSpec | None:
    return toolbox().get(name)


def test_all_tools_of_the_source_design_are_there() -> None:
    """TGV-3: 21 tools, of which those that delegate are made by each team for its own agents."""
    assert len(ANALYSIS | OTHERS | LOCAL | DELEGATIONS) == 21
    assert [name for name in ANALYSIS | OTHERS | LOCAL if found(name) is None] == []
    teams = load_presets(Settings.model_validate({"presets_dir": "nowhere"}), toolbox()).teams
    assert {f"delegate_to_{agent}" for agent in teams["trading-desk"].agents} == DELEGATIONS


def test_what_the_source_design_runs_side_by_side_does() -> None:
    """TGV-3. Whatever changes something runs alone."""
    for name in SIDE_BY_SIDE:
        spec = found(name)
        assert spec is not None, name
        assert spec.concurrency_safe, name
    assert {s.name for s in shipped() if s.effect != "none" and s.concurrency_safe} == set()


def test_these_tools_ask_first() -> None:
    """TGV-3, TGV-11: the three of the source design, and what places or cancels orders."""
    assert names(where="requires_approval") == {
        "update_portfolio",
        "exec_command",
        "write_file",
        "place_order",
        "cancel_order",
    }


def test_these_tools_run_in_the_background() -> None:
    """TGV-3."""
    assert names(where="background") == {
        "screen_stocks",
        "generate_ai_report",
        "generate_strategy_decision",
        "run_backtest",
    }


def test_only_the_head_of_a_team_trades_writes_books_or_runs_commands() -> None:
    """TGV-9, TGV-11."""
    lead = {"update_portfolio", "place_order", "cancel_order", "exec_command"}
    assert lead <= names(where="lead_only")
    assert {s.name for s in shipped() if s.effect == "trade"} <= names(where="lead_only")


def test_every_tool_has_a_name_in_both_languages_and_says_what_it_is_worth() -> None:
    """TGV-1: display names, credibility, a time-out."""
    assert "execute_skill" in ALIASES
    for spec in shipped():
        assert spec.title.keys() >= {"en", "zh"}, spec.name
        assert spec.description, spec.name
        assert spec.timeout > 0, spec.name
