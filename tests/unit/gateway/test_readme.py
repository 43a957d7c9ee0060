"""What the README shows holds: its preset runs as it stands there, and its table of tools is that of the code."""

import re
from pathlib import Path

from agent_core.models.replay import Cassette
from gateway.presets.evals import Runner
from gateway.presets.team_house import load_presets
from gateway.settings.settings import Settings
from gateway.toolbox import Equipment, toolbox
from swarm_presets.evals import cases
from swarm_presets.problems import render
from tests.tool_table import README, shipped, table, written

NAME = "compare-stocks"


async def test_the_preset_of_the_readme_runs_as_it_is_shown(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (tmp_path / f"{NAME}.yaml").write_text(text, "utf-8")
    own = {"presets_dir": tmp_path, "data_dir": tmp_path / "data", "models": {"default": "demo"}}
    settings = Settings.model_validate(own)
    presets = load_presets(settings, toolbox(Equipment()))
    assert render(presets.found[NAME]) == ""
    [case] = cases(presets.trees[NAME])
    verdict = await Runner(settings, NAME, Cassette()).run(case)
    assert verdict.passed, verdict.shortfalls


def test_the_table_of_tools_is_that_of_the_code() -> None:
    """MCP-2: `make docs` writes it anew."""
    readme = README.read_text("utf-8")
    assert written(readme, table(shipped())) == readme


def test_every_shipped_preset_is_told_of() -> None:
    settings = Settings.model_validate({"presets_dir": "nowhere", "models": {"default": "demo"}})
    names = load_presets(settings, toolbox(Equipment())).trees
    told = README.read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in told] == []
