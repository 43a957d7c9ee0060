"""Output contracts: the form that an agent's answer must have, read, checked, and shown to people.

The model is told the contract in its system text, which is the same in every request. Nothing outside the answer is
read for the check: a `$ref` to another document is never fetched.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agent_core.runtime.team import Agent, Grounding, OutputContract

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

FAULTS = 10  # that one repair lists
FAULT_CHARS = 240
NOTHING = "—"  # shown for a field that the data do not have

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_MARKUP = re.compile(r"^\s*(?:#{1,6} |```|\|.*\|\s*$)|\*\*\S", re.MULTILINE)
JSON = "Your last message must be one JSON value and nothing else"
TEXT = "Your last message must be plain text without Markdown: no headings, tables, bold words or code fences."
NUMBERS = (
    "Every number in your last message must stand in a result of your tools, or in what you were given. What you work "
    "out yourself does not count: let a tool work it out, or leave it out."
)
CITED = "Name the source of what you report: the tool, the data source or the address that a tool returned."


@dataclass(frozen=True, slots=True)
class Read:
    """An answer, read by its contract. `data` is None where the format is not JSON, or the answer is none."""

    data: Any = None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is worth.

    Attributes:
        data: the JSON value of the answer, None where there is none.
        shown: the answer for people where it differs from its text.
        faults: what breaks the output contract.
        numbers: claims that stand in no source, as written; `citation`: what is wrong with its citations.
        complaints: the faults of grounding, one line each.
    """

    data: Any = None
    shown: str = ""
    faults: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    citation: str = ""
    complaints: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the answer is what was asked for."""
        return not self.faults and not self.complaints


NO_VERDICT = Verdict()


def instructed(agent: Agent) -> Agent:
    """The agent whose prompt says what its answer must hold; the same agent where it asks for nothing."""
    words = "\n".join(_instructions(agent.output, agent.grounding, agent.limits.output_chars))
    return replace(agent, prompt=f"{agent.prompt}\n\n{words}") if words else agent


def _instructions(contract: OutputContract, grounding: Grounding, chars: int) -> Iterator[str]:
    if contract.format == "json":
        yield f"{JSON}, of at most {chars} characters{_by_schema(contract.schema)}"
    elif contract.format == "text":
        yield TEXT
    if grounding.numbers == "required":
        yield NUMBERS
    if grounding.citations == "required":
        yield CITED


def _by_schema(schema: Mapping[str, Any] | None) -> str:
    if schema is None:
        return "."
    return f", valid by this JSON Schema:\n{json.dumps(schema, ensure_ascii=False, sort_keys=True)}"


def read(contract: OutputContract, text: str, limit: int) -> Read:
    """Read an answer and list what breaks the contract: at most ten faults, in the order of the data.

    Args:
        contract: what was asked for.
        text: the answer; a fence around JSON, or words before and after it, are forgiven.
        limit: characters that the JSON may have, since JSON that is cut is none (SUB-6).
    """
    if contract.format == "text" and (found := _MARKUP.search(text)):
        return Read(
            faults=(f"plain text is wanted, without Markdown such as {found[0].strip()!r}",)
        )
    if contract.format != "json":
        return Read()
    try:
        data = parse(text)
    except ValueError as e:
        return Read(faults=(str(e),))
    size = len(json.dumps(data, ensure_ascii=False))
    if size > limit:
        return Read(data, (f"the JSON has {size} characters, {limit} are allowed",))
    return Read(data, () if contract.schema is None else _broken(contract.schema, data))


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def parse(text: str) -> Any:
    """The JSON value of an answer. Raises ValueError with one line that says what is wrong."""
    fenced = _FENCE.findall(text)
    body = (fenced[-1] if len(fenced) == 1 else text).strip()
    try:
        return _DECODER.decode(body)
    except ValueError as e:
        first = e
    for start in (body.find(mark) for mark in "{["):
        if start > 0 or (start == 0 and body[-1:] not in "}]"):
            try:
                return _DECODER.raw_decode(body, start)[0]
            except ValueError:
                continue
    where = (
        f" at line {first.lineno}, column {first.colno}"
        if isinstance(first, json.JSONDecodeError)
        else ""
    )
    raise ValueError(f"no valid JSON: {getattr(first, 'msg', first)}{where}") from first


def _broken(schema: dict[str, Any], data: Any) -> tuple[str, ...]:
    from referencing.exceptions import Unresolvable

    checked = _validator(json.dumps(schema, sort_keys=True))
    try:
        found = list(checked.iter_errors(data))
    except Unresolvable as e:
        return (f"the schema of the preset refers to {e.ref}, which is not in it",)
    errors = sorted(found, key=lambda e: [str(part) for part in e.absolute_path])
    faults = [f"{_pointer(e.absolute_path)}: {_clip(e.message)}" for e in errors[:FAULTS]]
    more = len(errors) - FAULTS
    return (*faults, f"and {more} more errors") if more > 0 else tuple(faults)


@lru_cache(maxsize=64)
def _validator(schema: str) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator
    from referencing import Registry

    return Draft202012Validator(json.loads(schema), registry=Registry())


def _pointer(path: Any) -> str:
    return "/" + "/".join(str(part) for part in path)


def _clip(words: str) -> str:
    return words if len(words) <= FAULT_CHARS else words[:FAULT_CHARS] + "…"


def render(contract: OutputContract, data: Any) -> str:
    """The data in Markdown for people: by the contract's template, else as a plain list of its fields.

    In a template `{{ a.0.b }}` is a field; a field that is missing shows as a dash. One that stands alone on its line
    is a table where it is a list of records with the same plain fields.
    """
    template = contract.render
    if not template:
        return "\n".join(_listed(data))

    def shown(found: re.Match[str]) -> str:
        value = _at(data, found[1])
        around = template[: found.start()][-1:] + template[found.end() :][:1]
        return (_table(value) if not around.strip("\n") else "") or _shown(value)

    return _FIELD.sub(shown, template).strip()


def _table(value: Any) -> str:
    """Records with the same plain fields as a Markdown table; empty for anything else."""
    if not isinstance(value, list) or not all(isinstance(row, dict) and row for row in value):
        return ""
    columns = list(value[0]) if value else []
    if not columns or any(list(row) != columns for row in value):
        return ""
    cells = [[*row.values()] for row in value]
    if any(isinstance(cell, list | dict) for row in cells for cell in row):
        return ""
    lines = [columns, ["---"] * len(columns), *([_cell(cell) for cell in row] for row in cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return " ".join(_scalar(value).split()).replace("|", "\\|")


def _at(data: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(data, dict):
            data = data.get(name)
        elif isinstance(data, list) and name.isdigit() and int(name) < len(data):
            data = data[int(name)]
        else:
            return None
    return data


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "\n".join(_listed(value)) or NOTHING
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value)


def _listed(value: Any, indent: str = "") -> Iterator[str]:
    if not isinstance(value, list | dict):
        yield indent + _scalar(value)
        return
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        label = f"**{name}**" if isinstance(value, dict) else ""
        if isinstance(item, list | dict) and item:
            if label:
                yield f"{indent}- {label}"
            yield from _listed(item, indent + "  " if label else indent)
        else:
            shown = _scalar(item) if not isinstance(item, list | dict) else NOTHING
            yield f"{indent}- {label}: {shown}" if label else f"{indent}- {shown}"
