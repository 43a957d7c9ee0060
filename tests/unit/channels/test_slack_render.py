"""Markdown as mrkdwn and blocks."""

import pytest

from channels.slack.dialect import to_mrkdwn
from channels.slack.render import content, parts, unadorned
from channels.types import Button
from tests.twins.slack_rules import check_blocks, mrkdwn_of, strays


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**bold** *it* ~~gone~~ `code`", "*bold* _it_ ~gone~ `code`"),
        ("**bold _both_**", "*bold _both_*"),
        ("# Head & <tag>", "*Head &amp; &lt;tag&gt;*"),
        ("收盘价**上涨**了", "收盘价\u200b*上涨*\u200b了"),
        ("un**frigging**real", "un\u200b*frigging*\u200breal"),
        ("**a\nb**", "*a*\n*b*"),
        ("**`x` y**", "`x` *y*"),
        ("`a ` b`", "`a ` b`"),
        ("``a ` b``", "a ` b"),
        ("[x](https://e.example/?a=1&b=<2>)", "<https://e.example/?a=1&amp;b=%3C2%3E|x>"),
        ("[https://e.example](https://e.example)", "<https://e.example>"),
        ("<https://e.example>", "<https://e.example>"),
        ("[x](javascript:alert)", "x (javascript:alert)"),
        ("![chart](https://e.example/c.png)", "<https://e.example/c.png|chart>"),
        ("> a\n> **b**", "> a\n> *b*"),
        ("- a\n  - b\n1. c", "• a\n  • b\n1. c"),
        ("```py\nif a < b:\n```", "```\nif a &lt; b:\n```"),
        ("<!here> <@U1>", "&lt;!here&gt; &lt;@U1&gt;"),
        ("*   **bold**", "• *bold*"),
    ],
)
def test_mrkdwn(markdown: str, mrkdwn: str) -> None:
    assert to_mrkdwn(markdown) == mrkdwn


def test_a_table_keeps_cells_beyond_its_head_and_fills_empty_ones() -> None:
    (block,) = content("| a | b |\n|:-:|--:|\n| 1 | 2 | 3 |\n| x\\|y |").blocks
    rows = [[cell["text"] for cell in row] for row in block["rows"]]
    assert rows == [["a", "b"], ["1", "2 | 3"], ["x|y", "–"]]
    assert [s["align"] for s in block["column_settings"]] == ["center", "right"]


@pytest.mark.parametrize("rows", [99, 100, 300])
def test_a_table_that_is_too_long_is_aligned_text(rows: int) -> None:
    text = "| n | x |\n|---|---|\n" + "".join(f"| {n} | y |\n" for n in range(rows))
    shown = [content(part) for part in parts(text)]
    kinds = {block["type"] for one in shown for block in one.blocks}
    assert kinds == ({"table"} if rows == 99 else {"section"})
    for one in shown:
        check_blocks(one.blocks)


@pytest.mark.parametrize(
    "text",
    [
        "&" * 30_000,
        "**x** " * 5000,
        "```\n" + "<" * 20_000,
        "[a](https://e.example) " * 900,
        "🙂" * 9999,
    ],
)
def test_any_text_is_within_the_limits(text: str) -> None:
    for part in parts(text):
        one = content(part, (Button("A", "a"),))
        check_blocks(one.blocks)
        check_blocks(unadorned(part, (Button("A", "a"),)).blocks)
        assert all(not strays(mrkdwn) for mrkdwn in mrkdwn_of(one.blocks))
