"""Words, Han pairs, sentences and excerpts."""

import pytest

from agent_core import text


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("尾盘买入", ["尾盘", "盘买", "买入"]),
        ("买", ["买"]),
        ("NVDA涨了 BRK.B", ["nvda", "涨了", "brk.b"]),
        ("Ｎｖｄａ 3.5%", ["nvda", "3.5"]),
        ("snake_case it's", ["snake_case", "it's"]),
        ("", []),
    ],
)
def test_terms(said: str, found: list[str]) -> None:
    """RCL-10: a two-character word is found in a longer run; TIR-5: no single characters."""
    assert list(text.terms(said)) == found


def test_sentences_end_at_chinese_marks_without_space_and_not_inside_numbers() -> None:
    """TIR-4."""
    said = "跌破3.5就卖。别犹豫！Buy at 3.5 then wait. Done\nnext"
    assert text.sentences(said) == [
        "跌破3.5就卖。",
        "别犹豫！",
        "Buy at 3.5 then wait.",
        " Done\n",
        "next",
    ]


def test_clauses_split_at_commas_but_not_inside_numbers() -> None:
    said = "预算1,000元，止损5%, no more."
    assert text.clauses(said) == ["预算1,000元，", "止损5%,", " no more."]
    assert "".join(text.clauses(said)) == said


def test_normal_form() -> None:
    """KFS-5."""
    assert text.normal("Never  buy, TSLA！") == text.normal("never buy tsla")


def test_language() -> None:
    assert text.is_chinese("我想买 NVDA")
    assert not text.is_chinese("I would like to buy some 茅台 shares tomorrow")
    assert not text.is_chinese("")


def test_excerpts() -> None:
    assert text.clip("abcdef", 6) == "abcdef"
    assert text.clip("abcdefg", 6) == "abcde…"
    assert text.one_line(" a\n\tb ") == "a b"
    assert text.han_count("a预b算") == 2
