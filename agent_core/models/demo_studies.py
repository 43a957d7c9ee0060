"""Arguments of what computes figures, from a person's words: backtests, screens, indicators, risk, sizes, calendars."""

import re
from typing import Any

from agent_core.models.demo_amounts import amount, named, numbers
from agent_core.models.demo_ask import Args, Ask
from agent_core.models.demo_period import Back


def _words(pattern: str) -> re.Pattern[str]:
    # ASCII: a Latin word also ends where a Han character begins.
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


# Words of a strategy, its name, and what the numbers beside it mean, in their order.
STRATEGIES: tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...] = (
    (_words(r"\bmacd\b"), "macd", ("fast", "slow", "signal")),
    (_words(r"\brsi\b|超买|超卖"), "rsi_reversion", ("lower", "upper")),
    (_words(r"bollinger|\bboll\b|布林"), "bollinger", ("period", "width")),
    (_words(r"donchian|break-?out|唐奇安|突破"), "donchian_breakout", ("entry", "exit")),
    (_words(r"momentum|动量"), "momentum", ("period",)),
    (_words(r"buy[\s-]+and[\s-]+hold|买入并?持有|一直持有"), "buy_and_hold", ()),
    (_words(r"\bema\b|exponential"), "ema_cross", ("fast", "slow")),
)
SMA_CROSS = ("sma_cross", ("fast", "slow"))
_COST = r"commission|fees?|佣金|手续费"
_CASH = r"with|cash|capital|本金|资金"
_INDICATOR = _words(
    r"\b(sma|ema|rsi|macd|boll(?:inger)?|atr|stoch(?:astic)?|obv|vwap|adx|donchian)[\s-]?(\d{1,3})?\b"
)
_AVERAGE = _words(r"(\d{1,3})[\s-]*(?:day|d\b|日|天)[^\d]{0,12}?(?:moving\s+)?(?:average|均线|线)")
_NAMES = {"bollinger": "boll", "stochastic": "stoch"}
_ABOVE = r"above|over|more\s+than|at\s+least|higher\s+than|高于|大于|超过|站上|高过"
_BELOW = r"below|under|less\s+than|at\s+most|lower\s+than|低于|小于|跌破|不到"
_BOUND = (
    rf"[^\d]{{0,24}}?(?:(?P<over>{_ABOVE})|(?P<under>{_BELOW}))[^\d]{{0,24}}?(?P<n>\d+(?:\.\d+)?)"
)
_AVERAGES = _words(
    rf"(?:(?P<over>{_ABOVE})|(?P<under>{_BELOW}))[^\d]{{0,14}}(?P<n>\d{{1,3}})[\s-]*(?:day|d\b|日|天)"
)
# Chinese also puts the side behind the average: 在200日均线上方.
_AVERAGES_BEHIND = _words(
    r"(?P<n>\d{1,3})\s*[日天]\s*(?:移动)?(?:平均线|均线|线)(?:(?P<over>上方|之上|以上|上面)|下方|之下|以下|下面)"
)
_BOUNDS = (
    (_words(rf"\brsi\b{_BOUND}"), "rsi"),
    (_words(rf"(?:volatil\w+|波动率?){_BOUND}"), "volatility_pct"),
    (_words(rf"(?:returns?|gain\w*|rose|risen|up|收益|涨幅?){_BOUND}\s*%"), "return_pct"),
)
# Words that rank, the measure, and whether the largest comes first.
_RANKS = (
    (_words(r"calm|low\w*\s+volatil|least\s+volatil|波动(?:最小|小|低)"), "volatility_pct", False),
    (_words(r"volatil|波动(?:最大|大|高)"), "volatility_pct", True),
    (_words(r"worst|weak|fell|fallen|los(?:t|ers?)|跌幅|最弱|最差"), "return_pct", False),
    (_words(r"\bhighs?\b|新高|高点"), "distance_to_high_pct", True),
    (_words(r"volume|放量|成交量"), "volume_ratio", True),
    (_words(r"overbought|超买"), "rsi", True),
    (_words(r"oversold|超卖"), "rsi", False),
)
_MARKETS = (
    (_words(r"hong\s*kong|\bhk\b|hkex|港股|香港"), "HK"),
    (_words(r"shenzhen|szse|深[圳市交]"), "SZSE"),
    (_words(r"shanghai|\bsse\b|china|chinese|a[\s-]?shares?|A股|沪|上海|上证|中国"), "SSE"),
    (_words(r"crypto|bitcoin|\bbtc\b|加密|比特币"), "CRYPTO"),
    (_words(r"\bus\b|\busa\b|u\.s\.|america\w*|nyse|nasdaq|wall\s+street|美股|美国|纽约"), "US"),
)
Choices = tuple[tuple[re.Pattern[str], str], ...]
_HORIZONS: Choices = (
    (_words(r"short[\s-]?term|weeks?|短线|短期"), "short"),
    (_words(r"medium[\s-]?term|months?|中线|中期"), "medium"),
    (_words(r"long[\s-]?term|a\s+year|长线|长期"), "long"),
)
_STYLES: Choices = (
    (_words(r"reversion|反转|均值回归"), "reversion"),
    (_words(r"break-?out|突破"), "breakout"),
    (_words(r"trend|趋势"), "trend"),
)
_FORMATS: Choices = (
    (_words(r"\bhtml\b|网页"), "html"),
    (_words(r"\bmarkdown\b"), "markdown"),
    (_words(r"\bpdf\b"), "pdf"),
)
_DIAGNOSED = _words(r"portfolio|holdings|持仓|组合")
_WHOLE = _words(r"markets?|大盘|市场")
_DIAGNOSE = _words(r"diagnos|risk|check|concentrat|diversif|诊断|体检|风险|集中|分散")


