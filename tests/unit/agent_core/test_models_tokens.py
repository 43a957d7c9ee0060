import pytest

from agent_core.models import tokens
from agent_core.ports import ToolSchema
from agent_core.types import (
    Context,
    Image,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
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
