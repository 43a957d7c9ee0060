"""What a report says in sentences, from its figures alone; the same figures always give the same words."""

from collections.abc import Sequence

from agent_core.finance.report_document import Language
from agent_core.tools.report_figures import Facts
from agent_core.tools.wyckoff import KINDS, PHASES, rule_words

NONE = "—"
TRENDS = {
    "en": {"up": "up", "down": "down", "sideways": "sideways"},
    "zh": {"up": "上升", "down": "下降", "sideways": "横盘"},
}
LABELS = {
    "en": {
        "fact": "objective fact",
        "logic": "logic tool",
        "heuristic": "logic tool, heuristic",
        "own": "from your own book",
        "model": "mixed, written by a model",
    },
    "zh": {
        "fact": "客观事实",
        "logic": "逻辑工具",
        "heuristic": "逻辑工具，启发式",
        "own": "来自您自己的账本",
        "model": "混合，由模型撰写",
    },
}
_ADJUSTMENTS = {
    "as traded": "未复权",
    "adjusted for splits, not for dividends": "已按拆股复权，未按股息复权",
    "adjusted for splits and dividends": "已按拆股与股息复权",
}


def adjustment(language: Language, said: str) -> str:
    """What was done to prices; a source's own words stay."""
    return _ADJUSTMENTS.get(said, said) if language == "zh" else said


def amount(value: float | None) -> str:
    """A price: two decimals, or four significant digits below one."""
    if value is None:
        return NONE
    return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.4g}"


def moved(value: float | None) -> str:
    """A change in percent, with its sign."""
    return NONE if value is None else f"{value:+.2f} %"


def share(value: float | None) -> str:
    """A size in percent, without a sign."""
    return NONE if value is None else f"{value:.2f} %"


def levels(values: Sequence[float | None]) -> str:
    """Support or resistance, nearest first."""
    return " · ".join(amount(value) for value in values) or NONE


def name(language: Language, code: str, en: str, zh: str) -> str:
    """A symbol with its name where that says more than its code."""
    shown = zh if language == "zh" else en
    return code if not shown or shown == code else f"{code} {shown}"


def conclusion(language: Language, one: Facts) -> str:
    """A symbol in a line: what is kept of a report, and what its summary begins with."""
    if language == "zh":
        return (
            f"{one.symbol}：{one.end} 收于 {amount(one.last_close)} {one.currency}，自 {one.start} 以来 "
            f"{moved(one.change_pct)}；趋势{TRENDS['zh'][one.trend]}，年化波动率 {share(one.volatility_pct)}，"
            f"最大回撤 {share(one.drawdown_pct)}"
        )
    return (
        f"{one.symbol}: {amount(one.last_close)} {one.currency} on {one.end}, {moved(one.change_pct)} since "
        f"{one.start}; trend {one.trend}, volatility {share(one.volatility_pct)} a year, maximum drawdown "
        f"{share(one.drawdown_pct)}"
    )


def prices(language: Language, one: Facts) -> str:
    """How the price came where it is."""
    if language == "zh":
        return (
            f"{one.start} 至 {one.end} 共 {one.days} 个交易日，收盘价由 {amount(one.first_close)} 变为 "
            f"{amount(one.last_close)} {one.currency}（{moved(one.change_pct)}）。最高 {amount(one.high)}"
            f"（{one.high_date}），最低 {amount(one.low)}（{one.low_date}）。"
        )
    return (
        f"Over the {one.days} trading days from {one.start} to {one.end} the close went from "
        f"{amount(one.first_close)} to {amount(one.last_close)} {one.currency} ({moved(one.change_pct)}). The high "
        f"was {amount(one.high)} on {one.high_date}, the low {amount(one.low)} on {one.low_date}."
    )


def trend(language: Language, one: Facts) -> str:
    """The trend, and the nearest level on each side."""
    below, above = _nearest(one.support), _nearest(one.resistance)
    if language == "zh":
        return (
            f"趋势{TRENDS['zh'][one.trend]}，强度 {one.trend_strength:.2f}（0 到 1）：最近 {one.fitted_days} "
            f"个交易日的拟合线变动 {moved(one.fitted_pct)}。最近的支撑 {below}，最近的阻力 {above}。"
        )
    return (
        f"The trend is {one.trend} with strength {one.trend_strength:.2f} on a scale from 0 to 1: a line fitted to "
        f"the last {one.fitted_days} closes changes by {moved(one.fitted_pct)}. The nearest support is {below}, the "
        f"nearest resistance {above}."
    )


def _nearest(values: Sequence[float | None]) -> str:
    return amount(values[0]) if values else NONE


def phase(language: Language, one: Facts) -> str:
    """The phase after Wyckoff with its rule, which is a heuristic and said to be one."""
    rule = rule_words(language, one.rule)
    if language == "zh":
        named = PHASES[one.phase]
        return f"威科夫阶段（启发式，并非事实）：{named}。规则 {one.rule}：{rule}。"
    return f"Phase after Wyckoff, a heuristic and no fact: {one.phase}. Rule {one.rule}: {rule}."


def signs(language: Language, one: Facts) -> tuple[str, ...]:
    """Candidates for events, newest first."""
    if language == "zh":
        return tuple(f"{s['date']}：{KINDS[s['kind']]}，{amount(s['price'])}" for s in one.signs)
    return tuple(f"{s['date']}: {s['kind']} candidate at {amount(s['price'])}" for s in one.signs)


def risk(language: Language, one: Facts) -> str:
    """How much it swings and fell."""
    fell = ""
    if one.drawdown_peak:
        between = f"{one.drawdown_peak} – {one.drawdown_trough}"
        fell = f"（{between}）" if language == "zh" else f" ({between})"
    if language == "zh":
        said = f"年化波动率 {share(one.volatility_pct)}；最大回撤 {share(one.drawdown_pct)}{fell}。"
        often = f"历史上每二十个交易日约有一日的跌幅超过 {share(one.var_95)}。"
    else:
        deep = f"{share(one.drawdown_pct)}{fell}"
        said = f"Volatility is {share(one.volatility_pct)} a year, the maximum drawdown {deep}."
        often = f" On about one day in twenty the loss was larger than {share(one.var_95)}."
    return said + often * (one.var_95 is not None)


def limits(language: Language) -> list[str]:
    """What a report made of prices alone cannot know."""
    if language == "zh":
        return [
            "本报告只依据价格与成交量，不含基本面、新闻与估值",
            "趋势、支撑阻力与风险数字描述过去的价格；历史 VaR 假设未来如过去",
            "威科夫阶段与事件为启发式规则的结果，不能单独作为依据",
        ]
    return [
        "The report rests on prices and volumes alone: no fundamentals, no news, no valuation.",
        "Trend, levels and risk figures describe past prices; historical VaR takes the future to be like the past.",
        "Phases and events after Wyckoff come from heuristic rules and are never a sole ground.",
    ]
