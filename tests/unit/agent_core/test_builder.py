"""From rows to a request: a pure function (ASM-13, TGV-2)."""

import dataclasses
import datetime as dt
import itertools
import json

from agent_core.assembly.builder import Frame, Measure, Prefix, report
from agent_core.assembly.builder import request as request_of
from agent_core.assembly.report import Report
from agent_core.compaction.decisions import Cleared, Fact, Summary, checkpoint
from agent_core.compaction.view import View
from agent_core.models.normalise import problems
from agent_core.ports import ModelInfo, ModelRequest, ToolSchema
from agent_core.types import (
    Checkpoint,
    Context,
    Message,
    Row,
    RowKind,
    Text,
    ToolResult,
    assistant,
    encode,
    user,
)
from tests.harness import call

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
CALLS = (call("echo", "a"), call("echo", "b", words="2"), call("slow", "c"))


def rows_of(*entries: tuple[RowKind, Message, str], turn: int = 1, after: int = 0) -> list[Row]:
    return [
        Row(after + i, turn, kind, message, ref, NOW)
        for i, (kind, message, ref) in enumerate(entries, 1)
    ]


def said(words: str) -> tuple[RowKind, Message, str]:
    return RowKind.USER, user(words), "1"


def answered(call_id: str) -> tuple[RowKind, Message, str]:
    result = ToolResult(call_id, "echo", f"result {call_id}")
    return RowKind.RESULT, Message("user", (result,)), call_id


def intended(call_id: str) -> tuple[RowKind, Message, str]:
    return RowKind.INTENT, assistant("", call("echo", call_id)), call_id


ECHO = ToolSchema("echo", "Say it.", {"type": "object", "properties": {}})


def frame(*, window: int = 200_000, system: str = "sys") -> Frame:
    info = ModelInfo("test/model", window, 4_000, vision=True, cache="breakpoint", price=None)
    return Frame(Prefix(system, (ECHO,)), info, 1_000)


def request(rows: list[Row], turn: int = 1) -> ModelRequest:
    return request_of(View.of(rows), frame(), turn)


def bytes_of(made: ModelRequest) -> str:
    return "\n".join(encode(m) for m in made.messages) + repr(made.tools) + made.system


def test_results_stand_in_call_order_whatever_finished_first() -> None:
    """TGV-2: the order of storing leaves no trace in the request."""
    head = [said("go"), (RowKind.ASSISTANT, assistant("look", *CALLS), "m")]
    texts = set()
    for order in itertools.permutations("abc"):
        made = request(rows_of(*head, *(answered(i) for i in order)))
        texts.add(bytes_of(made))
        assert [b.call_id for b in made.messages[-1].blocks] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert len(texts) == 1


def test_intents_are_not_seen_by_a_model() -> None:
    entries = [said("go"), (RowKind.ASSISTANT, assistant("", *CALLS), "m")]
    with_intents = [*entries, *(intended(i) for i in "abc"), *(answered(i) for i in "abc")]
    without = [*entries, *(answered(i) for i in "abc")]
    assert View.of(rows_of(*with_intents)).messages == View.of(rows_of(*without)).messages


def test_the_same_rows_give_the_same_bytes() -> None:
    """ASM-13: a request can be rebuilt from what is stored; nothing reads a clock."""
    entries = [said("go"), (RowKind.ASSISTANT, assistant("x", CALLS[0]), "m"), answered("a")]
    first, again = (request(rows_of(*entries)) for _ in range(2))
    assert bytes_of(first) == bytes_of(again)
    later = [dataclasses.replace(r, at=NOW + dt.timedelta(days=9)) for r in rows_of(*entries)]
    assert bytes_of(request(later)) == bytes_of(first)


def test_a_longer_transcript_keeps_the_bytes_of_its_beginning() -> None:
    """PCH: what was sent once stays a prefix, turn after turn."""
    rows: list[Row] = []
    before: list[str] = []
    for turn in range(1, 5):
        rows += rows_of(
            said(f"question {turn}"),
            (RowKind.ASSISTANT, assistant("", call("echo", f"k{turn}")), "m"),
            answered(f"k{turn}"),
            turn=turn,
            after=len(rows),
        )
        now = [encode(m) for m in request(rows, turn).messages]
        assert now[: len(before)] == before
        before = now


def test_notes_of_the_runtime_are_seen_as_user_text() -> None:
    rows = rows_of(said("go"), (RowKind.NOTE, user("wrap up"), ""))
    assert [m.text for m in request(rows).messages] == ["go", "wrap up"]


def test_steered_words_come_after_the_results_they_followed() -> None:
    rows = rows_of(
        said("go"),
        (RowKind.ASSISTANT, assistant("", CALLS[0]), "m"),
        answered("a"),
        said("and this"),
    )
    assert [m.text for m in request(rows).messages] == ["go", "", "", "and this"]


