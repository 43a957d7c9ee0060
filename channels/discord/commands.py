"""Slash commands: what is offered in Discord's tree, and the text that a use of one stands for."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from channels.discord.components import clipped
from channels.types import Address, Author

# Given (command, what was typed so far, who types, where): (shown, value) pairs, the best first.
Complete = Callable[[str, str, Author, Address], Awaitable[Sequence[tuple[str, str]]]]

ASK, ARGUMENT = "ask", "text"
MAX_COMMANDS, MAX_CHOICES, MAX_DESCRIPTION, MAX_CHOICE = 100, 25, 100, 100
CHAT_INPUT, STRING = 1, 3
COMPLETED = frozenset({"preset", "model", "resume"})
BARE = frozenset(
    {
        "start",
        "help",
        "new",
        "stop",
        "status",
        "usage",
        "budget",
        "undo",
        "retry",
        "sessions",
        "fork",
    }
)
LOCALES = {"zh": ("zh-CN", "zh-TW"), "en": ("en-US", "en-GB")}
ASK_TEXTS = {
    "": "Ask the bot; in a channel a thread is opened",
    "zh": "向机器人提问；在频道中会开一个子区",
}


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command.

    Attributes:
        argument: the name of its one text argument; None: it takes none; empty: as is usual for this name.
        completed: what is typed is completed; None: as is usual for this name.
        translations: descriptions by language code.
    """

    name: str
    description: str
    argument: str | None = ""
    required: bool = False
    completed: bool | None = None
    translations: Mapping[str, str] = field(default_factory=dict)

    def payload(self) -> dict[str, Any]:
        """As PUT /applications/{id}/commands takes it."""
        body: dict[str, Any] = {
            "name": self.name,
            "type": CHAT_INPUT,
            "description": clipped(self.description, MAX_DESCRIPTION),
        }
        if found := self._localized():
            body["description_localizations"] = found
        argument = self.argument
        if argument == "":
            argument = None if self.name in BARE else ARGUMENT
        if argument is not None:
            body["options"] = [self._option(argument)]
        return body

    def _option(self, name: str) -> dict[str, Any]:
        option = {
            "type": STRING,
            "name": name,
            "description": clipped(self.description, MAX_DESCRIPTION),
            "required": self.required,
        }
        completed = self.name in COMPLETED if self.completed is None else self.completed
        return option | ({"autocomplete": True} if completed else {})

    def _localized(self) -> dict[str, str]:
        return {
            locale: clipped(text, MAX_DESCRIPTION)
            for language, text in self.translations.items()
            for locale in LOCALES.get(language, ())
        }


class Menu:
    """The commands, the first hundred; /ask is always among them."""

    def __init__(self, commands: Sequence[SlashCommand] = ()) -> None:
        self._texts: dict[str, dict[str, str]] = {}
        self._given = {command.name: command for command in commands}

    def set(self, commands: Sequence[tuple[str, str]], language: str | None) -> None:
        """(name, description) pairs in a language, or in that of all others (None)."""
        code = language.partition("-")[0].lower() if language else ""
        self._texts[code] = dict(commands)

    def payload(self) -> list[dict[str, Any]]:
        """All commands for Discord."""
        ask = SlashCommand(ASK, ASK_TEXTS[""], ARGUMENT, required=True, translations=ASK_TEXTS)
        texts = {name: command.description for name, command in self._given.items()}
        names = {ASK: ask.description, **texts, **self._texts.get("", {})}
        found = [self._command(name, text, ask) for name, text in names.items()]
        return [command.payload() for command in found[:MAX_COMMANDS]]

    def _command(self, name: str, text: str, ask: SlashCommand) -> SlashCommand:
        """A command as it was given, with the newest texts."""
        base = self._given.get(name, ask if name == ASK else SlashCommand(name, text))
        texts = {code: known[name] for code, known in self._texts.items() if code and name in known}
        return replace(base, description=text, translations={**base.translations, **texts})


def text_of(data: Mapping[str, Any]) -> tuple[str, str]:
    """The name of the command that was used, and what was given to it."""
    options = data.get("options") or ()
    rest = " ".join(str(option.get("value", "")) for option in options).strip()
    return str(data.get("name", "")), rest


def choices(found: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """What is offered while a person types."""
    kept = [(name, value) for name, value in found if value and len(value) <= MAX_CHOICE]
    return [
        {"name": clipped(name, MAX_CHOICE), "value": value} for name, value in kept[:MAX_CHOICES]
    ]
