"""Prompt templates: Markdown with typed fields in its head, called by their name; what is missing is asked for (MSC-9).

The row of the call keeps the template itself, so that an edit meanwhile changes nothing for it. Choices are asked one
by one with buttons; the others together, in one dialog where the platform has one, else in the person's own words.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from agent_core.instructions import USER_INPUT, spoken
from agent_core.runtime.flow import PLAN, Input, Value, shown
from agent_core.runtime.inputs import ASKED, Wanted, found, parse
from agent_core.runtime.planned import call_id, last, results_of
from agent_core.runtime.recipes import BadRecipe, Fault, Page, pages
from agent_core.runtime.run import Ended, Language, Run
from agent_core.tools.ask import ASK_USER, Question, ask_tools
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool
from agent_core.types import NewRow, Row, RowKind, ToolUse, assistant, user

TEMPLATE = "template"  # key in the meta of the row of a call, and of the row that it comes to
MOST_FIELDS = 10
MOST_TOGETHER = 5  # inputs of one dialog (Discord)
TYPES = ("text", "number", "date", "choice", "symbol")
_STEP = "template"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KEYS = ("name", "description", "title", "argument", "fields")
_FIELD_KEYS = ("type", "description", "required", "default", "choices", "min", "max")
_BOOL = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Template:
    """A template. Its texts are by language; the fields are those of its first page."""

    name: str
    bodies: Mapping[str, str]
    fields: tuple[Input, ...] = ()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """Its name as every platform takes a command."""
        return self.name.replace("-", "_")

    def description(self, language: str) -> str:
        """What it is for, one short line; its title or its name where nothing is said."""
        return spoken(self.descriptions, language) or spoken(self.titles, language) or self.name

    def called(self, given: str, language: str) -> dict[str, Any]:
        """What the row of a call keeps: all that it needs to become a request. JSON."""
        fields = [
            asdict(replace(one, description=spoken(self.labels.get(one.name, {}), language)))
            for one in self.fields
        ]
        body = spoken(self.bodies, language)
        return {TEMPLATE: {"name": self.name, "body": body, "fields": fields, "given": given}}


def read(folder: Path, faults: list[Fault]) -> dict[str, Template]:
    """The templates of a folder by name, {} where there is none; what is wrong goes into `faults`. Blocks."""
    listed = pages(folder.glob("*.md"), faults) if folder.is_dir() else []
    made: dict[str, Template] = {}
    taken: set[tuple[str, str]] = set()
    for one in listed:
        if (one.name, one.language) in taken:
            again = f"a second template `{one.name}`"
            faults.append(Fault(one.file, 0, again, "give it another name"))
            continue
        try:
            made[one.name] = _joined(made.get(one.name), one)
            taken.add((one.name, one.language))
        except BadRecipe as e:
            faults.append(Fault(one.file, *e.fault))
    return dict(sorted(made.items()))


def _joined(before: Template | None, one: Page) -> Template:
    one.only(*_KEYS)
    fields, labels = _fields(one)
    if before is not None:
        fields = before.fields or fields
        labels = {n: {**labels.get(n, {}), **before.labels.get(n, {})} for n in _names(fields)}
    old = before or Template(one.name, {})
    return Template(
        one.name,
        {**old.bodies, one.language: one.body},
        fields,
        labels,
        {**old.descriptions, **one.words("description")},
        {**old.titles, **one.words("title")},
        {**old.arguments, **one.words("argument")},
    )


def _names(fields: Iterable[Input]) -> list[str]:
    return [one.name for one in fields]


# Fields -------------------------------------------------------------------------------------------


def _fields(one: Page) -> tuple[tuple[Input, ...], dict[str, dict[str, str]]]:
    written = one.head.get("fields") or {}
    if not isinstance(written, dict):
        raise BadRecipe("`fields` is no map", "write `fields:` and `name: {type: text}` below it")
    if len(written) > MOST_FIELDS:
        raise BadRecipe(f"has {len(written)} fields, {MOST_FIELDS} are allowed", "remove some")
    made, labels = [], {}
    for name, value in written.items():
        part = Page(one.name, one.language, _part(name, value), one.body, one.file)
        made.append(_field(name, part))
        labels[name] = part.words("description")
    return tuple(made), labels


def _part(name: str, value: object) -> Mapping[str, Any]:
    if not _NAME.fullmatch(name):
        raise BadRecipe(f"`{name[:60]}` is no name of a field", "use a-z, 0-9 and _, at most 40")
    part = {"type": value} if isinstance(value, str) else value
    if not isinstance(part, dict):
        raise BadRecipe(f"field `{name}` says nothing", "write `{type: text}`")
    return part


def _field(name: str, part: Page) -> Input:
    head = part.head
    for key in head:
        if key not in _FIELD_KEYS:
            cure = f"use {', '.join(_FIELD_KEYS)}"
            raise BadRecipe(f"field `{name}` has an unknown key `{key}`", cure)
    kind = head.get("type", "text")
    if kind not in TYPES:
        raise BadRecipe(f"field `{name}` has no type `{kind}`", f"use {', '.join(TYPES)}")
    choices = head.get("choices") or []
    if (kind == "choice") != bool(choices) or not isinstance(choices, list):
        raise BadRecipe(f"field `{name}`: `choices` and `type: choice` go together", "write both")
    bare = Input(
        name,
        cast("Literal['text', 'number', 'date', 'choice', 'symbol']", kind),
        required=_required(name, head),
        choices=tuple(map(str, choices)),
        low=_bound(name, head, "min"),
        high=_bound(name, head, "max"),
    )
    if kind != "number" and (bare.low is not None or bare.high is not None):
        raise BadRecipe(f"field `{name}`: `min` and `max` are of numbers", "write `type: number`")
    if "default" not in head:
        return bare
    value, problem = parse(bare, str(head["default"]))
    if problem:
        raise BadRecipe(f"field `{name}`: its default does not fit its type", "mend the default")
    return replace(bare, default=value, required=False)


def _required(name: str, head: Mapping[str, Any]) -> bool:
    """A field is required unless the template says otherwise or has a default for it."""
    word = str(head.get("required", "true")).lower()
    if word not in _BOOL:
        raise BadRecipe(f"field `{name}`: `required` is true or false", "write one of them")
    return _BOOL[word]


def _bound(name: str, head: Mapping[str, Any], key: str) -> float | None:
    if key not in head:
        return None
    try:
        return float(head[key])
    except (TypeError, ValueError):
        raise BadRecipe(f"field `{name}`: `{key}` is no number", "write a number") from None


# A call -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Form:
    """A call of a template as its row keeps it, with what is known of its fields by now."""

    name: str
    body: str
    fields: tuple[Input, ...]
    given: str
    values: dict[str, Value] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "_Form":
        fields = [Input(**(one | {"choices": tuple(one["choices"])})) for one in kept["fields"]]
        return cls(kept["name"], kept["body"], tuple(fields), kept["given"])

    def take(self, fields: Sequence[Input], words: str, language: Language) -> None:
        """What words say of fields; the later ones win. An answer about one field is its value."""
        named, wrong = found(fields, words, language)
        if len(fields) == 1 and self.asked and not named and not wrong:
            value, problem = parse(fields[0], words, language)
            if problem:
                wrong = {fields[0].name: problem}
            else:
                named = {fields[0].name: value}
        self.values |= named
        self.problems |= wrong

    @property
    def missing(self) -> list[Input]:
        """Fields that the person must say, in their order."""
        return [f for f in self.fields if f.required and f.name not in self.values]

    def request(self) -> str:
        """The body with everything put in, in one pass: a value that looks like a place stays a value."""
        known = {f.name: shown(self.values.get(f.name, f.default)) for f in self.fields}
        known[USER_INPUT[1:-1]] = self.given
        places = "|".join(map(re.escape, known))
        return re.sub(rf"\{{({places})\}}", lambda place: known[place[1]], self.body)


async def go_on(run: Run, rows: list[Row]) -> Ended | bool:
    """Turn the call of a template into a request, asking for what is missing.

    True: a question was stored, which is to be carried out. False: nothing (more) is to be done. An `Ended`: the person
    gave no value that fits. Raises Fenced and Reload.
    """
    turn, language = run.journal.turn_id, run.person.language
    own = [row for row in rows if row.turn_id == turn and TEMPLATE in row.meta]
    if run.label is not None or not own or own[-1].kind is RowKind.NOTE:
        return False
    form = _Form.of(own[0].meta[TEMPLATE])
    form.take(form.fields, form.given, language)
    answers = results_of(rows, turn)
    for made, names in _questions(rows, turn):
        if made not in answers or answers[made].is_error:
            return last(_given_up(form, language))
        for name in names:
            form.asked[name] = form.asked.get(name, 0) + 1
            form.problems.pop(name, None)
        about = [f for f in form.fields if f.name in names]
        form.take(about, answers[made].content, language)
    if not (missing := form.missing):
        note = NewRow(RowKind.NOTE, user(form.request()), meta={TEMPLATE: {"name": form.name}})
        rows += await run.journal.append([note])
        return False
    if any(form.asked.get(one.name, 0) >= ASKED for one in missing):
        return last(_given_up(form, language))
    await _ask(run, rows, form, missing)
    return True


def _given_up(form: _Form, language: Language) -> str:
    names = [one.description or one.name for one in form.missing]
    if language == "zh":
        return f"没有开始：缺少{'、'.join(f'“{n}”' for n in names)}。请用 /{form.name} 重试。"
    return f"Nothing was started: {', '.join(names)} missing. Try again with `/{form.name}`."


# Asking -------------------------------------------------------------------------------------------


def _questions(rows: Sequence[Row], turn: int) -> list[tuple[str, list[str]]]:
    """The questions of this turn's template: call id and the fields that each is about."""
    return [
        (made, call["fields"])
        for row in rows
        if row.turn_id == turn and row.kind is RowKind.ASSISTANT and PLAN in row.meta
        for made, call in row.meta[PLAN]["calls"].items()
        if row.meta[PLAN].get("step") == _STEP
    ]


