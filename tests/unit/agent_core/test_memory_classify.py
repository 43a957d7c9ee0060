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


@pytest.mark.parametrize(
    ("label", "line"), [(label, line) for label, lines in LABELLED.items() for line in lines]
)
def test_the_labelled_lines_of_the_classification_table(label: str, line: str) -> None:
    """MEM-4."""
    assert refused(line, codes_of(line)) == (None if label == "kept" else label)


def test_a_long_hostile_line_costs_no_more_than_its_length() -> None:
    for piece in ("目前持有1,", "bought 1", "a_", "涨1%", "<>"):
        refused(piece * 40_000)
