"""A long tool result in a few hundred characters, for a summariser's eyes only (CMP-21).

What a later decision hangs on is kept first: code, name, state of health, latest price, signals, conclusions, and the
last five daily bars. The row keeps the whole result.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from agent_core.text import clip, one_line

STALE_CHARS = 800  # CMP-21: only longer ones are shortened
LEAST_CHARS, MOST_CHARS = 400, 600  # CMP-21
LAST_BARS = 5

_LINE_CHARS = 130
_READ_CHARS = 200_000  # beyond, a result is data in bulk: its beginning and its end say what it is
_TELLING = re.compile(
    r"symbol|code|name|health|price|close|latest|signal|conclu|verdict|trend|reason|phase|error|recommend|support"
    r"|resistance|risk|代码|名称|健康|最新|现价|收盘|信号|结论|趋势|建议|支撑|压力|风险|错误|失败",
    re.IGNORECASE,
)
_BAR = re.compile(r"^[\s|\[{(\"']*(?:date\W{0,4})?\d{4}-?\d{2}-?\d{2}\b")


def shrunk(content: str) -> str:
    """The result in 400 to 600 characters: telling lines and last bars, then its beginning. For longer texts only."""
    lines = list(_lines(content))
    mark = f"[shortened from {len(content)} characters]"
    room = MOST_CHARS - len(mark) - 1
    kept: set[int] = set()
    for at in _by_weight(lines):
        if at not in kept and len(lines[at]) < room:
            kept.add(at)
            room -= len(lines[at]) + 1
    chosen = "\n".join(lines[at] for at in sorted(kept))
    if len(chosen) + len(mark) + 1 < LEAST_CHARS:
        fill = MOST_CHARS - len(mark) - len(chosen) - 2
        chosen = f"{chosen}\n{clip(one_line(content[:_READ_CHARS]), fill)}".strip()
    return f"{chosen}\n{mark}"


def _by_weight(lines: list[str]) -> Iterator[int]:
    bars = [at for at, line in enumerate(lines) if _BAR.match(line)]
    telling = [at for at, line in enumerate(lines) if _TELLING.search(line) and at not in bars]
    yield from telling[:3]
    yield from reversed(bars[-LAST_BARS:])
    yield from telling[3:]
    yield from (at for at in range(len(lines)) if at not in bars)


def _lines(content: str) -> Iterator[str]:
    if len(content) > _READ_CHARS:
        content = content[: _READ_CHARS // 2] + "\n" + content[-_READ_CHARS // 2 :]
    elif content.lstrip()[:1] in {"{", "["}:
        try:
            yield from _json_lines("", json.loads(content), 0)
        except (ValueError, RecursionError):
            pass
        else:
            return
    for line in content.splitlines():
        if line.strip():
            yield clip(one_line(line), _LINE_CHARS)


def _json_lines(name: str, value: Any, depth: int) -> Iterator[str]:
    """One line for each field; of a list the last elements, each on a line without its keys."""
    if isinstance(value, dict) and depth < 2:
        for key, inner in value.items():
            yield from _json_lines(f"{name}.{key}" if name else str(key), inner, depth + 1)
    elif isinstance(value, list) and value and isinstance(value[-1], dict | list):
        for inner in value[-LAST_BARS:]:
            values = inner.values() if isinstance(inner, dict) else inner
            yield clip(" ".join(_plain(v) for v in values), _LINE_CHARS)
    else:
        shown = _plain(value)
        yield clip(f"{name}: {shown}" if name else shown, _LINE_CHARS)


def _plain(value: Any) -> str:
    return (
        one_line(value)
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)
    )
