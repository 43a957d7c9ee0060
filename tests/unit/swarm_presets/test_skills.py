"""Which skills a preset opens, and its routes to them (guide "presets", 2)."""

from pathlib import Path

from agent_core.runtime.team import Team
from gateway.presets.team_house import load_presets
from gateway.recipes.skill_house import SkillHouse
from gateway.storage.db import Database
from gateway.toolbox import toolbox
from swarm_presets.loader import load_folder
from swarm_presets.problems import render
from tests.house import on_sqlite, settings
from tests.unit.gateway.recipe_house import beside, house, reminder

TOOLS = frozenset({"echo", "load_skill"})
AGENTS = """
agents:
  plain: {role: Plain, prompt: P., tools: [echo, load_skill]}
  own: {role: Own, prompt: P., tools: [echo, load_skill], skills: [screen]}
  none: {role: None, prompt: P., tools: [echo], skills: []}
"""


def compiled(folder: Path, text: str) -> Team:
    (folder / "desk.yaml").write_text(f"version: 1\nname: desk\n{text}")
    shared = frozenset(SkillHouse().shared)
    loaded = load_folder(folder, tools=TOOLS, skills=shared, shipped=False)
    assert render(loaded.problems) == ""
    return loaded.teams["desk"]


def test_an_agents_own_list_counts_before_the_presets(tmp_path: Path) -> None:
    team = compiled(tmp_path, f"supervisor: {{tools: [load_skill]}}\nskills: [report]{AGENTS}")
    assert team.supervisor.skills == ("report",)
    assert {name: agent.skills for name, agent in team.agents.items()} == {
        "plain": ("report",),
        "own": ("screen",),
        "none": (),
    }


def test_without_a_list_every_skill_is_open_and_defaults_flow_into_agents(tmp_path: Path) -> None:
    assert compiled(tmp_path, "supervisor: {tools: [load_skill]}\n").supervisor.skills is None
    text = f"supervisor: {{tools: [load_skill]}}\ndefaults: {{skills: [checkup]}}{AGENTS}"
    team = compiled(tmp_path, text)
    assert team.supervisor.skills is None
    assert team.agents["plain"].skills == ("checkup",)
    assert team.agents["own"].skills == ("screen",)


def test_routes_name_the_skill_first_then_the_tools(tmp_path: Path) -> None:
    """Static system text, the same for every message."""
    team = compiled(
        tmp_path,
        """
supervisor: {prompt: Lead., tools: [echo, load_skill]}
routes:
  - {match: [healthy, 健康], skill: checkup, tools: [echo]}
  - {match: rank, skill: screen}
  - {match: say, tools: [echo]}
""",
    )
    assert team.supervisor.prompt.splitlines()[-3:] == [
        "- “healthy”, “健康”: the skill `checkup`, then `echo`",
        "- “rank”: the skill `screen`",
        "- “say”: `echo`",
    ]


def test_the_operators_skills_may_be_named_and_others_not(tmp_path: Path) -> None:
    """SW209 knows the folder of the settings, as `swarmgate check` does."""
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "earnings.md").write_text("Do.")
    (tmp_path / "presets").mkdir()
    body = "version: 1\nname: desk\nsupervisor: {tools: [load_skill]}\nskills: [%s]\n"
    (tmp_path / "presets" / "desk.yaml").write_text(body % "earnings")
    rules = settings(skills_dir=str(tmp_path / "skills"), presets_dir=str(tmp_path / "presets"))
    assert load_presets(rules, toolbox()).found["desk"] == []
    (tmp_path / "presets" / "desk.yaml").write_text(body % "earning")
    (found,) = load_presets(rules, toolbox()).found["desk"]
    assert (found.code, found.message) == ("SW209", "no skill `earning`")
    assert "`earnings`" in found.cure


@on_sqlite
async def test_a_presets_list_holds_in_the_prompt_and_for_commands(
    db: Database, tmp_path: Path
) -> None:
    team = compiled(tmp_path, "supervisor: {tools: [echo, load_skill]}\nskills: [report]\n")
    async with house(db, tmp_path, "one", "two", the_team=team) as it:
        await it.ask("/checkup AAPL")
        assert "is not open in this preset" in beside(it.model.requests[0])
        assert "- report" in reminder(it.model.requests[0])
        assert "- checkup" not in reminder(it.model.requests[0])
        await it.ask("/report AAPL")
        assert "Write a report on: AAPL" in beside(it.model.requests[1])
