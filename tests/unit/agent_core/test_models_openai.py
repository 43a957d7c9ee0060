from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agent_core import errors
from agent_core.models.openai import OpenAIModel, warm
from agent_core.models.stream import StreamLimits
from agent_core.ports import ModelRequest
from agent_core.types import (
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
from tests.twins.llm_script import Turn, call, say, think
from tests.twins.openai import OpenAITwin
from tests.unit.agent_core.model_requests import (
    NEWS,
    QUOTE,
    QWEN,
    after,
    ask,
    read,
    text_of,
    thought_of,
)

MARKUP = '<tool_call>\n{"name": "quote", "arguments": {"symbol": "AAPL"}}\n</tool_call>'


@pytest.fixture
async def twin() -> AsyncIterator[OpenAITwin]:
    twin = OpenAITwin()
    await twin.start()
    yield twin
    await twin.stop()
    assert twin.violations == []


@pytest.fixture
async def model(twin: OpenAITwin) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel(QWEN, provider="qwen", api_key="k", base_url=f"{twin.url}/v1")
    yield model
    await model.close()


def sent(twin: OpenAITwin, n: int = -1) -> dict[str, Any]:
    return twin.calls[n].params


async def test_text_streams_in_pieces_and_ends_with_usage_and_price(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 60}
    twin.script(Turn([say("价格上涨 🎉, up.")], chunk=3, usage=usage))
    chunks, last = await read(model, ask())
    assert text_of(chunks) == last.message.text == "价格上涨 🎉, up."
    assert last.stop == "end"
    used = last.usage
    assert (used.input_tokens, used.cache_read_tokens, used.output_tokens) == (40, 60, 20)
    assert used.usd == pytest.approx((40 * 1 + 60 * 0.5 + 20 * 3) / 1e6)
    assert sent(twin)["stream_options"] == {"include_usage": True}


async def test_results_go_back_as_tool_messages_in_call_order(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    calls = [call("quote", {"symbol": "A"}), call("quote", {"symbol": "B"})]
    twin.script(Turn([say("I look."), *calls]), "done")
    _, first = await read(model, ask(tools=[QUOTE]))
    assert first.stop == "tool_use"
    assert [c.args for c in first.message.calls] == [{"symbol": "A"}, {"symbol": "B"}]
    results = tuple(ToolResult(c.id, c.name, c.id) for c in reversed(first.message.calls))
    history = (user("hi"), first.message, Message("user", (*results, Text("and quickly"))))
    await read(model, ModelRequest("s", history, (QUOTE,)))
    rows = sent(twin)["messages"]
    assert [r["role"] for r in rows] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [r["tool_call_id"] for r in rows[3:5]] == [c.id for c in first.message.calls]
    assert rows[5]["content"] == "and quickly"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_and_sent_back_with_calls(
    twin: OpenAITwin, model: OpenAIModel, field: str
) -> None:
    """PRV-3."""
    twin.reasoning = field
    twin.script(Turn([think("Let me see."), call("quote", {"symbol": "A"})]), "ok")
    chunks, first = await read(model, ask(tools=[QUOTE]))
    assert thought_of(chunks) == "Let me see."
    assert first.message.blocks[0] == Thinking("Let me see.")
    await read(model, after(first.message, "1"))
    assert sent(twin)["messages"][2]["reasoning_content"] == "Let me see."


async def test_a_server_that_misses_reasoning_gets_an_empty_one_from_then_on(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    """PRV-3: some providers reject its absence."""
    twin.needs_reasoning = True
    request = after(assistant("", ToolUse("c1", "quote", {})), "1")
    await read(model, request)
    await read(model, request)
    assert len(twin.calls) == 3
    assert sent(twin)["messages"][2]["reasoning_content"] == ""


@pytest.mark.parametrize(
    "refused",
    [
        ["stream_options"],
        ["tool_choice"],
        ["frequency_penalty"],
        ["reasoning_effort"],
        ["max_tokens"],
        ["max_tokens", "max_completion_tokens"],
        ["frequency_penalty", "tool_choice", "stream_options", "reasoning_effort"],
    ],
)
async def test_refused_parameters_are_dropped_one_by_one_and_remembered(
    twin: OpenAITwin, refused: list[str]
) -> None:
    """PRV-2."""
    twin.refuses = refused
    model = OpenAIModel(
        QWEN,
        provider="qwen",
        api_key="k",
        base_url=f"{twin.url}/v1",
        options={"frequency_penalty": 0.1},
    )
    request = ask(tools=[QUOTE], effort="low")
    await read(model, request)
    assert len(twin.calls) == len(refused) + 1
    assert set(refused) & set(sent(twin, 0))
    await read(model, request)
    await model.close()
    assert len(twin.calls) == len(refused) + 2
    kept = {"stream_options", "tool_choice", "frequency_penalty", "reasoning_effort"}
    assert kept - set(refused) <= set(sent(twin))


async def test_a_refusal_that_names_nothing_is_searched_for_its_cause(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    """PRV-2: step by step."""
    twin.refuses, twin.unnamed = ["tool_choice"], True
    await read(model, ask(tools=[QUOTE]))
    assert "tool_choice" not in sent(twin)
    assert "stream_options" in sent(twin)


async def test_a_bad_request_is_raised_and_nothing_is_remembered(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    body = {"error": {"message": "messages are odd"}}
    twin.fault("POST", times=3, status=400, body=body)
    with pytest.raises(errors.ModelBadRequest, match="messages are odd"):
        await read(model, ask(tools=[QUOTE]))
    twin.faults.clear()
    await read(model, ask(tools=[QUOTE]))
    assert {"tool_choice", "stream_options"} <= set(sent(twin))
    n = len(twin.calls)
    twin.fault("POST", status=400, body=body)
    with pytest.raises(errors.ModelBadRequest):
        await read(model, ask(tools=[QUOTE]))
    assert len(twin.calls) == n + 1


async def test_openai_itself_is_asked_with_its_own_name_of_the_limit() -> None:
    model = OpenAIModel(QWEN, provider="openai", api_key="k")
    assert model._manner.limit == "max_completion_tokens"


@pytest.mark.parametrize(
    "knobs",
    [
        {"whole_arguments": True},
        {"whole_arguments": True, "index": False},
        {"later_ids": True},
        {"later_ids": True, "index": False},
        {"done": False},
        {"finish": False},
        {"usage": False},
        {"plain": True},
    ],
)
async def test_the_ways_of_compatible_servers(
    twin: OpenAITwin, model: OpenAIModel, knobs: dict[str, Any]
) -> None:
    twin.tune(**knobs)
    calls = [call("quote", {"symbol": "A"}), call("news", {}, id_="own")]
    twin.script(Turn([say("Look."), *calls]), Turn([say("Just words.")]))
    _, first = await read(model, ask(tools=[QUOTE, NEWS]))
    assert first.stop == "tool_use"
    assert [(c.name, c.args) for c in first.message.calls] == [
        ("quote", {"symbol": "A"}),
        ("news", {}),
    ]
    assert first.message.calls[1].id == "own"
    assert first.usage.input_tokens > 0
    assert first.usage.output_tokens > 0
    _, second = await read(model, ask())
    assert (second.stop, second.message.text) == ("end", "Just words.")


async def test_one_call_without_ids_and_indexes_on_later_pieces(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    twin.index = False
    twin.script(Turn([call("quote", {"symbol": "a long name of a company"})], chunk=5))
    _, last = await read(model, ask(tools=[QUOTE]))
    assert last.message.calls[0].args == {"symbol": "a long name of a company"}


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn([say("ab" * 40)], cut=(3, "error")), errors.ModelOverloaded),
        (
            Turn([say("ab" * 40)], cut=(3, "error"), cut_type="rate_limit_error"),
            errors.ModelRateLimited,
        ),
        (Turn([say("ab" * 40)], cut=(3, "drop")), errors.StreamBroken),
        (Turn([say("ab" * 40)], cut=(3, "eof")), errors.StreamBroken),
        (Turn([call("quote", {"symbol": "A"})], cut=(3, "eof")), errors.StreamBroken),
        (Turn([call("", {"symbol": "A"})]), errors.StreamBroken),
    ],
)
async def test_bad_ends_of_a_stream_are_errors(
    twin: OpenAITwin, model: OpenAIModel, turn: Turn, expected: type[errors.ModelError]
) -> None:
    twin.script(turn)
    with pytest.raises(errors.ModelError) as caught:
        await read(model, ask(tools=[QUOTE]))
    assert type(caught.value) is expected


async def test_no_finish_reason_with_a_broken_call_is_a_broken_stream(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    twin.finish = False
    twin.script(Turn([call("quote", raw='{"symbol": "A')]))
    with pytest.raises(errors.StreamBroken):
        await read(model, ask(tools=[QUOTE]))


async def test_silence_tells_its_phase(twin: OpenAITwin) -> None:
    """STM-2: the head with the role is no life."""
    warm()
    limits = StreamLimits(first_token=0.7, idle=0.5, total=20)
    model = OpenAIModel(QWEN, provider="q", api_key="k", base_url=f"{twin.url}/v1", limits=limits)
    for cut, phase in ((1, "first_token"), (3, "idle")):
        twin.script(Turn([say("ab" * 40)], cut=(cut, "stall")))
        with pytest.raises(errors.ModelTimeout) as caught:
            await read(model, ask())
        assert caught.value.phase == phase
    await model.close()
    await twin.wait_for(lambda: twin.disconnects == 2)


async def test_a_call_cut_by_the_token_limit_never_comes_out(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    """PRV-4, defect 22."""
    twin.script(Turn([say("x"), call("quote", raw='{"symbol": "AA')], stop="max_tokens"))
    _, last = await read(model, ask(tools=[QUOTE]))
    assert (last.stop, last.message.calls, last.message.text) == ("max_tokens", (), "x")


async def test_unreadable_arguments_are_kept_as_text(twin: OpenAITwin, model: OpenAIModel) -> None:
    """PRV-4, TPR-6. Sent back they are JSON, since servers parse them."""
    twin.script(Turn([call("quote", raw="{symbol: A}")]), "sorry")
    _, first = await read(model, ask(tools=[QUOTE]))
    assert (first.message.calls[0].args, first.message.calls[0].raw) == (None, "{symbol: A}")
    await read(model, after(first.message, "no JSON"))


@pytest.mark.parametrize("raw", ["", "null", "{}", '"{}"'])
async def test_no_arguments_in_every_spelling(
    twin: OpenAITwin, model: OpenAIModel, raw: str
) -> None:
    twin.script(Turn([call("news", raw=raw)]))
    _, last = await read(model, ask(tools=[NEWS]))
    assert last.message.calls[0].args == {}


async def test_a_filtered_answer_is_a_refusal(twin: OpenAITwin, model: OpenAIModel) -> None:
    twin.script(Turn([say("I can")], stop="refusal"))
    _, last = await read(model, ask())
    assert last.stop == "refusal"


async def test_calls_written_as_text_are_calls(twin: OpenAITwin, model: OpenAIModel) -> None:
    """PRV-2. The person sees no markup."""
    twin.script(Turn([say(f"I look.\n{MARKUP}\n{MARKUP}")], chunk=7))
    chunks, last = await read(model, ask(tools=[QUOTE]))
    assert last.stop == "tool_use"
    assert [(c.name, c.args) for c in last.message.calls] == [("quote", {"symbol": "AAPL"})] * 2
    assert len({c.id for c in last.message.calls}) == 2
    assert text_of(chunks).strip() == last.message.text == "I look."


@pytest.mark.parametrize(
    "text",
    [
        f"So:\n```xml\n{MARKUP}\n```\nDone.",
        f"So: `{MARKUP}`.",
        "> " + MARKUP.replace("\n", ""),
        MARKUP.replace("quote", "rm_rf"),
        "<tool_call>{not json}</tool_call>",
        "<tool_call>never closed",
        "a < b and <tool",
        '<tool_call>{"name": "quote", "arguments": "nonsense"}</tool_call>',
    ],
)
async def test_markup_that_is_no_call_stays_text(
    twin: OpenAITwin, model: OpenAIModel, text: str
) -> None:
    """PRV-2: not in code, not in quotations, only tools of this request."""
    twin.script(Turn([say(text)], chunk=6))
    chunks, last = await read(model, ask(tools=[QUOTE]))
    assert (last.stop, last.message.calls) == ("end", ())
    assert text_of(chunks) == last.message.text == text


async def test_markup_that_the_person_wrote_is_not_called(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    """PRV-2: quoted by the user."""
    twin.script(Turn([say(f"You wrote {MARKUP}")]))
    _, last = await read(model, ask(f"say {MARKUP}", tools=[QUOTE]))
    assert last.message.calls == ()


async def test_markup_cut_by_the_limit_is_neither_call_nor_text(
    twin: OpenAITwin, model: OpenAIModel
) -> None:
    twin.script(Turn([say("Look. " + MARKUP[:40])], stop="max_tokens"))
    chunks, last = await read(model, ask(tools=[QUOTE]))
    assert (last.stop, last.message.calls) == ("max_tokens", ())
    assert text_of(chunks) == "Look. "


async def test_surrogate_halves_are_joined(twin: OpenAITwin, model: OpenAIModel) -> None:
    """STM-3."""
    twin.script(Turn([say("up \ud83d\ude80!")], chunk=4))
    chunks, last = await read(model, ask())
    assert text_of(chunks) == last.message.text == "up 🚀!"


async def test_context_and_pictures(twin: OpenAITwin, model: OpenAIModel) -> None:
    message = Message("user", (Context("now"), Text("see"), Image("b", "image/png")))
    request = ModelRequest("s", (message,), images={"b": b"png"})
    await read(model, request)
    content = sent(twin)["messages"][1]["content"]
    assert content.startswith("<context>\nnow\n</context>\n\nsee\n\n[a picture")
    seeing = OpenAIModel(
        replace(QWEN, vision=True), provider="q", api_key="k", base_url=f"{twin.url}/v1"
    )
    await read(seeing, request)
    await seeing.close()
    url = sent(twin)["messages"][1]["content"][2]["image_url"]["url"]
    assert url == "data:image/png;base64,cG5n"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ((401, "invalid_api_key", "Incorrect API key"), errors.ModelAuthRefused),
        ((402, "insufficient", "Insufficient Balance"), errors.ModelAuthRefused),
        ((404, "model_not_found", "The model does not exist"), errors.ModelUnknown),
        ((400, "model", "Model Not Exist"), errors.ModelUnknown),
        (
            (400, "context_length_exceeded", "maximum context length is 64000 tokens"),
            errors.ContextTooLong,
        ),
        ((429, "rate_limit_exceeded", "slow down"), errors.ModelRateLimited),
        ((503, "server_error", "busy"), errors.ModelOverloaded),
    ],
)
async def test_statuses_become_our_errors(
    twin: OpenAITwin,
    model: OpenAIModel,
    error: tuple[int, str, str],
    expected: type[errors.ModelError],
) -> None:
    twin.script(Turn(error=error, retry_after=3))
    with pytest.raises(errors.ModelError) as caught:
        await read(model, ask())
    assert type(caught.value) is expected
    assert len(twin.calls) == 1


async def test_a_local_server_needs_no_key_and_openai_does(twin: OpenAITwin) -> None:
    local = OpenAIModel(QWEN, provider="ollama", api_key="", base_url=f"{twin.url}/v1")
    await read(local, ask())
    await local.close()
    with pytest.raises(errors.ModelAuthRefused):
        await read(OpenAIModel(QWEN, provider="openai", api_key=""), ask())


async def test_one_connection_serves_call_after_call(twin: OpenAITwin, model: OpenAIModel) -> None:
    for _ in range(3):
        await read(model, ask())
    assert model._client is not None
    assert len(model._client._client._transport._pool.connections) == 1  # type: ignore[attr-defined]
