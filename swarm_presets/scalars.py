"""Scalars with a form of their own: durations (`90s`, `4m`), numbers of tokens (`20k`, `1.5M`), names.

Each is one pattern that both the typed models and the JSON Schema use, so that they judge alike.
"""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
THOUSANDS = {"k": 1_000, "M": 1_000_000}

DURATION = r"^[0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h|d)$"
POSITIVE_DURATION = r"^(?=[0-9.]*[1-9])[0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h|d)$"
TOKENS = r"^(?=[0-9.]*[1-9])[0-9]{1,6}(\.[0-9]{1,3})?[kM]$"
MAX_TOKENS = 100_000_000

PRESET_NAME = r"^[a-z][a-z0-9_-]{0,63}$"
# `delegate_to_<id>` is a tool name, and providers take 64 characters for one.
AGENT_ID = r"^[a-z][a-z0-9_-]{0,39}$"
TOOL_NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
ALIAS = r"^[a-z][a-z0-9_-]{0,31}$"
# An alias of the preset, `auto`, `demo`, or `<provider>/<model>`; what exists is a question of references.
MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,127}$"


def seconds(text: str) -> float:
    """The seconds of a duration. Raises ValueError for what is none."""
    match = re.fullmatch(r"([0-9.]+)(ms|[smhd])", text)
    if match is None:
        raise ValueError(text)
    return round(float(match[1]) * SECONDS[match[2]], 6)


def size(value: object) -> float | None:
    """What a number, a duration (seconds) or a number of tokens amounts to; None for any other value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str) and re.fullmatch(DURATION, value):
        return seconds(value)
    return float(tokens(value)) if isinstance(value, str) and re.fullmatch(TOKENS, value) else None


def tokens(value: object) -> int:
    """The number of tokens that is written as `20k`, `1.5M` or a whole number. Raises ValueError for what is none."""
    if isinstance(value, str) and re.fullmatch(TOKENS, value):
        return round(float(value[:-1]) * THOUSANDS[value[-1]])
    if type(value) is int and 0 < value <= MAX_TOKENS:
        return value
    raise ValueError(value)


def _duration(pattern: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            nothing = isinstance(value, str) and re.fullmatch(DURATION, value)
            raise PydanticCustomError("duration_zero" if nothing else "duration", "no duration")
        return seconds(value)

    return BeforeValidator(check)


def _tokens(value: object) -> object:
    try:
        return tokens(value)
    except ValueError as error:
        raise PydanticCustomError("tokens", "no number of tokens") from error


Duration = Annotated[
    float,
    _duration(POSITIVE_DURATION),
    WithJsonSchema({"type": "string", "pattern": POSITIVE_DURATION, "examples": ["90s", "4m"]}),
]
Pause = Annotated[
    float,
    _duration(DURATION),
    WithJsonSchema({"type": "string", "pattern": DURATION, "examples": ["0s", "2s"]}),
]
Tokens = Annotated[
    int,
    BeforeValidator(_tokens),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_TOKENS},
                {"type": "string", "pattern": TOKENS},
            ],
            "examples": ["20k", "1.5M"],
        }
    ),
]
PresetName = Annotated[str, StringConstraints(pattern=PRESET_NAME)]
AgentId = Annotated[str, StringConstraints(pattern=AGENT_ID)]
ToolName = Annotated[str, StringConstraints(pattern=TOOL_NAME)]
Alias = Annotated[str, StringConstraints(pattern=ALIAS)]
ModelName = Annotated[str, StringConstraints(pattern=MODEL_NAME)]
Words = Annotated[str, Field(min_length=1, max_length=40_000)]
Line = Annotated[str, Field(min_length=1, max_length=500)]
