"""From a view to a model request and a report about it: pure, so that the same rows give the same bytes (ASM-13).

Order: system, history, the current message (ASM-5). Neighbours of one role are merged by the provider's normaliser,
which runs last.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from agent_core.assembly.breakpoints import breakpoints
from agent_core.assembly.report import Report, Section, marks_of
from agent_core.assembly.situations import told_once
from agent_core.compaction.decisions import Summary
from agent_core.compaction.view import Part, View
from agent_core.models.tokens import mixed, of_text
from agent_core.ports import ModelInfo, ModelRequest, ToolSchema
from agent_core.types import Context, Image, Text


@dataclass(frozen=True)
class Prefix:
    """What stays the same in every request of an agent within a session; measured once."""

    system: str
    tools: tuple[ToolSchema, ...]

    def __hash__(self) -> int:
        return hash((self.system, *(tool.name for tool in self.tools)))

    @cached_property
    def tokens(self) -> int:
        """Estimate of system text and tool schemas, which no compaction shortens (TOK-10)."""
        return mixed(self.system, (), self.tools)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The prefix in the report."""
        schemas = "".join(
            f"{t.name}{t.description}{json.dumps(t.parameters, ensure_ascii=False)}"
            for t in self.tools
        )
        system = of_text(self.system)
        return (
            Section("system", len(self.system), system),
            Section("tools", len(schemas), self.tokens - system),
        )


@lru_cache(maxsize=64)
def measured(prefix: Prefix) -> Prefix:
    """The first prefix that equals this one, already measured: nearly every turn of a team has the same."""
    return prefix


@dataclass(frozen=True, slots=True)
class Frame:
    """What a request needs besides the view."""

    prefix: Prefix
    model: ModelInfo
    max_tokens: int
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """How sizes are told: the policy in force, its threshold in the model's tokens, real tokens per estimated one."""

    policy: str = ""
    threshold: int = 0
    ratio: float = 1.0


def request(view: View, frame: Frame, turn_id: int) -> ModelRequest:
    """The request for the next model call of turn `turn_id`."""
    return ModelRequest(
        system=frame.prefix.system,
        messages=told_once(view.messages),
        tools=frame.prefix.tools,
        max_tokens=frame.max_tokens,
        effort=frame.effort,
        breakpoints=breakpoints(view.messages, view.turns, turn_id),
    )


def report(made: ModelRequest, view: View, frame: Frame, turn_id: int, measure: Measure) -> Report:
    """What the request consists of; sections that are empty are left out."""
    sections = [*frame.prefix.sections, *_parts(view, turn_id)]
    total = frame.prefix.tokens + view.tokens
    return Report(
        model=frame.model.name,
        policy=measure.policy,
        window=frame.model.context_window,
        threshold=measure.threshold,
        tokens=round(total * measure.ratio),
        sections=tuple(
            Section(s.name, s.chars, round(s.tokens * measure.ratio), s.cut)
            for s in sections
            if s.chars
        ),
        marks=marks_of(made.breakpoints),
        messages=len(made.messages),
        rows=len(view.rows),
        summary=view.summary is not None,
    )


def _parts(view: View, turn_id: int) -> Iterator[Section]:
    heads = [part for part in view.parts if part.kind == "head"]
    if view.summary is not None:
        yield from _head(view.summary, heads)
    rest = [part for part in view.parts if part.kind != "head"]
    old = [part for part in rest if part.turn_id != turn_id]
    new = [part for part in rest if part.turn_id == turn_id]
    yield _section("history", old, view)
    for name, parts in (("situation", new), ("recall", new)):
        texts = [
            b.text
            for p in parts
            for b in p.message.blocks
            if isinstance(b, Context) and b.kind == name
        ]
        yield Section(name, sum(map(len, texts)), sum(map(of_text, texts)))
    words = [
        b.text
        for p in new
        if p.message.role == "user"
        for b in p.message.blocks
        if isinstance(b, Text)
    ]
    yield Section("message", sum(map(len, words)), sum(map(of_text, words)))
    work = [p for p in new if p.kind == "results" or p.message.role == "assistant"]
    yield _section("work of this turn", work, view)
    pictures = sum(isinstance(b, Image) for p in rest for b in p.message.blocks)
    if pictures:
        yield Section(f"pictures ({pictures})", pictures, 0)


def _head(summary: Summary, heads: Sequence[Part]) -> Iterator[Section]:
    """The parts of the head: the frame around them counts to the words of the person."""
    texts = {
        "summary": summary.text,
        "facts": "".join(f.text for f in summary.facts if f.superseded_by is None),
        "anchors": "".join(a.text for a in summary.anchors),
    }
    for name, text in texts.items():
        yield Section(name, len(text), of_text(text), cut=name != "facts")
    whole = sum(part.chars for part in heads) - sum(map(len, texts.values()))
    tokens = sum(p.tokens for p in heads) - sum(map(of_text, texts.values()))
    yield Section("earlier words", max(0, whole), max(0, tokens), cut=True)


def _section(name: str, parts: Sequence[Part], view: View) -> Section:
    standing = view.standing
    short = standing.cleared.keys() | standing.folded.keys() | standing.clipped.keys()
    cut = any(seq in short for part in parts for seq in part.seqs) or any(
        part.kind == "note" and not part.seqs for part in parts
    )
    return Section(name, sum(p.chars for p in parts), sum(p.tokens for p in parts), cut)
