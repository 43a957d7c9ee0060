"""What is Gemini's own: signatures, ids, thinking by generation, blocks, Google's errors. The rest: tests/contract."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agent_core import errors
from agent_core.models.gemini import GeminiModel
from agent_core.models.gemini_wire import FOREIGN_CALL, contents, generation
from agent_core.ports import ModelRequest
from agent_core.types import (
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant,
    user,
)
from tests.twins.gemini import GeminiTwin, fault
from tests.twins.gemini_rules import encoded, field, problems
from tests.twins.llm_script import Turn, call, say, think
from tests.unit.agent_core.model_requests import GEMINI, NEWS, QUOTE, after, ask, read, text_of

OLD = replace(GEMINI, name="gemini/gemini-2.0-flash")
FLASH = replace(GEMINI, name="gemini/gemini-2.5-flash")


@pytest.fixture
async def twin() -> AsyncIterator[GeminiTwin]:
    twin = GeminiTwin()
    await twin.start()
    yield twin
    await twin.stop()
    assert twin.violations == []


@pytest.fixture
async def model(twin: GeminiTwin) -> AsyncIterator[GeminiModel]:
    model = GeminiModel(GEMINI, provider="gemini", api_key="k", base_url=twin.url)
    yield model
    await model.close()


def sent(twin: GeminiTwin, n: int = -1) -> dict[str, Any]:
    return twin.calls[n].params


def proof(text: str) -> str:
    return encoded(text)


async def test_a_signature_goes_back_to_the_very_part_that_it_came_with(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    """PRV-3: on a call, on words, on an empty text at the end."""
    blocks = [think("one"), say("I look."), think("two"), call("quote", {"symbol": "A"})]
    twin.script(Turn(blocks, chunk=4), Turn([say("so"), think("three")]), "ok")
    _, first = await read(model, ask(tools=[QUOTE]))
    history = after(first.message, "1")
    _, second = await read(model, history)
    assert second.message.text == "so"
    await read(model, replace(history, messages=(*history.messages, second.message, user("and?"))))
    model_turns = [c["parts"] for c in sent(twin)["contents"] if c["role"] == "model"]
    assert model_turns[0] == [
        {"text": "I lo"},
        {"text": "ok.", "thoughtSignature": proof("one")},
        {
            "functionCall": {
                "id": first.message.calls[0].id,
                "name": "quote",
                "args": {"symbol": "A"},
            },
            "thoughtSignature": proof("two"),
        },
    ]
    assert model_turns[1] == [{"text": "so"}, {"text": "", "thoughtSignature": proof("three")}]


async def test_calls_without_ids_get_one_and_keep_it_and_given_ids_are_kept(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    """2.5 gives no ids; results are matched by them all the same."""
    twin.script(Turn([call("quote", {"symbol": "A"}), call("quote", {"symbol": "B"})]), "ok")
    _, first = await read(model, ask(tools=[QUOTE]))
    ids = [c.id for c in first.message.calls]
    assert len(set(ids)) == 2
    await read(model, after(first.message, "1", "2"))
    parts = sent(twin)["contents"][-1]["parts"]
    assert [p["functionResponse"]["id"] for p in parts] == ids
    twin.ids = True
    twin.script(Turn([call("news")]))
    _, named = await read(model, ask(tools=[NEWS]))
    assert named.message.calls[0].id == "fc3_0"


async def test_calls_of_other_models_are_vouched_for_where_a_signature_is_demanded(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    """From 3 on the first call of an answer needs a signature; a history of another provider has none (FBK-1)."""
    made = assistant("", ToolUse("c1", "quote", {}), ToolUse("c2", "news", {}))
    await read(model, after(made, "1", "2"))
    parts = sent(twin)["contents"][1]["parts"]
    assert base64.urlsafe_b64decode(parts[0]["thoughtSignature"]) == FOREIGN_CALL
    assert "thoughtSignature" not in parts[1]
    flash = GeminiModel(FLASH, provider="gemini", api_key="k", base_url=twin.url)
    await read(flash, after(made, "1", "2"))
    await flash.close()
    assert "thoughtSignature" not in sent(twin)["contents"][1]["parts"][0]


@pytest.mark.parametrize(
    ("name", "effort", "expected"),
    [
        ("gemini-3-pro", "high", {"include_thoughts": True, "thinking_level": "HIGH"}),
        ("gemini-3-pro", None, {"include_thoughts": True}),
        ("gemini-2.5-flash", "low", {"include_thoughts": True, "thinking_budget": 1_024}),
        ("gemini-2.5-flash", None, {"include_thoughts": True}),
        ("gemini-2.0-flash", "high", None),
        ("gemma-3-27b-it", "high", None),
    ],
)
async def test_thinking_is_asked_for_in_the_form_of_the_generation(
    twin: GeminiTwin, name: str, effort: str | None, expected: dict[str, object] | None
) -> None:
    info = replace(GEMINI, name=f"gemini/{name}")
    model = GeminiModel(info, provider="gemini", api_key="k", base_url=twin.url)
    await read(model, ask(effort=effort))
    await model.close()
    assert field(sent(twin)["generationConfig"], "thinkingConfig") == expected


async def test_a_model_that_cannot_think_is_asked_again_without_and_remembered(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    twin.thinks = False
    await read(model, ask())
    await read(model, ask())
    assert len(twin.calls) == 3
    assert "thinkingConfig" not in sent(twin)["generationConfig"]


async def test_a_forged_signature_is_a_bad_request_not_another_try(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    forged = Message("assistant", (Thinking("", "gemini:Zm9yZ2Vk"), Text("yes")))
    with pytest.raises(errors.ModelBadRequest, match="Corrupted thought signature"):
        await read(model, ModelRequest("", (user("a"), forged, user("b"))))
    assert len(twin.calls) == 1
    twin.violations.clear()


async def test_reasoning_with_a_proof_of_its_own_keeps_it(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    """Some answers sign the reasoning itself."""
    part = {"text": "hm", "thought": True, "thoughtSignature": encoded("hm")}
    extra = {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
    twin.script(Turn([say("so")], extra=[extra]))
    twin._sign("hm")
    _, first = await read(model, ask())
    assert isinstance(first.message.blocks[0], Thinking)
    await read(model, ModelRequest("", (user("a"), first.message, user("b"))))
    assert sent(twin)["contents"][1]["parts"][0] == part


async def test_reasoning_is_paid_as_output(twin: GeminiTwin, model: GeminiModel) -> None:
    counted = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 30}
    twin.script(Turn([say("ok")], usage=counted))
    _, last = await read(model, ask())
    assert (last.usage.input_tokens, last.usage.output_tokens) == (100, 50)


async def test_words_before_a_safety_stop_are_kept_as_a_refusal(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    twin.script(Turn([say("I can")], stop="refusal"))
    chunks, last = await read(model, ask())
    assert (text_of(chunks), last.stop, last.message.text) == ("I can", "refusal", "I can")


async def test_google_tells_a_wrong_key_and_a_wait_in_details(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    """A wrong key is a 400 there; the wait of a 429 is a RetryInfo, not a header."""
    twin.key = "another"
    with pytest.raises(errors.ModelAuthRefused, match="API key not valid"):
        await read(model, ask())
    twin.key = None
    twin.script(Turn(error=(429, "", "Quota exceeded"), retry_after=2.5))
    with pytest.raises(errors.ModelRateLimited) as caught:
        await read(model, ask())
    assert caught.value.retry_after == 2.5
    long = "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."
    twin.script(Turn(error=(400, "", long)))
    with pytest.raises(errors.ContextTooLong):
        await read(model, ask())


@pytest.mark.parametrize(
    ("cut_type", "expected"),
    [
        ("overloaded_error", errors.ModelOverloaded),
        ("rate_limit_error", errors.ModelRateLimited),
        ("invalid_request_error", errors.ModelBadRequest),
    ],
)
async def test_an_error_inside_the_stream_is_told_by_its_code(
    twin: GeminiTwin, model: GeminiModel, cut_type: str, expected: type[errors.ModelError]
) -> None:
    twin.script(Turn([say("ab" * 40)], cut=(3, "error"), cut_type=cut_type))
    with pytest.raises(errors.ModelError) as caught:
        await read(model, ask())
    assert type(caught.value) is expected


async def test_what_is_no_json_is_a_broken_stream(twin: GeminiTwin, model: GeminiModel) -> None:
    twin.fault("POST", status=200, body="data: {oops}\n\n")
    with pytest.raises(errors.StreamBroken):
        await read(model, ask())


async def test_without_a_key_no_call_is_made(twin: GeminiTwin) -> None:
    model = GeminiModel(GEMINI, provider="gemini", api_key="", base_url=twin.url)
    with pytest.raises(errors.ModelAuthRefused):
        await read(model, ask())
    assert twin.calls == []


async def test_unknown_fields_pass(twin: GeminiTwin, model: GeminiModel) -> None:
    twin.script(Turn([say("fine")], extra=[{"weather": "sun"}]))
    _, last = await read(model, ask())
    assert last.message.text == "fine"


async def test_two_calls_at_once_keep_their_own_connections(
    twin: GeminiTwin, model: GeminiModel
) -> None:
    """Leaving one closes that one alone."""
    twin.reply_to("#a", [Turn([say("ab" * 400)], cut=(5, "stall"))])
    twin.reply_to("#b", [Turn([say("whole answer " * 20)])])
    left = model.stream(ask("#a"))
    await anext(left)
    other = asyncio.create_task(read(model, ask("#b")))
    await left.aclose()  # type: ignore[attr-defined]
    _, last = await other
    assert last.message.text == "whole answer " * 20
    await twin.wait_for(lambda: twin.disconnects == 1, 20)


def test_results_stand_apart_from_words_behind_them() -> None:
    """A function response turn holds nothing else."""
    call_ = assistant("", ToolUse("c1", "quote", {}))
    steered = Message("user", (ToolResult("c1", "quote", "1"), Text("and quickly")))
    rows = contents(ModelRequest("", (user("a"), call_, steered)), FLASH)
    assert [list(p) for r in rows for p in r["parts"]] == [
        ["text"],
        ["function_call"],
        ["function_response"],
        ["text"],
    ]
    assert [r["role"] for r in rows] == ["user", "model", "user", "user"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gemini/gemini-3-pro-preview", (3, 0)),
        ("gemini/gemini-2.5-flash", (2, 5)),
        ("gemini/gemini-flash-latest", (0, 0)),
    ],
)
def test_generations_are_read_off_the_name(name: str, expected: tuple[int, int]) -> None:
    assert generation(name) == expected


def bad(*rows: tuple[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {"contents": [{"role": role, "parts": parts} for role, parts in rows]}


CALLED = {"functionCall": {"name": "quote", "args": {}}}
ANSWERED = {"functionResponse": {"name": "quote", "response": {"output": "1"}}}
WORDS = {"text": "hi"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "contents is not specified"),
        (bad(("model", [WORDS])), "the first content must be the user's"),
        (bad(("user", [])), "parts must not be empty"),
        (bad(("user", [{"text": ""}])), "empty text"),
        (bad(("user", [WORDS]), ("model", [CALLED])), "no function response turn"),
        (bad(("user", [WORDS]), ("model", [CALLED]), ("user", [WORDS])), "number of function"),
        (
            bad(("user", [WORDS]), ("model", [CALLED]), ("user", [ANSWERED, WORDS])),
            "holds other parts too",
        ),
        (bad(("user", [ANSWERED])), "number of function response parts"),
        (bad(("user", [WORDS]), ("model", [CALLED]), ("user", [ANSWERED])), "missing a thought"),
        (
            bad(
                ("user", [WORDS]),
                ("model", [WORDS | {"thoughtSignature": "eA=="}]),
                ("user", [WORDS]),
            ),
            "Corrupted",
        ),
    ],
)
def test_the_twin_refuses_what_the_real_api_refuses(body: dict[str, Any], expected: str) -> None:
    assert expected in "; ".join(problems(body, "gemini-3-pro", set()))


def test_the_twins_chunks_have_the_sdks_types() -> None:
    from google.genai.types import GenerateContentResponse

    from tests.twins.llm_script import Answered

    turn = Turn([think("hm"), say("hello"), call("quote", {"symbol": "A"})], chunk=3)
    body = {"contents": [{"role": "user", "parts": [WORDS]}]}
    for chunk in GeminiTwin().chunks(body, "gemini-3-pro", Answered(1, "", "", turn)):
        GenerateContentResponse.model_validate(chunk)
    assert fault(429, "x")["status"] == "RESOURCE_EXHAUSTED"
