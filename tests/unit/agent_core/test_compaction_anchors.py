"""Anchors: which rows are worth an excerpt, and what the excerpt shows."""

import dataclasses

import pytest

from agent_core.compaction import anchors, signs
from agent_core.types import Context, Message, RowKind, Text
from tests.unit.agent_core.old_rows import answered, called, note, result, row, said


def test_default_weights_and_limits() -> None:
    """ANC-3."""
    assert dataclasses.asdict(anchors.Weights()) == {
        "user": 3.0,
        "tool": 1.0,
        "calls": 1.5,
        "code": 2.0,
        "path": 1.5,
        "important": 2.0,
    }
    assert (anchors.MAX_ANCHORS, anchors.MAX_CHARS) == (6, 220)


def test_the_message_with_code_and_file_is_kept_among_chatter() -> None:
    """ANC-6, ANC-1."""
    rows = [said(n, "聊聊天气") if n % 2 else answered(n, "好的，天气不错") for n in range(1, 21)]
    rows.insert(4, said(21, "看一下 603373 的回测，结果在 results/run_7.csv"))
    block = " ".join(a.text for a in anchors.pick(rows))
    assert "603373" in block
    assert "results/run_7.csv" in block


def test_excerpts_come_in_order_with_role_and_at_most_220_characters() -> None:
    """ANC-3."""
    rows = [
        said(1, "NVDA 止损 " + "x" * 400),
        called(2, "quote", "I look at NVDA", symbol="NVDA"),
        result(3, "quote", "NVDA 900.5 error"),
        answered(4, "NVDA failed"),
    ]
    picked = anchors.pick(rows)
    assert [(a.seq, a.role) for a in picked] == [
        (1, "user"),
        (2, "assistant"),
        (3, "tool"),
        (4, "assistant"),
    ]
    assert len(picked[0].text) == 220


def test_score_adds_up() -> None:
    """ANC-2, ANC-3: user 3 > code + important on an answer is 4; recency decides between equals."""
    rows = [said(1, "hello there"), answered(2, "NVDA 止损"), answered(3, "hm"), answered(4, "hm")]
    assert [a.seq for a in anchors.pick(rows, limit=1)] == [2]
    assert [a.seq for a in anchors.pick(rows, limit=2)] == [1, 2]
    assert [a.seq for a in anchors.pick(rows, limit=3)] == [1, 2, 4]


def test_summaries_and_the_runtime_are_no_candidates() -> None:
    """ANC-5, defect 27: a summary is no row; contexts, notes, hidden and blank rows are passed over."""
    rows = [
        row(1, RowKind.USER, Message("user", (Context("[对话摘要] NVDA 止损 a/b.py"), Text("hi")))),
        note(2, "NVDA 止损 a/b.py"),
        row(3, RowKind.USER, Message("user", (Text("NVDA 止损"),)), hidden=True),
        answered(4, "  "),
    ]
    assert [(a.seq, a.text) for a in anchors.pick(rows)] == [(1, "hi")]


def test_rows_that_are_shown_anyway_are_left_out() -> None:
    rows = [said(1, "NVDA"), answered(2, "fine")]
    assert [a.seq for a in anchors.pick(rows, leave_out={1})] == [2]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20240520093000", []),
        ("id 1600519000", []),
        ("600519", ["600519.SH"]),
        ("看603373呢", ["603373.SH"]),
        ("$ABCD up", ["ABCD"]),
        ("09988.HK", ["9988.HK"]),
        ("3.600519", []),
    ],
)
def test_codes_are_bounded(text: str, found: list[str]) -> None:
    """ANC-5: a timestamp is no code."""
    assert signs.codes(text) == found


def test_the_symbol_pattern_is_pluggable() -> None:
    """ANC-5."""
    rows = [answered(1, "lot 7"), answered(2, "lot"), answered(3, "lot")]
    picked = anchors.pick(rows, limit=1, has_code=lambda text: "7" in text)
    assert [a.seq for a in picked] == [1]


def test_important_words_in_two_languages() -> None:
    """ANC-4."""
    wanted = (
        "失败",
        "报错",
        "止损",
        "止盈",
        "持仓",
        "建仓",
        "提交",
        "回测",
        "todo",
        "supabase",
        "sqlite",
        "error",
    )
    assert set(wanted) <= set(signs.IMPORTANT)
    assert all(signs.is_important(f"x {term.upper()} y") for term in wanted)
    assert signs.is_important("the backtest failed")
    assert not signs.is_important("good morning")


def test_paths_are_files_and_not_prices_or_addresses() -> None:
    """ANC-2."""
    assert signs.paths(
        "see src/app.py, README.md and /var/data/x; 3.5 at https://a.example/b.html"
    ) == [
        "src/app.py",
        "README.md",
        "/var/data/x",
    ]
