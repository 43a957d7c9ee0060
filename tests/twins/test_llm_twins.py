"""The model twins against the real SDKs and their own types, and as servers of another process."""

from collections.abc import AsyncIterator

import aiohttp
import anthropic
import openai
import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

from tests.twins.anthropic import AnthropicTwin, message_of, whole
from tests.twins.anthropic import events_of as anthropic_events
from tests.twins.anthropic_cache import PrefixCache
from tests.twins.anthropic_rules import problems
from tests.twins.llm_script import Answered, Turn, call, redacted, say, think
from tests.twins.openai import OpenAITwin

FULL = Turn([think("hm"), redacted("xx"), say("hello"), call("quote", {"symbol": "A"})], chunk=3)


@pytest.fixture
async def claude() -> AsyncIterator[AnthropicTwin]:
    async with AnthropicTwin() as twin:
        assert isinstance(twin, AnthropicTwin)
        yield twin


@pytest.fixture
async def gpt() -> AsyncIterator[OpenAITwin]:
    async with OpenAITwin() as twin:
        assert isinstance(twin, OpenAITwin)
        yield twin


def hello(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_anthropic_events_have_the_sdks_types() -> None:
    usage = PrefixCache().read({"model": "m", "messages": hello("hi"), "max_tokens": 1})
    message = message_of("m", 1, usage)
    adapter: TypeAdapter[object] = TypeAdapter(RawMessageStreamEvent)
    for name, data in anthropic_events(message, FULL, 1):
        if name != "ping":
            adapter.validate_python(data)
    AnthropicMessage.model_validate(whole(message, FULL, 1))


def test_openai_chunks_have_the_sdks_types() -> None:
    twin = OpenAITwin()
    answer = Answered(1, "", "", FULL)
    body = {"model": "m", "messages": hello("hi"), "stream_options": {"include_usage": True}}
    for chunk in twin._chunks(body, answer):
        ChatCompletionChunk.model_validate(chunk)
    ChatCompletion.model_validate(twin._whole(body, answer))


async def test_the_anthropic_sdk_reads_a_stream_and_counts_and_lists(claude: AnthropicTwin) -> None:
    claude.script(FULL)
    client = anthropic.AsyncAnthropic(api_key="k", base_url=claude.url, max_retries=0)
    async with client.messages.stream(model="m", max_tokens=9, messages=hello("hi")) as stream:  # type: ignore[arg-type]
        message = await stream.get_final_message()
    assert [b.type for b in message.content] == [
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
    ]
    assert message.stop_reason == "tool_use"
    counted = await client.messages.count_tokens(model="m", messages=hello("hi"))  # type: ignore[arg-type]
    assert counted.input_tokens > 0
    assert [m.id async for m in client.models.list()] == ["claude-sonnet-5-5"]
    await client.close()
    assert claude.violations == []


async def test_the_openai_sdk_reads_a_stream_and_lists(gpt: OpenAITwin) -> None:
    gpt.script(FULL)
    client = openai.AsyncOpenAI(api_key="k", base_url=f"{gpt.url}/v1", max_retries=0)
    stream = await client.chat.completions.create(model="m", messages=hello("hi"), stream=True)  # type: ignore[call-overload]
    chunks = [c async for c in stream]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert [m.id async for m in client.models.list()] == ["twin-model"]
    await client.close()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], "at least one message"),
        ([{"role": "assistant", "content": "x"}], "user role"),
        ([{"role": "user", "content": " "}], "non-whitespace"),
        ([{"role": "user", "content": []}], "must not be empty"),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}],
            "unexpected tool_use_id",
        ),
        (
            [*hello("q"), {"role": "assistant", "content": [{"type": "tool_use", "id": "x"}]}],
            "without results",
        ),
        (
            [
                *hello("q"),
                {"role": "assistant", "content": [think("a") | {"signature": "forged"}]},
            ],
            "Invalid `signature`",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "x", "cache_control": {"type": "e"}}] * 5,
                }
            ],
            "maximum of 4",
        ),
    ],
)
def test_what_the_real_api_refuses_is_refused(
    messages: list[dict[str, object]], expected: str
) -> None:
    assert expected in "; ".join(problems({"max_tokens": 9, "messages": messages}))


async def test_conversations_are_scripted_by_a_marker_and_go_on_where_they_were(
    claude: AnthropicTwin,
) -> None:
    claude.reply_to("#m1", [[Turn([say("cut")], cut=(3, "eof")), "one"], "two"])
    claude.reply_to("#m2", ["other"])
    client = anthropic.AsyncAnthropic(api_key="k", base_url=claude.url, max_retries=0)

    async def ask(*turns: str) -> str:
        messages = [
            {"role": "user" if i % 2 == 0 else "assistant", "content": t}
            for i, t in enumerate(turns)
        ]
        async with client.messages.stream(model="m", max_tokens=9, messages=messages) as stream:  # type: ignore[arg-type]
            return "".join([t async for t in stream.text_stream])

    assert await ask("hi #m1") == ""
    assert await ask("hi #m2") == "other"
    assert await ask("hi #m1") == "one"
    assert await ask("hi #m1", "one", "and?") == "two"
    assert claude.repeated() == []
    assert await ask("hi #m2") == "other"
    assert claude.repeated() == ["hi #m2"]
    assert await ask("echo") == "echo"
    await client.close()
    assert [a.finished for a in claude.answers][:3] == [False, True, True]


async def test_a_changed_byte_early_in_the_prefix_loses_the_hit() -> None:
    cache = PrefixCache(smallest=10)

    def body(system: str, *texts: str) -> dict[str, object]:
        blocks = [{"type": "text", "text": t} for t in texts]
        marked = [*blocks[:-1], blocks[-1] | {"cache_control": {"type": "ephemeral"}}]
        return {
            "model": "m",
            "system": system,
            "messages": [{"role": "user", "content": marked}],
        }

    first = cache.read(body("s" * 400, "a" * 400))
    assert first["cache_creation_input_tokens"] > 200
    second = cache.read(body("s" * 400, "a" * 400, "b" * 400))
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    third = cache.read(body("S" * 400, "a" * 400, "b" * 400))
    assert third["cache_read_input_tokens"] == 0


async def test_a_script_can_come_through_the_control_plane(claude: AnthropicTwin) -> None:
    turn = {"blocks": [say("from afar")], "cut": [99, "eof"]}
    async with aiohttp.ClientSession() as session:
        payload = {"method": "reply_to", "args": ["#x", [turn]]}
        async with session.post(f"{claude.url}/__/call", json=payload) as answer:
            assert answer.status == 200
        client = anthropic.AsyncAnthropic(api_key="k", base_url=claude.url)
        message = await client.messages.create(model="m", max_tokens=9, messages=hello("#x"))  # type: ignore[arg-type]
        await client.close()
        assert message.content[0].text == "from afar"  # type: ignore[union-attr]
        async with session.post(f"{claude.url}/__/call", json={"method": "summary"}) as answer:
            assert (await answer.json())["result"][0]["finished"]
