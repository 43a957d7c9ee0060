"""What is said of a tool's result, as data: lines, tables and quotations that take their values from its fields.

A part whose values are missing is left out, so nothing is filled in. Values stand as the tool wrote them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.models.demo_ask import Language
from agent_core.models.demo_facts import Fields, listed, table_row
from agent_core.models.demo_turn import Outcome

MOST = 12  # items of one list
QUOTED = 700  # characters of a text that are quoted
FENCE = ("<untrusted>", "</untrusted>")
_ZH = {
    "up": "向上", "down": "向下", "sideways": "横盘", "calm": "平静", "normal": "正常", "stressed": "紧张",
    "high": "偏高", "buy": "买入", "sell": "卖出", "hold": "持有", "reduce": "减仓", "avoid": "回避",
    "no decision": "不作决定", "medium": "中等", "low": "偏低", "trend": "趋势", "reversion": "反转",
    "breakout": "突破", "momentum": "动量", "levels": "价位", "volatility": "波动", "phase": "阶段", "backtest": "回测",
    "market": "市价", "limit": "限价", "stop": "止损", "filled": "已成交", "open": "未成交",
    "cancelled": "已取消", "rejected": "被拒绝", "accumulation": "吸筹", "markup": "上涨", "distribution": "派发",
    "markdown": "下跌", "unclear": "不明", "long": "多头", "short": "空头", "flat": "空仓", "running": "运行中",
    "queued": "排队", "done": "完成", "failed": "失败", "interrupted": "中断", "True": "是", "False": "否",
    "rank": "名次", "symbol": "代码", "close": "收盘", "currency": "货币", "as_of": "日期",
}  # fmt: skip
_EN = {"True": "yes", "False": "no"}


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence with places {0}, {1} … for the values at `paths`; a table's cells where it has columns."""

    en: str
    zh: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """A line for each item of the list at `path`; the paths of the line begin at the item, "" is the item itself."""

    path: str
    line: Line


@dataclass(frozen=True, slots=True)
class Table:
    """The items at `path` as rows. `head` names the columns; without one, they are the items' own fields."""

    path: str
    head: Line | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """The beginning of the text at `path`, "" for the whole result; as a quotation."""

    path: str


@dataclass(frozen=True, slots=True)
class Empty:
    """A sentence where the list at `path` is there and holds nothing."""

    path: str
    line: Line


Part = Line | Each | Table | Quote | Empty


@dataclass(frozen=True, slots=True)
class Telling:
    """The parts of what is said of one tool's results. `figures`: they are prices or rest on them."""

    parts: tuple[Part, ...]
    figures: bool = True


def told(telling: Telling, outcome: Outcome, language: Language) -> str:
    """The section, "" where the result has nothing of it."""
    blocks: list[list[str]] = [[]]
    for part in telling.parts:
        if isinstance(part, Line):
            blocks[-1] += _line(part, outcome.data, language)
        elif isinstance(part, Each):
            items = _list(outcome.data, part.path)[:MOST]
            blocks[-1] += [line for item in items for line in _line(part.line, item, language)]
        elif isinstance(part, Empty):
            blocks[-1] += (
                _line(part.line, {}, language) if at(outcome.data, part.path) == [] else []
            )
        elif block := _block(part, outcome, language):
            blocks += [[block], []]
    return "\n\n".join(_shown(block) for block in blocks if block)


def _shown(lines: Sequence[str]) -> str:
    """The first line as it is, the others as a list; a table or a quotation alone."""
    if len(lines) == 1:
        return lines[0]
    return listed([lines[0], *(f"- {line}" for line in lines[1:])])


def _line(line: Line, data: Any, language: Language) -> Iterator[str]:
    values = [at(data, path) for path in line.paths]
    if all(value not in (None, "", [], {}) for value in values):
        text = line.en if language == "en" else line.zh
        yield text.format(*(_word(value, language) for value in values))


def _block(part: Table | Quote, outcome: Outcome, language: Language) -> str:
    if isinstance(part, Table):
        return _table(part, _list(outcome.data, part.path)[:MOST], language)
    text = at(outcome.data, part.path) if part.path else outcome.content
    return quoted(str(text or ""))


def _table(part: Table, items: Sequence[Any], language: Language) -> str:
    rows = [item for item in items if isinstance(item, Mapping)]
    if not rows:
        return ""
    if part.head is None:
        names = [_word(key, language) for key in rows[0]]
        cells = [[_cell(value, language) for value in row.values()] for row in rows]
    else:
        names = (part.head.en if language == "en" else part.head.zh).split(" | ")
        cells = [[_cell(at(row, path), language) for path in part.head.paths] for row in rows]
    ruler = f"|---|{'---:|' * (len(names) - 1)}"
    return "\n".join([table_row(names), ruler, *(table_row(row) for row in cells)])


def _cell(value: Any, language: Language) -> str | None:
    return None if value is None else _word(value, language)


def quoted(text: str) -> str:
    """The beginning of a text as a quotation, without the marks of its fence."""
    for mark in FENCE:
        text = text.replace(mark, "")
    text = text.strip()
    cut = text if len(text) <= QUOTED else f"{text[:QUOTED].rstrip()} …"
    return "\n".join(f"> {line}".rstrip() for line in cut.splitlines())


def _list(data: Fields, path: str) -> list[Any]:
    found = at(data, path)
    return found if isinstance(found, list) else []


def at(data: Any, path: str) -> Any:
    """The value at "a.b.0"; "*" joins what a list or an object holds. None where there is nothing."""
    if not path:
        return data
    key, _, rest = path.partition(".")
    if key == "*":
        return _joined(data, rest)
    if isinstance(data, Mapping):
        return at(data.get(key), rest)
    if isinstance(data, list) and key.isdigit() and int(key) < len(data):
        return at(data[int(key)], rest)
    return None


def _joined(data: Any, rest: str) -> str:
    if isinstance(data, Mapping):
        if len(data) == 1:
            return str(next(iter(data.values())))
        return ", ".join(f"{name} {value}" for name, value in data.items() if value is not None)
    found = [at(item, rest) for item in data] if isinstance(data, list) else []
    return ", ".join(str(item) for item in found if item is not None)


def _word(value: Any, language: Language) -> str:
    """A value as it stands; words of a fixed choice in the person's language."""
    text = str(value)
    return (_ZH if language == "zh" else _EN).get(text, text)
