"""pydantic's verdicts as problems: each at its line and column, with a cause and a cure that a person can follow."""

from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gateway.settings.file import Source
from gateway.settings.yaml import KeyPath

_Said = Callable[[Mapping[str, Any]], tuple[str, str]]


def _number(bound: str) -> _Said:
    def say(context: Mapping[str, Any]) -> tuple[str, str]:
        limit = next(iter(context.values()), "")
        return f"must be {bound} {limit}", "change it"

    return say


def _plain(message: str, cure: str) -> _Said:
    return lambda context: (message, cure)


# By pydantic's error types; what is not listed here shows pydantic's own message.
_SAID: Mapping[str, _Said] = {
    "missing": _plain("is missing", "add it"),
    "greater_than_equal": _number("at least"),
    "less_than_equal": _number("at most"),
    "greater_than": _number("more than"),
    "less_than": _number("less than"),
    "string_too_short": _plain("must not be empty", "write a value"),
    "bool_type": _plain("must be true or false", "write true or false"),
    "bool_parsing": _plain("must be true or false", "write true or false"),
    "int_type": _plain("must be a whole number", "write a number"),
    "int_parsing": _plain("must be a whole number", "write a number"),
    "int_parsing_size": _plain("must be a whole number", "write a number"),
    "int_from_float": _plain("must be a whole number", "write a number"),
    "float_type": _plain("must be a number", "write a number"),
    "float_parsing": _plain("must be a number", "write a number"),
    "finite_number": _plain("must be a finite number", "write a number"),
    "string_type": _plain("must be text", "put it in quotes"),
    "path_type": _plain("must be a path", "write it as text"),
    "tuple_type": _plain("must be a list", "write it as [first, second]"),
    "dict_type": _plain("must be a mapping", "write it as key: value"),
    "model_type": _plain("must be a mapping", "write it as key: value"),
    "model_attributes_type": _plain("must be a mapping", "write it as key: value"),
    "literal_error": lambda c: (f"must be {c['expected']}", "change it"),
    "string_pattern_mismatch": _plain(
        "has characters that are not allowed", "use a-z, 0-9, - and _"
    ),
    "fault": lambda c: (str(c["message"]), str(c["cure"])),
}


def judge(error: ValidationError, source: Source, root: type[BaseModel]) -> None:
    """Note all problems in the source; values are never quoted unless the error is one of our own."""
    for detail in error.errors(include_url=False, include_input=False):
        path = _path(detail)
        if detail["type"] == "extra_forbidden":
            source.note(path, "unknown key", _meant(path, root), at_key=True)
            continue
        context = detail.get("ctx", {})
        said = _SAID.get(detail["type"])
        own = detail["msg"][:1].lower() + detail["msg"][1:]
        message, cure = said(context) if said else (own, "")
        source.note(path, message, cure, at_key="[key]" in detail["loc"])


def _path(detail: ErrorDetails) -> KeyPath:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    if key := detail.get("ctx", {}).get("key"):
        path = (*path, *(int(part) if part.isdigit() else part for part in key.split(".")))
    return path


def _meant(path: KeyPath, root: type[BaseModel]) -> str:
    """The cure for an unknown key: the nearest known one beside it, else the place where such a key belongs."""
    import difflib

    name = str(path[-1])
    parent: type[BaseModel] | None = root
    for part in path[:-1]:
        parent = _below(parent, part) if parent else None
    beside = list(parent.model_fields) if parent else []
    if near := difflib.get_close_matches(name.lower(), beside, n=1, cutoff=0.6):
        return f"did you mean `{near[0]}`?"
    elsewhere = [known for known in _keys(root) if known.rpartition(".")[2] == name]
    if len(elsewhere) == 1:
        return f"did you mean `{elsewhere[0]}`?"
    few = 0 < len(beside) <= 10
    return f"remove it, or use one of: {', '.join(beside)}" if few else "remove it"


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The sections inside an annotation such as `dict[str, Provider]` or `Budget | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in {dict, tuple, Union, UnionType, Annotated}:
        for argument in get_args(annotation):
            yield from _models(argument)


def _below(model: type[BaseModel], part: str | int) -> type[BaseModel] | None:
    field = model.model_fields.get(str(part))
    if field is None:
        return model  # the name of an entry in a map of sections
    return next(_models(field.annotation), None)


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if get_origin(field.annotation) is not dict:
            for below in _models(field.annotation):
                yield from _keys(below, f"{prefix}{name}.")
