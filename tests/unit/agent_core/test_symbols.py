"""Names of symbols in text, in English and Chinese."""

import re

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("600519,300750和000001", ["600519.SH", "300750.SZ", "000001.SZ"]),
        ("600519股票能买吗", ["600519.SH"]),
        (
            "看看301999和688999.SH、sz.301888，还有832123",
            ["301999.SZ", "688999.SH", "301888.SZ", "832123.BJ"],
        ),
        ("01999.HK and $ABCD and XYZ-USDT", ["1999.HK", "ABCD", "XYZ-USD"]),
        ("BTC-USDT ETH/USDT SOLUSDT btc", ["BTC-USD", "ETH-USD", "SOL-USD", "BTC-USD"]),
        ("1234567 6005190 x600519", []),
        ("EUR/USD, USDT and a US-USD note", ["EUR/USD"]),
    ],
)
def test_codes_are_found_by_their_form_whatever_the_table_holds(
    text: str, expected: list[str]
) -> None:
    """RCL-1, RCL-14."""
    assert ids(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "投入600000元",
        "¥600519",
        "600519 shares of it",
        "涨到600519.25",
        "600,519",
        "300000",
        "600519股",
    ],
)
def test_six_digits_of_an_amount_are_no_code(text: str) -> None:
    assert ids(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "增长和估值",
        "增强生产力",
        "提高通胀预期",
        "其中行业",
        "好时机到了",
        "北京东路",
        "联想到什么",
        "千万科技股",
        "知道指数",
        "风格力求",
    ],
)
def test_names_across_the_borders_of_words_are_no_symbols(text: str) -> None:
    assert ids(text) == []


def test_held_names_count_beside_the_table_and_the_longest_wins() -> None:
    """PDC-1: a code or a held name."""
    own = symbols.Symbol("830799.BJ", "艾融软件", "艾融软件", "BJ", "CNY", ())
    nick = symbols.Symbol("600519.SH", "茅台老窖池", "茅台老窖池", "SH", "CNY", ())
    theme = symbols.Symbol("XX", "科技", "科技", "US", "USD", ())
    assert symbols.ids("艾融软件和茅台老窖池，科技", [own, nick, theme]) == (
        "830799.BJ",
        "600519.SH",
    )
    assert symbols.ids("艾融软件和茅台") == ("600519.SH",)


def test_a_code_has_one_canonical_form() -> None:
    for written in ("600519", "sh600519", "茅台", "600519.SS"):
        assert symbols.canonical(written) == "600519.SH"
    assert symbols.canonical("301999") == "301999.SZ"
    assert symbols.canonical("btc-usdt") == "BTC-USD"
    assert symbols.canonical("whatever") == "WHATEVER"


def test_the_table_holds_a_few_hundred_names_of_every_market_with_plausible_facts() -> None:
    index = symbols._index().symbols
    by_market: dict[str, int] = {}
    currency = {"US": "USD", "HK": "HKD", "SH": "CNY", "SZ": "CNY", "CRYPTO": "USD"}
    form = {
        "US": r"[A-Z]{1,5}(\.[A-Z])?",
        "HK": r"[0-9]{4}\.HK",
        "SH": r"(6|5)[0-9]{5}\.SH",
        "SZ": r"(0|3|1)[0-9]{5}\.SZ",
        "CRYPTO": r"[A-Z]{2,5}-USD",
    }
    for symbol in index.values():
        by_market[symbol.market] = by_market.get(symbol.market, 0) + 1
        assert symbol.currency == currency[symbol.market], symbol.id
        assert re.fullmatch(form[symbol.market], symbol.id), symbol.id
        assert symbol.name.strip(), symbol.id
        assert symbol.name_zh.strip(), symbol.id
    assert by_market["US"] >= 200
    assert by_market["HK"] >= 90
    assert by_market["SH"] + by_market["SZ"] >= 200
    assert by_market["CRYPTO"] >= 25


@pytest.mark.parametrize("text", ["600519 " * 20_000, "A-" * 50_000, "$" * 100_000, "0" * 100_000])
def test_texts_of_nothing_but_codes_are_searched_in_linear_time(text: str) -> None:
    assert len(symbols.find(text)) in {0, 20_000}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("EUR/USD", "EUR/USD"),
        ("GBPJPY", "GBP/JPY"),
        ("ZZYQ", "ZZYQ"),
        ("$ZZYQ", "ZZYQ"),
        ("688999", "688999.SH"),
        ("9999.HK", "9999.HK"),
        ("PEPE/USDT", "PEPE-USD"),
        ("zzyq", None),
        ("EUREUR", None),
        ("BANKS", None),
        ("600000 yuan", None),
        ("what is ZZYQ", None),
    ],
)
def test_a_code_that_no_table_has_is_known_by_its_form(written: str, found: str | None) -> None:
    symbol = symbols.coded(written)
    assert (symbol and symbol.id) == found
