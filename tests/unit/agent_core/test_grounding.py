"""Numbers of an answer against what tools returned: by hand-labelled answers, by kind, and on the demo planner."""

import re
from dataclasses import dataclass, field

import pytest

from agent_core.runtime.grounding import (
    Sources,
    complaints,
    sources,
    uncited,
    unfounded,
    ungrounded,
    ungrounded_data,
)
from agent_core.runtime.numbers import claims, held
from agent_core.runtime.team import Grounding
from tests.unit.agent_core.demo_desk import DESK, SOLO, Talk
from tests.unit.agent_core.grounded_answers import BOOK, CASES, GOOG, Labelled
from tests.unit.agent_core.test_demo_grounding import QUESTIONS

TOLERANCE = 0.005
MARKED = re.compile("⟦[^⟧]*⟧")


@dataclass
class Score:
    true: int = 0
    false_alarms: list[str] = field(default_factory=list)
    invented: int = 0
    missed: list[str] = field(default_factory=list)


def flagged(answer: str, source: str) -> list[str]:
    return [f.text for f in ungrounded(answer, sources([source]), TOLERANCE)]


def scored(cases: list[Labelled]) -> Score:
    score = Score()
    for case in cases:
        marks = [m[1:-1] for m in MARKED.findall(case.answer)]
        found = flagged(case.answer.replace("⟦", "").replace("⟧", ""), case.source)
        bare = [re.sub(r"[^\d.]", "", mark) for mark in marks]
        numbers = re.findall(r"\d[\d,.]*", MARKED.sub("", case.answer))
        score.true += len(numbers)
        score.invented += len(marks)
        hit = [re.sub(r"[^\d.]", "", text) for text in found]
        score.false_alarms += [
            f"{t} in {case.answer}" for t, h in zip(found, hit, strict=True) if h not in bare
        ]
        score.missed += [
            f"{m} in {case.answer}" for m, b in zip(marks, bare, strict=True) if b not in hit
        ]
    return score


@pytest.mark.parametrize("language", ["en", "zh"])
def test_labelled_answers_give_few_false_alarms_and_few_misses(language: str) -> None:
    """Stated: at most 2% of true numbers are called invented, at most 20% of invented ones pass.

    What passes is near another number that the tools returned (690 beside 686.80, 71% beside a ratio of 0.71).
    """
    score = scored([case for case in CASES if case.language == language])
    print(language, score.true, len(score.false_alarms), score.invented, len(score.missed))
    assert score.true > 60
    assert score.invented > 12
    assert len(score.false_alarms) / score.true <= 0.02, score.false_alarms
    assert len(score.missed) / score.invented <= 0.20, score.missed


@pytest.mark.parametrize("texts", QUESTIONS, ids=lambda texts: texts[0])
@pytest.mark.parametrize("offered", [SOLO, DESK], ids=["solo", "desk"])
async def test_answers_of_the_demo_planner_raise_no_false_alarm(
    texts: list[str], offered: tuple[str, ...]
) -> None:
    """Answers that nobody wrote for this check: the planner only quotes."""
    talk = Talk(offered)
    for text in texts:
        answer = await talk.say(text)
        known = sources(talk.returned, given=[n for said in talk.said for n in held(said)])
        assert [f.text for f in ungrounded(answer, known, TOLERANCE)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,234.5 and 1234.5", ["1,234.5", "1234.5"]),
        ("fell 3.2% (-3.2 pct)", ["3.2%", "3.2 pct"]),
        ("涨幅３．２％", ["3.2%"]),
        ("2.5亿元，3万股，1.2万亿", ["2.5亿", "3万", "1.2万亿"]),
        ("$5m, $3.1bn, 2.4 million, 12 trillion", ["$5m", "$3.1bn", "2.4 million", "12 trillion"]),
        ("RMB5000 HK$12.5 US$7", ["RMB5000", "HK$12.5", "US$7"]),
        ("25 bps, 25个基点", ["25 bps", "25个基点"]),
        ("between 11-12%", ["11", "12%"]),
        ("2000股, $2000, 2012.5, 2,012", ["2000", "$2000", "2012.5", "2,012"]),
        ("rose 1.5e3", ["1.5e3"]),
        ("3.5x leverage", ["3.5"]),
        ("631269747.401k, $401k, my 401k", ["631269747.401k", "$401k"]),
    ],
)
def test_what_states_a_fact_is_read_with_its_unit(text: str, found: list[str]) -> None:
    assert [claim.text for claim in claims(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "2012-10-05, 2012/10/5, Oct 5, 2012, 5 October 2012, 2012年10月5日, 10月5日, 12/31/2012",
        "in 2012, 2010-2012, FY2012, Q3 2012, 3Q12, H1, the 1990s, 2012年",
        "at 16:00, 09:30:05, 2012-10-05T16:00:00Z",
        "1. first\n2) second\n(3) third\n4、第四\n## 5 Heading\n- 6. sixth",
        "Step 12, table 13, top 20, No. 14, #15, #1.1, #1,234, 第1.5条, 第16条, 前17名, 18th, [19], [^20]",
        "50-day, 52 weeks, 3 months, 12个月, 250个交易日, 近30日, 15 min, 5m, 12h, 20日均线",
        "SMA50, RSI(14), MACD(12,26,9), MA 20, ATR14, 95% VaR, 99%置信",
        "S&P 500, Russell 2000, CSI 300, 沪深300, 中证500, 标普500, Nasdaq-100",
        "600519.SH, 0700.HK, SZ000858, 茅台(600519)",
        "GPT-5, 5G, A50, v1.2.3, covid-19, https://example.com/a/99?b=98, chart_77.png",
        "8/10, 70/100, 3 reasons, 两只股票共4点建议, 10 names",
    ],
)
def test_what_is_exempt_by_rule_states_no_fact(text: str) -> None:
    assert claims(text) == []


