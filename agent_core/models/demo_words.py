"""What the demo planner says, in English and Chinese. Numbers come from tools alone.

No text here holds a digit, but for the columns 1m, 3m and 1y, which are so named in the tool's own result.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from agent_core.models.demo_ask import Language, Want

Key = Literal[
    "help", "thanks", "unknown", "which", "no_symbol", "no_tool", "advice", "closed", "nothing", "disclaimer",
    "counted", "demo", "source", "window", "as_of", "rose", "fell", "flat", "moved", "best", "highest", "lowest",
    "volume", "before", "trend", "strength", "averages", "macd", "band", "drawdown", "support", "resistance", "none",
    "chart", "cut", "failed", "matches", "no_matches", "has_data", "no_data", "overview", "change", "table_history",
    "table_overview", "shortened", "ask", "volatility", "handed",
    "which_of", "news", "begun", "without", "not_here", "in_preset", "quoted", "skill_loaded",
]  # fmt: skip

EXAMPLES_EN = """\
- How did Google do last year, and what does its trend look like?
- Compare Apple and Microsoft over the past year
- Show me a chart of IBM
- What are the support levels of Apple?
- Market overview
- Backtest a moving average cross on Google
- Which shares are above their average? · My portfolio
- 分析一下苹果的走势"""
EXAMPLES_ZH = """\
- 谷歌去年表现怎么样，走势如何？
- 对比苹果和微软最近一年的表现
- 画一张 IBM 的走势图
- 苹果的支撑位在哪里？
- 市场概览
- 回测谷歌的 MACD 策略
- 选股 · 我的持仓
- How did Google do last year?"""

TEXTS: dict[Language, dict[Key, str]] = {
    "en": {
        "help": "I am the **demo planner**: I need no key, I follow simple rules, and every number that I write was "
        "returned by a tool. You can ask me for example:\n\n"
        + EXAMPLES_EN
        + "\n\nA follow-up such as “and its risk?” "
        "works too. For free conversation, set up a model with a key or a local endpoint.",
        "thanks": "You are welcome.",
        "unknown": "That is beyond the **demo planner**: it understands simple requests about prices, trends, charts, "
        "names, backtests, screens and your portfolio, and little else. These work:\n\n"
        + EXAMPLES_EN
        + "\n\nWith a key or a local model set, I can do more.",
        "which": "Which share do you mean? Name it or give its code, such as Apple, Google, IBM or Microsoft.",
        "no_symbol": "I found no share with prices under the name “{name}”. Try its code, or ask "
        "for a market overview to see which ones there are.",
        "no_tool": "No tool that could answer this is offered here.",
        "advice": "The demo gives no advice to buy or sell; these are the facts.",
        "closed": "I had to finish without further tools; this is what was there by then.",
        "nothing": "The tools brought nothing that I could quote.",
        "disclaimer": "Past results say nothing about the future; not investment advice.",
        "counted": "The period is counted back from {day}, the last day of the data.",
        "demo": "demo planner",
        "source": "source {0}",
        "window": "window {0}",
        "as_of": "as of {0}",
        "rose": "rose",
        "fell": "fell",
        "flat": "did not move",
        "moved": "**{symbol}**{name} {verb}: **{change} %**, from {first} to {last}{currency}, {window}.",
        "best": "**{best}** did best ({best_change} %), **{worst}** worst ({worst_change} %), {window}.",
        "highest": "Highest: {0} ({1})",
        "lowest": "Lowest: {0} ({1})",
        "before": "Counted from the close before the period ({0}): {1} %",
        "volume": "Average volume: {volume}",
        "trend": "**{symbol}{name}: trend {direction}**",
        "strength": "strength {0}",
        "averages": "Moving averages: ",
        "macd": "MACD {macd} (signal {signal}, histogram {histogram})",
        "band": "Bollinger band: {lower} … {upper}",
        "drawdown": "Largest drawdown: {pct} % ({peak} … {trough})",
        "support": "Support: {0}",
        "resistance": "Resistance: {0}",
        "none": "none found",
        "chart": "Chart: {symbol}, {window}.",
        "cut": "The result of {tool} was too long to be quoted here.",
        "failed": "{what}: {why}",
        "matches": "Found for “{name}”:",
        "no_matches": "Nothing was found for “{name}”.",
        "has_data": "prices available",
        "no_data": "no prices here",
        "overview": "Last closes and returns, as of {day}:",
        "change": "Change: {0} %",
        "table_history": "| Symbol | First close | Last close | Change | Highest | Lowest |",
        "table_overview": "| Symbol | Last close | Day | 1m | 3m | 1y |",
        "shortened": "The answer of {agent} was cut; it is a summary.",
        "ask": "{agent} needs your word: {why}",
        "volatility": "Volatility: {0} % a year",
        "handed": "This is what the others brought:",
        "which_of": "Several shares have the name “{name}”. Which one is meant?",
        "news": "A background task has ended.",
        "begun": "It runs in the background (task {id}); the result comes here by itself.",
        "without": "`{tool}` is not offered here; this is what comes nearest.",
        "not_here": "`{tool}`, which this needs, is not offered here.",
        "in_preset": "The preset {preset} has it: `/preset {preset}`.",
        "quoted": "From {what}:",
        "skill_loaded": "The skill {name} was loaded; what I can do of it follows.",
    },
    "zh": {
        "help": "我是**演示规划器（demo）**：不需要密钥，按简单的规则工作，写出的每个数字都来自工具。您可以这样问：\n\n"
        + EXAMPLES_ZH
        + "\n\n想自由对话，请在设置里填一个带密钥的模型或本地模型。",
        "thanks": "不客气。",
        "unknown": "这超出了**演示规划器（demo）**的能力："
        "它只懂行情、走势、图表、名称、回测、选股和持仓方面的简单请求。可以这样问：\n\n"
        + EXAMPLES_ZH
        + "\n\n设置了密钥或本地模型之后，我能做得更多。",
        "which": "您指的是哪只股票？请写名称或代码，例如苹果、谷歌、IBM 或微软。",
        "no_symbol": "没有找到名为“{name}”且有行情的股票。请试试代码，或问“市场概览”看看有哪些。",
        "no_tool": "这里没有能回答这个问题的工具。",
        "advice": "演示版不提供买卖建议；以下只是事实。",
        "closed": "我只能在不再调用工具的情况下结束；以下是已有的内容。",
        "nothing": "工具没有返回可以引用的内容。",
        "disclaimer": "过往表现不代表未来，不构成投资建议。",
        "counted": "区间从数据的最后一天 {day} 往回计算。",
        "demo": "演示 demo",
        "source": "来源 {0}",
        "window": "区间 {0}",
        "as_of": "截至 {0}",
        "rose": "上涨",
        "fell": "下跌",
        "flat": "持平",
        "moved": "**{symbol}**{name}{verb}：**{change} %**，由 {first} 到 {last}{currency}，{window}。",
        "best": "**{best}** 表现最好（{best_change} %），**{worst}** 最差（{worst_change} %），{window}。",
        "highest": "最高：{0}（{1}）",
        "lowest": "最低：{0}（{1}）",
        "before": "按区间前一个收盘价（{0}）计算：{1} %",
        "volume": "平均成交量：{volume}",
        "trend": "**{symbol}{name}：趋势{direction}**",
        "strength": "强度 {0}",
        "averages": "均线：",
        "macd": "MACD {macd}（信号线 {signal}，柱 {histogram}）",
        "band": "布林带：{lower} … {upper}",
        "drawdown": "最大回撤：{pct} %（{peak} … {trough}）",
        "support": "支撑：{0}",
        "resistance": "压力：{0}",
        "none": "未找到",
        "chart": "图表：{symbol}，{window}。",
        "cut": "{tool} 的结果太长，这里无法引用。",
        "failed": "{what}：{why}",
        "matches": "“{name}”的查找结果：",
        "no_matches": "没有找到“{name}”。",
        "has_data": "有行情",
        "no_data": "无行情",
        "overview": "最新收盘与收益，截至 {day}：",
        "change": "涨跌：{0} %",
        "table_history": "| 代码 | 首日收盘 | 末日收盘 | 涨跌 | 最高 | 最低 |",
        "table_overview": "| 代码 | 最新收盘 | 当日 | 1m | 3m | 1y |",
        "shortened": "{agent} 的回答被截短，只是摘要。",
        "ask": "{agent} 需要您的决定：{why}",
        "volatility": "年化波动率：{0} %",
        "handed": "以下是其他成员提供的内容：",
        "which_of": "有几只股票叫“{name}”，您指的是哪一只？",
        "news": "一个后台任务已结束。",
        "begun": "已在后台运行（任务 {id}），结果会自动发到这里。",
        "without": "这里没有 `{tool}`，以下是最接近的内容。",
        "not_here": "这里没有所需的工具 `{tool}`。",
        "in_preset": "预设 {preset} 提供它：`/preset {preset}`。",
        "quoted": "来自 {what}：",
        "skill_loaded": "已加载技能 {name}；以下是我能完成的部分。",
    },
}

DIRECTIONS: dict[Language, dict[str, str]] = {
    "en": {"up": "up", "down": "down", "sideways": "sideways"},
    "zh": {"up": "向上", "down": "向下", "sideways": "横盘"},
}
STATUSES: dict[Language, dict[str, str]] = {
    "en": {
        "partial": "{agent} finished only in part",
        "empty": "{agent} brought no result",
        "invalid_output": "{agent} answered in a form that does not hold",
        "timeout": "{agent} timed out",
        "error": "{agent} failed",
        "over_budget": "{agent} ran out of budget",
        "denied": "{agent} was refused",
        "cancelled": "{agent} was stopped",
    },
    "zh": {
        "partial": "{agent} 只完成了一部分",
        "empty": "{agent} 没有结果",
        "invalid_output": "{agent} 的回答不符合要求",
        "timeout": "{agent} 超时",
        "error": "{agent} 失败",
        "over_budget": "{agent} 预算用尽",
        "denied": "{agent} 被拒绝",
        "cancelled": "{agent} 被停止",
    },
}
ACTIONS: dict[Language, dict[str, str]] = {
    "en": {
        "use_partial": "what it brought is used, the rest is missing.",
        "fallback_to_direct_tools": "direct tools were used instead.",
        "no_tools": "nothing could be used instead, so its part is missing.",
        "stop_and_report": "I stop here.",
        "delegate_to": "another agent took over.",
    },
    "zh": {
        "use_partial": "已使用其部分结果，其余缺失。",
        "fallback_to_direct_tools": "改用直接工具。",
        "no_tools": "没有可替代的工具，这一部分缺失。",
        "stop_and_report": "到此为止。",
        "delegate_to": "由另一个代理接手。",
    },
}
TASKS: dict[Language, dict[Want, str]] = {
    "en": {
        Want.HISTORY: "Price history of {symbols}{period}. Numbers only, no chart.",
        Want.TREND: "Trend, support and resistance levels, and risk of {symbols}{period}. Numbers only, no chart.",
    },
    "zh": {
        Want.HISTORY: "查询 {symbols} {period}的历史行情。只要数字，不要图表。",
        Want.TREND: "说明 {symbols} {period}的趋势、支撑、压力与风险。只要数字，不要图表。",
    },
}


def say(language: Language, key: Key, *args: object, **fields: object) -> str:
    """The text, with its fields filled in."""
    return TEXTS[language][key].format(*args, **fields)


def task_text(
    language: Language, want: Want, symbols: Sequence[str], days: Mapping[str, str]
) -> str:
    """The task of a sub-agent, in words that `demo_intent.read` understands."""
    names = (" and " if language == "en" else " 和 ").join(symbols)
    return TASKS[language][want].format(symbols=names, period=_period(language, days))


def _period(language: Language, days: Mapping[str, str]) -> str:
    start, end = days.get("start"), days.get("end")
    if language == "en":
        if start and end:
            return f" from {start} to {end}"
        return f" since {start}" if start else f" until {end}" if end else ""
    if start and end:
        return f"{start} 至 {end} "
    return f"{start} 以来" if start else f"截至 {end} " if end else ""
