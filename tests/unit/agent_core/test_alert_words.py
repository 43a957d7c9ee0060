"""Alert rules in the words of people, English and Chinese, and said again."""

import datetime as dt
import time

import pytest

from agent_core.finance import alert_words
from agent_core.finance.alert_rules import Hit, Rule, Watch
from agent_core.finance.alert_words import BadRule, Language

DAY = dt.date(2026, 1, 5)


@pytest.mark.parametrize(
    ("said", "about", "rule"),
    [
        ("GOOG above 400", "GOOG", Rule("price", "above", 400.0)),
        ("when GOOG goes above $1,000.50", "GOOG", Rule("price", "above", 1000.5)),
        ("AAPL falls below 300", "AAPL", Rule("price", "below", 300.0)),
        ("BTC-USD > 20000", "BTC-USD", Rule("price", "above", 20_000.0)),
        ("Under Armour below 3", "Under Armour", Rule("price", "below", 3.0)),
        ("ＧＯＯＧ　above　４００", "GOOG", Rule("price", "above", 400.0)),
        ("谷歌 跌破 300", "谷歌", Rule("price", "below", 300.0)),
        ("谷歌跌破300", "谷歌", Rule("price", "below", 300.0)),
        ("茅台股价突破2000元时提醒我", "茅台", Rule("price", "above", 2000.0)),
        ("AAPL down 5%", "AAPL", Rule("move", "below", 5.0)),
        ("Upstart up 5%", "Upstart", Rule("move", "above", 5.0)),
        ("苹果 涨 5%", "苹果", Rule("move", "above", 5.0)),
        ("if IBM drops by 3 percent in a day", "IBM", Rule("day", "below", 3.0)),
        ("AAPL down 5% today", "AAPL", Rule("day", "below", 5.0)),
        ("苹果当日涨5%", "苹果", Rule("day", "above", 5.0)),
        ("IBM rsi below 30", "IBM", Rule("indicator", "below", 30.0, "rsi14")),
        ("IBM RSI 低于 30", "IBM", Rule("indicator", "below", 30.0, "rsi14")),
        ("IBM close above sma200", "IBM", Rule("indicator", "above", 0.0, "", "sma200")),
        ("GOOG sma20 above sma50", "GOOG", Rule("indicator", "above", 0.0, "sma20", "sma50")),
        ("GOOG macd below 0", "GOOG", Rule("indicator", "below", 0.0, "macd")),
        ("above 400", "", Rule("price", "above", 400.0)),
    ],
)
def test_rules_are_read_in_both_languages(said: str, about: str, rule: Rule) -> None:
    found = alert_words.parse(said)
    assert found is not None
    assert (found.about, found.rule, found.repeat) == (about, rule, False)


@pytest.mark.parametrize(
    "said", ["GOOG above 400 repeat", "GOOG above 400 each time", "GOOG 高于 400 每次提醒"]
)
def test_repeating_is_asked_for_in_words(said: str) -> None:
    found = alert_words.parse(said)
    assert found is not None
    assert found.repeat
    assert found.about == "GOOG"


@pytest.mark.parametrize(
    "said", ["", "hello", "GOOG", "GOOG above", "GOOG above 5%", "GOOG up", "above GOOG 3 x"]
)
def test_what_is_no_rule_is_none(said: str) -> None:
    assert alert_words.parse(said) is None


@pytest.mark.parametrize(
    ("said", "language", "why"),
    [
        ("GOOG down 0%", "en", "above 0 %"),
        ("GOOG down 120%", "en", "below 100 %"),
        ("谷歌 跌 120%", "zh", "小于 100"),
        ("GOOG above 0", "en", "a level is above 0"),
        ("GOOG sma999 above 3", "en", "2 to 250"),
        ("GOOG rsi above sma20", "en", "only a price or an average"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_the_reason(
    said: str, language: Language, why: str
) -> None:
    with pytest.raises(BadRule, match=why):
        alert_words.parse(said, language)


def watch(rule: Rule) -> Watch:
    return Watch(rule, 838.6, DAY, 830.0, DAY, DAY)


@pytest.mark.parametrize(
    ("rule", "english", "chinese"),
    [
        (Rule("price", "above", 400.0), "GOOG above 400.00 USD", "GOOG 高于 400.00 USD"),
        (
            Rule("move", "below", 5.0),
            "GOOG down 5 % from 838.60 (2026-01-05)",
            "GOOG 较 838.60 (2026-01-05) 跌 5%",
        ),
        (Rule("day", "above", 2.5), "GOOG up 2.5 % in a day", "GOOG 单日涨 2.5%"),
        (Rule("indicator", "below", 30.0, "rsi14"), "GOOG rsi14 below 30", "GOOG rsi14 低于 30"),
        (Rule("indicator", "above", 0.0, "", "sma200"), "GOOG above sma200", "GOOG 高于 sma200"),
    ],
)
def test_an_alert_is_said_again_in_both_languages(rule: Rule, english: str, chinese: str) -> None:
    assert alert_words.words("GOOG", watch(rule), "en", "USD") == english
    assert alert_words.words("GOOG", watch(rule), "zh", "USD") == chinese


def test_what_came_true_names_the_value_and_its_day() -> None:
    hit = Hit(DAY, 401.2, 400.0)
    price = watch(Rule("price", "above", 400.0))
    assert alert_words.told(price, hit, "en", "USD") == "401.20 USD on 2026-01-05 (level 400.00)"
    assert (
        alert_words.told(price, hit, "zh", "USD") == "2026-01-05 价格为 401.20 USD（界线 400.00）"
    )
    move = watch(Rule("day", "below", 5.0))
    assert alert_words.told(move, Hit(DAY, -6.25, -5.0), "en") == "-6.25 % on 2026-01-05"


def test_a_rule_of_any_length_is_read_or_refused_at_once() -> None:
    """A message may have a hundred thousand characters; nobody else waits for it."""
    before = time.process_time()
    for words in (
        "GOOG above" + " " * 100_000 + "400",
        "GOOG above " + "1" * 100_000,
        "a " * 50_000,
    ):
        said = alert_words.parse(words)
        assert said is None or said.rule == Rule("price", "above", 400.0)
    assert time.process_time() - before < 1
    assert alert_words.parse("GOOG   above \n 400") == alert_words.parse("GOOG above 400")
