"""What a child takes from its parents (guide "presets", 7)."""

from pathlib import Path

import pytest

from agent_core.runtime.team import Policy, Status, Team
from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.problems import render
from tests.unit.swarm_presets.catalogue import TOOLS

BASE = """\
version: 1
name: base
abstract: true
title: Base
models:
  fast: {use: auto, effort: low}
defaults:
  model: fast
  limits: {time: 60s, tool_timeout: 20s, usd: 0.10}
  policy:
    error: {next_action: fallback_to_direct_tools, retryable: true, fallback_tools: [chart]}
supervisor:
  tools: [chart, analyze_stock]
agents:
  bull: {role: Bull, prompt: For., tools: [chart]}
  bear: {role: Bear, prompt: Against., tools: [chart]}
"""


def load(folder: Path, **files: str) -> PresetSet:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return load_folder(folder, tools=TOOLS)


def child(folder: Path, text: str, base: str = BASE) -> Team:
    loaded = load(folder, base=base, child="version: 1\nname: child\nextends: base\n" + text)
    assert render(loaded.problems) == ""
    return loaded.teams["child"]


def test_everything_but_what_a_preset_says_about_itself_is_inherited(tmp_path: Path) -> None:
    team = child(tmp_path, "")
    assert team.title == "child"
    assert list(team.agents) == ["bull", "bear"]
    assert team.agents["bull"].effort == "low"
    assert team.agents["bull"].limits.usd == 0.10


def test_maps_merge_key_by_key_and_scalars_and_lists_replace(tmp_path: Path) -> None:
    team = child(tmp_path, "agents:\n  bull: {tools: [analyze_stock], limits: {time: 2m}}\n")
    bull = team.agents["bull"]
    assert bull.prompt == "For."
    assert bull.tools == ("analyze_stock",)
    assert (bull.limits.time, bull.limits.tool_timeout) == (120.0, 20.0)


def test_tools_are_edited_with_add_and_remove(tmp_path: Path) -> None:
    team = child(
        tmp_path,
        "supervisor: {tools: {add: [get_market_history, chart], remove: [analyze_stock]}}\n",
    )
    assert team.supervisor.tools == ("chart", "get_market_history")


def test_null_removes_an_agent_and_a_value(tmp_path: Path) -> None:
    team = child(tmp_path, "agents: {bear: null}\ndefaults: {limits: {usd: null}}\n")
    assert list(team.agents) == ["bull"]
    assert team.agents["bull"].limits.usd is None


def test_changed_defaults_reach_inherited_agents(tmp_path: Path) -> None:
    team = child(tmp_path, "defaults: {limits: {time: 90s}}\n")
    assert team.agents["bear"].limits.time == 90.0


def test_policies_merge_field_by_field_over_the_defaults(tmp_path: Path) -> None:
    team = child(tmp_path, "agents: {bull: {policy: {error: {fallback_tools: [analyze_stock]}}}}\n")
    assert team.agents["bull"].policy[Status.ERROR] == Policy(
        "fallback_to_direct_tools", retryable=True, fallback_tools=("analyze_stock",)
    )
    assert team.agents["bear"].policy[Status.ERROR].fallback_tools == ("chart",)


def test_defaults_do_not_flow_into_the_supervisor(tmp_path: Path) -> None:
    team = child(tmp_path, "")
    assert team.supervisor.limits.usd is None
    assert team.supervisor.limits.time == 600.0


def test_parents_apply_left_to_right(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        a="version: 1\nname: a\nabstract: true\nsupervisor: {role: A, tools: [chart]}\n",
        b="version: 1\nname: b\nabstract: true\nsupervisor: {role: B}\n",
        c="version: 1\nname: c\nextends: [a, b]\n",
    )
    assert (loaded.teams["c"].supervisor.role, loaded.teams["c"].supervisor.tools) == (
        "B",
        ("chart",),
    )


def test_an_operators_preset_may_extend_the_shipped_one_that_it_replaces(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, own="version: 1\nname: solo\nextends: solo\nsupervisor: {tools: [chart]}\n"
    )
    assert render(loaded.problems) == ""
    assert loaded.teams["solo"].supervisor.tools == ("chart",)
    assert "market assistant" in loaded.teams["solo"].supervisor.prompt


def test_a_wrong_parent_disables_its_children_and_says_so_in_both_files(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        base=BASE.replace("time: 60s", "time: soon"),
        child="version: 1\nname: child\nextends: base\n",
        other="version: 1\nname: other\nsupervisor: {}\n",
    )
    assert loaded.broken == {"base", "child"}
    assert "other" in loaded.teams
    assert [(p.code, p.file) for p in loaded.problems] == [
        ("SW103", "base.yaml"),
        ("SW201", "child.yaml"),
    ]


def test_a_parents_wrong_reference_is_told_once_and_stops_its_children(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        base=BASE.replace("tools: [chart, analyze_stock]", "tools: [chart, analyse_stock]"),
        child="version: 1\nname: child\nextends: base\n",
    )
    assert loaded.broken == {"base", "child"}
    assert [(p.code, p.file) for p in loaded.problems] == [("SW203", "base.yaml")]
    assert loaded.found["child"] == loaded.problems


@pytest.mark.parametrize(
    ("old", "new"), [("For.", "For!"), ("time: 60s", "time: 61s"), ("effort: low", "effort: high")]
)
def test_digest_covers_what_is_inherited(tmp_path: Path, old: str, new: str) -> None:
    before = child(tmp_path, "").digest
    assert child(tmp_path, "", BASE.replace(old, new)).digest != before
    assert child(tmp_path, "# a remark\n").digest == before


def test_no_base_of_the_operator_breaks_shipped_presets(tmp_path: Path) -> None:
    """It takes the place of the shipped base for the operator's own presets alone."""
    base = "version: 1\nname: desk-base\nabstract: true\nsupervisor: {tools: [chart]}\nmodels: {own: {use: demo}}\n"
    (tmp_path / "desk-base.yaml").write_text(base)
    (tmp_path / "mine.yaml").write_text("version: 1\nname: mine\nextends: desk-base\n")
    found = load_folder(tmp_path, tools=TOOLS)
    assert render(found.problems) == ""
    alone = load_folder(tools=TOOLS)
    assert {n: t.digest for n, t in found.teams.items() if n != "mine"} == {
        n: t.digest for n, t in alone.teams.items()
    }
    assert found.teams["mine"].supervisor.tools == ("chart",)
    (tmp_path / "desk-base.yaml").write_text(base + "supervisr: {}\n")
    broken = load_folder(tmp_path, tools=TOOLS)
    assert broken.broken == {"desk-base", "mine"}
    assert broken.teams.keys() == alone.teams.keys()