def backtest(ask: Ask) -> Args | None:
    """run_backtest: the shares, a strategy with its numbers, the period."""
    if not ask.symbols:
        return None
    # the person's own capital and costs are no parameters
    rest = re.sub(rf"(?:{_COST})[^\d]{{0,8}}[\d.]+\s*(?:bps)?|[\d.,]+\s*bps", " ", ask.rest)
    name, keys = next(((n, k) for p, n, k in STRATEGIES if p.search(rest)), SMA_CROSS)
    values = [n for n in numbers(rest) if n <= 400]
    if name == "rsi_reversion" and len(values) != 2:
        keys = ("period", "lower", "upper")
    made: dict[str, Any] = {"symbols": list(ask.symbols), "strategy": name}
    if values and keys:
        made["params"] = dict(zip(keys, values, strict=False))
    points = re.search(r"(\d+(?:\.\d+)?)\s*bps", ask.rest)
    if cost := amount(points[1]) if points else named(ask.rest, _COST):
        made["commission_bps"] = cost
    return made | ask.days


def screen(ask: Ask) -> Args:
    """screen_stocks: bounds and the measure to rank by; without any, by return."""
    rules = [*_average_bounds(ask.rest), *_bounds(ask.rest)]
    made: dict[str, Any] = {"rules": rules} if rules else {}
    measure, descending = next(((m, d) for p, m, d in _RANKS if p.search(ask.rest)), ("", True))
    days = ask.period.count if isinstance(ask.period, Back) and ask.period.unit == "day" else None
    if not rules or (measure and measure not in {rule["measure"] for rule in rules}):
        sort: dict[str, Any] = {"measure": measure or "return_pct", "descending": descending}
        made["sort"] = sort | ({"days": days} if days else {})
    return made | ({"symbols": list(ask.symbols)} if len(ask.symbols) > 1 else {})


def _average_bounds(text: str) -> list[dict[str, Any]]:
    return [
        {"measure": "above_sma_pct", "days": int(m["n"])} | {"min" if m["over"] else "max": 0}
        for pattern in (_AVERAGES, _AVERAGES_BEHIND)
        for m in pattern.finditer(text)
    ]


def _bounds(text: str) -> list[dict[str, Any]]:
    found = ((measure, pattern.search(text)) for pattern, measure in _BOUNDS)
    return [
        {"measure": measure, "min" if m["over"] else "max": amount(m["n"])}
        for measure, m in found
        if m
    ]


