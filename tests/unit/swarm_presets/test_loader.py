"""Files, folders and layers."""

import os
from pathlib import Path

import pytest

from agent_core.runtime.policy import DEFAULTS
from agent_core.runtime.team import Status
from swarm_presets.loader import load_folder
from swarm_presets.problems import render
from tests.unit.swarm_presets.catalogue import MODELS, TOOLS

DESK = "version: 1\nname: desk\nsupervisor: {tools: [chart]}\n"


def test_a_missing_folder_holds_no_presets(tmp_path: Path) -> None:
    assert {"solo", "trading-desk"} <= load_folder(tmp_path / "none", tools=TOOLS).teams.keys()


def test_shipped_presets_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "desk.yml").write_text(DESK)
    assert list(load_folder(tmp_path, tools=TOOLS, shipped=False).teams) == ["desk"]


def test_the_operators_file_replaces_the_shipped_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(DESK.replace("desk", "solo"))
    assert load_folder(tmp_path, tools=TOOLS).teams["solo"].supervisor.tools == ("chart",)


def test_a_later_folder_wins(tmp_path: Path) -> None:
    for name, tool in (("a", "chart"), ("b", "analyze_stock")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "desk.yaml").write_text(DESK.replace("chart", tool))
    loaded = load_folder([tmp_path / "a", tmp_path / "b"], tools=TOOLS)
    assert loaded.teams["desk"].supervisor.tools == ("analyze_stock",)


@pytest.mark.parametrize("text", [DESK.replace("desk", "solo") + "skills: report\n", "a: [\n"])
def test_a_wrong_file_of_the_operator_is_not_replaced_by_the_shipped_one(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "solo.yaml").write_text(text)
    loaded = load_folder(tmp_path, tools=TOOLS)
    assert "trading-desk" in loaded.teams
    assert "solo" not in loaded.teams
    assert loaded.broken == {"solo"}
    assert [p.file for p in loaded.found["solo"]] == ["solo.yaml"]


def test_hidden_and_other_files_are_no_presets(tmp_path: Path) -> None:
    for name in (".desk.yaml", "desk.yaml~", "notes.txt"):
        (tmp_path / name).write_text("a: [")
    (tmp_path / "folder.yaml").mkdir()
    assert load_folder(tmp_path, tools=TOOLS).problems == []


def test_text_that_is_not_utf8_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_bytes(b"name: \xff\xfe\n")
    loaded = load_folder(tmp_path, tools=TOOLS)
    assert [(p.code, p.cure) for p in loaded.problems] == [("SW001", "save it as UTF-8")]
    assert loaded.broken == {"desk"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(DESK)
    (tmp_path / "desk.yaml").chmod(0)
    assert [p.code for p in load_folder(tmp_path, tools=TOOLS).problems] == ["SW001"]


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_bytes(b"\xef\xbb\xbf" + DESK.replace("\n", "\r\n").encode())
    assert render(load_folder(tmp_path, tools=TOOLS).problems) == ""


def test_a_prompt_file_beside_the_preset_wins_over_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "solo.md").write_text("  我的提示\n", "utf-8")
    (tmp_path / "desk.yaml").write_text(
        DESK.replace("{tools", "{prompt: {file: prompts/solo.md}, tools")
    )
    assert load_folder(tmp_path, tools=TOOLS).teams["desk"].supervisor.prompt == "我的提示"


@pytest.mark.parametrize("content", [b"", b"\xff", b"x" * 50_000])
def test_a_prompt_file_that_cannot_serve_is_a_finding(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "own.md").write_bytes(content)
    (tmp_path / "desk.yaml").write_text(DESK.replace("{tools", "{prompt: {file: own.md}, tools"))
    assert [p.code for p in load_folder(tmp_path, tools=TOOLS).problems] == ["SW206"]


def test_a_supervisor_without_a_prompt_gets_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(DESK)
    assert (
        "You lead a small desk"
        in load_folder(tmp_path, tools=TOOLS).teams["desk"].supervisor.prompt
    )


def test_aliases_are_resolved_to_models_and_effort(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(
        "version: 1\nname: desk\n"
        "models: {fast: {use: local/small, effort: low}, smart: {use: anthropic/any}}\n"
        "supervisor: {model: smart}\n"
        "agents:\n  a:\n    {role: A, prompt: P, tools: [], model: fast,\n"
        "     policy: {error: {next_action: use_partial, fallback_model: smart}}}\n"
    )
    team = load_folder(tmp_path, tools=TOOLS, models=MODELS).teams["desk"]
    assert (team.supervisor.model, team.supervisor.effort) == ("anthropic/any", None)
    assert (team.agents["a"].model, team.agents["a"].effort) == ("local/small", "low")
    assert team.agents["a"].policy[Status.ERROR].fallback_model == "anthropic/any"


def test_an_agent_without_policies_has_the_default_ones(tmp_path: Path) -> None:
    """Its fallback tools are the supervisor's; where there are none, there is no fallback."""
    agent = "agents: {a: {role: A, prompt: P, tools: []}}\n"
    (tmp_path / "a.yaml").write_text(DESK + agent)
    (tmp_path / "b.yaml").write_text(DESK.replace("desk", "bare").replace("[chart]", "[]") + agent)
    teams = load_folder(tmp_path, tools=TOOLS).teams
    full, bare = teams["desk"].agents["a"].policy, teams["bare"].agents["a"].policy
    assert {s: p.next_action for s, p in full.items()} == {
        s: p.next_action for s, p in DEFAULTS.items()
    }
    assert full[Status.TIMEOUT].fallback_tools == ("chart",)
    assert full[Status.TIMEOUT].retryable
    assert bare[Status.TIMEOUT].next_action == "use_partial"


def test_default_times_give_way_to_shorter_ones_that_are_written(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(
        "version: 1\nname: desk\nsupervisor: {limits: {time: 100s}}\n"
        "agents:\n  a: {role: A, prompt: P, tools: []}\n"
        "  b: {role: B, prompt: P, tools: [], limits: {time: 30s}}\n"
    )
    agents = load_folder(tmp_path, tools=TOOLS).teams["desk"].agents
    assert agents["a"].limits.time == 100.0
    assert agents["b"].limits.tool_timeout == 30.0
