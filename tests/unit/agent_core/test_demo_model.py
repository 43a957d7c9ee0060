import asyncio
import time

import pytest

from agent_core.models.demo import DemoModel
from agent_core.models.demo_turn import fields_of
from agent_core.ports import Chunk, FinishedChunk, Model, ModelRequest, Price, TextChunk, ToolSchema
from agent_core.types import Message, Text, ToolResult, ToolUse, assistant, user

TOOLS = tuple(ToolSchema(name, "", {}) for name in ("analyze_stock", "chart", "get_market_history"))


async def stream(request: ModelRequest, delay: float = 0) -> list[Chunk]:
    return [chunk async for chunk in DemoModel(delay, new_id=lambda: "c").stream(request)]


def test_it_is_a_model_known_to_be_free() -> None:
    model = DemoModel()
    assert isinstance(model, Model)
    assert model.info.name == "demo"
    assert model.info.price == Price(0, 0, 0, 0)
    assert not model.info.vision


@pytest.mark.parametrize("text", ["hello", "你好", "How did GOOG do in 2012?", "分析 AAPL"])
async def test_equal_requests_give_equal_chunks(text: str) -> None:
    request = ModelRequest("s", (user(text),), TOOLS)
    assert await stream(request) == await stream(request)


async def test_call_ids_are_never_used_twice() -> None:
    request = ModelRequest("s", (user("How did GOOG do in 2012?"),), TOOLS)
    ids: list[str] = []
    model = DemoModel(0)
    for _ in range(3):
        async for chunk in model.stream(request):
            if isinstance(chunk, FinishedChunk):
                ids += [call.id for call in chunk.message.calls]
    assert len(set(ids)) == len(ids) == 6


@pytest.mark.parametrize("text", ["hello", "你好"])
async def test_answer_comes_in_small_pieces(text: str) -> None:
    chunks = await stream(ModelRequest("s", (user(text),)))
    pieces = [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)]
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 60


async def test_tool_calls_come_without_words() -> None:
    (finished,) = await stream(ModelRequest("s", (user("How did GOOG do in 2012?"),), TOOLS))
    assert isinstance(finished, FinishedChunk)
    assert finished.stop == "tool_use"
    assert not finished.message.text


async def test_pauses_make_the_stream_visible_and_closing_ends_it_at_once() -> None:
    model = DemoModel(0.01)
    began = time.monotonic()
    chunks = model.stream(ModelRequest("s", (user("hello"),)))
    async for _ in chunks:
        break
    await chunks.aclose()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 0.5
    assert len(asyncio.all_tasks()) == 1


async def test_answer_is_cut_at_the_output_limit() -> None:
    chunks = await stream(ModelRequest("s", (user("hello"),), max_tokens=10))
    finished = chunks[-1]
    assert isinstance(finished, FinishedChunk)
    assert finished.stop == "max_tokens"
    assert len(finished.message.text) == 40


async def test_usage_grows_with_the_conversation_and_costs_nothing() -> None:
    def usage(chunks: list[Chunk]) -> tuple[int, int]:
        finished = chunks[-1]
        assert isinstance(finished, FinishedChunk)
        assert finished.usage.usd == 0.0
        return finished.usage.input_tokens, finished.usage.output_tokens

    short = usage(await stream(ModelRequest("s", (user("hello"),))))
    long = usage(await stream(ModelRequest("s" * 4000, (user("hello"),))))
    assert long[0] >= short[0] + 999
    assert short[1] == long[1] > 50


@pytest.mark.parametrize("messages", [(), (assistant("hm"),), (Message("user", ()),)])
async def test_request_without_words_is_answered(messages: tuple[Message, ...]) -> None:
    finished = (await stream(ModelRequest("s", messages)))[-1]
    assert isinstance(finished, FinishedChunk)
    assert "demo" in finished.message.text


async def test_the_name_of_a_file_is_not_taken_for_words() -> None:
    words = "analyse AAPL"
    file = "[attached file: GOOG-chart.png (image/png, 0.1 MB)]"
    said = []
    for text in (words, f"{words}\n{file}"):
        (finished,) = await stream(ModelRequest("s", (user(text),), TOOLS))
        assert isinstance(finished, FinishedChunk)
        said.append(finished.message)
    assert said[0] == said[1]


async def test_steered_words_join_the_running_turn() -> None:
    """A text that arrives between a tool result and the answer (EVT-7) is answered together with the first."""
    call = ToolUse(
        "a", "get_market_history", {"symbol": "GOOG", "start": "2012-01-01", "end": "2012-12-31"}
    )
    result = ToolResult("a", call.name, '{"symbol":"GOOG","first_close":1.5,"last_close":2.5}')
    begun = (user("GOOG prices in 2012, no chart"), assistant("", call), Message("user", (result,)))
    request = ModelRequest("s", (*begun, user("and MSFT, no chart")), TOOLS)
    (finished,) = await stream(request)
    assert isinstance(finished, FinishedChunk)
    assert [(c.name, c.args) for c in finished.message.calls] == [
        ("get_market_history", {"symbol": "MSFT", "start": "2012-01-01", "end": "2012-12-31"})
    ]
    other = ToolResult("c", call.name, '{"symbol":"MSFT","first_close":3.5,"last_close":4.5}')
    ended = (*request.messages, finished.message, Message("user", (other,)))
    answer = (await stream(ModelRequest("s", ended, TOOLS)))[-1]
    assert isinstance(answer, FinishedChunk)
    assert "| GOOG | 1.5 | 2.5 |" in answer.message.text
    assert "| MSFT | 3.5 | 4.5 |" in answer.message.text


async def test_words_after_an_answer_begin_a_new_turn() -> None:
    call = ToolUse("a", "get_market_history", {"symbol": "GOOG"})
    result = ToolResult("a", call.name, '{"symbol":"GOOG","first_close":1.5,"last_close":2.5}')
    messages = (
        user("GOOG prices"),
        assistant("", call),
        Message("user", (result,)),
        assistant("It rose."),
        Message("user", (Text("hello"),)),
    )
    finished = (await stream(ModelRequest("s", messages, TOOLS)))[-1]
    assert isinstance(finished, FinishedChunk)
    assert "1.5" not in finished.message.text


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ('{"a":1.50,"b":{"c":null},"d":[1', {"a": "1.50", "b": "{'c': None}"}),
        ('{"a":12', {}),
        ('{"a":"x","b":1}', {"a": "x", "b": "1"}),
        ('note {"a":"x"} tail', {"a": "x"}),
        ('{"a":NaN}', {"a": "None"}),
        ("no object", {}),
        ("[1,2]", {}),
    ],
)
def test_fields_are_read_as_far_as_they_are_whole(content: str, fields: dict[str, str]) -> None:
    assert {key: str(value) for key, value in fields_of(content).items()} == fields
