"""What a message is about: symbols, pronouns, the whole book (PDC-1, PDC-3, PFI-1, PFI-3, PFI-4)."""

import pytest

from agent_core.assembly.disclosure import MOST, focus_of, has_pronoun
from agent_core.assembly.portfolio_intent import portfolio_level
from agent_core.book import Focus
from tests.unit.agent_core.books import holding

LINES = str.splitlines


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("宁德时代现在可以建仓吗", ("300750.SZ",)),
        ("我想建仓比亚迪", ("002594.SZ",)),
        ("我想建仓科技", ()),
        ("白酒还能拿吗", ()),
        ("00700.HK or NVDA or BTC-USDT?", ("0700.HK", "NVDA", "BTC-USD")),
        ("艾融软件怎么样", ("830799.BJ",)),
        ("老伙计要不要卖", ("AAPL",)),
        ("hello", ()),
    ],
)
def test_symbols_are_those_of_the_message_by_code_name_or_held_name(
    text: str, symbols: tuple[str, ...]
) -> None:
    """PDC-1, RCL-1, RCL-14."""
    held = [holding("830799.BJ", name="艾融软件"), holding("AAPL", name="老伙计")]
    assert focus_of(text, held).symbols == symbols


@pytest.mark.parametrize(
    "text",
    LINES("""\
它还能拿吗
这只怎么样
这只股票呢
该股的估值高吗
这个能买吗
那只呢
这家公司赚钱吗
should I sell it?
is this stock expensive
what's its margin"""),
)
def test_a_pronoun_carries_on_the_one_symbol_of_the_last_turn(text: str) -> None:
    """PDC-3."""
    assert focus_of(text, (), ["NVDA"]) == Focus(("NVDA",), carried=True)
    assert focus_of(text, (), ["NVDA", "NVDA"]).symbols == ("NVDA",)
    assert focus_of(text, (), ["NVDA", "AAPL"]) == Focus()
    assert focus_of(text, (), []) == Focus()
    assert focus_of(f"{text} AAPL", (), ["NVDA"]) == Focus(("AAPL",))


@pytest.mark.parametrize(
    "text",
    LINES("""\
其它的呢
它们怎么样
how's it going
it is raining
这个问题很难
那个时候呢
吉它怎么弹
这个月怎么样
make it short
hello
谢谢"""),
)
def test_what_only_looks_like_a_pronoun_carries_nothing(text: str) -> None:
    assert not has_pronoun(text)
    assert focus_of(text, (), ["NVDA"]) == Focus()


OWN = """\
我的持仓怎么样
组合风险大吗
核心仓和卫星仓怎么分
仓位太重了吗
配比合理吗
怎么配置比较好
哪只最该卖
哪一只拖后腿
我的仓有多少
我现在拿着的哪只该减
今天我的持仓涨了吗
市场不好，我的仓位要降吗
诊断一下持仓
手机股的仓位怎么调
how is my portfolio doing
what about my holdings?
is the allocation right
position sizing rules
which of my stocks is weakest
what do I own
rebalance the portfolio"""
OTHER = """\
怎么配置环境变量
服务器配置
nginx 怎么配置
按哪个组合键
排列组合怎么算
你好
大盘今天怎么样
哪只股票今天涨得最多
A股哪只最强
哪只猫更可爱
巴菲特的持仓有什么变化
持仓量是什么意思
宁德时代现在可以建仓吗
PDD Holdings 怎么样
Arm Holdings news
Berkshire's holdings
memory allocation in C
how do I build a portfolio website
my design portfolio
hello
what is the market doing
帮我写一首诗"""


@pytest.mark.parametrize("text", LINES(OWN))
def test_questions_about_all_holdings_are_known(text: str) -> None:
    """PFI-1, PFI-4 (the English ones)."""
    assert portfolio_level(text)
    assert focus_of(text, [holding("NVDA")]).portfolio


@pytest.mark.parametrize("text", LINES(OTHER))
def test_greetings_market_questions_and_other_senses_are_none(text: str) -> None:
    """PFI-4."""
    assert not portfolio_level(text)


@pytest.mark.parametrize(
    "word", ["持仓", "组合", "核心仓", "卫星仓", "我的仓", "仓位", "配比", "配置", "哪只", "哪一只"]
)
def test_every_word_of_the_source_alone_is_known(word: str) -> None:
    """PFI-1."""
    assert portfolio_level(word)


def test_without_holdings_nothing_is_about_them() -> None:
    """PFI-4."""
    assert not focus_of("我的持仓怎么样").portfolio


def test_a_symbol_and_the_book_may_both_be_meant() -> None:
    """PFI-3, C-32."""
    assert focus_of("宁德时代在我的组合里占比合理吗", [holding("NVDA")]) == Focus(
        ("300750.SZ",), True
    )


def test_a_pasted_list_loads_no_more_than_a_few_and_a_huge_text_costs_little() -> None:
    codes = [f"6005{n:02d}" for n in range(30)]
    assert len(focus_of(",".join(codes)).symbols) == MOST
    assert focus_of("x" * 1_000_000 + " NVDA").symbols == ()
