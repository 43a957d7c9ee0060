"""Names of symbols in text, in English and Chinese."""

import pytest

from agent_core import symbols


def ids(text: str) -> list[str]:
    return [mention.symbol.id for mention in symbols.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How did GOOG do in 2012, and what does its trend look like?", ["GOOG"]),
        ("分析一下 AAPL 的走势", ["AAPL"]),
        ("谷歌和苹果公司，还有微软与国际商业机器", ["GOOG", "AAPL", "MSFT", "IBM"]),
        ("is google's rise like apple's?", ["GOOG", "AAPL"]),
        ("宁德时代现在可以建仓吗", ["300750.SZ"]),
        ("600519、sh600036 和 00700", ["600519.SH", "600036.SH", "0700.HK"]),
        ("ＧＯＯＧ怎么样", ["GOOG"]),
        ("AAPL涨了，$msft跌了", ["AAPL", "MSFT"]),
    ],
)
def test_names_and_codes_are_found_in_both_languages(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


def test_the_longest_name_wins() -> None:
    (mention,) = symbols.find("苹果公司")
    assert mention.matched == "苹果公司"
    assert ids("中国平安和平安银行") == ["601318.SH", "000001.SZ"]
    assert ids("Bank of America") == ["BAC"]


@pytest.mark.parametrize(
    "text",
    [
        "科技和白酒怎么样",
        "the cat cost a lot now, all in all low",
        "plan C and vitamin C",
        "pineapples, googled, IBMer",
        "I will target a shorter ford",
        "",
    ],
)
def test_themes_words_and_parts_of_words_are_no_symbols(text: str) -> None:
    assert ids(text) == []


def test_codes_that_are_words_count_as_written() -> None:
    assert ids("CAT or COST? or $C") == ["CAT", "COST", "C"]


def test_offsets_point_into_the_text_as_it_was_written() -> None:
    text = "比较 ＡＡＰＬ 与 Alphabet"
    for mention in symbols.find(text):
        assert text[mention.start : mention.end] == mention.matched


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("goog", "GOOG"),
        (" $AAPL ", "AAPL"),
        ("蘋果", "AAPL"),
        ("International Business Machines", "IBM"),
        ("700.HK", "0700.HK"),
        ("600519.SS", "600519.SH"),
        ("c", "C"),
    ],
)
def test_lookup_takes_every_way_to_write_a_symbol(query: str, expected: str) -> None:
    found = symbols.lookup(query)
    assert found is not None
    assert found.id == expected


@pytest.mark.parametrize("query", ["白酒", "tech", "nothing such", ""])
def test_lookup_of_no_symbol_is_none(query: str) -> None:
    assert symbols.lookup(query) is None


def test_search_ranks_exact_before_prefix_before_part() -> None:
    assert [s.id for s in symbols.search("平安")] == ["601318.SH", "000001.SZ"]
    assert symbols.search("Google")[0].id == "GOOG"
    assert [s.id for s in symbols.search("gogle", 1)] == ["GOOG"]
    assert symbols.search("白酒") == []
    assert len(symbols.search("bank", 3)) == 3


def test_every_name_of_the_table_finds_its_own_symbol() -> None:
    seen: dict[str, str] = {}
    for alias in (a for aliases in symbols._index().by_name.values() for a in aliases):
        assert seen.setdefault(alias.folded, alias.symbol.id) == alias.symbol.id, alias.written
        if len(alias.written) > 1:
            assert ids(f"“{alias.written}”") == [alias.symbol.id]
    assert len(symbols._index().symbols) >= 104


def test_a_long_text_is_searched_quickly() -> None:
    assert len(symbols.find("the quick brown fox 中国 apple " * 3000)) == 3000
