"""What the runtime says beside an answer: what it rests on and what it lacks, whatever the model says of it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent_core.runtime.flow import PLAN
from agent_core.runtime.flow_again import superseded
from agent_core.runtime.output import Verdict
from agent_core.runtime.run import Language
from agent_core.runtime.team import Status
from agent_core.types import Row, RowKind

SHOWN = 5  # numbers that a warning lists

_HAPPENED: dict[str, tuple[str, str]] = {
    Status.PARTIAL: ("finished only in part", "只完成了一部分"),
    Status.EMPTY: ("brought no result", "没有结果"),
    Status.INVALID_OUTPUT: ("gave an answer that does not hold up", "给出的结果不合要求"),
    Status.TIMEOUT: ("ran out of time", "超时"),
    Status.ERROR: ("failed", "出错"),
    Status.OVER_BUDGET: ("ran out of budget", "预算用完"),
    Status.DENIED: ("was refused", "被拒绝"),
    Status.CANCELLED: ("was stopped", "被停止"),
}


def doubts(verdict: Verdict, language: Language) -> str:
    """One line above an answer that does not hold; "" for one that does."""
    zh = language == "zh"
    lines: list[str] = []
    if verdict.faults:
        lines.append(
            "注意：以下回答不符合预设要求的格式。"
            if zh
            else "Note: this answer does not have the form that its preset asks for."
        )
    if verdict.numbers:
        listed = ("、" if zh else ", ").join(verdict.numbers[:SHOWN])
        if len(verdict.numbers) > SHOWN:
            listed += "……" if zh else " …"
        lines.append(
            f"注意：以下数字未见于工具结果：{listed}。"
            if zh
            else f"Note: no tool result holds these numbers: {listed}."
        )
    if verdict.citation:
        lines.append(
            "注意：以下回答没有可核实的来源。"
            if zh
            else "Note: this answer names no source that can be checked."
        )
    return ("" if zh else " ").join(lines)


def missing(rows: Sequence[Row], turn_id: int, said: str, language: Language) -> str:
    """One line about the agents that brought less than they should; "" where the answer `said` names them all.

    An agent that did its work in a later attempt of the supervisor's lacks nothing.
    """
    untold = [
        entry
        for entry in _failed([row for row in rows if row.turn_id == turn_id])
        if not _is_named(entry, said)
    ]
    seen = {(_name(entry, language), entry["status"]): None for entry in untold}
    if not seen:
        return ""
    if language == "zh":
        return f"未得到完整结果：{'；'.join(who + _HAPPENED[status][1] for who, status in seen)}。"
    parts = "; ".join(f"{who} {_HAPPENED[status][0]}" for who, status in seen)
    return f"Not complete: {parts}."


def _failed(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    asked = {
        call.id: row.seq
        for row in rows
        if row.kind is RowKind.ASSISTANT
        for call in row.message.calls
    }
    done = superseded(rows)
    ended = [
        (asked.get(row.ref, 0), row.meta["delegation"])
        for row in rows
        if "delegation" in row.meta and row.ref not in done
    ]
    yield from _broken(rows, done)
    for seq, entry in ended:
        done_later = any(
            other["agent"] == entry["agent"] and other["status"] == Status.COMPLETED and later > seq
            for later, other in ended
        )
        if entry["status"] != Status.COMPLETED and not done_later:
            yield entry


def _broken(rows: Sequence[Row], done: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Delegations of a fixed plan that could not even be made: no model has heard of them to do otherwise."""
    failed = {r.ref for r in rows if r.kind is RowKind.RESULT and "delegation" not in r.meta}
    for row in rows:
        if row.kind is RowKind.ASSISTANT and PLAN in row.meta:
            for made, call in row.meta[PLAN]["calls"].items():
                if made in failed and call["agent"] and made not in done:
                    yield {"agent": call["agent"], "status": Status.ERROR}


def _name(entry: dict[str, Any], language: Language) -> str:
    title: dict[str, str] = entry.get("title") or {}
    return title.get(language) or entry.get("role") or entry["agent"]


def _is_named(entry: dict[str, Any], said: str) -> bool:
    """Whether the answer names the agent.

    An id may be a plain word ("research"), so it counts only when it is marked, or first in a line.
    """
    names = {entry.get("role", ""), *(entry.get("title") or {}).values()}
    words = said.lower()
    own_id = rf"(?:^[>*\-\s]*|[`*_]){re.escape(entry['agent'].lower())}\b"
    return re.search(own_id, words, re.MULTILINE) is not None or any(
        name and name.lower() in words for name in names
    )
