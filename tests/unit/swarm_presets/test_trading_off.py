"""No tool that places orders ships enabled but in presets made for it (TGV-11), and there for the supervisor alone."""

from pathlib import Path

import pytest

from gateway.presets.team_house import load_presets
from gateway.toolbox import toolbox
from tests.house import settings

REGISTRY = toolbox()
ordering = {spec.name for spec in REGISTRY if spec.effect == "trade"}
MADE_FOR_IT = {"trading-plan"}


def test_these_tools_place_orders_ask_each_time_and_are_the_supervisors_alone() -> None:
    """TGV-3, TGV-9, MSC-3: consent stands in the tool itself, whatever a preset says."""
    assert ordering == {"place_order", "cancel_order"}
    for name in (*sorted(ordering), "update_portfolio"):
        spec = REGISTRY.get(name)
        assert spec is not None
        assert (spec.requires_approval, spec.lead_only) == (True, True), name
        assert (spec.concurrency_safe, spec.idempotent) == (False, False), name
        assert spec.preview is not None, name
    view = REGISTRY.get("portfolio")
    assert view is not None
    assert (view.concurrency_safe, view.requires_approval, view.effect) == (True, False, "none")


def test_no_shipped_preset_can_order_but_those_made_for_it() -> None:
    teams = load_presets(settings(), REGISTRY).teams
    assert teams
    for name, team in teams.items():
        mine = ordering & set(team.supervisor.tools)
        assert not mine or name in MADE_FOR_IT, name
        for agent in team.agents.values():
            assert not (ordering | {"update_portfolio"}) & set(agent.tools), (name, agent.id)


@pytest.mark.parametrize("tool", ["place_order", "cancel_order", "update_portfolio"])
def test_an_agent_that_is_given_one_breaks_its_preset(tool: str, tmp_path: Path) -> None:
    """SWM-3: no approval tool in a trading role."""
    text = f"""version: 1
name: rogue
supervisor: {{tools: []}}
agents:
  trading: {{role: Trader, prompt: Trade., tools: [{tool}]}}
approvals: [{{tool: {tool}, by: [requester]}}]
"""
    (tmp_path / "rogue.yaml").write_text(text, encoding="utf-8")
    problems = load_presets(settings(), REGISTRY, tmp_path).found["rogue"]
    assert [p.code for p in problems if p.severity == "error"] == ["SW310"]
    assert f"only the supervisor may call `{tool}`" in problems[0].message
    bare = text.partition("approvals:")[0]
    (tmp_path / "rogue.yaml").write_text(bare, encoding="utf-8")
    [told] = load_presets(settings(), REGISTRY, tmp_path).found["rogue"]
    assert told.code == ("SW302" if tool in ordering else "SW310")


def test_a_supervisors_order_needs_no_rule_since_the_tool_asks_by_itself(tmp_path: Path) -> None:
    """TGV-3: whatever rules a preset has come on top of that."""
    text = "version: 1\nname: mine\nsupervisor: {prompt: P., tools: [place_order, cancel_order]}\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert load_presets(settings(), REGISTRY, tmp_path).found["mine"] == []
