import datetime as dt

import pytest

from agent_core.models.demo_ask import Ask, Want
from agent_core.models.demo_intent import read, understand
from agent_core.models.demo_period import Back, Period, find_period
from agent_core.models.demo_words import task_text

END = dt.date(2013, 3, 1)
HT = {Want.HISTORY, Want.TREND}
GOOG_2012 = "How did GOOG do in 2012, and what does its trend look like?"


def asked(*texts: str) -> Ask:
    ask = understand(texts)
    assert ask is not None
    return ask


def days(text: str) -> dict[str, str] | None:
    period = find_period(text)
    if isinstance(period, Back):
        period = period.until(END)
    return period.args if isinstance(period, Period) else None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("in 2012", "2012-01-01", "2012-12-31"),
        ("from 2008 to 2010", "2008-01-01", "2010-12-31"),
        ("2008-2010", "2008-01-01", "2010-12-31"),
        ("2012-03", "2012-03-01", "2012-03-31"),
        ("between 2012-03-01 and 2012-05-31", "2012-03-01", "2012-05-31"),
        ("February 2012", "2012-02-01", "2012-02-29"),
        ("from January to March 2012", "2012-01-01", "2012-03-31"),
        ("March 5, 2012", "2012-03-05", "2012-03-05"),
        ("5 March 2012", "2012-03-05", "2012-03-05"),
        ("Q3 2012", "2012-07-01", "2012-09-30"),
        ("the second half of 2011", "2011-07-01", "2011-12-31"),
        ("since 2010", "2010-01-01", None),
        ("before 2009", None, "2008-12-31"),
        ("until 2009", None, "2009-12-31"),
        ("after 2009", "2010-01-01", None),
        ("2012年", "2012-01-01", "2012-12-31"),
        ("2008年到2010年", "2008-01-01", "2010-12-31"),
        ("2012年3月到5月", "2012-03-01", "2012-05-31"),
        ("2012年3月5日", "2012-03-05", "2012-03-05"),
        ("2012年第三季度", "2012-07-01", "2012-09-30"),
        ("2012年上半年", "2012-01-01", "2012-06-30"),
        ("2010年以来", "2010-01-01", None),
        ("2012-02-31", "2012-02-29", "2012-02-29"),
        ("last year", "2012-01-01", "2012-12-31"),
        ("the past year", "2012-03-01", "2013-03-01"),
        ("last three months", "2012-12-01", "2013-03-01"),
        ("the last 20 days", "2013-02-09", "2013-03-01"),
        ("year to date", "2013-01-01", "2013-03-01"),
        ("last month", "2013-02-01", "2013-02-28"),
        ("去年", "2012-01-01", "2012-12-31"),
        ("最近三个月", "2012-12-01", "2013-03-01"),
        ("过去十二个月", "2012-03-01", "2013-03-01"),
        ("近半年", "2012-09-01", "2013-03-01"),
        ("今年", "2013-01-01", "2013-03-01"),
        ("上个季度", "2012-10-01", "2012-12-31"),
    ],
)
def test_period_is_read(text: str, start: str | None, end: str | None) -> None:
    wanted = {"start": start, "end": end}
    assert days(text) == {name: day for name, day in wanted.items() if day}


@pytest.mark.parametrize("text", ["nothing of the kind", "may I have it", "600519", "买10股", ""])
def test_no_period_is_invented(text: str) -> None:
    assert find_period(text) is None


