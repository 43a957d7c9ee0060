"""What may be remembered at all: stable discipline; no market of today, no trade, holding or verdict (MEM-1, MEM-4).

The model that extracts is told so; these rules hold whatever it answers. They look at one line, in English or Chinese,
and know kinds of statements, not facts. Where a line could be either, a standing word (总是, 不, always, never) or a
condition makes it discipline. Pure.
"""

import re
from collections.abc import Iterator
from typing import Literal

Reason = Literal["market", "trade", "holding", "tool", "verdict", "failure", "empty"]

SHORTEST = 4  # characters of a line that says something

_STANDING = re.compile(
    r"偏好|习惯|喜欢|讨厌|原则|纪律|总是|从不|绝不|永远|一律|每次|只(?!有)|不(?:买|卖|做|碰|追|加|减|持|抄|用|超|能|得|接|看|交易|操作|参与|考虑)"
    r"|禁止|必须|避免|如果|一旦|只要|[时后前]才|的话|再(?:考虑|买|卖|加|减|建|看)|则|上限|下限|不超过|至少|最多|以后|今后"
    r"|\b(?:prefers?|preference|always|never|avoids?|only|must|rule|discipline|habit|whenever|if|when|unless|once"
    r"|at (?:most|least)|no more than|maximum|minimum|limit|from now on|do(?:es)?(?: not|n['’]t))\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"今天|今日|今晨|今早|昨天|昨日|刚才|刚刚|目前|当前|现在|此刻|盘中|现价|最新价|上周|前天|本周|近期|最近|眼下|暂时"
    r"|\b(?:today|yesterday|tonight|currently|(?<!from )now(?! on)|at present|this (?:morning|week|session)|recently)\b"
    r"|\b20\d\d-\d\d-\d\d\b",
    re.IGNORECASE,
)
_MARKET = re.compile(
    r"大盘|指数|市场|行情|板块|两市|沪指|深成指|上证|创业板|恒指|纳指|标普|成交额|北向"
    r"|\b(?:market|index|indices|nasdaq|s&p|dow|sector|breadth|vix)\b",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"[涨跌收报升降]|震荡|走强|走弱|放量|缩量|反弹|回调|\d%"
    r"|\b(?:rose|fell|closed|opened|gained|lost|dropped|rallied|up|down|is (?:weak|strong)|traded)\b|\d%",
    re.IGNORECASE,
)
_AMOUNT = (
    r"[\d〇零一二两三四五六七八九十百千万][\d,.〇零一二两三四五六七八九十百千万]{0,12}\s{0,2}(?:(?:股|手|份|张|枚|个|美元|元|块)"
    r"|shares?\b|lots?\b|contracts?\b|coins?\b|btc\b|eth\b)"
)
_TRADE = re.compile(
    rf"(?:买入|卖出|买了|卖了|加仓|减仓|建仓|清仓|补仓|平仓|成交|下单)[^。；;]{{0,24}}{_AMOUNT}"
    rf"|{_AMOUNT}[^。；;]{{0,16}}(?:买入|卖出|成交)"
    r"|(?:已经?|刚刚?|昨天|今天|今日)[^。；;]{0,12}(?:买入|卖出|买了|卖了|加仓|减仓|建仓|清仓|补仓|平仓)"
    r"|(?:买入|卖出|加仓|减仓|建仓|清仓|补仓|平仓)了"
    rf"|\b(?:bought|sold|purchased|opened|closed|added|trimmed)\b[^.;]{{0,24}}{_AMOUNT}"
    r"|\b(?:bought|sold|purchased)\b",
    re.IGNORECASE,
)
_HOLDING = re.compile(
    rf"(?:持有|持仓|仓位|手里有|账户)[^。；;]{{0,24}}{_AMOUNT}"
    r"|(?:成本|均价|浮盈|浮亏|盈亏)[价为是约:：]*\s*[-+]?\d"
    r"|(?:目前|当前|现在|现)[^。；;]{0,8}(?:持有|持仓|重仓|满仓|空仓|半仓|仓位|现金)"
    rf"|\b(?:holds?|holding|owns?|position of|account has)\b[^.;]{{0,24}}{_AMOUNT}"
    r"|\b(?:cost basis|average cost|entry price|p&l|unrealized|unrealised)\b"
    r"|\bcurrent(?:ly)? (?:holds?|holding|holdings|positions?|portfolio)\b",
    re.IGNORECASE,
)
_TOOL = re.compile(
    r"\b[a-z]+(?:_[a-z]+){1,5}\b|调用(?:了|工具|接口)|(?:工具|接口)(?:返回|调用|结果|显示)|返回了"
    r"|\btool (?:call|result)s?\b|\bJSON\b|\bquery returned\b",
)
_FAILURE = re.compile(
    r"(?:失败|超时|报错|错误|不可用|获取不到|无法获取|没有数据|缺少数据|数据缺失|限流|中断)"
    r"|\b(?:failed|failure|timed? ?out|timeout|errors?|exception|unavailable|could not (?:fetch|get|load)|no data)\b",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"工具|接口|数据|调用|请求|查询|服务|行情源|系统|网络"
    r"|\b(?:tool|api|data|request|query|service|fetch|source|network|server)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_VERDICT = re.compile(
    r"看[多空好]|可以?[买卖建加减]|值得买|不值得|不?建议|推荐|买点|卖点|突破|跌破|超[买卖]|高估|低估|强势|弱势|评级|目标价|机会|趋势|走势|处于"
    r"|\b(?:bullish|bearish|buy|sell|hold|overbought|oversold|overvalued|undervalued|rating|target|breakout|strong|weak)\b",
    re.IGNORECASE,
)


def refused(text: str, codes: tuple[str, ...] = ()) -> Reason | None:
    """Why a line is no memory, or None where it may be one (MEM-4). `codes`: the symbols that it names."""
    line = text.strip()
    return next((reason for reason, holds in _reasons(line, bool(codes)) if holds), None)


def _reasons(line: str, named: bool) -> Iterator[tuple[Reason, bool]]:
    """Each reason with whether it holds, in order."""
    now = bool(_NOW.search(line))
    standing = bool(_STANDING.search(line))
    loose = now or not standing  # no discipline by its words
    market = bool(_MARKET.search(line))
    yield "empty", len(line) < SHORTEST
    yield "failure", loose and bool(_FAILURE.search(line) and _FAILS.search(line))
    yield "tool", bool(_TOOL.search(line))
    yield "holding", loose and bool(_HOLDING.search(line))
    yield "trade", loose and bool(_TRADE.search(line))
    yield "verdict", now and named and bool(_VERDICT.search(line))
    yield "market", market and now
    moved = bool(_MOVED.search(line) and _DIGIT.search(line))
    yield "market", (market or named) and not standing and moved
    yield "market", now and not standing and (moved or (named and bool(_DIGIT.search(line))))
