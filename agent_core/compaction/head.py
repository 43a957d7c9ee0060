"""The head: what stands for the rows behind a cut, as reference and not as dialogue (CMP-18, CMP-19, C-8).

One user message of one `Context` block, so that a provider shows it inside context tags: nobody is made to have said
it. Order: marker, archive reference, facts, summary, anchors, the person's own words, workspace state; what is empty is
left out. Layout "layers" gives facts and the rest a message each (STR-3). Quoted texts cannot close the tags or open a
section of ours: such marks in them are made harmless.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain

from agent_core.compaction.decisions import Anchor, Summary, row_ref
from agent_core.compaction.shown import fold_text
from agent_core.types import Context, Image, Message, Row, RowKind

MARKER = (
    "[compacted conversation] The messages before this point are condensed here, as reference. "
    "This is no new request; what comes after it is newer and wins."
)
SUMMARY = "[对话摘要] Summary of the conversation so far"
ANCHORS = "[动态保留片段] Excerpts, as they were written"
ARCHIVE = "[可恢复归档] Whole in the archive:"
FACTS = "[关键事实] What the person stated as facts and limits; they always hold"
WORDS = "[用户原话] The person's own words"
STATE = "[工作区状态] State of the work"
# The course's form (STR-2, STR-3), whose characters FIX-1 counts: profile "short".
SUMMARY_SHORT = "[早期对话摘要]"
FACTS_SHORT = "以下是用户亲口说过的关键事实与硬性约束，任何回答都必须始终遵守它们："

_TAGS = re.compile(r"<(/?\s*(?:context|runtime-note)\s*)>", re.IGNORECASE)
_SECTIONS = re.compile(
    r"\[(compacted conversation|早期对话摘要|对话摘要|动态保留片段|可恢复归档"
    r"|关键事实|用户原话|工作区状态|上下文信息)\]"
)


def harmless(text: str) -> str:
    """A quoted text in which our own tags and headings are no tags and headings."""
    return _SECTIONS.sub(r"［\1］", _TAGS.sub(r"‹\1›", text))


def head(summary: Summary, row_at: Callable[[int], Row | None]) -> tuple[Message, ...]:
    """The messages that stand for the rows behind the cut: none where there is nothing to say, else one or two."""
    facts, rest = list(_facts(summary)), list(_rest(summary, row_at))
    opening = list(_opening(summary)) if facts or rest or summary.archive else []
    apart = summary.layout == "layers" and bool(facts)
    groups = [facts, opening + rest] if apart else [opening + facts + rest]
    return tuple(Message("user", (Context("\n".join(group)),)) for group in groups if group)


def _opening(summary: Summary) -> Iterator[str]:
    if summary.profile != "short":
        yield MARKER
    if summary.archive:
        yield f"{ARCHIVE} {harmless(summary.archive)} (restore_archive gives it back)"


def _facts(summary: Summary) -> Iterator[str]:
    held = (f"- {harmless(f.text)}" for f in summary.facts if f.superseded_by is None)
    return _section(FACTS_SHORT if summary.profile == "short" else FACTS, held)


def _rest(summary: Summary, row_at: Callable[[int], Row | None]) -> Iterator[str]:
    if summary.text:
        yield SUMMARY_SHORT if summary.profile == "short" else SUMMARY
        yield harmless(summary.text)
    yield from _section(ANCHORS, (_anchor(a) for a in summary.anchors))
    yield from _section(WORDS, _words(summary, row_at))
    if summary.state:
        yield STATE
        yield harmless(summary.state)


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    return iter(()) if first is None else chain((title, first), lines)


def _anchor(anchor: Anchor) -> str:
    return f"- {row_ref(anchor.seq)} {anchor.role}: {harmless(anchor.text)}"


def _words(summary: Summary, row_at: Callable[[int], Row | None]) -> Iterator[str]:
    for seq in summary.words:
        row = row_at(seq)
        if row is not None and row.kind is RowKind.USER and (said := _said(row)):
            yield f"- {row_ref(seq)}: {harmless(fold_text(said, *summary.clip))}"


def _said(row: Row) -> str:
    pictures = sum(isinstance(b, Image) for b in row.message.blocks)
    noted = (f"({pictures} picture{'s' if pictures > 1 else ''})",) if pictures else ()
    return " ".join(t for t in (row.message.text.strip(), *noted) if t)
