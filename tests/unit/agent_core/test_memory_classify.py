"""What may be remembered: MEM-1, MEM-4, and the classification table as a labelled set (seven kinds of statement)."""

import pytest

from agent_core.memory.classify import refused
from agent_core.memory.extract import codes_of

# The table's rows: what may stay (preference and decision), and the six kinds that belong elsewhere (MSC-5).
LABELLED: dict[str, tuple[str, ...]] = {
    "kept": (
        "偏好尾盘买入，不追高",
        "止损一律设在 8%",
        "单只股票仓位不超过 20%",
        "跌破支撑不买",
        "只做日线级别的趋势",
        "14:45 后再检查支撑和成交量，符合才建仓",
        "放量冲高回落时不买",
        "如果跌破 20 日均线就减仓一半",
        "不碰白酒板块",
        "MACD 参数用 12、26、9",
        "宁德时代回踩 20 日线不破才加仓",
        "突破失败时立即止损",
        "never holds more than 10 positions",
        "prefers to buy in the last half hour",
        "always sets a stop of 8%",
        "avoids leverage",
        "if NVDA closes below its 50-day average, sell half",
        "does not trade during earnings week",
        "数据缺失时不交易",
    ),
    "market": (
        "今天大盘涨了 1.2%",
        "当前市场情绪偏弱",
        "上证指数收于 3100 点",
        "本周半导体板块走强",
        "the Nasdaq rose 2% today",
        "the market is weak right now",
    ),
    "trade": (
        "买入宁德时代 200 股",
        "昨天清仓了比亚迪",
        "以 210 元加仓 300 股",
        "bought 100 shares of AAPL at 180",
        "sold NVDA yesterday",
    ),
    "holding": (
        "目前持有贵州茅台 100 股",
        "持仓成本 1680 元",
        "浮亏 5%",
        "holds 500 shares of Tesla",
        "average cost is 212.5",
    ),
    "tool": (
        "get_market_history 返回了 250 行",
        "调用了行情接口两次",
        "the tool call used period=1y",
    ),
    "verdict": (
        "宁德时代现在可以买",
        "今天看空比亚迪",
        "AAPL is a buy today",
        "NVDA looks overbought now",
    ),
    "failure": (
        "行情接口超时",
        "数据获取失败",
        "the data request failed twice",
        "price service unavailable",
    ),
    "empty": ("好", "   ", "无"),
}

# More lines of both sorts, without the kind.
STABLE = """
喜欢分批建仓，每次三分之一
回撤超过 10% 就全部离场
不熟悉的行业不参与
宁愿错过也不做错
以基本面为主，技术面为辅
港股只做龙头
持仓不超过五只股票
亏损单绝不补仓
周五收盘前减半仓
美股只在财报后买入
盈利 20% 先止盈一半
偏好高股息、低波动的标的
风险承受能力低，以保本为先
单笔亏损上限 2%
茅台跌到 1500 以下再考虑加仓
只用日线和周线判断趋势
投资期限三到五年
crypto exposure capped at 5% of the portfolio
likes dividend stocks
wants explanations in plain Chinese
takes profits in thirds
uses the 200-day average as the trend filter
would add to AAPL only below 170
long-term investor with a ten year horizon
risk per trade is 1%
position size is at most 5% per name
prefers index funds over single stocks
sell when the thesis breaks
"""
PASSING = """
今天沪深300跌了0.8%
刚买了腾讯500股
目前仓位七成
特斯拉现价 250 美元
茅台今天收盘 1688 元
上周卖出了英伟达
苹果目前处于上升趋势
analyze_stock 显示 RSI 为 70
工具调用失败了三次
the market closed higher today
currently holds 20 shares of NVDA
he just sold his Tesla position
NVDA is up 3% today
AAPL closed at 182.3
search returned no data
the chart tool timed out
比亚迪今日放量突破，可以买入
昨日两市成交额破万亿
账户里有三万元现金
今天建仓了半导体ETF
"""


@pytest.mark.parametrize("line", STABLE.strip().splitlines())
def test_stable_discipline_is_kept(line: str) -> None:
    """MEM-1."""
    assert refused(line, codes_of(line)) is None


@pytest.mark.parametrize("line", PASSING.strip().splitlines())
def test_what_passes_is_not_kept(line: str) -> None:
    """MEM-4."""
    assert refused(line, codes_of(line)) is not None


@pytest.mark.parametrize(
    ("label", "line"), [(label, line) for label, lines in LABELLED.items() for line in lines]
)
def test_the_labelled_lines_of_the_classification_table(label: str, line: str) -> None:
    """MEM-4."""
    assert refused(line, codes_of(line)) == (None if label == "kept" else label)


def test_a_long_hostile_line_costs_no_more_than_its_length() -> None:
    for piece in ("目前持有1,", "bought 1", "a_", "涨1%", "<>"):
        refused(piece * 40_000)
