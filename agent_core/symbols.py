"""Canonical symbol ids, and how people name them in English and Chinese.

Ids: the bare code for US shares (GOOG, BRK.B), the exchange as suffix elsewhere (0700.HK, 600519.SH, 000001.SZ), the
pair for crypto (BTC-USD). The table is symbols.csv; an alias that begins with `!` counts only as it is written there
(CAT is a share, cat is not), and so do codes of two letters; a code of one letter needs a `$` before it in running text
(a "plan C" is no bank). Words of a sector or a style (THEMES) are never a
symbol, whatever name they are part of.

In running text the longest name wins, from left to right, without overlaps.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

THEMES = frozenset(
    """
    科技 白酒 新能源 半导体 芯片 医药 医疗 消费 军工 光伏 锂电 券商 银行 保险 地产 房地产 煤炭 有色 钢铁 汽车 电力
    游戏 传媒 人工智能 机器人 算力 黄金 石油 航运 农业 红利 大盘 指数 创业板 科创板 中概股 港股 美股
    tech technology semiconductors chips ai energy banks healthcare gold oil crypto bonds
    """.split()  # noqa: SIM905 - forty words read better as text
)
# Only ASCII is folded, and full-width forms are mapped one to one, so offsets stay those of the text.
_FOLD = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
# Where a name may begin: not inside a Latin word, which saves most of the work on English text.
_START = re.compile(r"(?<![0-9a-z])[0-9a-z]|[^0-9a-z\s]")
_HALF_WIDTH = {c: c - 0xFEE0 for c in range(0xFF01, 0xFF5F)} | {0x2019: ord("'")}


@dataclass(frozen=True, slots=True)
class Symbol:
    """One tradable thing. `market` is US, HK, SH, SZ or CRYPTO; `currency` an ISO code."""

    id: str
    name: str
    name_zh: str
    market: str
    currency: str
    aliases: tuple[str, ...]

    def display(self, language: str) -> str:
        """The name for a person."""
        return self.name_zh if language == "zh" else self.name


@dataclass(frozen=True, slots=True)
class Mention:
    """A symbol named in a text: `text[start:end] == matched`."""

    symbol: Symbol
    start: int
    end: int
    matched: str


@dataclass(frozen=True, slots=True)
class _Alias:
    written: str
    folded: str
    exact: bool
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class _Index:
    symbols: dict[str, Symbol]
    by_name: dict[str, list[_Alias]]  # folded alias → those who have it
    by_start: dict[str, list[_Alias]]  # first two folded characters → aliases, longest first


def find(text: str) -> list[Mention]:
    """The symbols named in a text, in the order of the text; a symbol named twice comes twice."""
    plain = text.translate(_HALF_WIDTH)
    folded = plain.translate(_FOLD)
    mentions: list[Mention] = []
    end, names = 0, _index().by_start
    for start in _START.finditer(folded):
        at = start.start()
        if at < end or folded[at : at + 2] not in names:
            continue
        alias = _longest_at(plain, folded, at)
        if alias is not None:
            end = at + len(alias.folded)
            mentions.append(Mention(alias.symbol, at, end, text[at:end]))
    return mentions


def lookup(query: str) -> Symbol | None:
    """The symbol of exactly this code or name, or None. Case, width, a leading $ and spaces do not matter."""
    key = _key(query)
    if key in THEMES:
        return None
    found = _index().by_name.get(key)
    return found[0].symbol if found else None


def search(query: str, limit: int = 10) -> list[Symbol]:
    """Symbols whose code or name is, begins with, contains, or (last) resembles the query, best first."""
    key = _key(query)
    if not key or key in THEMES:
        return []
    ranked = sorted(_matches(key), key=lambda match: match[:2])
    found = list({symbol.id: symbol for _, _, symbol in ranked}.values())
    return (found or resembling(query))[:limit]


def resembling(query: str, limit: int = 3) -> list[Symbol]:
    """Symbols with a name close to a misspelt one, for "did you mean"; may be empty."""
    from difflib import get_close_matches  # slow to import, seldom needed

    names = _index().by_name
    close = get_close_matches(_key(query), list(names), n=limit * 2, cutoff=0.7)
    return list({names[n][0].symbol.id: names[n][0].symbol for n in close}.values())[:limit]


def get(symbol_id: str) -> Symbol | None:
    """The symbol with this id, or None."""
    return _index().symbols.get(symbol_id)


def _key(query: str) -> str:
    return query.strip().lstrip("$").translate(_HALF_WIDTH).translate(_FOLD).strip()


def _matches(key: str) -> Iterator[tuple[int, int, Symbol]]:
    for folded, aliases in _index().by_name.items():
        rank = 0 if folded == key else 1 if folded.startswith(key) else 2 if key in folded else 3
        if rank < 3 and (rank < 2 or len(key) > 1):
            yield from ((rank, len(folded), alias.symbol) for alias in aliases)


def _longest_at(plain: str, folded: str, at: int) -> _Alias | None:
    for alias in _index().by_start.get(folded[at : at + 2], ()):
        if not folded.startswith(alias.folded, at) or not _stands_alone(folded, at, alias.folded):
            continue
        if alias.exact and not plain.startswith(alias.written, at):
            continue
        return alias
    return None


def _stands_alone(text: str, at: int, name: str) -> bool:
    """Latin letters and digits must not go on at either end; Han names need no borders."""
    before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
    return not (_is_word(name[0]) and _is_word(before)) and not (
        _is_word(name[-1]) and _is_word(after)
    )


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


@lru_cache(maxsize=1)
def _index() -> _Index:
    text = files("agent_core").joinpath("symbols.csv").read_text(encoding="utf-8")
    index = _Index({}, {}, {})
    for row in csv.DictReader(io.StringIO(text)):
        aliases = tuple(filter(None, row["aliases"].split("|")))
        symbol = Symbol(
            id=row["id"],
            name=row["name"],
            name_zh=row["name_zh"],
            market=row["market"],
            currency=row["currency"],
            aliases=tuple(a.removeprefix("!") for a in aliases),
        )
        index.symbols[symbol.id] = symbol
        for alias in _aliases(symbol, aliases):
            index.by_name.setdefault(alias.folded, []).append(alias)
            if len(alias.folded) > 1:
                index.by_start.setdefault(alias.folded[:2], []).append(alias)
    for bucket in index.by_start.values():
        bucket.sort(key=lambda alias: (-len(alias.folded), not alias.exact))
    return index


def _aliases(symbol: Symbol, listed: tuple[str, ...]) -> Iterator[_Alias]:
    exact = {alias.removeprefix("!") for alias in listed if alias.startswith("!")}
    names = [symbol.id, symbol.name, symbol.name_zh, *symbol.aliases, *_codes(symbol)]
    names += [f"${symbol.id}"] if len(symbol.id) == 1 else []
    for name in dict.fromkeys(names):
        code = name == symbol.id
        strict = name in exact or (len(name) <= 2 and name.isascii() and code)
        if not strict and name.translate(_FOLD) in {e.translate(_FOLD) for e in exact}:
            continue  # the same word is listed as exact
        yield _Alias(name, name.translate(_FOLD), strict, symbol)


def _codes(symbol: Symbol) -> Iterator[str]:
    """Other ways to write a code: 600519, sh600519, sh.600519, 600519.SS; 00700, 700.HK, hk00700."""
    number, _, exchange = symbol.id.partition(".")
    if exchange in {"SH", "SZ"}:
        yield from (number, f"{exchange}{number}", f"{exchange}.{number}")
        if exchange == "SH":
            yield f"{number}.SS"
    elif exchange == "HK":
        yield from (f"0{number}", f"0{number}.HK", f"{int(number)}.HK", f"HK0{number}")
    elif symbol.market == "CRYPTO":
        yield symbol.id.replace("-", "")
