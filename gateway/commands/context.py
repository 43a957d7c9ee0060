"""/why: what the model could see when it last answered here. /compact is a turn of its own (`engine/begin.py`)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from agent_core.assembly.report import Report, Section
from agent_core.assembly.sections import runtime_note
from agent_core.runtime.trace import COMPACTION, REQUEST
from agent_core.storage.tables import Turn
from agent_core.storage.traces import TraceEvent, traces_of_turn
from agent_core.types import NewRow, RowKind, user
from gateway.texts.texts import has, say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

_TURN = Turn.__table__  # type: ignore[attr-defined]
TURNS = 5  # the newest ones, among which the last that called a model is looked for


def handlers() -> dict[str, Callable[[Connection, "Asked"], str]]:
    """The command of this file by name."""
    return {"why": _why}


def compact_row(item_id: int, topic: str) -> NewRow:
    """The first row of a turn that only compacts (CMP-30); no model sees it."""
    note = user(runtime_note(f"compact: {topic}" if topic else "compact"))
    return NewRow(RowKind.NOTE, note, str(item_id), {"hidden": True, "compact": topic})


def _why(conn: Connection, asked: "Asked") -> str:
    newest = (
        select(_TURN.c.id)
        .where(_TURN.c.session_id == asked.lane.session_id)
        .order_by(_TURN.c.id.desc())
        .limit(TURNS)
    )
    for turn_id in conn.execute(newest).scalars().all():
        events = traces_of_turn(conn, turn_id)
        calls = [e for e in events if e.event == REQUEST and e.fields.get("agent") is None]
        if calls:
            return _told(calls, [e for e in events if e.event == COMPACTION], asked)
    return say("why_nothing", asked.language)


def _told(calls: list[TraceEvent], compactions: list[TraceEvent], asked: "Asked") -> str:
    report = Report.from_json(calls[-1].fields["report"])
    language = asked.language
    head = say(
        "why_head",
        language,
        model=report.model,
        calls=len(calls),
        messages=report.messages,
        tokens=f"{report.tokens:,}",
        window=f"{report.window:,}",
        fill=f"{report.fill:.0%}",
        policy=report.policy,
    )
    columns = say("why_columns", language).split("|")
    table = [
        f"| {' | '.join(columns)} |",
        "|---|---:|---:|",
        *(_line(section, asked) for section in report.sections),
    ]
    lines = [head, "", *table]
    if any(section.cut for section in report.sections):
        lines += ["", say("why_cut", language)]
    for event in compactions:
        sizes = {k: f"{event.fields[k]:,}" for k in ("before", "after")}
        lines += ["", say("why_compacted", language, **sizes)]
    return "\n".join(lines)


def _line(section: Section, asked: "Asked") -> str:
    code = f"why_{section.name.replace(' ', '_')}"
    name = say(code, asked.language) if has(code) else section.name
    mark = " ✂" if section.cut else ""
    return f"| {name}{mark} | {section.chars:,} | {section.tokens:,} |"
