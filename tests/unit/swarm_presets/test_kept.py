"""A preset is made again from what was kept of it, as it was, whatever its files say by then (issue "presets", 9)."""

import json
from pathlib import Path

import pytest

from agent_core.runtime.team import Team
from gateway.presets.team_house import acting
from gateway.toolbox import toolbox
from swarm_presets.kept import restore
from swarm_presets.loader import load_folder
from swarm_presets.references import Known

REGISTRY = toolbox()
KNOWN = Known(REGISTRY.names, None, acting(REGISTRY))
DESK = """
version: 1
name: desk
sealed: [agents.aide.limits]
models: {fast: {use: demo, price: {input: 1, output: 2}}}
supervisor: {role: Head, model: fast, prompt: {file: own.md}, tools: [chart]}
agents:
  second: {role: Second, prompt: {file: own.md}, tools: [chart]}
  aide: {role: Aide, prompt: "Help.", tools: [chart], limits: {time: 30s, tool_timeout: 10s}}
routes:
  - {match: [price], tools: [chart]}
budgets: {run: {usd: 0.5}}
"""


def teams(folder: Path) -> dict[str, Team]:
    return load_folder(folder, tools=REGISTRY.names, acting=acting(REGISTRY)).teams


def write(folder: Path, prompt: str = "Lead well.") -> Team:
    (folder / "own.md").write_text(prompt)
    (folder / "desk.yaml").write_text(DESK)
    found = load_folder(folder, tools=REGISTRY.names, acting=acting(REGISTRY), shipped=False)
    assert [p for p in found.problems if p.severity == "error"] == []
    return found.teams["desk"]


def test_every_shipped_preset_comes_back_as_it_was(tmp_path: Path) -> None:
    found = teams(tmp_path)
    assert "trading-desk" in found
    for team in found.values():
        assert restore(team.source, team.digest, KNOWN) == team


def test_prompts_and_the_order_of_agents_are_those_of_then(tmp_path: Path) -> None:
    team = write(tmp_path)
    write(tmp_path, "Lead otherwise.")
    (tmp_path / "own.md").unlink()
    again = restore(team.source, team.digest, KNOWN)
    assert again == team
    assert list(again.agents) == ["second", "aide"]
    assert again.supervisor.prompt.startswith("Lead well.")
    assert again.supervisor.prompt.count("chart") == team.supervisor.prompt.count("chart")


def test_another_order_of_keys_is_the_same_preset(tmp_path: Path) -> None:
    team = write(tmp_path)
    whole = json.loads(team.source)
    whole["source"] = dict(reversed(whole["source"].items()))
    assert restore(json.dumps(whole), team.digest, KNOWN) == team
    (tmp_path / "desk.yaml").write_text(
        DESK.replace("version: 1\nname: desk", "name: desk\nversion: 1")
    )
    assert write_again(tmp_path).digest == team.digest


def write_again(folder: Path) -> Team:
    return load_folder(folder, tools=REGISTRY.names, shipped=False).teams["desk"]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["supervisor"].update(tools=["a_tool_that_is_no_more"]),
        lambda s: s.update(a_key_that_is_no_more=1),
    ],
    ids=["tool", "key"],
)
def test_what_this_version_cannot_run_is_not_made(tmp_path: Path, change) -> None:
    team = write(tmp_path)
    whole = json.loads(team.source)
    change(whole["source"])
    assert restore(json.dumps(whole), team.digest, KNOWN) is None
