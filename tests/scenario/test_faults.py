"""A provider that fails, seen from the chat: one message, never empty, never doubled, never an exception's text."""

import re
from typing import Any

import pytest

from tests.scenario.stage import KEY, Stage
from tests.twins.llm_script import Attempts, Turn, call, say

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

OVERLOADED = Turn(error=(529, "overloaded_error", "Overloaded: secret text"))
SLOW_DOWN = Turn(error=(429, "rate_limit_error", "secret text"), retry_after=0.4)
WORDS = say("These words are taken back.")


def again(first: Turn) -> list[Attempts]:
    """A failure, then the answer."""
    return [[first, "the answer"]]


MENDED: dict[str, Turn] = {
    "429 with retry-after": SLOW_DOWN,
    "529": OVERLOADED,
    "500": Turn(error=(500, "api_error", "secret text")),
    "error event with status 200": Turn([WORDS], cut=(5, "error")),
    "clean end without stop reason": Turn([WORDS], cut=(5, "eof")),
    "reset in the stream": Turn([WORDS], cut=(5, "drop")),
    "end before the first event": Turn([WORDS], cut=(0, "eof")),
}

SAID: dict[str, tuple[Turn, str]] = {
    "401": (Turn(error=(401, "authentication_error", "invalid x-api-key")), "refuses the key"),
    "403": (Turn(error=(403, "permission_error", "secret text")), "refuses the key"),
    "404": (Turn(error=(404, "not_found_error", "model: secret text")), "does not know this model"),
    "400": (Turn(error=(400, "invalid_request_error", "secret text")), "refused the request"),
    "too long": (
        Turn(error=(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000")),
        "too long for this model",
    ),
    "529 for ever": (OVERLOADED, "overloaded"),
    "429 for ever": (SLOW_DOWN, "limits our rate"),
    "429 for an hour": (
        Turn(error=(429, "rate_limit_error", "secret text"), retry_after=3600),
        "limits our rate",
    ),
    "broken for ever": (Turn([WORDS], cut=(5, "eof")), "broke off"),
}


async def ask(stage: Stage, chat: int, words: str) -> str:
    stage.telegram.say(chat, words)
    await stage.answered([chat])
    return stage.reply(chat).text


@pytest.mark.parametrize(("number", "name"), list(enumerate(MENDED, start=200)))
async def test_a_failure_that_passes_is_not_seen(shared: Stage, number: int, name: str):
    shared.model.reply_to(f"^question {number}$", again(MENDED[name]))
    assert await ask(shared, number, f"question {number}") == "the answer"
    assert len(shared.requests(f"question {number}")) == 2
    assert shared.gateway.count("usage", f"owner = 'telegram:{number}'") == 1


@pytest.mark.parametrize(("number", "name"), list(enumerate(SAID, start=300)))
async def test_a_failure_that_stays_is_said_with_a_short_id(shared: Stage, number: int, name: str):
    turn, words = SAID[name]
    shared.model.reply_to(f"^question {number}$", [turn])
    before = len(shared.gateway.lines)
    text = await ask(shared, number, f"question {number}")
    assert words in text
    found = re.search(r"\(id ([0-9a-f]{6})\)$", text)
    assert found, text
    for secret in ("secret text", "x-api-key", "_error", KEY, "Traceback", "taken back", "{"):
        assert secret not in text
    logged = [x for x in shared.gateway.lines[before:] if x.get("error_id") == found[1]]
    assert len(logged) == 1, "the log has the details under the same id"
    assert KEY not in str(logged)
    shared.model.reply_to(f"^later {number}$", ["fine again"])
    shared.telegram.say(number, f"later {number}")
    await shared.answered([number], 2)
    assert shared.texts(number)[1] == "fine again"
    roles = [m["role"] for m in shared.requests(f"later {number}")[-1]["messages"]]
    assert roles == ["user", "assistant", "user"]


async def test_a_failure_is_said_in_the_persons_language(shared: Stage):
    shared.model.reply_to("^问题四百", [Turn(error=(401, "authentication_error", "secret"))])
    text = await ask(shared, 400, "问题四百")
    assert re.fullmatch(r"模型服务拒绝了密钥，请管理员检查。（编号 [0-9a-f]{6}）", text)


CUT: dict[str, dict[str, Any]] = {
    "in the middle of the arguments": {"raw": '{"label": "half'},
    "after whole arguments": {"raw": '{"label": "whole"}'},
}


@pytest.mark.parametrize(("number", "name"), list(enumerate(CUT, start=410)))
async def test_a_tool_call_that_max_tokens_cut_is_never_run(shared: Stage, number: int, name: str):
    cut = Turn([say("Let me order."), call("order_goods", **CUT[name])], stop="max_tokens")
    shared.model.reply_to(f"^question {number}$", [cut])
    text = await ask(shared, number, f"question {number}")
    assert text.strip()
    assert shared.plugin.traces("orders") == []
    shared.model.reply_to(f"^later {number}$", ["fine again"])
    shared.telegram.say(number, f"later {number}")
    await shared.answered([number], 2)
    assert shared.texts(number)[1] == "fine again"


async def test_arguments_that_are_no_json_are_sent_back_to_the_model(shared: Stage):
    turns: list[Attempts] = [Turn([call("order_goods", raw='{"label": ')]), "sorry"]
    shared.model.reply_to("^question 420$", turns)
    assert await ask(shared, 420, "question 420") == "sorry"
    (result,) = shared.results('"question 420"')
    assert "not valid JSON" in result
    assert shared.plugin.traces("orders") == []


@pytest.mark.parametrize(("number", "words"), [(430, ""), (431, "   \n ")])
async def test_an_empty_answer_is_never_an_empty_message(shared: Stage, number: int, words: str):
    shared.model.reply_to(f"^question {number}$", [Turn([say(words)])])
    assert "gave no answer" in await ask(shared, number, f"question {number}")


async def test_an_answer_cut_by_max_tokens_is_shown_and_marked(shared: Stage):
    shared.model.reply_to("^question 440$", [Turn([say("Half of it")], stop="max_tokens")])
    text = await ask(shared, 440, "question 440")
    assert text.startswith("Half of it\n")
    assert "cut at the model's length limit" in text


async def test_a_refusal_is_said(shared: Stage):
    shared.model.reply_to("^question 450$", [Turn([say("")], stop="refusal")])
    assert "declined" in await ask(shared, 450, "question 450")


async def test_a_sub_agent_whose_model_fails_is_reported_to_the_lead(shared: Stage):
    task = {"task": "task 460"}
    shared.model.reply_to(
        "^question 460$", [Turn([call("delegate_to_helper", task)]), "without it"]
    )
    shared.model.reply_to("^task 460$", [Turn(error=(400, "invalid_request_error", "secret text"))])
    assert await ask(shared, 460, "question 460") == "without it\n\nNot complete: Helper failed."
    results = shared.results('"question 460"')
    assert any('"status": "error"' in r for r in results)
    assert not any("secret text" in r for r in results)


async def test_a_model_that_the_provider_does_not_have_is_said(shared: Stage):
    shared.model.models = ["claude-sonnet-4-5"]
    try:
        shared.telegram.say(470, "/model anthropic/claude-none")
        await shared.answered([470])
        shared.telegram.say(470, "hello")
        await shared.answered([470], 2)
    finally:
        shared.model.models = []
    assert "does not know this model" in shared.texts(470)[1]
