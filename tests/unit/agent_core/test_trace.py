"""The events of a trace: their names, their fields, and how much of a text they keep (SCR-1)."""

import json

from agent_core.runtime import trace
from agent_core.types import TurnStatus, Usage


class Notes:
    """The part of a Journal that a trace is written on."""

    session_id = "s1"

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def trace(self, event: str, **fields: object) -> None:
        self.events.append((event, fields))


def test_a_turn_is_told_in_events() -> None:
    """SCR-1: init, request, thinking, tool_started, tool_result, compaction, final, error."""
    notes = Notes()
    trace.begun(notes, "how is GOOG?", model="m", preset="p")  # type: ignore[arg-type]
    trace.requested(notes, {"tokens": 12}, model="m")  # type: ignore[arg-type]
    trace.thought(notes, "hm")  # type: ignore[arg-type]
    trace.thought(notes, " ")  # type: ignore[arg-type]
    trace.tool_started(notes, "c1", "echo", {"words": "hi"})  # type: ignore[arg-type]
    trace.tool_ended(  # type: ignore[arg-type]
        notes, "c1", "echo", {"words": "hi"}, result="hi", ms=3, status="ok", agent="research"
    )
    trace.compacted(notes, before=900, after=300, notes=[{"layer": 1}])  # type: ignore[arg-type]
    trace.ended(notes, "180", Usage(10, 2, 5), seconds=1.23456, status=TurnStatus.DONE)  # type: ignore[arg-type]
    trace.failed(notes, ValueError("no"), code="inside", error_id="ab12")  # type: ignore[arg-type]
    assert [name for name, _ in notes.events] == [
        *("init", "request", "thinking", "tool_started", "tool_result"),
        *("compaction", "final", "error"),
    ]
    found = dict(notes.events)
    assert found["init"]["session"] == "s1"
    assert found["init"]["input"] == "how is GOOG?"
    assert found["tool_result"] | {"agent": None} == {
        "call": "c1",
        "name": "echo",
        "args": {"words": "hi"},
        "result": "hi",
        "chars": 2,
        "ms": 3,
        "status": "ok",
        "agent": None,
    }
    assert (found["compaction"]["before"], found["compaction"]["after"]) == (900, 300)
    assert found["final"]["seconds"] == 1.235
    assert found["final"]["tokens"]["input"] == 10  # type: ignore[index]
    assert json.dumps(notes.events)


def test_a_cut_says_how_much_is_missing() -> None:
    assert trace.cut("x" * 2_000) == "x" * 2_000
    assert trace.cut("x" * 2_001) == "x" * 2_000 + "… [1 more characters]"


def test_arguments_are_kept_without_their_length() -> None:
    notes = Notes()
    deep: dict[str, object] = {"a": "y" * 5_000}
    for _ in range(20):
        deep = {"in": deep, "list": [1, None, True]}
    trace.tool_started(notes, "c1", "echo", deep)  # type: ignore[arg-type]
    trace.tool_started(notes, "c2", "echo", None)  # type: ignore[arg-type]
    assert len(json.dumps(notes.events)) < 3_000