def indicators(ask: Ask) -> Args | None:
    """indicators: of one share, those that are named, the usual ones where none is."""
    if not ask.symbols:
        return None
    named_ones = [
        f"{_NAMES.get(m[1].lower(), m[1].lower())}{m[2] or ''}"
        for m in _INDICATOR.finditer(ask.rest)
    ]
    named_ones += [f"sma{m[1]}" for m in _AVERAGE.finditer(ask.rest)]
    if re.search(r"布林", ask.rest):
        named_ones.append("boll")
    names = {"names": list(dict.fromkeys(named_ones))} if named_ones else {}
    return {"symbol": ask.symbols[0], **names, **ask.days}


def risk(ask: Ask) -> Args | None:
    """risk_metrics: of the first share; the second is the benchmark, else all shares together are."""
    if not ask.symbols:
        return None
    first, benchmark, *_ = (*ask.symbols, "universe")
    return {"symbol": first, "benchmark": benchmark, **ask.days}


def several(ask: Ask) -> Args | None:
    """correlation: of two shares or more."""
    return {"symbols": list(ask.symbols), **ask.days} if len(ask.symbols) > 1 else None


def size(ask: Ask) -> Args | None:
    """position_size: account and stop must be named; entry and risk may be."""
    account = named(ask.rest, r"account|capital|账户|本金|资金|with")
    stop = named(ask.rest, r"stop(?:[\s-]?loss)?|止损价?")
    if account is None or stop is None:
        return None
    made: dict[str, Any] = {"account": account, "stop": stop}
    if (entry := named(ask.rest, r"entry|enter(?:ing)?|入场价?|买入价")) is not None:
        made["entry"] = entry
    if match := re.search(r"(\d+(?:\.\d+)?)\s*%", ask.rest):
        made["risk_pct"] = amount(match[1])
    return made | ({"symbol": ask.symbols[0]} if ask.symbols else {})


def market(ask: Ask) -> Args:
    """market_calendar: the market named, or that of the share; the day, if there is one."""
    named_one = next((code for pattern, code in _MARKETS if pattern.search(ask.rest)), None)
    day = {"date": ask.days["start"]} if "start" in ask.days else {}
    return {"market": named_one or (ask.symbols[0] if ask.symbols else "US"), **day}


def holdings(ask: Ask) -> Args:
    """portfolio: what is held, or its risks."""
    made: dict[str, Any] = {"mode": "diagnose" if _DIAGNOSE.search(ask.rest) else "view"}
    return made | ({"benchmark": ask.symbols[0]} if ask.symbols else {})


def one_share(ask: Ask) -> Args | None:
    """A tool that takes one share and nothing else."""
    return {"symbol": ask.symbols[0]} if ask.symbols else None


def shares(ask: Ask) -> Args | None:
    """A tool that takes a list of shares and nothing else."""
    return {"symbols": list(ask.symbols)} if ask.symbols else None


def nothing(_: Ask) -> Args:
    """A tool that needs no arguments."""
    return {}


def decision(ask: Ask) -> Args | None:
    """generate_strategy_decision: of one share, with horizon and style where they are named."""
    if not ask.symbols:
        return None
    made = {"symbol": ask.symbols[0]} | _chosen(ask.rest, _HORIZONS, "horizon")
    made |= _chosen(ask.rest, _STYLES, "style")
    return made | ({"end": ask.days["end"]} if "end" in ask.days else {})


def report(ask: Ask) -> Args | None:
    """generate_ai_report: on the shares named, on the portfolio, or on the market."""
    made: dict[str, Any] = _chosen(ask.rest, _FORMATS, "format")
    if _DIAGNOSED.search(ask.rest):
        return {"kind": "portfolio", **made}
    if ask.symbols:
        return {"symbols": list(ask.symbols), **made, **ask.days}
    return {"kind": "market", **made, **ask.days} if _WHOLE.search(ask.rest) else None


def _chosen(text: str, choices: Choices, field: str) -> dict[str, str]:
    return next(({field: value} for pattern, value in choices if pattern.search(text)), {})
