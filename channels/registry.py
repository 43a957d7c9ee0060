"""Which kinds of channel there are: ours, and those of other packages (entry-point group "swarmgate.channels").

Everything is named by import path and imported when asked for, so that only enabled channels load their SDK.
"""

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # the settings read the names here, and must not load an HTTP library for it
    from channels.base import Channel
    from channels.checkup import Finding

GROUP = "swarmgate.channels"


class UnknownKindError(LookupError):
    """No channel of this name is installed. `near` is the closest name, or None."""

    def __init__(self, name: str, known: list[str]) -> None:
        matches = get_close_matches(name, known, n=1)
        self.name = name
        self.near = matches[0] if matches else None
        cure = f"did you mean {self.near}?" if self.near else f"there are: {', '.join(known)}"
        super().__init__(f"there is no channel {name!r}; {cure}")


class BrokenKindError(Exception):
    """A channel is named but cannot be loaded: its package is broken."""


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """A kind of channel. Another package's entry point names one of these.

    Attributes:
        name: the key under `channels:` in the settings and the first part of addresses.
        channel: "module:Class" of the channel.
        config: "module:Class" of its settings, a dataclass or pydantic model; empty when there are none.
        hosted: the class wants an object of the gateway's (the web chat: its history), so the gateway builds it.
        check: "module:function" of what `swarmgate check` asks the platform; see channels.checkup; empty for nothing.
    """

    name: str
    channel: str
    config: str = ""
    hosted: bool = False
    check: str = ""

    def config_type(self) -> type[Any] | None:
        """The class of its settings. Raises BrokenKindError."""
        return cast("type[Any]", _load(self.name, self.config)) if self.config else None

    def channel_type(self) -> "Callable[..., Channel]":
        """The class of the channel; imports its SDK. Raises BrokenKindError."""
        return cast("Callable[..., Channel]", _load(self.name, self.channel))

    def checker(self) -> "Callable[[object], Awaitable[list[Finding]]] | None":
        """What asks the platform about a configuration; imports its SDK. Raises BrokenKindError."""
        if not self.check:
            return None
        return cast("Callable[[object], Awaitable[list[Finding]]]", _load(self.name, self.check))

    def build(self, values: Mapping[str, Any] | None = None, *, host: object = None) -> "Channel":
        """A channel from its settings' values and, for a hosted kind, the gateway's object.

        Raises BrokenKindError, BadCredentials, and what the settings' class says about wrong values (TypeError,
        ValueError).
        """
        arguments: list[Any] = [host] if self.hosted and host is not None else []
        config = self.config_type()
        if config is not None:
            arguments.append(config(**(values or {})))
        return self.channel_type()(*arguments)


BUILT_IN = {
    kind.name: kind
    for kind in (
        ChannelKind(
            "telegram",
            "channels.telegram.channel:TelegramChannel",
            "channels.telegram.config:TelegramConfig",
            check="channels.telegram.check:findings",
        ),
        ChannelKind(
            "slack",
            "channels.slack.channel:SlackChannel",
            "channels.slack.config:SlackConfig",
            check="channels.slack.check:findings",
        ),
        ChannelKind(
            "discord",
            "channels.discord.channel:DiscordChannel",
            "channels.discord.config:DiscordConfig",
            check="channels.discord.check:findings",
        ),
        ChannelKind("web", "channels.web.channel:WebChannel", hosted=True),
        ChannelKind("terminal", "channels.terminal.channel:TerminalChannel"),
    )
}


def names() -> list[str]:
    """The names of all kinds, sorted. Imports nothing."""
    return sorted({*BUILT_IN, *_foreign()})


def kind(name: str) -> ChannelKind:
    """One kind; ours win over others' of the same name. Raises UnknownKindError, BrokenKindError."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    foreign = _foreign()
    if name not in foreign:
        raise UnknownKindError(name, names())
    return _foreign_kind(foreign[name])


def available() -> dict[str, ChannelKind]:
    """All kinds that can be loaded, by name. Imports the modules that other packages name; broken ones are left out."""
    found = dict(BUILT_IN)
    for name, entry in _foreign().items():
        try:
            found.setdefault(name, _foreign_kind(entry))
        except BrokenKindError:
            continue
    return found


def _foreign() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _foreign_kind(entry: EntryPoint) -> ChannelKind:
    try:
        found = entry.load()
    except Exception as error:
        raise BrokenKindError(_broken(entry.name, entry.value, error)) from error
    if not isinstance(found, ChannelKind):
        raise BrokenKindError(
            f"channel {entry.name}: {entry.value} is no ChannelKind; report it to its package"
        )
    return found


def _load(name: str, path: str) -> object:
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise BrokenKindError(_broken(name, path, error)) from error


def _broken(name: str, path: str, error: Exception) -> str:
    return f"channel {name}: cannot load {path} ({error}); install or update its package"
