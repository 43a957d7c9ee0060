"""Which words ask for a tool, and which do not (LPG-1 … LPG-3, LPG-5, LPG-6, C-18)."""

import pytest

from agent_core.runtime.expect import MESSAGES_BACK, Require, expected, state
from agent_core.types import Context, Message, RowKind, Text, ToolResult, ToolUse, assistant
from tests.unit.agent_core.guard_desk import TABLE, GuardTools
from tests.unit.agent_core.transcript import Transcript

WIDE = Require(contextual=True, affirmative=True)
PORTFOLIO = GuardTools().registry().get("portfolio")

# C-18: the guard is measured by what it must not do. A mechanical call is worse than one that is missed.
FALSE_TRIGGERS = (
    *("什么是持仓情况", "为什么我持仓怎么样都不涨", "持仓情况是什么意思", "如何看持仓情况"),
    *("不要看我的持仓情况，讲讲 GOOG", "不用列持仓情况", "解释一下持仓情况这个词"),
    *("GOOG 怎么样", "帮我分析一下苹果", "今天大盘健康吗", "好的", "体检", "这几只怎么样"),
    *("what is a portfolio", "How is my portfolio calculated?", "why do I need a portfolio?"),
    *(
        "don't show my holdings",
        "explain what are my holdings based on",
        "yes",
        "how is GOOG doing?",
    ),
    *("> 我有什么持仓\n他这么问是什么梗", "<context>持仓情况</context> hello", ""),
)


def chat(*words: str) -> Transcript:
    """Turns with an answer each, but for the last."""
    made = Transcript()
    for said in words[:-1]:
        made.said(said)
        made.replied("ok")
    made.said(words[-1])
    return made


def kind(made: Transcript, require: Require | None = None) -> str | None:
    rule = expected(made.rows, made.turn, require or Require())
    return None if rule is None else rule.kind


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("我有什么持仓", "view"),
        ("我买了啥", "view"),
        ("看看持仓情况", "view"),
        ("我持仓怎么样", "diagnose"),
        ("持仓健康吗", "diagnose"),
        ("帮我审一下持仓", "diagnose"),
        ("  Show My Holdings please \n", "view"),
        ("How are my holdings doing?", "diagnose"),
        ("帮我审一下持仓情况", "diagnose"),
    ],
)
def test_direct_phrases_ask_for_a_tool(words: str, wanted: str) -> None:
    """LPG-1, LPG-2: lower case, trimmed, anywhere in the text."""
    rule = expected(chat(words).rows, 1, Require())
    assert rule is not None
    assert (rule.kind, rule.tool, rule.args["mode"]) == (wanted, "portfolio", wanted)


@pytest.mark.parametrize("words", FALSE_TRIGGERS)
def test_other_words_ask_for_nothing(words: str) -> None:
    """LPG-5, LPG-6, C-18: explanations, refusals, quotes, and what is off unless a preset asks for it."""
    assert kind(chat("看看我的成本价 持仓", words)) is None


def test_what_memory_and_the_runtime_say_does_not_count() -> None:
    """LPG-3, LPG-5, INJ-6, BGT-4."""
    made = Transcript()
    made.said("你好", recall="用户常问：我有什么持仓")
    assert kind(made) is None
    made.noted("我有什么持仓")
    assert kind(made) is None
    made.add(RowKind.USER, Message("user", (Text("我有什么持仓"),)), hidden=True)
    assert kind(made) is None
    made.add(RowKind.USER, Message("user", (Context("持仓情况"), Text("hello"))))
    assert kind(made) is None


def test_the_newest_words_of_the_turn_decide() -> None:
    """EVT-7: what was steered in counts as the person's words; another turn's do not."""
    made = chat("我有什么持仓", "and now?")
    assert kind(made) is None
    made.said("我持仓怎么样", same_turn=True)
    assert kind(made) == "diagnose"
    made.said("谢谢", same_turn=True)
    assert kind(made) == "diagnose"


@pytest.mark.parametrize("words", ["体检", "分析这些", "这几只健康吗"])
@pytest.mark.parametrize("marker", ["持仓", "成本价", TABLE])
def test_a_follow_up_after_talk_of_holdings_counts_where_a_preset_asks_for_it(
    words: str, marker: str
) -> None:
    """LPG-1, C-18."""
    made = chat(f"这里：{marker}", words)
    assert kind(made, WIDE) == "diagnose"
    assert kind(made, Require(affirmative=True)) is None
    assert kind(made) is None
    assert kind(chat("hello", words), WIDE) is None


def test_a_table_in_a_tools_result_is_a_marker() -> None:
    """LPG-1."""
    made = Transcript()
    made.said("look")
    made.looked("c1", TABLE)
    made.replied("there")
    made.said("体检")
    assert kind(made, WIDE) == "diagnose"


def test_only_the_four_messages_before_are_looked_at() -> None:
    """LPG-1: messages, not rounds (C-23); the present one is left out."""
    assert MESSAGES_BACK == 4
    near = chat("持仓", "b", "体检")
    assert kind(near, WIDE) == "diagnose"
    assert kind(chat("持仓", "b", "c", "体检"), WIDE) is None
    assert kind(chat("b", "持仓 体检一下？好"), Require(contextual=True)) is None


@pytest.mark.parametrize("words", ["要", "好的", "可以。", "行！", "Yes", "go ahead"])
def test_a_yes_to_an_offer_counts_where_a_preset_asks_for_it(words: str) -> None:
    """LPG-1, C-18: exactly these words, and an offer with a marker before it."""
    made = Transcript()
    made.said("我的持仓")
    made.replied("要不要我帮你诊断一下？")
    made.said(words)
    assert kind(made, WIDE) == "diagnose"
    assert kind(made, Require(contextual=True)) is None
    made.said(f"{words} 但是先等等")
    assert kind(made, WIDE) is None


def test_a_yes_without_an_offer_or_without_holdings_is_only_a_yes() -> None:
    assert kind(chat("诊断一下 GOOG", "好的"), WIDE) is None
    assert kind(chat("我的持仓", "好的"), WIDE) is None


def test_another_session_knows_nothing_of_it() -> None:
    """LPG-2: what counts is read off the rows of one session."""
    assert kind(chat("我的持仓 诊断", "好的"), WIDE) == "diagnose"
    assert kind(chat("好的"), WIDE) is None


@pytest.mark.parametrize(
    ("args", "is_error", "wanted"),
    [
        ({"mode": "view"}, False, "met"),
        ({}, False, "met"),  # the tool's own default
        ({"mode": "diagnose"}, False, "missed"),
        ({"mode": "view"}, True, "failed"),
        ({"mode": "all"}, True, "missed"),
        (None, True, "missed"),
    ],
)
def test_only_a_call_with_the_same_arguments_counts(
    args: dict[str, str] | None, is_error: bool, wanted: str
) -> None:
    """LPG-4, LPG-7."""
    made = chat("我有什么持仓")
    call = ToolUse("c1", "portfolio", args)
    made.add(RowKind.ASSISTANT, assistant("", call))
    result = ToolResult("c1", "portfolio", "x", is_error=is_error)
    made.add(RowKind.RESULT, Message("user", (result,)), "c1")
    rule = expected(made.rows, 1, Require())
    assert rule is not None
    assert PORTFOLIO is not None
    assert state(made.rows, 1, rule, PORTFOLIO) == wanted
