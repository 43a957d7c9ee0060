"""Output contracts: reading, checking and showing an answer (guide "presets", 3, `output`)."""

import json
from typing import Any

import pytest

from agent_core.runtime.output import FAULTS, instructed, parse, read, render
from agent_core.runtime.team import Agent, Grounding, OutputContract

RATING = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rating", "confidence", "reasons"],
    "properties": {
        "rating": {"enum": ["buy", "hold", "sell"]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "reasons": {"type": "array", "minItems": 2, "items": {"type": "string"}},
    },
}
GOOD = {"rating": "buy", "confidence": 0.7, "reasons": ["trend", "volume"]}
CONTRACT = OutputContract("json", RATING)


def faults(text: str, contract: OutputContract = CONTRACT, limit: int = 2_500) -> tuple[str, ...]:
    return read(contract, text, limit).faults


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"\n  {json.dumps(GOOD, indent=2)}  \n",
        f"```json\n{json.dumps(GOOD)}\n```",
        f"```\n{json.dumps(GOOD)}\n```",
        f"Here it is:\n```json\n{json.dumps(GOOD)}\n```\nAnything else?",
        f"Here it is: {json.dumps(GOOD)}. Anything else?",
    ],
)
def test_json_is_read_with_a_fence_or_words_around_it(text: str) -> None:
    found = read(CONTRACT, text, 2_500)
    assert found.data == GOOD
    assert found.faults == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I would buy.", "no valid JSON: Expecting value at line 1, column 1"),
        ('{"rating": "buy",', "no valid JSON: "),
        ('{"confidence": NaN}', "NaN is not JSON"),
        ('{"confidence": -Infinity}', "-Infinity is not JSON"),
        ("", "no valid JSON"),
        ("```json\n{'a': 1}\n```", "no valid JSON: "),
    ],
)
def test_what_is_no_json_says_where(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse(text)
    assert why in faults(text)[0]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"rating": "maybe"}, "/rating: 'maybe' is not one of ['buy', 'hold', 'sell']"),
        ({"confidence": 7}, "/confidence: 7 is greater than the maximum of 1"),
        ({"reasons": ["one"]}, "/reasons: ['one'] is too short"),
        ({"reasons": ["one", 2]}, "/reasons/1: 2 is not of type 'string'"),
        ({"more": 1}, "/: Additional properties are not allowed ('more' was unexpected)"),
    ],
)
def test_each_break_of_the_schema_is_told_with_its_place(
    change: dict[str, Any], wanted: str
) -> None:
    assert faults(json.dumps(GOOD | change)) == (wanted,)


def test_all_faults_are_told_at_once_up_to_a_number() -> None:
    assert len(faults("{}")) == 3
    contract = OutputContract("json", {"items": {"type": "string"}})
    many = faults(json.dumps(list(range(30))), contract)
    assert len(many) == FAULTS + 1
    assert many[-1] == "and 20 more errors"
    long = faults(
        json.dumps(["x" * 9_000]), OutputContract("json", {"items": {"type": "null"}}), 99_000
    )
    assert len(long[0]) < 300


def test_json_over_the_limit_is_a_fault_since_cut_json_is_none() -> None:
    """SUB-6."""
    assert faults(json.dumps(GOOD), limit=20) == ("the JSON has 68 characters, 20 are allowed",)


def test_a_schema_never_reaches_out() -> None:
    contract = OutputContract("json", {"$ref": "https://example.com/schema.json"})
    assert faults("{}", contract) == (
        "the schema of the preset refers to https://example.com/schema.json, which is not in it",
    )


@pytest.mark.parametrize("text", ["# Head", "a **bold** word", "```\ncode\n```", "| a | b |"])
def test_plain_text_has_no_markup(text: str) -> None:
    assert faults(text, OutputContract("text"))
    assert faults(text, OutputContract()) == ()


@pytest.mark.parametrize("text", ["Plain words.", "2 * 3 * 4 = 24, a|b", "- a dash", "#tag"])
def test_plain_words_are_plain_text(text: str) -> None:
    assert faults(text, OutputContract("text")) == ()


def test_the_template_shows_fields_lists_and_what_is_missing() -> None:
    template = "**{{ rating }}** ({{confidence}})\n{{ reasons }}\nfirst: {{ reasons.0 }}, {{ reasons.9 }} {{ a.b }}"
    shown = render(OutputContract("json", RATING, template), GOOD)
    assert shown == "**buy** (0.7)\n- trend\n- volume\nfirst: trend, — —"


@pytest.mark.parametrize(
    ("orders", "shown"),
    [
        (
            [{"symbol": "AAPL", "n": 2}, {"symbol": "a|b", "n": None}],
            "| symbol | n |\n| --- | --- |\n| AAPL | 2 |\n| a\\|b | — |",
        ),
        ([{"symbol": "AAPL"}, {"n": 2}], "- **symbol**: AAPL\n- **n**: 2"),  # not the same fields
        ([{"symbol": ["AAPL"]}], "- **symbol**\n  - AAPL"),  # not plain
        ([], "—"),
    ],
)
def test_records_that_stand_alone_are_a_table(orders: Any, shown: str) -> None:
    template = "Plan:\n\n{{ orders }}\n\nEnd of it"
    made = render(OutputContract("json", {}, template), {"orders": orders})
    assert made == f"Plan:\n\n{shown}\n\nEnd of it"
    inline = render(OutputContract("json", {}, "Plan: {{ orders }}"), {"orders": orders})
    assert "| ---" not in inline


def test_without_a_template_the_fields_are_listed() -> None:
    data = {
        "rating": "买入",
        "orders": [{"symbol": "AAPL", "n": 2}],
        "risks": [],
        "note": None,
        "ok": True,
    }
    assert render(OutputContract("json"), data) == (
        "- **rating**: 买入\n- **orders**\n  - **symbol**: AAPL\n  - **n**: 2\n"
        "- **risks**: —\n- **note**: —\n- **ok**: true"
    )
    assert render(OutputContract("json"), [1, "two"]) == "- 1\n- two"
    assert render(OutputContract("json"), 5) == "5"


def test_the_prompt_says_what_is_asked_for_and_nothing_else_changes() -> None:
    plain = Agent("a", "A", "You are A.", ())
    assert instructed(plain) is plain
    asked = Agent(
        "a",
        "A",
        "You are A.",
        (),
        output=CONTRACT,
        grounding=Grounding("required", citations="required"),
    )
    made = instructed(asked)
    assert made.prompt.startswith("You are A.\n\n")
    assert '"rating"' in made.prompt
    assert "Every number" in made.prompt
    assert "Name the source" in made.prompt
    assert instructed(asked).prompt == made.prompt  # byte-stable
    assert (
        "plain text" in instructed(Agent("a", "A", "x", (), output=OutputContract("text"))).prompt
    )
    assert instructed(Agent("a", "A", "x", (), output=OutputContract("json"))).prompt.endswith(
        "characters."
    )
