"""A tool's arguments and its answer as schemas, made at their first use: a start pays for no tool that nobody calls."""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model


class Shape:
    """What a tool takes and answers.

    `arguments` validates a call; `parameters` is the JSON Schema that a model reads, made from it where none is given.
    """

    def __init__(
        self,
        arguments: Callable[[], type[BaseModel]],
        *,
        parameters: dict[str, object] | None = None,
        output: type[BaseModel] | None = None,
    ) -> None:
        self._arguments = arguments
        self._parameters = parameters
        self._output = output

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The model that a call's arguments are validated by."""
        return self._arguments()

    @cached_property
    def parameters(self) -> dict[str, object]:
        """The arguments' JSON Schema."""
        if self._parameters is not None:
            return self._parameters
        return _clean(self.arguments.model_json_schema())

    @cached_property
    def output_schema(self) -> dict[str, object] | None:
        """The JSON Schema of the answer as fields; None where nothing is stated."""
        if self._output is None:
            return None
        return _clean(self._output.model_json_schema(), nulls=True)


def arguments_of(
    name: str, function: Callable[..., Any], notes: Mapping[str, str]
) -> type[BaseModel]:
    """A function's parameters but the first, as a model; `notes` describe them."""
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function, eval_str=True).parameters.values())[1:]:
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        note = notes.get(parameter.name)
        fields[parameter.name] = (parameter.annotation, Field(default, description=note))
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _clean(schema: dict[str, Any], *, nulls: bool = False) -> dict[str, Any]:
    """Without what costs tokens and says nothing, since every call is checked.

    That is: pydantic's titles, whether further fields are allowed, the null of a parameter that may be left out,
    defaults that are empty, 0 or false, and least values of 0 and 1. `nulls`: an answer may say null, and does.
    """
    if schema.get("default", "") is None and not nulls:
        kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
        if len(kinds) == 1:
            schema = {**kinds[0], **{k: v for k, v in schema.items() if k != "anyOf"}}
    return {k: _clean_value(k, v, nulls) for k, v in schema.items() if not _idle(k, v)}


def _idle(key: str, value: Any) -> bool:
    """Whether a schema says nothing by this."""
    match key:
        case "title":
            return isinstance(value, str)
        case "additionalProperties":
            return isinstance(value, bool)
        case "default":
            return not value
        case "minLength" | "minItems" | "minimum" | "exclusiveMinimum":
            return value in (0, 1)
        case _:
            return False


def _clean_value(key: str, value: Any, nulls: bool) -> Any:
    if isinstance(value, dict):
        if key in ("properties", "$defs"):
            return {name: _clean(v, nulls=nulls) for name, v in value.items()}
        return _clean(value, nulls=nulls)
    if isinstance(value, list):
        return [_clean(v, nulls=nulls) if isinstance(v, dict) else v for v in value]
    return value
