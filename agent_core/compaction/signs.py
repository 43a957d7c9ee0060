"""Signs by which a text of an old row is worth keeping: codes, paths, words of weight, numbers.

Each pattern is bounded on both sides, so that a timestamp or a longer number is never taken for a code (ANC-5).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from agent_core import symbols, text

# ANC-4, and the same in English.
IMPORTANT = (
    *(
        "失败",
        "报错",
        "错误",
        "止损",
        "止盈",
        "持仓",
        "建仓",
        "提交",
        "回测",
        "todo",
        "supabase",
        "sqlite",
    ),
    *("error", "failed", "failure", "commit", "backtest", "stop loss", "stop-loss", "take profit"),
    *("holding", "holdings", "open position", "position"),
)
# What a text is searched for at most: a long tool result says in its beginning what it is about.
SCANNED_CHARS = 1_000

# Boards of the mainland exchanges by their leading digits; 5-digit Hong Kong codes only with their suffix.
_CODE = re.compile(
    r"(?<![\w.])(?:(?:60|68|00|30|43|83|87|92)\d{4}(?:\.(?:SH|SZ|BJ|SS))?|\d{4,5}\.HK|\$[A-Z]{1,5})(?![\w]|\.\d)",
    re.ASCII,
)
_DECIMAL = re.compile(r"\d\.$")  # before a code: it is the rest of a number
_PATH = re.compile(
    r"(?<![\w/.:])(?:[\w.-]{1,64}/){0,12}[\w-][\w.-]{0,79}"
    r"\.(?:py|pyi|js|ts|tsx|jsx|go|rs|java|c|h|cpp|sql|md|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|log|sh|ipynb|html"
    r"|css|xml|pdf|png|jpe?g|svg|xlsx?|db|sqlite|parquet|env|lock)(?![\w])"
    r"|(?<![\w/.:])/(?:[\w.-]{1,64}/){1,12}[\w.-]{1,80}",
    re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(
    r"(?<![\w.])(?P<date>\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}:\d{2})(?!\d)"
    r"|(?<![\w.])(?P<cur>[$¥€£]\s?)?(?P<num>[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?\d+(?:\.\d+)?)"
    r"(?P<times>\s?(?:万|亿|千|[kKmM](?![a-zA-Z])))?(?P<unit>\s?(?:%|percent\b|块|元|美元|股|手|点|天|dollars?\b|usd\b"
    r"|rmb\b|shares?\b|days?\b))?(?![\d])",
    re.IGNORECASE | re.ASCII,
)
_TIMES = {"万": 10**4, "亿": 10**8, "千": 10**3, "k": 10**3, "m": 10**6}
_WORD_LEAST = 2
_DULL = frozenset(
    """
    the a an and or of to in on is are was be for it i you we my me that this with at as by not no do does can could
    will would have has had if so but from what how please
    可以 一下 什么 怎么 我们 你们 这个 那个 需要 现在 就是 没有 帮我 看看
    """.split()  # noqa: SIM905 - fifty words read better as text
)


def codes(said: str, limit: int | None = SCANNED_CHARS) -> list[str]:
    """Canonical ids of the symbols that a text names, and codes that look like one, in order, each once."""
    seen = said if limit is None else said[:limit]
    named = [
        m for m in symbols.find(seen) if not _DECIMAL.search(seen, max(m.start - 8, 0), m.start)
    ]
    found = [(m.start, m.symbol.id) for m in named]
    known = {at for m in named for at in range(m.start, m.end)}
    found += [(m.start(), m[0].lstrip("$")) for m in _CODE.finditer(seen) if m.start() not in known]
    return list(dict.fromkeys(code for _, code in sorted(found)))


def paths(said: str) -> list[str]:
    """Names and paths of files in a text, in order, each once."""
    return list(dict.fromkeys(m[0] for m in _PATH.finditer(said[:SCANNED_CHARS])))


def codes_of(texts: Sequence[str], limit: int = 24) -> tuple[str, ...]:
    """The symbols of many texts, those named last first, each once."""
    return _newest(texts, codes, limit)


def paths_of(texts: Sequence[str], limit: int = 24) -> tuple[str, ...]:
    """The paths of many texts, those named last first, each once."""
    return _newest(texts, paths, limit)


def _newest(texts: Sequence[str], find: Callable[[str], list[str]], limit: int) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for said in reversed(texts):
        for sign in reversed(find(said)):
            found.setdefault(sign)
        if len(found) >= limit:
            break
    return tuple(found)[:limit]


def is_important(said: str, terms: Iterable[str] = IMPORTANT) -> bool:
    """Whether a text holds a word of weight (ANC-4)."""
    seen = said[:SCANNED_CHARS].lower()
    return any(term in seen for term in terms)


def numbers(said: str, *, telling: bool = False) -> Iterator[str]:
    """The numbers of a text in one writing: 1,000 and 1000.0 are "1000", 10万 is "100000"; a sign is left out.

    A date or a time of day is one number, as it is written.

    `telling`: only those that say something by themselves: of two digits or more, or with a currency or a unit.
    """
    for match in _NUMBER.finditer(said):
        if match["date"]:
            yield match["date"]
            continue
        plain = Decimal(match["num"].replace(",", "")).copy_abs()
        times = (match["times"] or "").strip().lower()
        unit = match["cur"] or match["unit"] or times
        if telling and not unit and sum(c.isdigit() for c in match["num"]) < 2:
            continue
        yield _written(plain * _TIMES.get(times, 1))


def keywords(texts: Iterable[str], limit: int = 12) -> tuple[str, ...]:
    """The most frequent telling words and Han pairs, most frequent first, ties in order of appearance."""
    counts = Counter(
        term
        for said in texts
        for term in text.terms(said[:SCANNED_CHARS])
        if len(term) >= _WORD_LEAST and term not in _DULL and not term.isdigit()
    )
    return tuple(term for term, _ in counts.most_common(limit))


def _written(value: Decimal) -> str:
    whole = f"{value:f}"
    return whole.rstrip("0").rstrip(".") if "." in whole else whole
