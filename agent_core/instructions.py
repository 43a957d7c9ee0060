"""Instructions that people write for the agents as Markdown files: skills, and what a tool needs to read one.

A skill says how a frequent job is done. It is text alone: it gives no tools and no permissions (SKL-4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

LOAD_SKILL = "load_skill"
USER_INPUT = "{user_input}"
Origin = Literal["built-in", "operator", "own"]


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. Its texts are by language ("en", "zh"); at least one language has `bodies`.

    `argument` hints at what belongs behind its command; `tools` are those that it is written for. Both are only told.
    `origin`: shipped, of the operator's folder, or the person's own.
    """

    name: str
    bodies: Mapping[str, str]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    origin: Origin = "built-in"

    @property
    def command(self) -> str:
        """Its name as every platform takes a command."""
        return self.name.replace("-", "_")

    def body(self, language: str, user_input: str = "") -> str:
        """The instructions in a language, or in the other one, with the person's words put in to the letter."""
        text = spoken(self.bodies, language)
        if USER_INPUT in text:
            return text.replace(USER_INPUT, user_input)
        return f"{text}\n\n{user_input}" if user_input else text

    def description(self, language: str) -> str:
        """What it is for, one short line; its title or its name where nothing is said."""
        return spoken(self.descriptions, language) or spoken(self.titles, language) or self.name


class Skills(Protocol):
    """The skills that there are. Both methods may read small files: use a thread where a loop runs."""

    def find(self, owner: str, name: str) -> Skill | None:
        """The skill of this name for a person: their own before the operator's before a shipped one."""
        ...

    def all(self, owner: str) -> Sequence[Skill]:
        """Every skill that a person may use, by name."""
        ...


def spoken(texts: Mapping[str, str], language: str) -> str:
    """The text in a language, else in the other one, "" for none."""
    return texts.get(language) or next((text for text in texts.values() if text), "")


def is_open(name: str, allowed: Sequence[str] | None) -> bool:
    """Whether a preset's list of skills (None: all) lets this one be used."""
    return allowed is None or name in allowed
