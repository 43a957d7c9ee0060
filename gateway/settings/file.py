"""The settings file before it is judged: `${VAR}` put in, `SWARMGATE__A__B` laid over, and the place of every value.

Order of precedence: an environment variable `SWARMGATE__A__B`, then the file, then `ENV_DEFAULTS` (the customary
variables of keys and tokens), then the defaults of the models in `settings.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from agent_core.models.catalog import PROVIDERS
from gateway.problems import Problem, SettingsError
from gateway.settings.yaml import Document, KeyPath, dotted, parse, read

PREFIX = "SWARMGATE__"
ENVIRONMENT = "environment"

# Where a key is missing in the file, the variable that people have set already.
ENV_DEFAULTS: Mapping[KeyPath, str] = {
    ("http", "console_token"): "SWARMGATE_CONSOLE_TOKEN",
    **{
        ("models", "providers", name, "api_key"): entry.key_env
        for name, entry in PROVIDERS.items()
        if entry.key_env
    },
    ("channels", "telegram", "token"): "TELEGRAM_BOT_TOKEN",
    ("channels", "telegram", "webhook_secret"): "TELEGRAM_WEBHOOK_SECRET",
    ("channels", "slack", "bot_token"): "SLACK_BOT_TOKEN",
    ("channels", "slack", "app_token"): "SLACK_APP_TOKEN",
    ("channels", "slack", "signing_secret"): "SLACK_SIGNING_SECRET",
    ("channels", "discord", "token"): "DISCORD_BOT_TOKEN",
}

_REFERENCE = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(slots=True)
class Source:
    """Raw values and where they came from. `folder` is where relative paths start."""

    document: Document
    folder: Path
    path: Path | None = None
    variables: dict[KeyPath, str] = field(default_factory=dict)
    problems: dict[KeyPath, Problem] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, object]:
        """The tree to be judged."""
        return self.document.values

    def problem(
        self, path: KeyPath, message: str, cure: str = "", *, at_key: bool = False
    ) -> Problem:
        """A problem at `path`, or at the nearest place above it that is known."""
        key = dotted(path)
        for length in range(len(path), 0, -1):
            prefix = path[:length]
            if prefix in self.variables:
                name = f"{ENVIRONMENT} variable {self.variables[prefix]}"
                return Problem(message, cure, name, key=key)
            if place := self.document.places.get(prefix):
                whole = at_key or length < len(path)
                line = place.line if whole else place.value_line
                column = place.column if whole else place.value_column
                return Problem(message, cure, self.document.name, line, column, key)
        return Problem(message, cure, self.document.name, key=key)

    def note(self, path: KeyPath, message: str, cure: str = "", *, at_key: bool = False) -> None:
        """Keep a problem to be raised with all others; the first one at a key is the one to mend."""
        self.problems.setdefault(path, self.problem(path, message, cure, at_key=at_key))

    def forget(self, path: KeyPath) -> None:
        """Drop the problems at and below a key: a value that is replaced need not be complete."""
        for noted in [p for p in self.problems if p[: len(path)] == path]:
            del self.problems[noted]

    def ordered(self) -> list[Problem]:
        """The problems in the order of the file, those of the environment first."""
        return sorted(self.problems.values(), key=lambda p: (p.line or 0, p.column or 0, p.key))


def collect(path: Path | None, env: Mapping[str, str]) -> Source:
    """Read, expand and overlay; `path` None means no file. What is missing is noted in the source's problems.

    Raises SettingsError when the file cannot be read at all.
    """
    document = read(path) if path else Document("settings")
    folder = path.resolve().parent if path else Path.cwd()
    source = Source(document, folder, path)
    document.values = cast("dict[str, object]", _expand(document.values, (), env, source))
    for name in sorted(env):
        if name.upper().startswith(PREFIX):
            _overlay(source, name, env[name])
    for key, variable in ENV_DEFAULTS.items():
        _default(source, key, variable, env)
    return source


def _expand(value: object, path: KeyPath, env: Mapping[str, str], source: Source) -> object:
    if isinstance(value, dict):
        return {k: _expand(v, (*path, k), env, source) for k, v in value.items()}
    if isinstance(value, list):
        return [_expand(v, (*path, i), env, source) for i, v in enumerate(value)]
    if not isinstance(value, str) or "$" not in value:
        return value

    def put_in(match: re.Match[str]) -> str:
        if match.group() == "$$":
            return "$"
        name, default, fallback = (match.group(1) or "").partition(":-")
        if not _NAME.match(name):
            message = f"{match.group()!r} is not a reference to a variable"
            cure = "write ${NAME} or ${NAME:-default}, and $$ for a dollar sign"
            source.note(path, message, cure)
            return ""
        if default:
            return env.get(name) or fallback  # as a shell does: an empty variable counts as unset
        if name not in env:
            cure = f"set {name}, or write ${{{name}:-}} where it may be empty"
            message = f"the environment variable {name} is not set"
            source.note(path, message, cure)
        return env.get(name, "")

    return _REFERENCE.sub(put_in, value)


def _overlay(source: Source, name: str, text: str) -> None:
    """Lay one `SWARMGATE__A__B` over the values. Lists and mappings are written as JSON; `null` clears."""
    parts = name[len(PREFIX) :].split("__")
    node = source.values
    path: KeyPath = ()
    for depth, part in enumerate(parts):
        key = _spelled(node, part)
        path = (*path, key)
        if depth == len(parts) - 1:
            source.variables[path] = name
            source.forget(path)
            node[key] = _variable_value(source, path, name, text)
            break
        below = node.get(key)
        if not isinstance(below, dict):
            node[key] = below = {}
        node = below


def _variable_value(source: Source, path: KeyPath, name: str, text: str) -> object:
    if text == "null":
        return None
    if text[:1] not in {"[", "{"}:
        return text
    try:
        return parse(f"value: {text}", name).values["value"]
    except SettingsError:
        cure = 'write lists and mappings as JSON, such as ["telegram:123"]'
        source.note(path, "cannot be read", cure)
        return None


def _spelled(node: Mapping[str, object], part: str) -> str:
    """The key of `node` that `part` means: variables are often upper case, names of providers need not be."""
    for key in node:
        if key.lower() == part.lower():
            return key
    return part.lower()


def _default(source: Source, key: KeyPath, variable: str, env: Mapping[str, str]) -> None:
    value = env.get(variable)
    if not value:
        return
    node: dict[str, object] = source.values
    for part in key[:-1]:
        below = node.setdefault(cast("str", part), {})
        if not isinstance(below, dict):
            return  # the judge will say what is wrong with it
        node = below
    if key[-1] not in node:
        node[cast("str", key[-1])] = value
        source.variables[key] = variable
