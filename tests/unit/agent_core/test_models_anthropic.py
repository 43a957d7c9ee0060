import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent_core import errors
from agent_core.models.anthropic import AnthropicModel, warm
from agent_core.models.stream import StreamLimits
from agent_core.ports import Breakpoint, ModelRequest
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
from tests.twins.anthropic import AnthropicTwin
from tests.twins.llm_script import Turn, call, redacted, say, signature_of, think
from tests.unit.agent_core.model_requests import (
    CLAUDE,
    NEWS,
    QUOTE,
    after,
    ask,
    read,
    text_of,
    thought_of,
)

HASTY = StreamLimits(first_token=0.7, idle=0.5, total=20)


@pytest.fixture
async def twin() -> AsyncIterator[AnthropicTwin]:
    twin = AnthropicTwin()
    await twin.start()
    yield twin
    await twin.stop()
    assert twin.violations == []


@pytest.fixture
async def model(twin: AnthropicTwin) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel(CLAUDE, provider="anthropic", api_key="k", base_url=twin.url)
    yield model
    await model.close()


@pytest.fixture
async def hasty(twin: AnthropicTwin) -> AsyncIterator[AnthropicModel]:
    warm()
    model = AnthropicModel(
        CLAUDE, provider="anthropic", api_key="k", base_url=twin.url, limits=HASTY
    )
    yield model
    await model.close()


def sent(twin: AnthropicTwin, n: int = -1) -> dict[str, Any]:
    return twin.calls[n].params


