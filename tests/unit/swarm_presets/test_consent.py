"""`approvals` of a preset: compiled into rules that bind every agent, and refused where nobody could satisfy them."""

from pathlib import Path

import pytest

from agent_core.approvals import Condition, Rule
from agent_core.runtime.team import Team
from swarm_presets.loader import load_folder
from tests.unit.swarm_presets.catalogue import ACTING, TOOLS

HEAD = """\
version: 1
name: desk
supervisor: {tools: [place_order]}
agents: {a: {role: A, prompt: P., tools: [place_order]}}
"""
GUIDE = """\
approvals:
  - tool: place_order
    when: {mode: live, notional_usd: {gt: 1000, lte: 5000}, side: {in: [buy, sell]}, memo: {not: test}}
    by: ["role:pm", admin, "user:telegram:7"]
    not_requester: true
    quorum: 2
    expires: 5m
    on_expire: deny
    remember: session
    show: [symbol]
    editable: [quantity]
    where: ops_channel
  - tool: place_order
"""


def desk(folder: Path, text: str) -> Team:
    (folder / "desk.yaml").write_text(HEAD + text)
    loaded = load_folder(folder, tools=TOOLS | ACTING, acting=ACTING)
    assert list(loaded.problems) == []
    return loaded.teams["desk"]


def codes(folder: Path, text: str) -> list[str]:
    (folder / "desk.yaml").write_text(HEAD + text)
    return [p.code for p in load_folder(folder, tools=TOOLS | ACTING, acting=ACTING).problems]


def test_the_rules_of_the_guide_bind_every_agent(tmp_path: Path) -> None:
    team = desk(tmp_path, GUIDE)
    rule, plain = team.supervisor.approvals
    assert team.agents["a"].approvals == (rule, plain)
    assert plain == Rule("place_order")
    assert rule == Rule(
        "place_order",
        when=(
            Condition("mode", "is", "live"),
            Condition("notional_usd", "lte", 5_000),
            Condition("notional_usd", "gt", 1_000),
            Condition("side", "in", ("buy", "sell")),
            Condition("memo", "not", "test"),
        ),
        by=("role:pm", "admin", "user:telegram:7"),
        not_requester=True,
        quorum=2,
        expires=300.0,
        remember="session",
        show=("symbol",),
        editable=("quantity",),
        where="ops_channel",
    )


def test_a_rule_changes_what_tickets_are_bound_to(tmp_path: Path) -> None:
    one, two = desk(tmp_path, GUIDE), desk(tmp_path, GUIDE.replace("quorum: 2", "quorum: 3"))
    assert one.digest != two.digest


def test_a_childs_rules_stand_behind_its_parents(tmp_path: Path) -> None:
    """A parent's rule cannot be removed."""
    base = "version: 1\nname: base\nabstract: true\napprovals: [{tool: place_order, expires: 5m}]\n"
    (tmp_path / "base.yaml").write_text(base)
    team = desk(tmp_path, "extends: base\napprovals: [{tool: place_order, expires: 10m}]\n")
    assert [rule.expires for rule in team.supervisor.approvals] == [300.0, 600.0]
    for gone in ("null", "[]"):
        assert codes(tmp_path, f"extends: base\napprovals: {gone}\n") in (["SW305"], [])
        loaded = load_folder(tmp_path, tools=TOOLS | ACTING, acting=ACTING)
        rules = [t.supervisor.approvals for t in loaded.teams.values() if t.name == "desk"]
        assert rules in ([], [(Rule("place_order", expires=300.0),)])


def test_a_tool_that_acts_stays_refused_without_a_rule(tmp_path: Path) -> None:
    assert "SW302" in codes(tmp_path, "approvals: [{tool: chart}]")


@pytest.mark.parametrize(
    "rule",
    [
        "by: [requester], not_requester: true",
        "by: [requester], quorum: 2",
        'by: ["user:telegram:1"], quorum: 2',
    ],
)
def test_a_rule_that_nobody_can_satisfy_is_an_error(tmp_path: Path, rule: str) -> None:
    assert codes(tmp_path, f"approvals: [{{tool: place_order, {rule}}}]") == ["SW102"]


@pytest.mark.parametrize(
    "rule",
    ["quorum: 2", 'by: [requester, "user:telegram:1"], quorum: 2', "by: [admin], quorum: 2"],
)
def test_a_rule_that_somebody_can_satisfy_is_none(tmp_path: Path, rule: str) -> None:
    assert codes(tmp_path, f"approvals: [{{tool: place_order, {rule}}}]") == []