@pytest.mark.parametrize(
    ("claim", "source", "known"),
    [
        ("6.31%", "0.0631", True),
        ("0.0631", "6.31", True),
        ("631 bps", "6.31", True),
        ("16%", "16.34", True),  # rounded to two digits
        ("2%", "2.48", False),  # one digit says nothing
        ("1.2亿", "118734000", True),
        ("1.2亿", "11873", False),
        ("1.2万", "120000000", False),
        ("707.4", "707.38", True),
        ("711", "707.38", False),  # 0.51% off
        ("710.9", "707.38", True),  # 0.50% off
        ("fell 3.1%", "-3.1", True),
        ("0%", "0.0", True),
        ("0%", "0.7", False),
        ("5.2 million", "5203490", True),
        ("$1.5bn", "15亿", True),
        ("4%", '{"date":"2012-04-04"}', False),  # a day is no number
        ("50%", '{"sma50": 12}', False),  # nor is a part of a name
    ],
)
def test_a_number_is_found_within_tolerance_rounding_and_unit(
    claim: str, source: str, known: bool
) -> None:
    assert (flagged(claim, source) == []) is known


def test_the_tolerance_is_the_presets() -> None:
    known = sources(["100"])
    assert ungrounded("102.00", known, 0.03) == []
    assert [f.text for f in ungrounded("102.00", known, 0.005)] == ["102.00"]


SCHEMA = {
    "type": "object",
    "properties": {
        "rating": {"enum": [1, 25, 50]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "price": {"type": "number"},
        "horizon": {"type": "integer", "x-grounded": False},
        "reasons": {"type": "array", "items": {"type": "string"}},
        "orders": {"type": "array", "items": {"properties": {"limit": {"type": "number"}}}},
    },
}


def test_facts_of_json_are_checked_and_judgements_are_not() -> None:
    data = {
        "rating": 25,
        "confidence": 0.62,
        "price": 707.38,
        "horizon": 90,
        "reasons": ["closed at 707.38", "target 820"],
        "orders": [{"limit": 640.5}],
        "extra": 12.34,
        "done": True,
    }
    found = ungrounded_data(data, SCHEMA, sources([GOOG]), TOLERANCE)
    assert [f.text for f in found] == ["820", "640.5", "12.34"]
    assert ungrounded_data(33.3, None, Sources(), TOLERANCE)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("GOOG closed at 707.38 (source: bundled).", ""),
        ("来源：get_market_history", ""),
        ("See https://example.com/a.", ""),
        ("See https://example.com/b.", "no tool returned the address https://example.com/b"),
        (
            "bundled says so, and https://made.up/x",
            "no tool returned the address https://made.up/x",
        ),
        ("Trust me.", "no source is named; those that were used: bundled, get_market_history"),
        ("unbundledly", "no source is named; those that were used: bundled, get_market_history"),
    ],
)
def test_a_citation_names_what_was_used_and_no_address_from_nowhere(
    answer: str, wrong: str
) -> None:
    known = sources([GOOG, '{"url": "https://example.com/a"}'], ["get_market_history"])
    assert uncited(answer, known) == wrong


def test_complaints_list_what_to_mend() -> None:
    lines = complaints(
        Grounding("required", 0.005), [str(n) for n in range(20)], "no source is named"
    )
    assert "within 0.50%: 0, 1," in lines[0]
    assert "11 and 8 more." in lines[0]
    assert lines[1] == "citations are required, and no source is named"
    assert complaints(Grounding(), [], "") == []


def test_numbers_of_a_task_that_come_from_nowhere_are_told_apart() -> None:
    assert unfounded("You hold 120 AAPL at 151.2; is 999 fair?", sources([BOOK]), TOLERANCE) == [
        999.0
    ]


def test_much_text_is_read_in_little_time() -> None:
    """Linear: no pattern backtracks over long digits, spaces or lists (CPU time, with slack)."""
    import time

    nasty = [
        "9" * 20_000,
        "1," * 20_000,
        " " * 20_000,
        "第" * 20_000,
        "1.1." * 10_000,
        GOOG * 100,
        "# 1" * 9_000,
        "a&" * 20_000,
        "1@" * 20_000,
        "- " * 20_000 + "1. x",
        "1-" * 20_000,
        "a.b-" * 10_000,
        "2012-" * 8_000,
    ]
    for text in nasty:
        began = time.process_time()
        claims(text)
        held(text)
        assert time.process_time() - began < 2.0, text[:10]
