"""The presets that come with the package, pinned (SUB-2, SUB-10, guide "presets" 10)."""

from importlib.resources import files

import pytest

from agent_core.runtime.team import Delegation, Limits, Status, Team
from swarm_presets.evals import cases
from swarm_presets.loader import load_folder
from tests.pace import cpu_seconds
from tests.unit.swarm_presets.catalogue import TOOLS

# Guide "presets" 10: at most fourteen; whatever else is done by skills over these.
SOLO = (
    "search_stock_by_name analyze_stock portfolio get_market_overview get_market_history run_backtest query_history "
    "web_fetch remember ask_user chart load_skill restore_archive compact"
)
FALLBACK = "fallback_to_direct_tools"


@pytest.fixture(scope="module")
def teams() -> dict[str, Team]:
    loaded = load_folder(tools=TOOLS)
    assert loaded.problems == []
    return loaded.teams


def test_shipped_presets_are_these(teams: dict[str, Team]) -> None:
    assert set(teams) == {
        "crypto-desk",
        "daily-brief",
        "earnings-note",
        "macro-fx",
        "portfolio-review",
        "research-desk",
        "risk-committee",
        "screen-and-rank",
        "single-stock",
        "solo",
        "trading-desk",
        "trading-plan",
    }
    assert load_folder(tools=TOOLS).abstract == {"desk-base"}


def test_every_shipped_preset_brings_cases_that_need_no_key() -> None:
    """Without a key they run on the demo planner; `presets eval` runs them."""
    presets = load_folder(tools=TOOLS)
    for name in presets.teams:
        found = cases(presets.trees[name])
        assert len(found) >= 2, name
        assert all(case.model in {None, "demo"} for case in found), name


def test_research_desk_holds_its_agents_to_sources_and_numbers(teams: dict[str, Team]) -> None:
    """Guide "presets" 9.1 and 9.2, as far as its tools exist."""
    desk = teams["research-desk"]
    research, analysis = desk.agents["research"], desk.agents["analysis"]
    assert (research.concurrency, research.output.format) == (3, "json")
    assert research.grounding.citations == research.grounding.numbers == "required"
    assert research.policy[Status.ERROR].max_retries == 1
    assert (analysis.from_agents, analysis.grounding.numbers) == (("research",), "required")
    assert desk.delegation == Delegation(max_parallel=3, max_depth=1, max_delegations=12)
    assert set(desk.supervisor.tools) <= TOOLS


def test_solo_works_alone(teams: dict[str, Team]) -> None:
    solo = teams["solo"]
    assert solo.agents == {}
    assert solo.supervisor.tools == tuple(SOLO.split())
    assert solo.supervisor.limits.tool_rounds == 15


def test_single_stock_is_a_fixed_plan(teams: dict[str, Team]) -> None:
    """Guide "presets" 9.3: facts, a debate, a vote where the judge is unsure, and the answer."""
    stock = teams["single-stock"]
    assert [step.id for step in stock.flow][:3] == ["collect", "argue", "settle"]
    assert list(stock.agents) == ["facts", "bull", "bear", "judge"]
    assert [one.name for one in stock.inputs] == ["symbol", "horizon"]
    assert stock.agents["judge"].tools == ()
    assert stock.agents["bull"].prompt != stock.agents["bear"].prompt
    assert stock.agents["bear"].policy[Status.ERROR].next_action == "use_partial"


def bounds(limits: Limits) -> tuple[float, float, int, int, int]:
    return (
        limits.time,
        limits.tool_timeout,
        limits.tool_rounds,
        limits.input_tokens,
        limits.output_chars,
    )