async def test_text_streams_in_pieces_and_ends_with_usage_and_price(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    usage = {"input_tokens": 100, "output_tokens": 20}
    twin.script(Turn([say("Prices rose, 价格上涨 🎉.")], chunk=5, usage=usage))
    chunks, last = await read(model, ask())
    assert text_of(chunks) == last.message.text == "Prices rose, 价格上涨 🎉."
    assert len(chunks) > 4
    assert last.stop == "end"
    assert (last.usage.input_tokens, last.usage.output_tokens) == (100, 20)
    assert last.usage.usd == pytest.approx((100 * 2 + 20 * 10) / 1e6)
    assert twin.answers[0].finished


async def test_an_unknown_price_is_unknown_not_zero(twin: AnthropicTwin) -> None:
    """MDL-3."""
    from dataclasses import replace

    model = AnthropicModel(
        replace(CLAUDE, price=None), provider="a", api_key="k", base_url=twin.url
    )
    _, last = await read(model, ask())
    await model.close()
    assert last.usage.usd is None
    assert last.usage.output_tokens > 0


async def test_tool_calls_come_whole_and_their_results_go_back_in_one_message(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PRV-4: parallel results in one user message."""
    twin.script(
        Turn(
            [say("I look."), call("quote", {"symbol": "AAPL"}), call("quote", {"symbol": "茅台"})]
        ),
        "done",
    )
    _, first = await read(model, ask(tools=[QUOTE]))
    assert first.stop == "tool_use"
    assert [c.args for c in first.message.calls] == [{"symbol": "AAPL"}, {"symbol": "茅台"}]
    _, last = await read(model, after(first.message, "1", "2"))
    assert last.message.text == "done"
    content = sent(twin)["messages"][-1]["content"]
    assert [b["content"] for b in content] == ["1", "2"]


async def test_reasoning_comes_back_with_its_signature(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PRV-3."""
    twin.script(
        Turn([think("Let me see."), redacted("opaque"), call("quote", {"symbol": "A"})]), "ok"
    )
    chunks, first = await read(model, ask(tools=[QUOTE]))
    assert thought_of(chunks) == "Let me see."
    assert first.message.blocks[0] == Thinking("Let me see.", signature_of("Let me see."))
    await read(model, after(first.message, "1"))
    blocks = sent(twin)["messages"][1]["content"]
    assert blocks[0] == think("Let me see.")
    assert blocks[1] == redacted("opaque")


async def test_reasoning_of_other_providers_stays_away(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    other = Message("assistant", (Thinking("from elsewhere"), Text("yes")))
    await read(model, ModelRequest("", (user("a"), other, user("b"))))
    assert sent(twin)["messages"][1]["content"] == "yes"


async def test_effort_asks_for_reasoning_in_the_form_of_the_model(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    from dataclasses import replace

    await read(model, ask(effort="high"))
    assert sent(twin)["thinking"]["type"] == "adaptive"
    assert sent(twin)["output_config"] == {"effort": "high"}
    info = replace(CLAUDE, name="anthropic/claude-sonnet-4-5")
    old = AnthropicModel(info, provider="a", api_key="k", base_url=twin.url)
    await read(old, ask(effort="medium", max_tokens=8_192))
    assert sent(twin)["thinking"] == {"type": "enabled", "budget_tokens": 4_096}
    await read(old, after(assistant("", ToolUse("c1", "quote", {})), "1"))
    assert "thinking" not in sent(twin)
    await old.close()


async def test_a_refused_form_of_thinking_is_left_out_and_remembered(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    body = {"error": {"type": "invalid_request_error", "message": "adaptive thinking: unsupported"}}
    twin.fault("POST /v1/messages", status=400, body=body)
    await read(model, ask(effort="low", max_tokens=4_096))
    assert sent(twin)["thinking"]["type"] == "enabled"
    await read(model, ask("again", effort="low", max_tokens=4_096))
    assert len(twin.calls) == 3


async def test_a_refused_signature_sends_the_history_without_reasoning(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    forged = Message("assistant", (Thinking("hm", "forged"), Text("yes")))
    _, last = await read(model, ModelRequest("", (user("a"), forged, user("b"))))
    assert last.stop == "end"
    assert twin.violations.pop().endswith("Invalid `signature` in `thinking` block")


def marks_of(body: dict[str, Any]) -> list[tuple[object, str]]:
    """(where, life) of each mark: the name of a tool, "system", or (message, block)."""
    places: list[tuple[object, dict[str, Any]]] = [(t["name"], t) for t in body.get("tools", ())]
    places += [("system", b) for b in body.get("system", ())]
    for i, message in enumerate(body["messages"]):
        places += [((i, j), b) for j, b in enumerate(message["content"])]
    found = [(where, b["cache_control"]) for where, b in places if "cache_control" in b]
    assert all(mark["type"] == "ephemeral" for _, mark in found)
    return [(where, mark.get("ttl", "5m")) for where, mark in found]


LOOP = (
    user("a"),
    assistant("b"),
    user("c"),
    assistant("", ToolUse("c1", "quote", {"symbol": "A"})),
    Message("user", (ToolResult("c1", "quote", "1"),)),
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((), [("quote", "1h"), ("system", "1h")]),
        (
            (Breakpoint(1, "1h"), Breakpoint(4)),
            [("quote", "1h"), ("system", "1h"), ((1, 0), "1h"), ((4, 0), "5m")],
        ),
        (  # three: the system's mark covers the tools
            (Breakpoint(1, "1h"), Breakpoint(2), Breakpoint(4)),
            [("system", "1h"), ((1, 0), "1h"), ((2, 0), "5m"), ((4, 0), "5m")],
        ),
        (  # too many: the earliest go
            (Breakpoint(0, "1h"), Breakpoint(1, "1h"), Breakpoint(2), Breakpoint(4)),
            [("system", "1h"), ((1, 0), "1h"), ((2, 0), "5m"), ((4, 0), "5m")],
        ),
        (  # an hour behind 5 minutes becomes 5 minutes
            (Breakpoint(1), Breakpoint(4, "1h")),
            [("quote", "1h"), ("system", "1h"), ((1, 0), "5m"), ((4, 0), "5m")],
        ),
    ],
)
async def test_cache_marks_stand_where_they_belong_and_nowhere_else(
    twin: AnthropicTwin,
    model: AnthropicModel,
    asked: tuple[Breakpoint, ...],
    expected: list[tuple[object, str]],
) -> None:
    """PCH-1, PCH-5: the last tool, the system as a list of blocks, the messages named; four in all."""
    await read(model, ModelRequest("sys", LOOP, (NEWS, QUOTE), breakpoints=asked))
    assert marks_of(sent(twin)) == expected


async def test_a_prefix_of_five_minutes_makes_all_marks_such(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    request = ModelRequest(
        "sys", LOOP, (QUOTE,), breakpoints=(Breakpoint(1, "1h"),), prefix_ttl="5m"
    )
    await read(model, request)
    assert {life for _, life in marks_of(sent(twin))} == {"5m"}


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ((user("a"),), (0, 0)),
        ((Message("user", (Context("now"), Text("a"), Image("b", "image/png"))),), (0, 2)),
        ((user("a"), assistant("b"), user("c")), (2, 0)),
        (LOOP, (4, 0)),
        (
            (
                user("a"),
                assistant("", ToolUse("1", "quote", {}), ToolUse("2", "quote", {})),
                Message("user", (ToolResult("1", "quote", "x"), ToolResult("2", "quote", "y"))),
            ),
            (2, 1),
        ),
    ],
)
async def test_the_mark_of_the_last_message_is_on_its_last_block(
    twin: AnthropicTwin,
    model: AnthropicModel,
    messages: tuple[Message, ...],
    place: tuple[int, int],
) -> None:
    """PCH-2: a user's text block, a tool's result; exactly one mark, none elsewhere in the messages."""
    request = ModelRequest("", messages, breakpoints=(Breakpoint(len(messages) - 1),))
    await read(model, request)
    assert marks_of(sent(twin)) == [(place, "5m")]


async def test_the_mark_of_an_answer_is_on_its_last_block_that_may_carry_one(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PCH-2: an assistant's last block; reasoning may carry none."""
    said = Message("assistant", (Thinking("hm", signature_of("hm")), Text("b")))
    call = assistant("look", ToolUse("c1", "quote", {}))
    results = Message("user", (ToolResult("c1", "quote", "1"),))
    messages = (user("a"), said, user("c"), call, results)
    marks = (Breakpoint(1), Breakpoint(3))
    await read(model, ModelRequest("", messages, (QUOTE,), breakpoints=marks))
    assert marks_of(sent(twin))[1:] == [((1, 1), "5m"), ((3, 1), "5m")]


async def test_marks_follow_merged_messages_and_those_of_vanished_ones_are_left_out(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    gone = Message("assistant", (Thinking("only reasoning"),))
    messages = (user("a"), user("b"), gone)
    marks = (Breakpoint(0, "1h"), Breakpoint(1), Breakpoint(1, "1h"), Breakpoint(2))
    await read(model, ModelRequest("", messages, breakpoints=marks))
    assert marks_of(sent(twin)) == [((0, 0), "1h"), ((0, 1), "1h")]


async def test_a_provider_without_marks_gets_none(twin: AnthropicTwin) -> None:
    from dataclasses import replace

    info = replace(CLAUDE, cache="none")
    model = AnthropicModel(info, provider="a", api_key="k", base_url=twin.url)
    await read(model, ModelRequest("sys", LOOP, (QUOTE,), breakpoints=(Breakpoint(4),)))
    await model.close()
    assert marks_of(sent(twin)) == []


async def test_the_second_turn_reads_the_prefix_of_the_first(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PCH-3, PCH-4: reads and writes are reported apart from fresh input, and priced apart."""
    history: tuple[Message, ...] = (user("x" * 8_000),)
    _, first = await read(model, ModelRequest("s" * 8_000, history, breakpoints=(Breakpoint(0),)))
    assert first.usage.cache_write_tokens > 3_900
    assert first.usage.cache_read_tokens == 0
    history += (first.message, user("more"))
    _, second = await read(
        model, ModelRequest("s" * 8_000, history, breakpoints=(Breakpoint(0), Breakpoint(2)))
    )
    assert second.usage.cache_read_tokens == first.usage.cache_write_tokens
    assert second.usage.input_tokens < 100
    assert second.usage.usd is not None
    assert first.usage.usd is not None
    assert second.usage.usd < first.usage.usd


async def test_what_is_written_for_an_hour_is_counted_and_priced_apart(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PCH-4: 1.25 times the input for five minutes, twice for an hour; and what it would have cost without a cache."""
    marks = (Breakpoint(0),)
    request = ModelRequest("s" * 8_000, (user("x" * 8_000),), breakpoints=marks)
    _, last = await read(model, request)
    used = last.usage
    assert 1_900 < used.cache_write_1h_tokens < 2_100
    short = used.cache_write_tokens - used.cache_write_1h_tokens
    assert short > 1_900
    paid = used.input_tokens * 2.0 + short * 2.5 + used.cache_write_1h_tokens * 4.0
    assert used.usd == pytest.approx((paid + used.output_tokens * 10) / 1e6)
    assert used.usd_uncached == pytest.approx(
        (used.total_input * 2.0 + used.output_tokens * 10) / 1e6
    )


async def test_context_stands_before_the_words_in_tags(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    message = Message("user", (Context("now: Monday"), Text("hi")))
    await read(model, ModelRequest("s", (message,)))
    texts = [b["text"] for b in sent(twin)["messages"][0]["content"]]
    assert texts == ["<context>\nnow: Monday\n</context>", "hi"]


async def test_pictures_are_sent_to_models_that_see_and_named_to_others(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    from dataclasses import replace

    message = Message("user", (Text("what is this?"), Image("b1", "image/png")))
    request = ModelRequest("s", (message,), images={"b1": b"png"})
    await read(model, request)
    assert sent(twin)["messages"][0]["content"][1]["source"]["data"] == "cG5n"
    blind = AnthropicModel(
        replace(CLAUDE, vision=False), provider="a", api_key="k", base_url=twin.url
    )
    await read(blind, request)
    await blind.close()
    assert sent(twin)["messages"][0]["content"][1]["type"] == "text"


async def test_ids_of_other_providers_are_made_acceptable(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    _, last = await read(
        model, after(assistant("", ToolUse("functions.quote:0", "quote", {})), "1")
    )
    assert last.stop == "end"


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn([say("ab" * 40)], cut=(4, "error")), errors.ModelOverloaded),
        (
            Turn([say("ab" * 40)], cut=(4, "error"), cut_type="rate_limit_error"),
            errors.ModelRateLimited,
        ),
        (
            Turn([say("ab" * 40)], cut=(4, "error"), cut_type="invalid_request_error"),
            errors.ModelBadRequest,
        ),
        (Turn([say("ab" * 40)], cut=(4, "drop")), errors.StreamBroken),
        (Turn([say("ab" * 40)], cut=(4, "eof")), errors.StreamBroken),
    ],
)
async def test_bad_ends_of_a_stream_are_errors(
    twin: AnthropicTwin, model: AnthropicModel, turn: Turn, expected: type[errors.ModelError]
) -> None:
    """Measured client behaviour: error event with status 200, reset, clean end without a stop reason, silence."""
    twin.script(turn)
    with pytest.raises(expected) as caught:
        await read(model, ask())
    assert type(caught.value) is expected
    assert caught.value.provider == "anthropic"


@pytest.mark.parametrize(
    ("turn", "phase", "seconds"),
    [
        (Turn([say("late")], delay=2.0), "first_token", 0.7),
        (Turn([say("ab" * 40)], cut=(2, "stall")), "first_token", 0.7),
        (Turn([say("ab" * 40)], cut=(5, "stall")), "idle", 0.5),
        (Turn([think("ab" * 40)], cut=(5, "stall")), "idle", 0.5),
    ],
)
async def test_silence_tells_its_phase(
    twin: AnthropicTwin, hasty: AnthropicModel, turn: Turn, phase: str, seconds: float
) -> None:
    """STM-2: a message_start and pings are no life, reasoning is."""
    twin.script(turn)
    with pytest.raises(errors.ModelTimeout) as caught:
        await read(hasty, ask())
    assert (caught.value.phase, caught.value.seconds) == (phase, seconds)
    await twin.wait_for(lambda: twin.disconnects == 1)


async def test_a_stream_that_never_pauses_long_is_still_bounded(twin: AnthropicTwin) -> None:
    """STM: total."""
    warm()
    limits = StreamLimits(first_token=5, idle=5, total=0.5)
    model = AnthropicModel(CLAUDE, provider="a", api_key="k", base_url=twin.url, limits=limits)
    twin.script(Turn([say("ab" * 400)], gap=0.05))
    with pytest.raises(errors.ModelTimeout) as caught:
        await read(model, ask())
    await model.close()
    assert caught.value.phase == "total"


async def test_a_call_cut_by_the_token_limit_never_comes_out(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PRV-4, defect 22."""
    blocks = [say("I order."), call("quote", raw='{"symbol": "AA')]
    twin.script(Turn(blocks, stop="max_tokens"))
    _, last = await read(model, ask(tools=[QUOTE]))
    assert last.stop == "max_tokens"
    assert last.message.calls == ()
    assert last.message.text == "I order."


async def test_unreadable_arguments_are_kept_as_text_and_never_become_empty_ones(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    """PRV-4, TPR-6, defect 22."""
    twin.script(Turn([call("quote", raw='{"symbol": AAPL}')]), "sorry")
    _, first = await read(model, ask(tools=[QUOTE]))
    assert first.message.calls[0].args is None
    assert first.message.calls[0].raw == '{"symbol": AAPL}'
    await read(model, after(first.message, "the arguments were no JSON"))
    assert sent(twin)["messages"][1]["content"][0]["input"] == {
        "unparsable_json": '{"symbol": AAPL}'
    }


async def test_a_tool_without_parameters_gets_an_empty_object(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    twin.script(Turn([call("news", raw="")]))
    _, last = await read(model, ask(tools=[NEWS]))
    assert last.message.calls[0].args == {}


async def test_a_refusal_is_a_stop_reason(twin: AnthropicTwin, model: AnthropicModel) -> None:
    twin.script(Turn([], stop="refusal"))
    _, last = await read(model, ask())
    assert last.stop == "refusal"
    assert last.message.blocks == ()


async def test_unknown_events_pass(twin: AnthropicTwin, model: AnthropicModel) -> None:
    twin.script(Turn([say("fine")], extra=[{"type": "weather", "sun": True}]))
    _, last = await read(model, ask())
    assert last.message.text == "fine"


async def test_surrogate_halves_are_joined(twin: AnthropicTwin, model: AnthropicModel) -> None:
    """STM-3."""
    twin.script(Turn([say("up \ud83d\ude80!")], chunk=4))
    chunks, last = await read(model, ask())
    assert text_of(chunks) == last.message.text == "up 🚀!"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ((401, "authentication_error", "invalid x-api-key"), errors.ModelAuthRefused),
        ((403, "permission_error", "no"), errors.ModelAuthRefused),
        ((404, "not_found_error", "model: x"), errors.ModelUnknown),
        ((400, "invalid_request_error", "messages: bad"), errors.ModelBadRequest),
        (
            (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            errors.ContextTooLong,
        ),
        ((413, "request_too_large", "Request exceeds the maximum size"), errors.ContextTooLong),
        ((429, "rate_limit_error", "slow down"), errors.ModelRateLimited),
        ((500, "api_error", "oops"), errors.ModelOverloaded),
        ((529, "overloaded_error", "busy"), errors.ModelOverloaded),
    ],
)
async def test_statuses_become_our_errors(
    twin: AnthropicTwin,
    model: AnthropicModel,
    error: tuple[int, str, str],
    expected: type[errors.ModelError],
) -> None:
    """FBK-1 hangs on these."""
    twin.script(Turn(error=error, retry_after=7))
    with pytest.raises(errors.ModelError) as caught:
        await read(model, ask())
    assert type(caught.value) is expected
    if isinstance(caught.value, errors.ModelRateLimited):
        assert caught.value.retry_after == 7
    assert len(twin.calls) == 1


async def test_nobody_listening_is_unreachable_and_a_reset_before_the_answer_too(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    twin.fault("POST", drop="before")
    with pytest.raises(errors.ModelUnreachable):
        await read(model, ask())
    await twin.stop()
    with pytest.raises(errors.ModelUnreachable):
        await read(model, ask())


async def test_an_empty_key_is_refused_without_a_call(twin: AnthropicTwin) -> None:
    model = AnthropicModel(CLAUDE, provider="anthropic", api_key="", base_url=twin.url)
    with pytest.raises(errors.ModelAuthRefused):
        await read(model, ask())
    assert twin.calls == []


async def test_leaving_a_stream_closes_its_connection_and_leaves_no_task(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    twin.script(Turn([say("ab" * 400)], gap=0.02))
    before = asyncio.all_tasks()

    async def listen() -> None:
        async for _ in model.stream(ask()):
            started.set()

    started = asyncio.Event()
    task = asyncio.create_task(listen())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await twin.wait_for(lambda: twin.disconnects == 1)
    assert {t for t in asyncio.all_tasks() if "handle" not in repr(t)} <= before


async def test_one_connection_serves_call_after_call(
    twin: AnthropicTwin, model: AnthropicModel
) -> None:
    twin.script("a", "b", "c")
    for _ in range(3):
        await read(model, ask())
    assert len(twin.peers) == 3
    assert len(set(twin.peers)) == 1


async def test_equal_requests_are_equal_bytes(twin: AnthropicTwin, model: AnthropicModel) -> None:
    request = after(assistant("x", ToolUse("c1", "quote", {"b": 1, "a": 2})), "1")
    await read(model, request)
    await read(model, request)
    assert json.dumps(sent(twin, 0)) == json.dumps(sent(twin, 1))
