"""The preset that the README shows holds as it stands there, and its case passes on the demo planner."""

import re
from pathlib import Path

from agent_core.models.replay import Cassette
from gateway.evals import Runner
from gateway.settings import Settings
from gateway.team_house import load_presets
from gateway.toolbox import Equipment, toolbox
from swarm_presets.evals import cases
from swarm_presets.problems import render

README = Path(__file__).parents[3] / "README.md"
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
