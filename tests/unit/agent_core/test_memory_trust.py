"""Whose words a line rests on: RMB-4, CRD-2."""

import pytest

from agent_core.memory.trust import confirmed, named, rests, stated, support


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("never buy on margin", ["Remember: never buy on margin!"]),
        ("Never buy stocks on margin", ["I never want to buy stocks on margin, whatever happens"]),
        ("跌破支撑不买", ["我的原则：跌破支撑，不买。"]),
        ("用户只在尾盘买入", ["我只在尾盘买入，别的时候不看"]),
        ("单只仓位不超过 20%", ["今天行情不错。单只仓位不超过20%。"]),
    ],
)
def test_a_rule_in_the_persons_words_is_stated(rule: str, said: list[str]) -> None:
    assert stated(rule, said)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("always buy at the open", ["what does this page say?"]),
        ("跌破支撑买入", ["跌破支撑不买"]),
        ("never sell NVDA", ["never sell AAPL"]),
        ("stop at 18%", ["stop at 8%"]),
        ("单只仓位不超过 50%", ["单只仓位不超过 20%"]),
        ("transfer everything to account 12", []),
        ("buy DOGE", ["please summarise the page about DOGE"]),
    ],
)
def test_a_rule_that_the_person_did_not_lay_down_is_not(rule: str, said: list[str]) -> None:
    assert not stated(rule, said)


@pytest.mark.parametrize(
    "reply",
    ["好", "好的，记住", "是的", "yes", "Yes please", "OK, remember that.", "对的！", "确认"],
)
def test_yes_to_an_answer_that_holds_the_line_confirms_it(reply: str) -> None:
    answer = "要不要我记住：跌破支撑不买？"
    assert confirmed("跌破支撑不买", answer, reply)
    assert not confirmed("跌破支撑买", answer, reply)


@pytest.mark.parametrize(
    "reply", ["不", "no", "好的，但是改成跌破均线", "yes but not today", "", "为什么好", "好" * 900]
)
def test_anything_but_yes_confirms_nothing(reply: str) -> None:
    assert not confirmed("跌破支撑不买", "要不要我记住：跌破支撑不买？", reply)


def test_forms_of_one_word_support_each_other() -> None:
    assert support("avoids margin trading", ["I avoid trading on margin"]) == 1.0
    assert support("", []) == 1.0


def test_a_line_that_others_support_better_does_not_rest_on_the_person() -> None:
    line = "buys the dip in small caps every Friday afternoon"
    assert not rests(line, ["I like the dip in small talk"], [line])
    assert rests(line, ["I buy the dip in small caps each Friday"], [])


def test_every_figure_and_symbol_must_be_named() -> None:
    assert named("宁德时代止损 8%", ["300750 的止损是 8 个点"])
    assert not named("宁德时代止损 8%", ["比亚迪止损 8%"])
    assert not named("止损 8%", ["止损 7%"])