def regrant(run: Run, rows: Sequence[Row]) -> None:
    """Let the questions run that were made before a restart."""
    made = _questions(rows, run.journal.turn_id)
    if made:
        run.granted = {**run.granted, **{call: _fill() for call, _ in made}}


async def _ask(run: Run, rows: list[Row], form: _Form, missing: Sequence[Input]) -> None:
    """Ask for the first choice alone, else for all others at once."""
    turn, language = run.journal.turn_id, run.person.language
    choice = next((one for one in missing if one.kind == "choice"), None)
    about = [choice] if choice is not None else list(missing[:MOST_TOGETHER])
    key = f"fill.{len(_questions(rows, turn)) + 1}"
    made = call_id(turn, key)
    args: dict[str, Any] = {"question": _question(form, about, language)}
    if choice is not None:
        args["options"] = Wanted(choice).options(language)
    else:
        args["fields"] = {one.name: one.description or one.name for one in about}
    kept = {"key": key, "agent": "", "item": "", "fields": [one.name for one in about]}
    run.granted = {**run.granted, made: _fill()}
    meta = {PLAN: {"step": _STEP, "calls": {made: kept}}}
    row = NewRow(
        RowKind.ASSISTANT, assistant("", ToolUse(made, ASK_USER, args)), ref=PLAN, meta=meta
    )
    rows += await run.journal.append([row])


def _question(form: _Form, about: Sequence[Input], language: Language) -> str:
    lines = [Wanted(one, form.problems.get(one.name, "")).question(language) for one in about]
    if len(lines) == 1:
        return lines[0]
    example = "; ".join(f"{one.name} = …" for one in about)
    hint = f"可以这样写：`{example}`" if language == "zh" else f"Write it as `{example}`."
    return "\n".join([*(f"- {line}" for line in lines), "", hint])


def _fill() -> ToolSpec:
    """`ask_user` with fields for a dialog, which no model is offered."""

    @tool(title=ask_tools()[0].title, concurrency_safe=False, effect="message")
    async def ask_user(
        ctx: ToolContext,
        question: Question,
        options: Annotated[list[str], Field(max_length=10)] = [],  # noqa: B006 - a schema's default
        fields: Annotated[dict[str, str], Field(max_length=MOST_TOGETHER)] = {},  # noqa: B006
    ) -> ToolOutput:
        """Ask for the fields of a template; the runtime carries it out."""
        del ctx, question, options, fields
        raise ToolFailure("Nobody can be asked here.")

    return ask_user
