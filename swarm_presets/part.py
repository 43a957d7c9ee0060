"""What all parts of the typed models share: strictness, prompts, lists of tools, conditions.

Unions are told apart by the form of the value (a map or not) and their branches have names that no key can have, so
that an error inside a branch keeps its own path.
"""

from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from swarm_presets.scalars import PRESET_NAME, Line, PresetName, ToolName, Words

FIELD_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,79}$"
INPUT_NAME = r"^[a-z][a-z0-9_]{0,39}$"

FieldName = Annotated[str, StringConstraints(pattern=FIELD_NAME)]
InputName = Annotated[str, StringConstraints(pattern=INPUT_NAME)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Repairs = Annotated[int, Field(ge=0, le=5)]
Dollars = Annotated[float, Field(gt=0, le=1_000_000)]


class Part(BaseModel):
    """A map of the file: unknown keys are errors, and a text is never taken for a number."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,
        populate_by_name=False,
    )


class PromptFile(Part):
    """A prompt in a file of its own, found beside the preset or among the shipped ones."""

    file: Line


class ToolEdit(Part):
    """Changes to an inherited list of tools."""

    add: list[ToolName] = Field(default_factory=list)
    remove: list[ToolName] = Field(default_factory=list)


def branch(value: object) -> str:
    """Branch names that no key of a preset can have, so that they drop out of a path."""
    return "<map>" if isinstance(value, dict) else "<plain>"


Prompt = Annotated[
    Annotated[Words, Tag("<plain>")] | Annotated[PromptFile, Tag("<map>")], Discriminator(branch)
]
Tools = Annotated[
    Annotated[list[ToolName], Tag("<plain>")] | Annotated[ToolEdit, Tag("<map>")],
    Discriminator(branch),
]


def _scalar(value: object) -> object:
    if isinstance(value, str | int | float | bool) and value == value:  # noqa: PLR0124 - not NaN
        return value
    raise PydanticCustomError("scalar", "no scalar")


Plain = Annotated[
    Any,
    BeforeValidator(_scalar),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


def _given(value: object) -> object:
    return [_scalar(item) for item in value] if isinstance(value, list) else _scalar(value)


Given = Annotated[
    Any,
    BeforeValidator(_given),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "number", "boolean"]},
                {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
            ]
        }
    ),
]


class Comparison(Part):
    """Bounds of a value: each that is written must hold."""

    lt: float | None = None
    lte: float | None = None
    gt: float | None = None
    gte: float | None = None
    in_: Annotated[list[Plain] | None, Field(alias="in", min_length=1)] = None
    not_: Annotated[Plain | None, Field(alias="not")] = None


Condition = Annotated[
    Annotated[Plain, Tag("<plain>")] | Annotated[Comparison, Tag("<map>")], Discriminator(branch)
]
Conditions = dict[FieldName, Condition]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


_NAME: dict[str, Any] = {"type": "string", "pattern": PRESET_NAME}
Parents = Annotated[
    list[PresetName],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_NAME, {"type": "array", "items": _NAME}]}),
]
_LINE: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 500}
Lines = Annotated[
    list[Line],
    BeforeValidator(_listed),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [_LINE, {"type": "array", "items": _LINE, "minItems": 1}]}),
]


def _one(value: object) -> object:
    if type(value) is not int or value != 1:  # True is equal to 1, but is no version
        raise PydanticCustomError("literal_error", "only 1", {"expected": "1"})
    return value


One = Annotated[int, BeforeValidator(_one), WithJsonSchema({"type": "integer", "const": 1})]


def _yes(value: object) -> object:
    if value is not True:  # 1 is equal to True, but says something else
        raise PydanticCustomError("literal_error", "only true", {"expected": "true"})
    return value


Yes = Annotated[bool, BeforeValidator(_yes), WithJsonSchema({"type": "boolean", "const": True})]
