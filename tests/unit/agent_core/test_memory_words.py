"""What a text is found by (RCL-1, RCL-6, RCL-10, RCL-12, RCL-14; defects 4 and 5)."""

import time

import pytest

from agent_core import words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("尾盘", "尾盘"),  # a word of two characters
        ("尾盘买入", "盘买"),  # a word of four, in pairs
        ("我在NVDA财报后加仓", "nvda"),
        ("NVDA", "nvda"),
        ("BTC-USDT", "btc-usdt"),
        ("btc-usdt", "btc-usdt"),
        ("00700.HK", "00700.hk"),
        ("600519", "600519"),
        ("BRK.B", "brk.b"),
        ("３.５％", "3.5"),  # full width
        ("running", "run"),
        ("Caroline's", "carolin"),
        ("well-known", "known"),
    ],
)
def test_a_text_is_found_by_its_words_and_codes(text: str, found: str) -> None:
    """RCL-10, RCL-12, RCL-14: codes stay whole, Han runs come in pairs, Latin words as stems."""
    assert found in words.words(text)


@pytest.mark.parametrize(
    "text", ["?", "'", '"', "-", "(", "*", "^", ":", "🚀🚀", "\u200b\u200d", "的了吗", "of the"]
)
def test_what_says_nothing_has_no_words(text: str) -> None:
    assert words.words(text) == []


def test_a_code_is_never_split() -> None:
    """Guide "recall": `usdt` alone must not find BTC-USDT, nor `hk` 00700.HK."""
    assert words.words("BTC-USDT 00700.HK") == ["btc-usdt", "00700.hk"]


def test_zero_width_characters_hide_nothing() -> None:
    assert words.words("st\u200bop lo\u200bss") == words.words("stop loss")
    assert words.words("止\u200b损") == words.words("止损")


def test_syntax_words_of_queries_are_text() -> None:
    assert words.words('NEAR("risk", 5) OR stop* NOT x') == ["near", "risk", "5", "stop", "x"]


def test_a_message_of_a_megabyte_is_read_to_a_bound() -> None:
    start = time.process_time()
    found = words.words("止损 stop-loss 🚀 " * 60_000)
    assert len(found) < words.MAX_CHARS
    assert time.process_time() - start < 2.0


def test_symbols_are_named_by_code_or_name() -> None:
    """RCL-1: the longest name wins; a theme is no symbol."""
    assert words.symbols_in("茅台和 NVDA") == ["600519.SH", "NVDA"]
    assert words.symbols_in("我想建仓科技") == []


@pytest.mark.parametrize(
    "text", ["5月4日", "5月4号", "2026-05-04", "May 4th", "4 May 2023", "on 4th of May"]
)
def test_days_are_found_however_they_are_written(text: str) -> None:
    assert words.date_words(text) == ["@0504"]


def test_no_day_is_made_of_other_figures() -> None:
    assert words.date_words("3.5% of 99/77, ratio 13-45") == []
