"""Alert rules in words, English and Chinese: reading them, and saying them again.

"above 400", "down 5%", "down 5% today", "rsi below 30", "above sma200"; 高于 400, 跌破 300, 涨 5%, 当日跌 5%.
Words before the rule are what it is about: "GOOG above 400", 谷歌跌破300.
"""

import re
from dataclasses import dataclass
from typing import Literal

from agent_core.finance import readings
from agent_core.finance.alert_rules import AVERAGES, INDICATORS, Hit, Rule, Side, Watch

Language = Literal["en", "zh"]
MOST_PERCENT = 1_000.0
_ABOVE = "above|over|exceeds?|higher than|more than|>=|>|涨破|涨到|涨至|升破|升到|突破|站上|上破|高于|超过|大于"
_BELOW = "below|under|lower than|less than|<=|<|跌破|跌到|跌至|跌穿|失守|下破|低于|小于"
_UP = "up|rises?|gains?|climbs?|上涨|涨幅超过|涨幅|涨"
_DOWN = "down|falls?|drops?|loses?|下跌|跌幅超过|跌幅|跌"
_NUMBER = r"(?P<number>[0-9][0-9,]*(?:\.[0-9]+)?)"
_PERCENT = re.compile(
    rf"(?P<before>.*?)(?:(?<![a-z])(?P<up>{_UP})(?![a-z])|(?<![a-z])(?P<down>{_DOWN})(?![a-z]))"
    rf"\s*(?:by|了|超过|more than|over)?\s*{_NUMBER}\s*(?:%|percent|个点)(?P<after>.*)"
)
_LEVEL = re.compile(
    rf"(?P<before>.*)(?:(?<![a-z])(?P<above>{_ABOVE})|(?<![a-z])(?P<below>{_BELOW}))(?P<after>.*)"
)
_AMOUNT = re.compile(
    rf"[$¥￥€£]?\s*{_NUMBER}\s*(?:usd|cny|hkd|rmb|美元|元|港元|港币|块|点)?(?P<rest>.*)"
)
_INDICATOR = re.compile(
    r"(?P<rest>.*?)(?<![a-z0-9])(?P<name>(?:sma|ema|ma|rsi|macd|atr|stoch|stochastic|adx)[ _(]?\d{0,4}\)?)\s*"
)
_DAY = re.compile(
    r"\s*(?:today|in (?:a|one) day|a day|daily|within (?:a|one) day|intraday|单日|当日|当天|日内|一天内?|今日|今天)\s*"
)
_REPEAT = re.compile(
    r"\s*(?:(?:and )?repeat(?:ing|edly)?|each time|every time|always|每次都?(?:提醒)?|重复(?:提醒)?|反复(?:提醒)?)\s*"
)
# Words between what it is about and the rule, which say nothing of their own.
_FILLER = re.compile(
    r"(?:\s|,|，|(?<![a-z])(?:when|if|is|goes|rises|climbs|gets|moves|falls|drops|closes|trades|the|price|close)(?![a-z])"
    r"|如果|的?(?:股价|价格|收盘价|现价)|的|时|当|若)+$"
)
_LEAD = re.compile(r"\s*(?:(?:when|if|the price of|price of|the)(?![a-z])|如果|若|当)\s*")
_TAIL = re.compile(
    r"[\s.。!！,，]*(?:时?(?:提醒我|通知我|告诉我)|(?:then )?(?:tell|alert|notify) me)?[\s.。!！,，]*"
)
MOST_CHARS = 300  # of a rule in words; what is longer would only be slow to take apart
_WIDE = {c: c - 0xFEE0 for c in range(0xFF01, 0xFF5F)}


class BadRule(ValueError):
    """Words that are a rule, and one that cannot be; the text says why in the language that was asked for."""


@dataclass(frozen=True, slots=True)
class Said:
    """A rule, what it is about ("" where nothing stands before it), and whether it is to repeat."""

    about: str
    rule: Rule
    repeat: bool = False


def parse(words: str, language: Language = "en") -> Said | None:
    """The rule in words, or None where there is none or they are too many. Raises BadRule for senseless numbers."""
    text = " ".join(words.translate(_WIDE).split())
    if len(text) > MOST_CHARS:
        return None
    text, repeats = _REPEAT.subn(" ", text)
    folded = _folded(text)
    text, folded, days = _without_day(text, folded)
    match = _PERCENT.fullmatch(folded)
    if match is not None and _TAIL.fullmatch(match["after"]):
        about = _about(text[: match.end("before")])
        return Said(about, _move(match, language, day=bool(days)), bool(repeats))
    match = _LEVEL.fullmatch(folded)
    if match is None or days:
        return None
    side: Side = "above" if match["above"] else "below"
    found = _compared(text[: match.end("before")], match["before"], match["after"], side, language)
    return None if found is None else Said(found[0], found[1], bool(repeats))


def _folded(text: str) -> str:
    """The same text in small letters, each at its place."""
    return "".join(c.lower() if c.isascii() else c for c in text)


