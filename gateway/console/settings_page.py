"""The settings as they are in effect, secrets masked, and what the start had to say of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from gateway.console.calls import Call, Nothing
from gateway.redact import MASK
from gateway.settings.fields import Section


@dataclass(frozen=True, slots=True)
class Setting:
    """One value. `key` is dotted; `set`: it is not its default. A secret is masked, or empty where none is set."""

    key: str
    value: str
    set: bool


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """The page."""

    file: str
    warnings: list[str]
    settings: list[Setting]


async def read(call: Call[Nothing]) -> SettingsPage:
    """The page's data."""
    settings, redactor = call.house.settings, call.house.redactor
    found = [
        Setting(s.key, str(redactor.field(s.key.rpartition(".")[2], s.value)), s.set)
        if s.value != MASK
        else s
        for s in _settings(settings, "")
    ]
    return SettingsPage(str(settings.file or ""), list(settings.warnings), found)


def _settings(section: Section, prefix: str) -> Iterator[Setting]:
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), f"{prefix}{name}"
        default = field.get_default(call_default_factory=True)
        yield from _value(value, default, key)


def _value(value: Any, default: Any, key: str) -> Iterator[Setting]:
    if isinstance(value, Section):
        same = value == default
        for one in _settings(value, f"{key}."):
            yield Setting(one.key, one.value, one.set and not same)
    elif isinstance(value, dict) and value:
        for name, below in value.items():
            yield from _value(below, None, f"{key}.{name}")
    else:
        yield Setting(key, _shown(value), value != default)


def _shown(value: Any) -> str:
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one) for one in value)
    return str(value)
