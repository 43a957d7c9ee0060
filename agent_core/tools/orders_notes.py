"""What the paper broker notes on an order, as a person reads it: kept in English, told in both languages."""

import re
from typing import Literal

from agent_core.finance import broker_paper

_ZH = {
    broker_paper.AT_CLOSE: "按最后收盘价成交：{source} 在 {day} 之后没有K线",
    broker_paper.AT_BAR: "由 {day} 的K线成交（{source}）",
    broker_paper.WAITS: "等待 {day} 之后的首根K线",
    broker_paper.ENDED: "{source} 在 {day} 之后没有K线：等到有行情，或撤单为止",
    broker_paper.CURRENCY: "{source} 的价格以 {found} 计，订单以 {wanted} 计：等待同币种行情",
    broker_paper.NOTHING: "暂无行情：{why}",
}
_FIELD = re.compile(r"\\\{(\w+)(?::\w+)?\\\}")  # a field of a template, after re.escape


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_FIELD.sub(r"(?P<\1>.+)", re.escape(template)))


_READ = tuple((_pattern(template), words) for template, words in _ZH.items())


def told(note: str, language: Literal["en", "zh"]) -> str:
    """A note in a person's language; what other brokers say stays as they say it."""
    if language == "zh":
        for pattern, words in _READ:
            if found := pattern.fullmatch(note):
                return words.format(**found.groupdict())
    return note
