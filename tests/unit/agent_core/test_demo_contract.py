"""The demo planner fills output contracts from what tools returned, and invents nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from agent_core.models.demo import DemoModel
from agent_core.ports import FinishedChunk, ModelRequest
from agent_core.runtime.output import instructed, read
from agent_core.runtime.team import Agent, OutputContract
from agent_core.types import Context, ToolResult, ToolUse, assistant, user
from tests.unit.agent_core.demo_desk import analysis, history

RATING = {"enum": ["buy", "overweight", "hold", "underweight", "sell"]}
JUDGE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rating", "confidence", "wrong_if", "reasons"],
    "properties": {
        "rating": RATING,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "wrong_if": {"type": "string"},
        "reasons": {"type": "array", "minItems": 2, "maxItems": 5, "items": {"type": "string"}},
    },
}
FINDINGS: dict[str, Any] = {
    "type": "object",
    "required": ["findings", "sources"],
    "properties": {
        "findings": {"type": "array", "maxItems": 8, "items": {"type": "string"}},
        "sources": {"type": "array", "items": {"type": "string"}},
        "open_questions": {"type": "array", "items": {"type": "string"}},
    },
}


def contract(schema: dict[str, Any], chars: int = 2_500) -> Agent:
    made = Agent("research", "Researcher", "Look.", (), output=OutputContract("json", schema))
    return replace(made, limits=replace(made.limits, output_chars=chars))


async def say(agent: Agent, task: str, *contents: tuple[str, str]) -> str:
    messages = [user(task)]
    if contents:
        uses = [ToolUse(f"c{n}", name, {"symbol": "GOOG"}) for n, (name, _) in enumerate(contents)]
        results = (ToolResult(u.id, u.name, c[1]) for u, c in zip(uses, contents, strict=True))
        messages += [assistant("", *uses), replace(user(), blocks=tuple(results))]
    request = ModelRequest(instructed(agent).prompt, tuple(messages))
    chunks = [chunk async for chunk in DemoModel(chunk_delay=0).stream(request)]
    assert isinstance(chunks[-1], FinishedChunk)
    return chunks[-1].message.text


def held(agent: Agent, text: str) -> Any:
    found = read(agent.output, text, agent.limits.output_chars)
    assert found.faults == ()
    return found.data


HISTORY = ("get_market_history", history({"symbol": "GOOG"}))
ANALYSIS = ("analyze_stock", analysis({"symbol": "GOOG"}))
TASK = "How did GOOG do in 2012, and its trend?"


async def test_findings_quote_the_tools_and_name_the_source() -> None:
    agent = contract(FINDINGS)
    data = held(agent, await say(agent, TASK, HISTORY, ANALYSIS))
    assert data["sources"] == ["bundled"]
    assert any("6.310" in line for line in data["findings"])
    assert "open_questions" not in data, "nothing answers it, and it need not be there"


async def test_a_judge_is_neutral_unsure_and_quotes_a_level() -> None:
    agent = contract(JUDGE)
    data = held(agent, await say(agent, TASK, HISTORY, ANALYSIS))
    assert data["rating"] == "hold"
    assert data["confidence"] == 0
    assert "556.52" in data["wrong_if"] or "700.72" in data["wrong_if"]
    assert len(data["reasons"]) >= 2


async def test_a_judge_without_tools_quotes_what_was_handed_over() -> None:
    agent = contract(JUDGE)
    handed = (
        "Judge GOOG\n\nContext:\nResults of other agents:\n[facts: completed]\n"
        '{"findings": ["GOOG rose 6.31 %", "Support: 700.72"]}\n\n[bull: completed]\n- It held its average.\n'
        "\n*demo planner · source bundled*"
    )
    data = held(agent, await say(agent, handed))
    assert data["wrong_if"] == "Support: 700.72"
    assert data["reasons"][:2] == ["GOOG rose 6.31 %", "It held its average."]


async def test_what_was_handed_over_is_quoted_in_words_as_well() -> None:
    plain = Agent("bull", "Bull", "Argue.", ())
    task = (
        "Argue for GOOG\n\nContext:\nResults of other agents:\n[facts: completed]\n- It rose 6.31 %"
    )
    text = await say(plain, task)
    assert "It rose 6.31 %" in text
    assert "demo" in text


async def test_numbers_stand_in_a_result_under_their_name_or_there_are_none() -> None:
    schema = {
        "type": "object",
        "required": ["symbol", "last_close", "change"],
        "properties": {
            "symbol": {"type": "string"},
            "last_close": {"type": "number", "exclusiveMinimum": 0},
            "change": {"type": "number"},
        },
    }
    agent = contract(schema)
    assert held(agent, await say(agent, TASK, HISTORY)) == {
        "symbol": "GOOG",
        "last_close": 707.38,
        "change": 6.31,
    }
    order = {
        "type": "object",
        "required": ["quantity"],
        "properties": {"quantity": {"type": "number"}},
    }
    agent = contract(order)
    text = await say(agent, TASK, HISTORY)
    assert read(agent.output, text, 2_500).faults, "a quantity that no tool returned is not made up"


async def test_lists_of_objects_leave_out_what_cannot_be_filled() -> None:
    order = {
        "type": "object",
        "required": ["quantity"],
        "properties": {"quantity": {"type": "number"}},
    }
    moves = {
        "type": "object",
        "required": ["symbol", "change_pct"],
        "properties": {"symbol": {"type": "string"}, "change_pct": {"type": "number"}},
    }
    schema = {
        "type": "object",
        "required": ["orders", "moves"],
        "properties": {
            "orders": {"type": "array", "items": order},
            "moves": {"type": "array", "items": moves},
        },
    }
    agent = contract(schema)
    data = held(agent, await say(agent, TASK, HISTORY))
    assert data == {"orders": [], "moves": [{"symbol": "GOOG", "change_pct": 6.31}]}


async def test_a_choice_is_the_one_that_a_result_names() -> None:
    schema = {
        "type": "object",
        "required": ["trend"],
        "properties": {"trend": {"enum": ["up", "sideways"]}},
    }
    agent = contract(schema)
    assert held(agent, await say(agent, TASK, ANALYSIS)) == {"trend": "sideways"}


async def test_an_answer_that_is_too_long_quotes_fewer_lines() -> None:
    agent = contract(FINDINGS, chars=300)
    data = held(agent, await say(agent, TASK, HISTORY, ANALYSIS))
    assert data["findings"]


async def test_refs_unions_and_defaults_are_followed() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b", "c", "d"],
        "$defs": {"name": {"type": "string", "pattern": "^[A-Z]+$"}},
        "properties": {
            "a": {"$ref": "#/$defs/unknown"},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c": {"const": "x"},
            "d": {"type": "integer", "default": 3},
        },
    }
    agent = contract(schema)
    assert read(agent.output, await say(agent, TASK, HISTORY), 2_500).faults
    schema["properties"]["a"] = {"type": "boolean"}  # type: ignore[index]
    agent = contract(schema)
    assert held(agent, await say(agent, TASK, HISTORY)) == {"a": False, "b": None, "c": "x", "d": 3}


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from numbers(item)


@pytest.mark.parametrize("schema", [JUDGE, FINDINGS])
async def test_the_same_request_has_the_same_answer(schema: dict[str, Any]) -> None:
    agent = contract(schema)
    first = await say(agent, TASK, HISTORY, ANALYSIS)
    assert first == await say(agent, TASK, HISTORY, ANALYSIS)
    assert set(numbers(json.loads(first))) <= {0}


@pytest.mark.parametrize(
    ("language", "words"), [("zh", "趋势横盘"), ("en", "trend sideways"), (None, "trend sideways")]
)
async def test_a_plan_s_task_is_answered_in_the_person_s_language(
    language: str | None, words: str
) -> None:
    """The task is in the preset's language, whoever asks; a block beside it names the person's."""
    task = user("Trend and levels of GOOG")
    if language:
        task = replace(task, blocks=(Context(f"language: {language}"), *task.blocks))
    use = ToolUse("c1", "analyze_stock", {"symbol": "GOOG"})
    result = ToolResult("c1", use.name, analysis({"symbol": "GOOG"}))
    messages = (task, assistant("", use), replace(user(), blocks=(result,)))
    request = ModelRequest(instructed(contract(FINDINGS)).prompt, messages)
    chunks = [chunk async for chunk in DemoModel(chunk_delay=0).stream(request)]
    assert isinstance(chunks[-1], FinishedChunk)
    assert words in chunks[-1].message.text