@pytest.mark.parametrize(
    ("agent", "limits", "tools", "fallback"),
    [
        (
            "research",
            (240.0, 90.0, 8, 24_000, 3_000),
            "search_stock_by_name analyze_stock get_market_overview get_market_history query_history screen_stocks "
            "run_backtest check_background_tasks",
            "get_market_overview query_history check_background_tasks",
        ),
        (
            "analysis",
            (180.0, 75.0, 8, 20_000, 2_500),
            "analyze_stock portfolio get_market_overview get_market_history generate_ai_report",
            "analyze_stock portfolio get_market_overview",
        ),
        (
            "trading",
            (120.0, 45.0, 6, 12_000, 1_600),
            "portfolio generate_strategy_decision analyze_stock get_market_overview get_market_history",
            "portfolio generate_strategy_decision get_market_overview",
        ),
    ],
)
def test_trading_desk_agent_is_pinned(
    teams: dict[str, Team],
    agent: str,
    limits: tuple[float, float, int, int, int],
    tools: str,
    fallback: str,
) -> None:
    """Limits of SUB-2, tools of SUB-3, fallback tools of SUB-11, policies of SUB-10."""
    worker = teams["trading-desk"].agents[agent]
    assert bounds(worker.limits) == limits
    assert worker.tools == tuple(tools.split())
    assert worker.concurrency == 1
    ways = {
        status: (policy.next_action, policy.retryable, policy.max_retries, policy.fallback_tools)
        for status, policy in worker.policy.items()
    }
    spare = tuple(fallback.split())
    assert ways == {
        Status.COMPLETED: ("use_result", False, 0, ()),
        Status.PARTIAL: ("use_partial", False, 0, ()),
        Status.EMPTY: (FALLBACK, False, 0, spare),
        Status.INVALID_OUTPUT: ("use_partial", False, 0, ()),
        Status.TIMEOUT: (FALLBACK, True, 0, spare),
        Status.ERROR: (FALLBACK, True, 0, spare),
        Status.OVER_BUDGET: ("use_partial", False, 0, ()),
        Status.DENIED: ("stop_and_report", False, 0, ()),
        Status.CANCELLED: ("stop_and_report", False, 0, ()),
    }


def test_trading_desk_supervisor_is_pinned(teams: dict[str, Team]) -> None:
    """One delegation at a time, three in a turn, none deeper (SUB-1, SUB-16)."""
    desk = teams["trading-desk"]
    assert list(desk.agents) == ["research", "analysis", "trading"]
    assert desk.supervisor.limits.tool_rounds == 15
    assert set(desk.supervisor.tools) == {
        "get_market_overview",
        "analyze_stock",
        "alert",
        "ask_user",
        "chart",
        "check_background_tasks",
        "compact",
        "correlation",
        "generate_strategy_decision",
        "load_context",
        "load_skill",
        "market_calendar",
        "portfolio",
        "position_size",
        "query_history",
        "read_document",
        "remember",
        "remind",
        "restore_archive",
        "search_stock_by_name",
        "update_portfolio",
        "web_fetch",
    }
    assert [(rule.tool, rule.by) for rule in desk.supervisor.approvals] == [
        ("update_portfolio", ("requester",))
    ]
    assert desk.delegation == Delegation(max_parallel=1, max_depth=1, max_delegations=3)


def test_nobody_but_the_head_of_the_desk_changes_a_portfolio(teams: dict[str, Team]) -> None:
    """SUB-3, TGV-9."""
    desk = teams["trading-desk"]
    assert "update_portfolio" in desk.supervisor.tools
    assert not any("update_portfolio" in agent.tools for agent in desk.agents.values())


def test_fallback_tools_are_the_heads_own(teams: dict[str, Team]) -> None:
    """SWM-3: what stands in for an agent is called by the supervisor."""
    desk = teams["trading-desk"]
    for agent in desk.agents.values():
        for policy in agent.policy.values():
            assert set(policy.fallback_tools) <= set(desk.supervisor.tools)


def test_no_shipped_preset_runs_commands(teams: dict[str, Team]) -> None:
    for team in teams.values():
        for worker in (team.supervisor, *team.agents.values()):
            assert "exec_command" not in worker.tools


def test_prompts_are_static_and_short(teams: dict[str, Team]) -> None:
    """With some 1.2 KB for each of at most 14 tool schemas, "hello" stays under 12 KB in `solo`."""
    for team in teams.values():
        for worker in (team.supervisor, *team.agents.values()):
            assert "{{" not in worker.prompt
            assert 400 < len(worker.prompt.encode()) < 4_000, worker.id


def test_digest_is_stable_and_differs(teams: dict[str, Team]) -> None:
    again = load_folder(tools=TOOLS).teams
    assert {n: t.digest for n, t in again.items()} == {n: t.digest for n, t in teams.items()}
    assert len({t.digest for t in teams.values()}) == len(teams)
    assert all(len(t.digest) == 64 for t in teams.values())


def test_prompt_files_are_all_in_use(teams: dict[str, Team]) -> None:
    used = {w.prompt for t in teams.values() for w in (t.supervisor, *t.agents.values())}
    for file in (files("swarm_presets") / "prompts").iterdir():
        assert file.read_text("utf-8").strip() in used, file.name


def test_loading_is_fast() -> None:
    count = len(load_folder(tools=TOOLS).teams)
    taken = cpu_seconds(lambda: load_folder(tools=TOOLS))
    assert taken / count < 0.008  # a preset
