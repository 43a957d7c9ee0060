"""From rows to a request: a pure function (ASM-13, TGV-2)."""

import dataclasses
import datetime as dt
import itertools

from agent_core.assembly.builder import build, view
from agent_core.models.normalise import problems
from agent_core.ports import ModelRequest, ToolSchema
from agent_core.types import Message, Row, RowKind, ToolResult, assistant, encode, user
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


def request(rows: list[Row], turn: int = 1, window: int = 200_000) -> ModelRequest:
    tools = (ToolSchema("echo", "Say it.", {"type": "object", "properties": {}}),)
    return build(
        system="sys", rows=rows, tools=tools, turn_id=turn, window=window, max_tokens=1_000
    )


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
    assert [m for _, m in view(rows_of(*with_intents))] == [m for _, m in view(rows_of(*without))]


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
    made = build(
        system="s",
        rows=rows_of(said("x")),
        tools=(),
        turn_id=1,
        window=10_000,
        max_tokens=77,
        effort="low",
    )
    assert (made.max_tokens, made.effort, made.system) == (77, "low", "s")
