"""What a preset must hold when it is loaded, as the requirements list it (SWM-1 … SWM-4, TGV-9, TGV-11)."""

from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from gateway.redact import Redactor
from gateway.toolbox import Equipment, toolbox
from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.problems import Problem, render
from tests.unit.swarm_presets.catalogue import LEAD, TOOLS

HEAD = "version: 1\nname: desk\nsupervisor: {tools: [chart]}\n"


def read(folder: Path, text: str) -> PresetSet:
    (folder / "desk.yaml").write_text(text)
    lead, redact = LEAD, Redactor().text
    return load_folder(folder, tools=TOOLS | LEAD, lead=lead, redact=redact, shipped=False)


def only(found: PresetSet) -> Problem:
    [problem] = found.problems
    return problem


def test_each_shipped_preset_is_a_file_of_a_folder_named_as_it_is() -> None:
    """SWM-1."""
    found = sorted(f.name for f in (files("swarm_presets") / "presets").iterdir())
    loaded = load_folder(tools=toolbox(Equipment()).names)
    assert [name.removesuffix(".yaml") for name in found] == sorted(loaded.trees)


@pytest.mark.parametrize(
    "key",
    [
        "system_prompt: P.",
        "max_iterations: 9",
        "timeout_seconds: 60",
        "max_retries: 1",
        "model_name: x",
    ],
)
def test_the_keys_of_another_projects_presets_are_named_and_not_passed_over(
    tmp_path: Path, key: str
) -> None:
    """SWM-2, SWM-3: that project ignores what it does not know, and so its limits without a word."""
    agent = f"agents: {{a: {{role: A, prompt: P., tools: [], {key}}}}}\n"
    problem = only(read(tmp_path, HEAD + agent))
    assert (problem.code, problem.message) == ("SW101", f"unknown key `{key.partition(':')[0]}`")


def test_a_graph_of_tasks_is_reserved_and_says_what_to_write(tmp_path: Path) -> None:
    """SWM-4."""
    problem = only(read(tmp_path, HEAD + "tasks: [{id: one, agent_id: a, depends_on: []}]\n"))
    assert problem.code == "SW101"
    assert problem.message == "`tasks` is reserved: a graph of tasks is no part of version 1"
    assert problem.cure == "write the steps under `flow`"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("agents: {a: {role: A, prompt: P., tools: [no_such_tool]}}", "SW203"),
        (
            "agents: {a: {role: A, prompt: P., tools: [], limits: {time: 10s, tool_timeout: 11s}}}",
            "SW303",
        ),
        (
            "agents: {a: {role: A, prompt: P., tools: [], policy: {empty: {next_action: "
            "fallback_to_direct_tools, fallback_tools: [query_history]}}}}",
            "SW307",
        ),
        (
            "agents: {a: {role: A, prompt: P., tools: []}, a: {role: B, prompt: P., tools: []}}",
            "SW002",
        ),
        ("agents: !!python/object/apply:os.system [echo]", "SW001"),
        ("agents: {trading: {role: T, prompt: P., tools: [update_portfolio]}}", "SW310"),
        ("title: bot 123456789:AAFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEF", "SW311"),
    ],
)
def test_what_is_checked_when_a_preset_is_loaded(tmp_path: Path, text: str, code: str) -> None:
    """SWM-3: tools exist, times fit, fallbacks are the supervisor's, ids are unique, a safe loader, no secrets."""
    found = read(tmp_path, f"{HEAD}{text}\n")
    assert {p.code for p in found.problems} == {code}, render(found.problems)
    assert found.teams == {}


@pytest.mark.parametrize(
    "line",
    [
        "# once: ANTHROPIC_API_KEY=sk-ant-api03-FAKEFAKEFAKEFAKE00",
        "scenes: [{match: [x], text: 'password: hunter2secret9'}]",
        "description: xoxb-1234567890-abcdefghij",
    ],
)
def test_a_secret_is_found_and_the_finding_does_not_repeat_it(tmp_path: Path, line: str) -> None:
    """SWM-3, SCR-4: in comments as well; what is printed has the line without it."""
    found = read(tmp_path, f"{HEAD}{line}\n")
    problem = only(found)
    assert (problem.code, problem.line) == ("SW311", 4)
    shown = render(found.problems)
    assert "[redacted]" in shown
    assert Redactor().text(shown) == shown
    marked = problem.excerpt[problem.column - 1 :][: problem.length]
    assert marked == "[redacted]"


def test_no_shipped_agent_may_change_a_book_and_no_order_goes_out_by_itself() -> None:
    """TGV-9, TGV-11: agents propose; what acts is the supervisor's, and asks a person first."""
    tools = toolbox(Equipment())
    acting = {spec.name for spec in tools if spec.effect == "trade" or spec.lead_only}
    assert acting
    assert all(spec.requires_approval for spec in tools if spec.name in acting)
    for name, team in load_folder(tools=tools.names).teams.items():
        for agent in team.agents.values():
            assert not acting & set(agent.tools), (name, agent.id)


def test_a_shipped_file_is_plain_yaml() -> None:
    """SWM-3: it reads the same with any safe loader, so that other tools may edit it."""
    for file in (files("swarm_presets") / "presets").iterdir():
        whole = yaml.safe_load(file.read_text("utf-8"))
        assert whole["version"] == 1
        assert file.name == f"{whole['name']}.yaml"
