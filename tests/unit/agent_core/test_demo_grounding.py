"""Every number of an answer stands in a tool result or in the person's own words."""

import re
from collections.abc import Sequence

import pytest

from agent_core.models.demo_words import TEXTS
from tests.unit.agent_core.demo_desk import DESK, SOLO, Talk

NUMBER = re.compile(r"\d+(?:\.\d+)?")
QUESTIONS = [
    ["How did GOOG do in 2012, and what does its trend look like?", "and in 2011?"],
    ["分析一下 AAPL 的走势", "那2011年呢？"],
    ["compare AAPL and MSFT in 2010", "谷歌呢"],
    ["2012年谷歌表现怎么样"],
    ["Microsoft last year"],
    ["微软最近三个月的风险大吗"],
    ["market overview"],
    ["大盘怎么样"],
    ["search for apple"],
    ["show me a chart of IBM"],
    ["should I buy IBM?"],
    ["How did Nokia do in 2012?"],
    ["hello"],
    ["讲个笑话"],
]


def ungrounded(answer: str, sources: Sequence[str]) -> set[str]:
    known = {number for source in sources for number in NUMBER.findall(source)}
    return set(NUMBER.findall(answer)) - known


@pytest.mark.parametrize("texts", QUESTIONS, ids=lambda texts: texts[0])
@pytest.mark.parametrize("offered", [SOLO, DESK], ids=["solo", "desk"])
async def test_every_number_was_returned_or_said(
    texts: list[str], offered: tuple[str, ...]
) -> None:
    talk = Talk(offered)
    for text in texts:
        answer = await talk.say(text)
        assert ungrounded(answer, [*talk.returned, *talk.said]) == set()
        assert "demo" in answer


@pytest.mark.parametrize("error", ["limits.time 240s reached", "model idle time-out 45s"])
async def test_numbers_of_a_failed_delegation_are_quoted(error: str) -> None:
    policy = {"next_action": "fallback_to_direct_tools", "fallback_tools": ["get_market_overview"]}
    end = {"status": "timeout", "result": "", "error": error, "policy": policy}
    talk = Talk(DESK, ends={"research": end, "analysis": end})
    answer = await talk.say("How did GOOG do in 2012, and what does its trend look like?")
    assert error in answer
    assert ungrounded(answer, [*talk.returned, *talk.said]) == set()


async def test_digits_stay_as_the_tool_wrote_them() -> None:
    answer = await Talk(SOLO).say("How did GOOG do in 2012?")
    assert "774.380" in answer
    assert "5203490" in answer


def test_the_planners_own_words_hold_no_number() -> None:
    for texts in TEXTS.values():
        for key, text in texts.items():
            bare = re.sub(r"\{\w*\}", "", text)
            allowed = {"1", "3"} if key == "table_overview" else set()
            assert set(NUMBER.findall(bare)) <= allowed


def test_the_check_itself_finds_an_invented_number() -> None:
    assert ungrounded("rose by 6.31 % to 99", ['{"change_pct":6.31}']) == {"99"}
