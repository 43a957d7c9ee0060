"""Seals: what a child may still change (SW305; guide "presets", 7)."""

from pathlib import Path

import pytest

from swarm_presets.loader import load_folder
from swarm_presets.problems import render
from tests.unit.swarm_presets.catalogue import ACTING, TOOLS

BASE = """\
version: 1
name: base
abstract: true
supervisor:
  role: Head
  tools: [chart, analyze_stock]
  limits: {time: 5m, usd: 0.50}
agents:
  a: {role: A, prompt: P., tools: [chart]}
budgets:
  user_day: {usd: 2.00, on_exceeded: queue}
  reserve: true
approvals: [{tool: place_order, quorum: 2}]
"""


def codes(folder: Path, sealed: str, child: str) -> list[str]:
    (folder / "base.yaml").write_text(f"{BASE}sealed: [{sealed}]\n")
    (folder / "desk.yaml").write_text(f"version: 1\nname: desk\nextends: base\n{child}\n")
    loaded = load_folder(folder, tools=TOOLS | ACTING, schema_only=True)
    return [p.code for p in loaded.problems]


@pytest.mark.parametrize(
    ("sealed", "child"),
    [
        ("supervisor.limits", "supervisor: {limits: {time: 299s}}"),
        ("supervisor.limits.usd", "supervisor: {limits: {usd: 0.5}}"),
        ("supervisor.tools", "supervisor: {tools: [chart]}"),
        ("budgets.user_day", "budgets: {user_day: {on_exceeded: stop_and_report, runs: 3}}"),
        ("budgets", "budgets: {month: {usd: 20}}"),
        ("approvals", "approvals: [{tool: place_order, quorum: 1}]"),
        ("supervisor.role", "supervisor: {role: Head}"),
    ],
)
def test_stricter_is_allowed(tmp_path: Path, sealed: str, child: str) -> None:
    assert codes(tmp_path, sealed, child) == []


@pytest.mark.parametrize(
    ("sealed", "child"),
    [
        ("supervisor.limits", "supervisor: {limits: {time: 301s}}"),
        ("supervisor.limits", "supervisor: {limits: {usd: null}}"),
        ("supervisor.limits", "supervisor: {limits: null}"),
        ("supervisor.tools", "supervisor: {tools: [chart, get_market_history]}"),
        ("budgets.user_day", "budgets: {user_day: {on_exceeded: fallback_model}}"),
        ("budgets.reserve", "budgets: {reserve: false}"),
        ("approvals", "approvals: null"),
        ("supervisor.role", "supervisor: {role: Boss}"),
        ("supervisor", "supervisor: {prompt: Do as you like.}"),
        ("agents", "agents: {b: {role: B, prompt: P., tools: []}}"),
        ("agents", "agents: {a: null}"),
        ("agents.a.tools", "agents: {a: {tools: {add: [compact]}}}"),
    ],
)
def test_looser_is_refused(tmp_path: Path, sealed: str, child: str) -> None:
    assert set(codes(tmp_path, sealed, child)) == {"SW305"}


def test_a_finding_shows_both_lines(tmp_path: Path) -> None:
    assert codes(tmp_path, "budgets.user_day", "budgets: {user_day: {usd: 3}}") == ["SW305"]
    text = render(load_folder(tmp_path, tools=TOOLS | ACTING, schema_only=True).problems)
    assert text == (
        "error[SW305]: `budgets.user_day.usd` is sealed and is `3`, looser than `2.00`\n"
        "  --> desk.yaml:4:27\n"
        "   4 | budgets: {user_day: {usd: 3}}\n"
        "     |                           ^ at most `2.00`\n"
        "  ::: base.yaml:11:19\n"
        "  11 |   user_day: {usd: 2.00, on_exceeded: queue}\n"
        "     |                   ^^^^ sealed here\n"
    )


def test_a_grandchild_is_held_as_well_and_nobody_unseals(tmp_path: Path) -> None:
    codes(tmp_path, "budgets.user_day", "sealed: []")
    (tmp_path / "last.yaml").write_text(
        "version: 1\nname: last\nextends: desk\nbudgets: {user_day: {usd: 9}}\n"
    )
    found = load_folder(tmp_path, tools=TOOLS | ACTING, schema_only=True).problems
    assert [(p.code, p.file) for p in found] == [("SW305", "last.yaml")]


def test_a_second_parent_loosens_nothing(tmp_path: Path) -> None:
    codes(tmp_path, "budgets.user_day", "")
    (tmp_path / "other.yaml").write_text(
        "version: 1\nname: other\nabstract: true\nbudgets: {user_day: {usd: 9}}\n"
    )
    (tmp_path / "desk.yaml").write_text("version: 1\nname: desk\nextends: [base, other]\n")
    found = load_folder(tmp_path, tools=TOOLS | ACTING, schema_only=True).problems
    assert [(p.code, p.file) for p in found] == [("SW305", "other.yaml")]


def test_approvals_of_two_parents_that_share_one_are_not_doubled(tmp_path: Path) -> None:
    codes(tmp_path, "approvals", "abstract: true")
    (tmp_path / "side.yaml").write_text("version: 1\nname: side\nabstract: true\nextends: base\n")
    (tmp_path / "last.yaml").write_text("version: 1\nname: last\nextends: [desk, side]\n")
    loaded = load_folder(tmp_path, tools=TOOLS | ACTING, schema_only=True)
    assert render(loaded.problems) == ""
    from swarm_presets.positions import plain

    assert plain(loaded.trees["last"])["approvals"] == [{"tool": "place_order", "quorum": 2}]
