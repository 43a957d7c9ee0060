"""What the tests of skills and templates share: a house with both, and a look at what a model was shown."""

from pathlib import Path
from typing import Any

from agent_core.ports import ModelRequest
from agent_core.tools.registry import Registry
from agent_core.tools.skills import skill_tools
from agent_core.types import Context, Text
from gateway.recipes.own_skills import OwnSkills
from gateway.recipes.recipes import Recipes
from gateway.recipes.skill_house import SkillHouse
from gateway.recipes.template_house import TemplateHouse
from gateway.storage.db import Database
from tests.harness import Toolbox, agent, team
from tests.house import House

TOOLS = ("echo", "load_skill")


class SkilledToolbox(Toolbox):
    """The harness's tools and `load_skill`."""

    def __init__(self, skills: SkillHouse) -> None:
        super().__init__()
        self.skills = skills

    def registry(self) -> Registry:
        return Registry([*super().registry(), *skill_tools(self.skills)])


def recipes(folder: Path) -> Recipes:
    own = OwnSkills(folder / "data")
    return Recipes(SkillHouse(folder / "skills", own), TemplateHouse(folder / "templates"))


def write(folder: Path, kind: str, name: str, text: str) -> None:
    (folder / kind).mkdir(exist_ok=True)
    (folder / kind / f"{name}.md").write_text(text, "utf-8")


def house(db: Database, folder: Path, *script: Any, **more: Any) -> House:
    known = more.pop("recipes", None) or recipes(folder)
    lead = more.pop("lead", None) or agent(tools=TOOLS)
    return House(
        db,
        script[0] if len(script) == 1 and callable(script[0]) else list(script),
        the_team=more.pop("the_team", None) or team(lead),
        tools=SkilledToolbox(known.skills),
        recipes=known,
        **more,
    )


def words(request: ModelRequest) -> list[str]:
    """What people said, as a request shows it."""
    return [m.text for m in request.messages if m.role == "user" and m.text]


def beside(request: ModelRequest) -> str:
    """What stands beside the words of the newest message."""
    said = (m for m in reversed(request.messages) if m.role == "user")
    last = next(m for m in said if any(isinstance(b, Context | Text) for b in m.blocks))
    return "\n".join(b.text for b in last.blocks if isinstance(b, Context))


def reminder(request: ModelRequest) -> str:
    """The block of skills at the end of the system text, "" for none (SKL-2)."""
    head, mark, tail = request.system.partition("<system-reminder>")
    assert not mark or (head and tail.endswith("</system-reminder>"))
    return tail.removesuffix("</system-reminder>")
