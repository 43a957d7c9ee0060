import datetime as dt

import pytest

from agent_core.models import tokens
from agent_core.ports import ToolSchema
from agent_core.types import (
    Context,
    Image,
    Message,
    Row,
    RowKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant,
    user,
)

HAN = user("汉" * 4_000)


def test_json4_takes_chinese_for_a_fourth() -> None:
    """TOK-1."""
    assert tokens.json4(messages=[HAN]) in range(1_005, 1_012)


def test_mixed_counts_chinese_by_the_character() -> None:
    """TOK-2."""
    assert tokens.mixed(messages=[HAN]) == 4_000
    assert tokens.mixed(messages=[user("a" * 4_000)]) == 2_000


def test_no_block_counts_as_nothing() -> None:
    """TOK-2, TOK-10: blocks, system and schemas are counted."""
    blocks = (
        Text("x" * 40),
        Context("x" * 40),
        Thinking("x" * 40, "s" * 40),
        ToolUse("1", "t", {"a": "x" * 40}),
        ToolUse("2", "t", None, "x" * 40),
        ToolResult("1", "t", "x" * 40),
        Image("b", "image/png"),
    )
    for block in blocks:
        for estimate in (tokens.json4, tokens.mixed):
            assert estimate(messages=[Message("user", (block,))]) >= 10
    tool = ToolSchema("t", "d" * 90, {"type": "object"})
    for estimate in (tokens.json4, tokens.mixed):
        assert estimate("s" * 80) >= 20
        assert estimate(tools=[tool]) > 20


@pytest.mark.parametrize(
    ("window", "reserve", "threshold"),
    [
        (4_000, 2_000, 2_000),
        (8_000, 4_000, 4_000),
        (16_000, 8_000, 8_000),
        (32_000, 16_000, 16_000),
        (64_000, 16_384, 47_616),
        (100_000, 25_000, 75_000),
        (128_000, 32_000, 96_000),
        (131_072, 32_768, 98_304),
        (200_000, 32_768, 167_232),
        (1_000_000, 32_768, 967_232),
    ],
)
def test_reserve_and_threshold(window: int, reserve: int, threshold: int) -> None:
    """TOK-4, TOK-5, TOK-6."""
    assert (tokens.reserve(window), tokens.threshold(window)) == (reserve, threshold)


@pytest.mark.parametrize(
    ("window", "keep"),
    [(1_000, 1_000), (16_000, 4_000), (32_000, 8_000), (64_000, 20_000), (200_000, 20_000)],
)
def test_what_a_compaction_keeps(window: int, keep: int) -> None:
    """TOK-7."""
    assert tokens.keep_recent(window) == keep


def answers(*ratios: float, model: str = "a/m", estimate: int = 1_000) -> list[Row]:
    at = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    return [
        Row(
            n,
            n,
            RowKind.ASSISTANT,
            assistant("x"),
            model,
            at,
            {"usage": [int(r * estimate) - 300, 9, 200, 100, None], "estimate": estimate},
        )
        for n, r in enumerate(ratios, 1)
    ]


def test_without_anything_to_go_by_an_estimate_stands() -> None:
    """TOK-10: rows from before estimates were kept, and providers that count nothing, change nothing."""
    assert tokens.calibration([], "a/m") == 1.0
    old, silent = answers(2.0, 2.0)
    rows = [
        Row(1, 1, old.kind, old.message, "a/m", old.at, {"usage": [1, 2, 3, 4]}),
        Row(2, 1, old.kind, old.message, "a/m", silent.at, {"usage": [0, 0, 0, 0], "estimate": 9}),
    ]
    assert tokens.calibration(rows, "a/m") == 1.0


def test_every_input_token_counts_and_the_ratio_is_smoothed() -> None:
    """TOK-10: plain, read and written tokens are the input; a new ratio weighs 0.3."""
    assert tokens.calibration(answers(0.8), "a/m") == pytest.approx(0.8)
    assert tokens.calibration(answers(1.0, 2.0), "a/m") == pytest.approx(1.3)


def test_a_ratio_is_clamped() -> None:
    """TOK-10: within 0.5 and 6, whatever a provider reports."""
    assert tokens.calibration(answers(0.31), "a/m") == 0.5
    assert tokens.calibration(answers(90.0), "a/m") == 6.0
    assert (tokens.MIN_RATIO, tokens.MAX_RATIO, tokens.SMOOTHING) == (0.5, 6.0, 0.3)


def test_each_model_has_a_ratio_of_its_own() -> None:
    """TOK-10: after a fallback the new model begins at 1."""
    rows = answers(3.0, model="a/m")
    assert tokens.calibration(rows, "b/m") == 1.0


def test_it_settles_on_what_the_provider_counts() -> None:
    """TOK-10: after some calls of one kind, within a hundredth."""
    rows = answers(6.0, *[0.7] * 16)
    assert tokens.calibration(rows, "a/m") == pytest.approx(0.7, abs=0.01)
