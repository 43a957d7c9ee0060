"""What a tool is: one async function with a spec made from its signature and docstring.

    @tool(title={"en": "Price history", "zh": "历史行情"}, timeout=20) async def get_market_history(ctx:
    ToolContext, symbol: str, start: str | None = None) -> ToolOutput: '''Daily prices of one
    symbol.

Args:
            symbol: Code or name, such as AAPL.
            start: First day, YYYY-MM-DD.
        '''

The docstring's first paragraph (and any further ones before `Args:`) is what the model reads;
`Args:` lines describe the parameters; annotations give the JSON Schema (pydantic), and arguments
are validated by it before the call. A tool's failure is a result for the model: raise `ToolFailure`
with one line that says what, and how to mend it.
"""

import datetime as dt
import inspect
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_core.approvals import Rule
from agent_core.errors import SwarmgateError
from agent_core.finance.sources import allowed
from agent_core.past import Archive, Memory
from agent_core.ports import Clock, Model, ToolSchema
from agent_core.tasks import Tasks
from agent_core.tools.shape import Shape, arguments_of
from agent_core.types import ArtifactRef

Effect = Literal["none", "write", "trade", "message"]
Credibility = Literal["objective fact", "logic tool", "emotional view", "mixed"]


class ToolFailure(SwarmgateError):
    """A tool could not do what was asked; its one line goes to the model."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a tool made, at most a few MB. `name` has an extension; `caption` is one line."""

    name: str
    media_type: str
    data: bytes
    caption: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns: text for the model (JSON where it has fields), one line for the person, files.

    A file that is stored already is named by its ArtifactRef. `meta` (JSON) is kept beside the
    result for the runtime and never shown to a model. `fields`: the answer as another program reads
    it, where `content` is words and the tool has more to state than these.
    """

    content: str
    summary: str = ""
    artifacts: tuple[Artifact | ArtifactRef, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] | None = None


class Words(BaseModel):
    """The answer of a tool that speaks in words."""

    model_config = ConfigDict(defer_build=True)  # for its schema alone

    text: str


class Progress(Protocol):
    """Takes a line about a running tool; never blocks, never raises."""

    def __call__(self, detail: str, progress: float | None = None) -> None:
        """Show where the tool is; progress is 0..1 or None for unknown."""
        ...


def _no_progress(detail: str, progress: float | None = None) -> None:
    del detail, progress


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person reads before they say yes to a call: Markdown in their language, made by the tool itself.

    `complete`: the text tells every argument; else the arguments are shown below it, so that nobody agrees to what they
    do not see. `twice`: why one yes is not enough, "" where it is (TGV-8). `bound`: a digest of what the text was made
    of; it comes back in `Consent`, so that a tool can tell whether all is still as it was shown (MSC-3).
    """

    text: str
    twice: str = ""
    bound: str = ""
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Consent:
    """The yes that a call runs by: its question, who gave it, whether it was given twice, and to what (Preview)."""

    question: int
    by: str = ""
    twice: bool = False
    bound: str = ""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know and use.

    `owner` is the principal of the turn; `as_of` bounds every datum (None: now); `archive` reads back what was cleared
    or condensed, `memory` notes what is to be remembered, where anything is kept; `tasks` are the background tasks.
    `model` is there in a background task alone, and only where one answers: the owner's pots pay for it, and a call for
    which they have no room is a ModelError; one call at a time.
    Prices that are older than `max_age` seconds are marked as stale (None: each tool's own measure); `sources` names
    the data sources that the call may see, in order (None: all), which whatever holds one obeys. `rules` are those of
    the preset that hold for this very call, `consent` is the yes that it runs by; both are empty where nobody was
    asked. `skills` are those that the agent may load (None: all).
    """

    owner: str
    session_id: str
    turn_id: int
    call_id: str
    language: Literal["en", "zh"]
    clock: Clock
    as_of: dt.date | None = None
    progress: Progress = _no_progress
    archive: Archive | None = None
    memory: Memory | None = None
    max_age: float | None = None
    sources: tuple[str, ...] | None = None
    rules: tuple[Rule, ...] = ()
    consent: Consent | None = None
    tasks: Tasks | None = None
    model: Model | None = None
    skills: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool (TGV-1).

    `concurrency_safe` calls next to each other run side by side; `idempotent` calls are run again
    after a crash, others are answered "outcome unknown"; a `deterministic` one runs once in a turn
    for equal arguments (DOM-7); a `background` one answers with a task id at once where background
    tasks are kept, and runs on its own (BGT-1); `timeout` is in seconds, and math.inf means that
    the tool keeps a deadline of its own; `shape` has the schemas of arguments and answer. An answer is
    JSON, or, of a tool that speaks `in_words`, text, beside which it may state fields.

    `rules` of consent are the tool's own and hold beside those of every preset. A `lead_only` tool is never run for a
    sub-agent (TGV-9). `preview` shows a person what a call would do before they are asked; it changes nothing, takes
    the arguments of the tool, and raises ToolFailure for a call that is not worth asking about.
    """

    name: str
    description: str
    run: Callable[..., Awaitable[ToolOutput]] = field(repr=False)
    shape: Shape = field(repr=False)
    title: dict[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    concurrency_safe: bool = True
    idempotent: bool = True
    deterministic: bool = False
    requires_approval: bool = False
    background: bool = False
    effect: Effect = "none"
    credibility: Credibility = "objective fact"
    in_words: bool = False
    rules: tuple[Rule, ...] = ()
    lead_only: bool = False
    preview: Callable[..., Awaitable[Preview]] | None = field(default=None, repr=False)

    @property
    def arguments(self) -> type[BaseModel]:
        """The model that a call's arguments are validated by."""
        return self.shape.arguments

    @property
    def parameters(self) -> dict[str, object]:
        """The JSON Schema of the arguments, as a model reads it."""
        return self.shape.parameters

    @property
    def output_schema(self) -> dict[str, object] | None:
        """The JSON Schema of what `structured` makes of an answer; None for tools of others that state nothing."""
        return self.shape.output_schema

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing outside: neither data, nor orders, nor messages."""
        return self.effect == "none"

    @property
    def schema(self) -> ToolSchema:
        """The tool as a model sees it."""
        return ToolSchema(self.name, self.description, self.parameters)

    def display(self, language: str) -> str:
        """The tool's name for people."""
        return self.title.get(language) or self.title.get("en") or self.name

    def structured(self, output: ToolOutput) -> dict[str, Any] | None:
        """The answer as fields, as `output_schema` says; None without one."""
        if self.output_schema is None:
            return None
        if not self.in_words:
            found: dict[str, Any] = json.loads(output.content)
            return found
        return {"text": output.content} if output.fields is None else output.fields

    def check(self, args: dict[str, Any]) -> BaseModel:
        """The arguments, validated. Raises ToolFailure for those that do not fit."""
        try:
            return self.arguments.model_validate(args)
        except ValidationError as e:
            raise ToolFailure(_complaint(self.name, e)) from e

    async def call(self, ctx: ToolContext, args: dict[str, Any]) -> ToolOutput:
        """Validate the arguments and run. Raises ToolFailure for arguments that do not fit."""
        fields = self._fields(args)
        with allowed.only(ctx.sources):
            return await self.run(ctx, **fields)

    async def show(self, ctx: ToolContext, args: dict[str, Any]) -> Preview:
        """What a call would do, for a person; empty without a preview. Raises ToolFailure as `call` does."""
        fields = self._fields(args)
        with allowed.only(ctx.sources):
            return Preview("") if self.preview is None else await self.preview(ctx, **fields)

    def _fields(self, args: dict[str, Any]) -> dict[str, Any]:
        checked = self.check(args)
        named = {name: getattr(checked, name) for name in type(checked).model_fields}
        return named | (checked.model_extra or {})


def _complaint(name: str, error: ValidationError) -> str:
    parts = [
        f"{'.'.join(str(p) for p in e['loc']) or 'arguments'}: {e['msg']}" for e in error.errors()
    ]
    return f"{name} was not run: {'; '.join(parts)}"


def tool(
    *,
    title: dict[str, str],
    timeout: float = 60.0,
    concurrency_safe: bool = True,
    idempotent: bool = True,
    deterministic: bool = False,
    requires_approval: bool = False,
    background: bool = False,
    effect: Effect = "none",
    credibility: Credibility = "objective fact",
    output: type[BaseModel] = Words,
    in_words: bool = False,
    rules: tuple[Rule, ...] = (),
    lead_only: bool = False,
    preview: Callable[..., Awaitable[Preview]] | None = None,
) -> Callable[[Callable[..., Awaitable[ToolOutput]]], ToolSpec]:
    """Turn an async function into a ToolSpec; see the module's docstring.

    `output` is the shape of the JSON that it answers with; without one it speaks in words. `in_words`: it does, and
    states the fields of `output` beside them.
    """

    def build(function: Callable[..., Awaitable[ToolOutput]]) -> ToolSpec:
        name = getattr(function, "__name__", "tool")
        description, notes = _docs(inspect.getdoc(function) or "")
        return ToolSpec(
            name=name,
            description=description,
            run=function,
            shape=Shape(lambda: arguments_of(name, function, notes), output=output),
            title=title,
            timeout=timeout,
            concurrency_safe=concurrency_safe,
            idempotent=idempotent,
            deterministic=deterministic,
            requires_approval=requires_approval,
            background=background,
            effect=effect,
            credibility=credibility,
            in_words=in_words or output is Words,
            rules=rules,
            lead_only=lead_only,
            preview=preview,
        )

    return build


def _docs(text: str) -> tuple[str, dict[str, str]]:
    head, _, tail = text.partition("\nArgs:\n")
    notes: dict[str, str] = {}
    current = ""
    for line in tail.splitlines():
        if match := re.match(r"\s{2,8}(\w+):\s+(.*)", line):
            current = match[1]
            notes[current] = match[2].strip()
        elif current and line.strip():
            notes[current] += " " + line.strip()
        elif not line.strip():
            current = ""
    return " ".join(head.split()), notes