@pytest.mark.parametrize(
    ("text", "symbols", "wants"),
    [
        (GOOG_2012, ("GOOG",), HT),
        ("分析一下 AAPL 的走势", ("AAPL",), HT),
        ("2012年谷歌表现怎么样", ("GOOG",), {Want.HISTORY}),
        ("AAPL from 2008 to 2010", ("AAPL",), HT),
        ("compare AAPL and MSFT in 2010", ("AAPL", "MSFT"), {Want.HISTORY}),
        ("谷歌和苹果对比", ("GOOG", "AAPL"), {Want.HISTORY}),
        ("What are the support levels of Apple?", ("AAPL",), {Want.TREND}),
        ("微软的风险大吗", ("MSFT",), {Want.TREND}),
        ("show me a chart of IBM", ("IBM",), {Want.CHART}),
        ("给我看谷歌的走势图", ("GOOG",), {Want.CHART}),
        ("market overview", (), {Want.OVERVIEW}),
        ("大盘怎么样", (), {Want.OVERVIEW}),
        ("which stocks do you have?", (), {Want.OVERVIEW}),
        ("search for apple", ("AAPL",), {Want.SEARCH}),
        ("苹果的代码是什么", ("AAPL",), {Want.SEARCH}),
        ("hello", (), {Want.HELP}),
        ("what can you do?", (), {Want.HELP}),
        ("你好，你能做什么", (), {Want.HELP}),
        ("谢谢", (), {Want.THANKS}),
        ("GOOG", ("GOOG",), HT),
        ("XYZQ in 2012", ("XYZQ",), HT),
        ("HOW DID GOOG DO IN 2012", ("GOOG",), {Want.HISTORY}),
        ("what is the weather?", (), set()),
        ("write a poem about Paris", (), set()),
        ("讲个笑话", (), set()),
    ],
)
def test_request_is_understood(text: str, symbols: tuple[str, ...], wants: set[Want]) -> None:
    ask = asked(text)
    assert (ask.symbols, set(ask.wants)) == (symbols, wants)


@pytest.mark.parametrize(
    ("text", "symbols", "wants", "year"),
    [
        ("and in 2011?", ("GOOG",), HT, "2011"),
        ("那2011年呢?", ("GOOG",), HT, "2011"),
        ("show me a chart", ("GOOG",), {Want.CHART}, "2012"),
        ("画个图", ("GOOG",), {Want.CHART}, "2012"),
        ("and the risk?", ("GOOG",), {Want.TREND}, "2012"),
        ("它的支撑位在哪里", ("GOOG",), {Want.TREND}, "2012"),
        ("what about MSFT?", ("MSFT",), HT, "2012"),
        ("那苹果呢", ("AAPL",), HT, "2012"),
        ("compare with AAPL", ("GOOG", "AAPL"), {Want.HISTORY}, "2012"),
        ("how is it doing?", ("GOOG",), HT, "2012"),
    ],
)
def test_follow_up_takes_over_what_it_leaves_out(
    text: str, symbols: tuple[str, ...], wants: set[Want], year: str
) -> None:
    ask = asked(GOOG_2012, "thanks", text)
    assert (ask.symbols, set(ask.wants)) == (symbols, wants)
    assert isinstance(ask.period, Period)
    assert ask.period.args["start"] == f"{year}-01-01"


@pytest.mark.parametrize("text", ["how is the weather?", "tell me a joke"])
def test_small_talk_is_not_taken_for_a_follow_up(text: str) -> None:
    assert not asked(GOOG_2012, text).wants


@pytest.mark.parametrize("text", ["How did Nokia do in 2010?", "how did nokia do in 2010"])
def test_unknown_name_is_looked_up_rather_than_taken_for_the_last_symbol(text: str) -> None:
    ask = asked(GOOG_2012, text)
    assert (ask.symbols, ask.query.lower()) == ((), "nokia")


def test_refused_chart_is_heard() -> None:
    assert asked("GOOG in 2012, no chart please").no_chart
    assert asked("谷歌2012年的表现，不要图").no_chart
    assert Want.CHART not in asked("谷歌2012年的表现，不要图").wants


def test_question_for_advice_is_marked() -> None:
    assert asked("should I buy IBM?").advice
    assert asked("苹果值得买吗").advice


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("want", [Want.HISTORY, Want.TREND])
@pytest.mark.parametrize(
    "period",
    [
        {},
        {"start": "2012-01-01", "end": "2012-12-31"},
        {"start": "2012-01-01"},
        {"end": "2012-12-31"},
    ],
)
@pytest.mark.parametrize("symbols", [("GOOG",), ("0700.HK", "600519.SH"), ("BRK.B", "BTC-USD")])
def test_task_for_a_sub_agent_is_understood_as_meant(
    language: str, want: Want, period: dict[str, str], symbols: tuple[str, ...]
) -> None:
    ask = read(task_text(language, want, symbols, period))  # type: ignore[arg-type]
    assert (ask.language, ask.symbols, ask.wants) == (language, symbols, {want})
    assert ask.no_chart
    assert (ask.period.args if isinstance(ask.period, Period) else {}) == period


def test_very_long_text_is_read_in_time() -> None:
    assert asked("GOOG " + "how did it do " * 100_000).symbols == ("GOOG",)
