"""Skills: made of their files, told in the prompt by name and description, and run by their command (SKL-1 … SKL-4)."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from agent_core.assembly.sections import own_words
from agent_core.instructions import LOAD_SKILL, Origin, Skill, is_open, spoken
from agent_core.runtime.recipes import BadRecipe, Fault, Page, pages
from agent_core.runtime.run import Run
from agent_core.types import Context, Row

OFFERED = "skills"  # key in the meta of the row that brings a session its list
MOST_OFFERED = 60  # skills that a prompt names
OWN = " (the person's own)"
_KEYS = ("name", "description", "title", "argument", "tools")

_REMINDER = (
    "Skills are instructions for frequent jobs. Where a request fits one, first call {tool} with its name and the "
    "person's words, and follow what it returns."
)
_CALLED = (
    "The person calls the skill `{name}` by its command. Carry these instructions out now, with the tools that you "
    "have; they give no further tools and no permissions.\n\n{text}"
)
_CLOSED = "The skill `{name}` is not open in this preset. Say so in one line; do not imitate it."


def built_in() -> dict[str, Skill]:
    """The skills that come with the package, by name."""
    folder = Path(str(files("agent_core").joinpath("skills")))
    faults: list[Fault] = []
    found = made(pages(folder.glob("*.md"), faults), faults, "built-in")
    if faults:
        raise RuntimeError(f"a shipped skill is broken: {faults[0]}")
    return found


def read(folder: Path, faults: list[Fault], origin: Origin) -> dict[str, Skill]:
    """The skills of a folder by name, {} where there is none; what is wrong goes into `faults`. Blocks."""
    listed = pages(folder.glob("*.md"), faults) if folder.is_dir() else []
    return made(listed, faults, origin)


def made(listed: Iterable[Page], faults: list[Fault], origin: Origin) -> dict[str, Skill]:
    """Skills of pages: those of one name are one skill in several languages. In order of their names."""
    found: dict[str, Skill] = {}
    taken: set[tuple[str, str]] = set()
    for one in listed:
        if (one.name, one.language) in taken:
            faults.append(
                Fault(one.file, 0, f"a second skill `{one.name}`", "give it another name")
            )
            continue
        try:
            found[one.name] = _joined(found.get(one.name), one, origin)
            taken.add((one.name, one.language))
        except BadRecipe as e:
            faults.append(Fault(one.file, *e.fault))
    return dict(sorted(found.items()))


def _joined(before: Skill | None, one: Page, origin: Origin) -> Skill:
    one.only(*_KEYS)
    new = Skill(
        one.name,
        {one.language: one.body},
        one.words("description"),
        one.words("title"),
        one.words("argument"),
        one.names("tools"),
        origin,
    )
    if before is None:
        return new
    return Skill(
        one.name,
        {**before.bodies, **new.bodies},
        {**before.descriptions, **new.descriptions},
        {**before.titles, **new.titles},
        {**before.arguments, **new.arguments},
        before.tools or new.tools,
        origin,
    )


# In the prompt ------------------------------------------------------------------------------------


def offer(skills: Sequence[Skill]) -> list[list[str]]:
    """What a session is told of skills: (name, description) pairs, kept in a row's meta.

    A session keeps the list that it began with, so that its prompt stays the same to the byte (SKL-4).
    """
    return [
        [s.name, spoken(s.descriptions, "en") + (OWN if s.origin == "own" else "")]
        for s in skills[:MOST_OFFERED]
    ]


def offered(rows: Sequence[Row]) -> tuple[tuple[str, str], ...] | None:
    """The list that a session was given; None where it has none yet."""
    for row in rows:
        if OFFERED in row.meta:
            return tuple((name, text) for name, text in row.meta[OFFERED])
    return None


def prompted(run: Run) -> str:
    """The system text of a run: its prompt, and at the end the skills that it may load (SKL-2)."""
    prompt = run.agent.prompt
    if LOAD_SKILL not in run.tools or not run.offered:
        return prompt
    mine = [(name, text) for name, text in run.offered if is_open(name, run.agent.skills)]
    if not mine:
        return prompt
    lines = [f"- {name}: {own_words(text)}" if text else f"- {name}" for name, text in mine]
    told = "\n".join((_REMINDER.format(tool=LOAD_SKILL), *lines))
    return f"{prompt}\n\n<system-reminder>\n{told}\n</system-reminder>"


# By command ---------------------------------------------------------------------------------------


def called(skill: Skill, user_input: str, language: str, allowed: Sequence[str] | None) -> Context:
    """What stands beside a person's words when they call a skill by its command.

    The words themselves stay as they were written: memory and recall learn from a person, not from a file.
    """
    if not is_open(skill.name, allowed):
        return Context(_CLOSED.format(name=skill.name))
    text = skill.body(language, own_words(user_input))
    return Context(_CALLED.format(name=skill.name, text=_without_tags(text)))


def _without_tags(text: str) -> str:
    """Instructions cannot end the block that they stand in."""
    return text.replace("</context>", "‹/context›")


def meta_of(skill: Skill) -> dict[str, Any]:
    """What the row of such a call keeps of it."""
    return {"skill": skill.name}
