import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.models.normalise import (
    MISSING_RESULT,
    OPENING,
    normalise,
    problems,
    safe_ids,
)
from agent_core.types import (
    Block,
    Context,
    Image,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant,
    user,
)

IDS = st.sampled_from(["a", "b", "c", "functions.x:0"])
WORDS = st.sampled_from(["", " ", "hi", "价"])
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    WORDS.map(Text),
    WORDS.map(Context),
    WORDS.map(Thinking),
    st.builds(ToolUse, IDS, st.just("t"), st.just({})),
    st.builds(ToolResult, IDS, st.just("t"), WORDS),
    st.just(Image("b", "image/png")),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant"]),
        st.lists(BLOCKS, max_size=5).map(tuple),
    ),
    max_size=8,
)


def call(id_: str) -> ToolUse:
    return ToolUse(id_, "t", {})


def result(id_: str, text: str = "r") -> ToolResult:
    return ToolResult(id_, "t", text)


@given(MESSAGES)
def test_any_history_becomes_one_that_providers_accept(messages: list[Message]) -> None:
    """ASM-15, TPR-4: and doing it twice changes nothing."""
    normal = normalise(messages)
    if normal.messages:
        assert problems(normal.messages) == []
    for i, message in enumerate(normal.messages):
        assert message.blocks
        assert message.role == ("user", "assistant")[i % 2]
        ids = [b.call_id for b in message.blocks if isinstance(b, ToolResult)]
        calls = [c.id for c in normal.messages[i - 1].calls] if i else []
        assert ids == calls
        assert all(isinstance(b, ToolResult) for b in message.blocks[: len(ids)])
    every = [c.id for m in normal.messages for c in m.calls]
    assert len(every) == len(set(every))
    assert normalise(normal.messages).messages == normal.messages


@given(MESSAGES)
def test_words_are_never_lost(messages: list[Message]) -> None:
    said = [b.text for m in messages for b in m.blocks if isinstance(b, Text) and b.text.strip()]
    kept = [b.text for m in normalise(messages).messages for b in m.blocks if isinstance(b, Text)]
    assert sorted(said) == sorted(t for t in kept if t != OPENING)


def test_an_empty_answer_vanishes() -> None:
    """ASM-15, defect 11: an empty assistant message after an abort poisons every later request."""
    messages = (user("a"), Message("assistant", (Text(""),)), user("b"))
    assert normalise(messages).messages == (Message("user", (Text("a"), Text("b"))),)


def test_results_follow_their_calls_in_call_order() -> None:
    messages = (
        user("q"),
        assistant("", call("1"), call("2")),
        user("meanwhile"),
        Message("user", (result("2", "two"),)),
        Message("user", (result("1", "one"),)),
    )
    last = normalise(messages).messages[2]
    assert last.blocks == (result("1", "one"), result("2", "two"), Text("meanwhile"))


def test_a_missing_result_is_stood_in_for_and_an_orphan_dropped() -> None:
    """TPR-1."""
    messages = (user("q"), Message("user", (result("x"),)), assistant("", call("1")), user("go on"))
    normal = normalise(messages).messages
    assert normal[0] == user("q")
    assert normal[2].blocks == (
        ToolResult("1", "t", MISSING_RESULT, is_error=True),
        Text("go on"),
    )


def test_ids_that_a_server_uses_again_are_told_apart() -> None:
    messages = (
        user("q"),
        assistant("", call("c")),
        Message("user", (result("c", "first"),)),
        assistant("", call("c")),
        Message("user", (result("c", "second"),)),
    )
    normal = normalise(messages).messages
    assert normal[4].blocks == (result("c-2", "second"),)
    assert normal[2].blocks == (result("c", "first"),)


def test_breakpoints_stay_with_the_last_block_of_their_message() -> None:
    messages = (
        user("a"),
        user("b"),
        assistant("", call("1"), call("2")),
        Message("user", (result("2"),)),
        Message("user", (result("1"),)),
        Message("assistant", (Text(""),)),
    )
    assert normalise(messages, (0, 1, 3, 5)).marks == ((0, 0), (0, 1), (2, 1))


@pytest.mark.parametrize("words", ["plain", ""])
def test_a_breakpoint_behind_the_last_message_is_left_out(words: str) -> None:
    """Whether there is something to bring into form or not."""
    messages = (user("a"), assistant("b"), user("c"), assistant(words))
    assert normalise(messages, (1, 4)).marks == ((1, 0),)


def test_a_history_that_begins_with_an_answer_gets_an_opening() -> None:
    assert normalise((assistant("hello"),)).messages == (user(OPENING), assistant("hello"))


def test_ids_are_made_of_safe_characters() -> None:
    messages = (assistant("", call("functions.x:0")), Message("user", (result("functions.x:0"),)))
    first, second = safe_ids(messages)
    assert first.calls[0].id == "functions_x_0"
    assert second.blocks[0] == result("functions_x_0")
