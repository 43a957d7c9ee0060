"""Every code of the validator: a bad file that has exactly it, a good file that differs and has none."""

from pathlib import Path

import pytest

from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.problems import render
from tests.unit.swarm_presets.catalogue import FIXTURES, MODELS, TOOLS

CASES = sorted((FIXTURES / "codes").iterdir())
CODES = {case.name.split("-")[0] for case in CASES}


def load(case: Path, kind: str) -> PresetSet:
    file = case / f"{kind}.yaml"
    return load_folder(file if file.exists() else case / kind, tools=TOOLS, models=MODELS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_file_has_its_finding_and_no_other(case: Path) -> None:
    loaded = load(case, "bad")
    assert {p.code for p in loaded.problems} == {case.name.split("-")[0]}, render(loaded.problems)
    assert loaded.broken
    for found in loaded.problems:
        assert found.message
        assert found.cure
        assert "\n" not in found.message + found.cure
        assert found.line >= 1
        assert found.column >= 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_good_file_has_none_and_runs(case: Path) -> None:
    loaded = load(case, "good")
    assert render(loaded.problems) == ""
    assert not loaded.broken
    assert len(loaded.teams) >= 3


def test_each_code_of_the_first_form_has_a_case() -> None:
    first = "SW001 SW002 SW101 SW102 SW103 SW104 SW105 SW201 SW202 SW203 SW204 SW205 SW206 SW207"
    assert set(first.split()) | {"SW301", "SW303", "SW306", "SW307"} == CODES


@pytest.mark.parametrize(
    "key", ["flow", "budgets", "approvals", "evals", "schedule", "mcp", "inputs", "sealed", "data"]
)
def test_keys_that_nothing_enforces_are_refused(key: str, tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(f"version: 1\nname: desk\nsupervisor: {{}}\n{key}: {{}}\n")
    loaded = load_folder(tmp_path, tools=TOOLS)
    assert [(p.code, p.message, p.line) for p in loaded.problems] == [
        ("SW101", f"unknown key `{key}`", 4)
    ]


@pytest.mark.parametrize("limit", ["input_tokens: 20k", "output_chars: 900", "tool_calls: 5"])
def test_limits_that_do_not_bound_a_supervisor_are_refused(limit: str, tmp_path: Path) -> None:
    text = f"version: 1\nname: desk\nsupervisor: {{limits: {{{limit}}}}}\n"
    (tmp_path / "desk.yaml").write_text(text)
    assert [p.code for p in load_folder(tmp_path, tools=TOOLS).problems] == ["SW101"]


@pytest.mark.parametrize("key", ["memory", "grounding", "output", "skills"])
def test_agent_keys_that_nothing_enforces_are_refused(key: str, tmp_path: Path) -> None:
    text = "version: 1\nname: desk\nsupervisor: {}\nagents:\n  research: {role: R, prompt: P, tools: [], KEY: {}}\n"
    (tmp_path / "desk.yaml").write_text(text.replace("KEY", key))
    loaded = load_folder(tmp_path, tools=TOOLS)
    assert [(p.code, p.message) for p in loaded.problems] == [("SW101", f"unknown key `{key}`")]
