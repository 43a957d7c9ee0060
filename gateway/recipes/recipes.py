"""Skills and templates as commands: which one a message calls, and what its turn begins with (SKL-1, MSC-9).

The gateway's own commands come first, then skills, then templates.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agent_core.assembly.sections import own_words
from agent_core.instructions import Skill, spoken
from agent_core.runtime import skills
from agent_core.runtime.recipes import Fault
from agent_core.runtime.team import Team
from agent_core.runtime.templates import Template
from agent_core.types import Row
from gateway.inbound.router import ALIASES, COMMANDS
from gateway.people.identity import Language
from gateway.recipes.own_skills import OwnSkills
from gateway.recipes.skill_house import SkillHouse
from gateway.recipes.template_house import TemplateHouse
from gateway.settings.settings import Settings
from gateway.turns.found import Found

log = logging.getLogger(__name__)
MENU_CHARS = 32  # of a command's name (Telegram, Discord)
_CALL = re.compile(r"[/!]([a-z][a-z0-9_-]{0,63})(?:\s+(.*))?\s*", re.IGNORECASE | re.DOTALL)


class Call(NamedTuple):
    """What a message calls, and the words behind its name."""

    recipe: Skill | Template
    given: str


def named(text: str) -> tuple[str, str] | None:
    """The name that a message calls, and the rest; None for plain words and the gateway's own commands."""
    match = _CALL.fullmatch(text.strip())
    if match is None or (name := match[1].lower()) in COMMANDS or name in ALIASES:
        return None
    return name, (match[2] or "").strip()


@dataclass(slots=True)
class Recipes:
    """All skills and templates of an installation. Its methods may read small files."""

    skills: SkillHouse = field(default_factory=SkillHouse)
    templates: TemplateHouse = field(default_factory=TemplateHouse)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with the operator's files."""
        return (*self.skills.faults, *self.templates.faults, *self._hidden())

    def _hidden(self) -> Iterator[Fault]:
        """What nobody can call, since its name is somebody else's."""
        for kind, house, names in (
            ("skill", self.skills, self.skills.shared),
            ("template", self.templates, self.templates.all),
        ):
            for name in names:
                command, whose = name.replace("-", "_"), ""
                if command in COMMANDS or command in ALIASES:
                    whose = "a command"
                elif kind == "template" and self.skills.find("", name):
                    whose = "a skill"
                if whose:
                    message = f"the {kind} `{name}` has the name of {whose}, which hides it"
                    yield Fault(f"{house.folder}/{name}.md", 0, message, "give it another name")

    def called(self, text: str, owner: str) -> Call | None:
        """The skill or template that a principal's message calls."""
        found = named(text)
        if found is None:
            return None
        recipe = self.skills.find(owner, found[0]) or self.templates.find(found[0])
        return None if recipe is None else Call(recipe, found[1])

    def menu(self, language: Language) -> list[tuple[str, str]]:
        """(command, description) of what everybody may call, in order of the names, skills first."""
        return list(_entries(self._shared(), language))

    def listed(self, owner: str, language: Language) -> list[tuple[str, str]]:
        """The same for one person, with their own skills."""
        return list(_entries([*self.skills.all(owner), *self.templates.all.values()], language))

    def usage(self, name: str, owner: str, language: Language) -> str:
        """How a skill or a template is called."""
        call = self.called(f"/{name}", owner)
        argument = spoken(call.recipe.arguments, language) if call is not None else ""
        if call is not None and isinstance(call.recipe, Template) and not argument:
            argument = "; ".join(f"{one.name} = …" for one in call.recipe.fields)
        return f"`/{name}`" + (f" + {argument}" if argument else "")

    def _shared(self) -> Sequence[Skill | Template]:
        return [*self.skills.shared.values(), *self.templates.all.values()]

    # The first row of a turn ---------------------------------------------------------------------------------

    def beside(self, found: Found, team: Team, text: str, owner: str, language: Language) -> Found:
        """What was found for a message, with the skill or the template that it calls."""
        call = self.called(text, owner)
        if call is None:
            return found
        if isinstance(call.recipe, Template):
            kept = call.recipe.called(own_words(call.given), language)
            return replace(found, meta=found.meta | kept)
        allowed = team.supervisor.skills
        context = skills.called(call.recipe, call.given, language, allowed)
        return replace(found.beside((context,)), meta=found.meta | skills.meta_of(call.recipe))

    def told(self, found: Found, earlier: Sequence[Row], owner: str, *, private: bool) -> Found:
        """What was found, with the list of skills for a session that has none yet; the session keeps it.

        A person's own skills are named in private alone: others read along in a group.
        """
        if skills.offered(earlier) is not None:
            return found
        listed = skills.offer(self.skills.all(owner if private else ""))
        return replace(found, meta=found.meta | {skills.OFFERED: listed})


def _entries(recipes: Sequence[Skill | Template], language: Language) -> Iterator[tuple[str, str]]:
    seen = set(COMMANDS | ALIASES.keys())
    for recipe in recipes:
        if recipe.command not in seen and len(recipe.command) <= MENU_CHARS:
            seen.add(recipe.command)
            yield recipe.command, recipe.description(language)


def recipes_of(settings: Settings) -> Recipes:
    """As the settings have it. Reads files, and logs what is wrong with them."""
    own = OwnSkills(settings.data_dir)
    made = Recipes(SkillHouse(settings.skills_dir, own), TemplateHouse(settings.templates_dir))
    for fault in made.faults:
        log.warning("recipe_problem", extra=fault.as_dict())
    return made