def test_a_call_without_a_result_yet_is_left_to_the_normaliser() -> None:
    rows = rows_of(said("go"), (RowKind.ASSISTANT, assistant("", *CALLS), "m"), answered("b"))
    made = request(rows)
    assert [b.call_id for b in made.messages[-1].blocks] == ["b"]  # type: ignore[union-attr]
    assert problems(made.messages)  # known here, mended before it is sent


def test_limits_are_handed_on() -> None:
    """ASM-1: a frame (prompt, tools, model, bounds) and a view make the request."""
    wanted = Frame(frame().prefix, frame().model, 77, "low")
    made = request_of(View.of(rows_of(said("x"))), wanted, 1)
    assert (made.max_tokens, made.effort, made.system) == (77, "low", "sys")


# What varies, and where it stands ------------------------------------------------------------------------------------


def situated(words: str, clock: str, recall: str = "") -> tuple[RowKind, Message, str]:
    blocks = [Context(f"now: {clock}")] + ([Context(recall, "recall")] if recall else [])
    return RowKind.USER, Message("user", (*blocks, Text(words))), "1"


def test_neither_clock_nor_memory_reaches_the_static_text() -> None:
    """ASM-10, defect 21: with another clock and other memories, system and tools are the same bytes."""
    one = request(rows_of(situated("hi", "10:00", "likes tea")))
    other = request(rows_of(situated("hi", "23:59", "holds 300750")))
    assert (one.system, one.tools) == (other.system, other.tools)
    assert one.messages != other.messages


def test_the_order_is_system_then_history_then_the_current_message() -> None:
    """ASM-5, ASM-9, ASM-11: what varies stands in a block of its own in front of the person's words."""
    rows = rows_of(said("first"), (RowKind.ASSISTANT, assistant("one"), "m"))
    rows += rows_of(situated("second", "10:00"), turn=2, after=2)
    made = request(rows, turn=2)
    assert [m.text for m in made.messages] == ["first", "one", "second"]
    assert isinstance(made.messages[-1].blocks[0], Context)


# The report ----------------------------------------------------------------------------------------------------------


def reported(rows: list[Row], turn: int, *made: Checkpoint, ratio: float = 1.0) -> Report:
    view = View.of(rows, made)
    built = request_of(view, frame(), turn)
    return report(built, view, frame(), turn, Measure("economic", 167_232, ratio))


def two_turns() -> list[Row]:
    rows = rows_of(
        said("what of GOOG?"),
        (RowKind.ASSISTANT, assistant("", CALLS[0]), "m"),
        (RowKind.RESULT, Message("user", (ToolResult("a", "echo", "x" * 300),)), "a"),
        (RowKind.ASSISTANT, assistant("It rose."), "m"),
    )
    return rows + rows_of(situated("and AAPL?", "10:00", "likes tea"), turn=2, after=4)


def test_a_report_names_each_section_with_its_size() -> None:
    """ASM-13: characters and tokens by section; what is empty has no line."""
    told = reported(two_turns(), 2)
    sizes = {s.name: s.chars for s in told.sections}
    assert sizes["system"] == 3
    assert sizes["history"] == len("what of GOOG?") + 300 + len("It rose.")
    assert sizes["message"] == len("and AAPL?")
    assert sizes["situation"] == len("now: 10:00")
    assert sizes["recall"] == len("likes tea")
    assert "summary" not in sizes
    assert "work of this turn" not in sizes
    assert not any(s.cut for s in told.sections)


def test_the_sections_add_up_to_the_whole() -> None:
    told = reported(two_turns(), 2)
    in_history = View.of(two_turns()).tokens + frame().prefix.tokens
    assert told.tokens == in_history
    assert abs(sum(s.tokens for s in told.sections) - told.tokens) <= len(told.sections)


def test_a_report_says_what_was_cut() -> None:
    """ASM-13: a cleared result marks the section that it stands in."""
    clear = checkpoint(Cleared((3,)), until=6)
    cut = {s.name: s.cut for s in reported(two_turns(), 2, clear).sections}
    assert cut["history"]
    assert not cut["message"]
    assert "recall" not in cut


def test_a_report_shows_the_parts_of_a_summary() -> None:
    fact = Fact(1, 1, "budget 500", "keyword")
    body = Summary("They asked about GOOG.", "structured", facts=(fact,), archive="r1-r4")
    told = reported(two_turns(), 2, checkpoint(body, until=5))
    sizes = {s.name: s.chars for s in told.sections}
    assert sizes["summary"] == len(body.text)
    assert sizes["facts"] == len(fact.text)
    assert told.summary


def test_tokens_are_told_in_the_providers_own_measure() -> None:
    """TOK-10: what the provider's counts taught goes into the report."""
    plain, doubled = reported(two_turns(), 2), reported(two_turns(), 2, ratio=2.0)
    assert doubled.tokens == 2 * plain.tokens


def test_a_report_comes_back_from_the_trace_as_it_was() -> None:
    told = reported(two_turns(), 2)
    assert Report.from_json(json.loads(json.dumps(told.to_json()))) == told