def _without_day(text: str, folded: str) -> tuple[str, str, int]:
    match = _DAY.search(folded)
    if match is None or not any(unit in folded for unit in ("%", "percent", "个点")):
        return text, folded, 0
    text = f"{text[: match.start()]} {text[match.end() :]}".strip()
    return text, _folded(text), 1


def _move(match: re.Match[str], language: Language, *, day: bool) -> Rule:
    side: Side = "above" if match["up"] else "below"
    percent = _number(match["number"])
    most = MOST_PERCENT if side == "above" else 100.0
    if not 0 < percent < most:
        zh = f"百分比必须大于 0 且小于 {most:g}"
        raise BadRule(zh if language == "zh" else f"a move is above 0 % and below {most:g} %")
    return Rule("day" if day else "move", side, percent)


def _compared(
    text: str, before: str, after: str, side: Side, language: Language
) -> tuple[str, Rule] | None:
    """What is compared with what; None where no level or indicator follows."""
    left, about = "", text
    if (named := _INDICATOR.fullmatch(before)) is not None:
        left, about = _label(named["name"]), text[: named.end("rest")]
    right, level = "", 0.0
    if (other := _INDICATOR.match(after.strip())) is not None and not other["rest"]:
        right, rest = _label(other["name"]), after.strip()[other.end() :]
    elif (amount := _AMOUNT.match(after.strip())) is not None:
        level, rest = _number(amount["number"]), amount["rest"]
    else:
        return None
    if not _TAIL.fullmatch(rest):
        return None
    rule = Rule("indicator" if left or right else "price", side, level, left, right)
    _check(rule, language)
    return _about(about), rule


def _check(rule: Rule, language: Language) -> None:
    zh = language == "zh"
    left = readings.parse(rule.left).name if rule.left else ""
    right = readings.parse(rule.right).name if rule.right else ""
    if right and (right not in AVERAGES or left not in ("", *AVERAGES)):
        why = "价格或均线只能与 sma、ema 均线比较"
        raise BadRule(why if zh else "only a price or an average can be compared with sma or ema")
    if not rule.right and rule.level <= 0 and left != "macd":
        raise BadRule("水平必须大于 0" if zh else "a level is above 0")


def _label(written: str) -> str:
    """The indicator's label. Raises BadRule for a period that there is not."""
    try:
        asked = readings.parse(written)
    except ValueError as e:
        raise BadRule(str(e)) from e
    if asked.name not in INDICATORS:
        raise BadRule(f"{asked.name}: {', '.join(INDICATORS)}")
    return asked.label


def _about(text: str) -> str:
    """What the rule is about, without the words that lead to the rule."""
    shown = text.strip()
    while (match := _FILLER.search(_folded(shown))) is not None:
        shown = shown[: match.start()].strip()
    while (match := _LEAD.match(_folded(shown))) is not None:
        shown = shown[match.end() :]
    return shown


def _number(written: str) -> float:
    return float(written.replace(",", ""))


def words(name: str, watch: Watch, language: Language, currency: str = "") -> str:
    """The alert as a line for a person: GOOG above 400 USD."""
    rule, zh = watch.rule, language == "zh"
    above = rule.side == "above"
    if rule.kind in ("move", "day"):
        moved = ("涨" if above else "跌") if zh else ("up" if above else "down")
        if rule.kind == "day":
            return (
                f"{name} 单日{moved} {rule.level:g}%"
                if zh
                else f"{name} {moved} {rule.level:g} % in a day"
            )
        since = f"{_money(watch.base)} ({watch.base_day})"
        return (
            f"{name} 较 {since} {moved} {rule.level:g}%"
            if zh
            else f"{name} {moved} {rule.level:g} % from {since}"
        )
    side = ("高于" if above else "低于") if zh else rule.side
    in_money = not rule.left or readings.parse(rule.left).name in AVERAGES
    level = f"{_money(rule.level)} {currency}".strip() if in_money else f"{rule.level:g}"
    parts = (name, rule.left, side, rule.right or level)
    return " ".join(filter(None, parts))


def told(watch: Watch, hit: Hit, language: Language, currency: str = "") -> str:
    """What the value is, and on which day: 401.20 USD on 2026-01-05."""
    rule, zh = watch.rule, language == "zh"
    day = str(hit.day)
    if rule.kind == "day":
        return f"{day} 涨跌 {hit.value:+.2f}%" if zh else f"{hit.value:+.2f} % on {day}"
    value = _money(hit.value)
    if rule.left:
        level = f"{_money(hit.level)}"
        return (
            f"{day} {rule.left} 为 {value}（{level}）"
            if zh
            else f"{rule.left} was {value} on {day} ({level})"
        )
    paid = f"{value} {currency}".strip()
    shown = f"{rule.right or ''} {_money(hit.level)}".strip()
    return f"{day} 价格为 {paid}（界线 {shown}）" if zh else f"{paid} on {day} (level {shown})"


def _money(value: float) -> str:
    return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.4g}"
