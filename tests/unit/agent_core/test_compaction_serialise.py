"""Old rows written out for a summariser: tagged, chunked without loss, old results shortened in the copy alone."""

import json

import pytest

from agent_core.compaction import serialise, shrink
from agent_core.models import tokens
from agent_core.types import Context, Image, Message, RowKind, Thinking, ToolUse
from tests.unit.agent_core.old_rows import answered, called, note, result, row, said

ANALYSIS = json.dumps(
    {
        "symbol": "600519.SH",
        "name": "贵州茅台",
        "health": "healthy",
        "blurb": "很长的说明" * 200,
        "latest_price": 1688.5,
        "signals": ["golden cross", "volume up"],
        "bars": [
            {"date": f"2024-05-{d:02}", "open": 1, "high": 2, "low": 0.5, "close": 1.5, "volume": d}
            for d in range(1, 21)
        ],
        "conclusion": "hold above 1650",
    },
    ensure_ascii=False,
)


def text_of(rows: list, **options: bool) -> str:
    return "\n".join(p.written for p in serialise.pieces(rows, **options))


def test_tool_traffic_is_tagged() -> None:
    """CMP-23."""
    rows = [
        said(1, "how is AAPL?"),
        called(2, "quote", "I look", symbol="AAPL"),
        result(3, "quote", "189.5"),
        row(4, RowKind.ASSISTANT, Message("assistant", (ToolUse("c4", "news", None, "{broken"),))),
        result(5, "news", "no such call", error=True),
        answered(6, "At 189.5."),
    ]
    assert text_of(rows) == (
        "[user] how is AAPL?\n"
        "[assistant] I look\n"
        '[tool:quote called] {"symbol": "AAPL"}\n'
        "[tool:quote answered] 189.5\n"
        "[tool:news called] {broken\n"
        "[tool:news failed] no such call\n"
        "[assistant] At 189.5."
    )


def test_what_was_not_said_is_left_out() -> None:
    """Reasoning, intents, hidden rows, the clock and recalled memory; what the runtime noted stays."""
    rows = [
        said(1, "hello"),
        row(2, RowKind.INTENT, Message("assistant", ())),
        row(3, RowKind.ASSISTANT, Message("assistant", (Thinking("secret thought"),))),
        note(4, "hidden", hidden=True),
        note(5, "a limit"),
        row(6, RowKind.NOTE, Message("user", (Context("earlier in the thread: x"),))),
        row(
            7, RowKind.USER, Message("user", (Context("memory", "recall"), Image("b", "image/png")))
        ),
    ]
    assert text_of(rows) == (
        "[user] hello\n[runtime] a limit\n[context] earlier in the thread: x\n[user] (a picture)"
    )


def test_every_sentinel_of_a_huge_head_reaches_some_chunk() -> None:
    """CMP-23, defect 23: 800,000 characters, of which nothing is lost, and chunks end at messages."""
    rows = [
        said(n, f"<S{n:05}> " + "预算和止损 lorem ipsum " * 60)
        if n % 2
        else answered(n, f"<S{n:05}> " + "w " * 480)
        for n in range(1, 821)
    ]
    found = serialise.chunks(serialise.pieces(rows), 30_000)
    assert sum(len(c.text) for c in found) > 800_000
    assert all(tokens.of_text(c.text) <= 30_000 for c in found)
    whole = "\n".join(c.text for c in found)
    assert whole == text_of(rows)
    assert [r.seq for c in found for r in c.rows] == list(range(1, 821))


@pytest.mark.parametrize("unit", ["a", "预", "🚀", "é"])
def test_a_message_larger_than_a_request_goes_in_labelled_parts(unit: str) -> None:
    """CMP-23: joined, the parts are the message."""
    huge = "".join(f"{unit * 20}{n:06}" for n in range(4_000))
    found = serialise.chunks(
        serialise.pieces([said(1, "before"), said(2, huge), said(3, "after")]), 2_000
    )
    parts = [p for c in found for p in c.pieces if "part" in p.label]
    assert "".join(p.text for p in parts) == huge
    assert parts[0].label == f"user, part 1 of {len(parts)}"
    assert all(tokens.of_text(c.text) <= 2_000 for c in found)
    assert found[0].pieces[0].text == "before"
    assert found[-1].pieces[-1].text == "after"


def test_an_old_long_result_is_shortened_in_the_copy_alone() -> None:
    """CMP-21: before the last assistant message, over 800 characters, to 400 to 600."""
    rows = [
        called(1, "analyze_stock"),
        result(2, "analyze_stock", ANALYSIS),
        answered(3, "fine"),
        result(4, "analyze_stock", ANALYSIS),
    ]
    before = [r.message for r in rows]
    found = serialise.pieces(rows)
    assert [r.message for r in rows] == before
    assert 400 <= len(found[1].text) <= 600
    assert found[3].text == ANALYSIS
    assert text_of(rows, shrink=False).count(ANALYSIS) == 2


@pytest.mark.parametrize(("size", "shortened"), [(800, False), (801, True)])
def test_the_bound_of_a_long_result(size: int, shortened: bool) -> None:
    """CMP-21."""
    rows = [called(1, "t"), result(2, "t", "x" * size), answered(3, "fine")]
    assert (len(serialise.pieces(rows)[1].text) < size) is shortened


def test_of_an_analysis_what_decisions_hang_on_stays() -> None:
    """CMP-21: code, name, health, the last five bars, latest price, signals, conclusions."""
    short = shrink.shrunk(ANALYSIS)
    for wanted in ("600519.SH", "贵州茅台", "healthy", "1688.5", "golden cross", "hold above 1650"):
        assert wanted in short
    assert all(f"2024-05-{d:02}" in short for d in range(16, 21))
    assert "2024-05-15" not in short
    assert f"[shortened from {len(ANALYSIS)} characters]" in short


@pytest.mark.parametrize(
    "content",
    [
        "x" * 5_000_000,
        "line\n" * 4_000,
        "\n".join(f"2024-05-{d:02} 1 2 3 4" for d in range(1, 29)) * 20,
        '{"a": NaN, "b": [' + ",".join("1" * 400) + "]}" + " " * 900,
        "[" * 5_000,
        "\x00\x01\ufffd" * 900,
        "{" + "broken json " * 100,
        "预" * 3_000,
        json.dumps([[1, 2, 3]] * 900),
        "\n" * 3_000 + "end",
        json.dumps({"a": {"b": {"c": "d" * 2_000}}}),
    ],
    ids=[
        "bulk",
        "lines",
        "bars",
        "nan",
        "deep",
        "binary",
        "broken",
        "han",
        "lists",
        "blank",
        "nested",
    ],
)
def test_any_result_comes_out_between_the_bounds(content: str) -> None:
    """CMP-21, and bad input of tools: NaN, binary, megabytes."""
    if len(content.strip()) > 600:
        assert 400 <= len(shrink.shrunk(content)) <= 600
    else:
        assert len(shrink.shrunk(content)) <= 600


def test_broken_surrogates_do_not_reach_a_provider() -> None:
    rows = [said(1, "up \ud83d and away")]
    assert text_of(rows).encode("utf-8")
