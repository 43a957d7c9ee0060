"""Canonical symbol ids, and how people name them in English and Chinese.

Ids: the bare code for US shares (GOOG, BRK.B), the exchange as suffix elsewhere (0700.HK, 600519.SH, 000001.SZ), the
pair for crypto (BTC-USD). The table is symbols.csv; an alias that begins with `!` counts only as it is written there
(CAT is a share, cat is not), and so do codes of two letters; a code of one letter needs a `$` before it in running text
(a "plan C" is no bank). Words of a sector or a style (THEMES) are never a
symbol, whatever name they are part of.

In running text the longest name wins, from left to right, without overlaps. Codes of the usual forms are found though
the table lacks them (RCL-1, RCL-14); six digits that are an amount ("600000元") are no code.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from agent_core import symbols_file

THEMES = frozenset(
    """
    科技 白酒 新能源 半导体 芯片 医药 医疗 消费 军工 光伏 锂电 券商 银行 保险 地产 房地产 煤炭 有色 钢铁 汽车 电力
    游戏 传媒 人工智能 机器人 算力 黄金 石油 航运 农业 红利 大盘 指数 创业板 科创板 中概股 港股 美股
    tech technology semiconductors chips ai energy banks healthcare gold oil crypto bonds
    """.split()  # noqa: SIM905 - forty words read better as text
)
# Words that hold a name by accident: they win as longer names do, and stand for nothing.
_DECOYS = """
    增长和 成长和 延长和 专长和 特长和 市长和 增强生 加强生 坚强生 提高通 集中行 其中行 联想到
    联想起 好时机 轻微软 微软化 周三一 星期三一 伊利诺伊 阿里山 阿里郎 万科技 万科学 百事通 默克尔
    完美光 知道指 通道指 轨道指 渠道指 大摩擦 小摩擦 北京东 东京东 南京东 小米粥 百度一下 海底捞月
    风格力 价格力 性格力 资格力 分工行 施工行 手工行 紫金山 紫金花
    """.split()  # noqa: SIM905 - see above
_CURRENCY = (  # those of which the ECB publishes rates
    "EUR|USD|GBP|JPY|CNY|HKD|SGD|KRW|INR|AUD|NZD|CAD|CHF|SEK|NOK|"
    "DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|RUB|ILS|ZAR|BRL|MXN|IDR|MYR|PHP|THB"
)
# Codes of things that the table lacks: A shares and funds, Hong Kong, dollar-marked US tickers, pairs of currencies
# (with their slash) and of coins.
_CODE = re.compile(
    r"(?<![A-Za-z0-9.])(?:(?P<ex>[Ss][HhZz]|[Bb][Jj])\.?)?(?P<six>[0-9]{6})(?:\.(?P<suffix>[Ss][HhZzSs]|[Bb][Jj]))?(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9.])(?P<hk>[0-9]{4,5})\.[Hh][Kk](?![A-Za-z0-9])"
    r"|\$(?P<us>[A-Z]{1,5}(?:\.[A-Z])?)(?![A-Za-z0-9])"
    rf"|(?<![A-Za-z0-9/])(?P<base>{_CURRENCY})/(?P<quote>{_CURRENCY})(?![A-Za-z0-9/])"
    r"|(?<![A-Za-z0-9])(?P<coin>[A-Z][A-Z0-9]{1,9})[-/_]?(?:USDT|(?<=[-/_])USDC|(?<=[-/_])USD)(?![A-Za-z0-9])"
)
_EXCHANGES = (  # by how a number begins
    ("SH", re.compile(r"60|68|5[0168]|900")),
    ("SZ", re.compile(r"00[0-3]|30[0-2]|1[568]|200")),
    ("BJ", re.compile(r"92|43|8[37]")),
)
_FIAT = frozenset("EUR GBP AUD NZD CAD CHF JPY CNY CNH HKD SGD KRW INR XAU XAG US".split())  # noqa: SIM905 - see above
_PAIR = re.compile(rf"({_CURRENCY})[/-]?({_CURRENCY})")
_TICKER = re.compile(r"[A-Z]{1,5}(?:\.[A-Z])?")
_AMOUNT_AFTER = re.compile(
    r"\.\d{1,4}(?!\d)|,\d{3}(?!\d)|%|\s*(?:元|块|圆|万|亿|股(?![票价东市])|手|份|美元|港币|港元|人民币|usd|cny|rmb|hkd|shares|dollars|yuan|units)"
)
_AMOUNT_BEFORE = re.compile(r"[¥￥$€£]\s?|\d\.")
_CASH = ("USD", "USDT")
# Only ASCII is folded, and full-width forms are mapped one to one, so offsets stay those of the text.
_FOLD = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
# Where a name may begin: not inside a Latin word, which saves most of the work on English text.
_START = re.compile(r"(?<![0-9a-z])[0-9a-z]|[^0-9a-z\s]")
_HALF_WIDTH = {c: c - 0xFEE0 for c in range(0xFF01, 0xFF5F)} | {0x2019: ord("'")}


@dataclass(frozen=True, slots=True)
class Symbol:
    """One tradable thing. `market` is US, HK, SH, SZ, BJ, CRYPTO or FX; `currency` an ISO code."""

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


class _Names:
    """Aliases, found by their folded form at a place of a text."""

    def __init__(self, aliases: Iterable[_Alias]) -> None:
        self.by_name: dict[str, list[_Alias]] = {}
        lengths: dict[
            str, set[int]
        ] = {}  # first two characters → lengths of the aliases that begin so
        for alias in aliases:
            self.by_name.setdefault(alias.folded, []).append(alias)
            if len(alias.folded) > 1:
                lengths.setdefault(alias.folded[:2], set()).add(len(alias.folded))
        self.lengths = {begin: sorted(found, reverse=True) for begin, found in lengths.items()}

    def longest_at(self, plain: str, folded: str, at: int) -> _Alias | None:
        """The longest alias that stands at a place, or None."""
        for length in self.lengths.get(folded[at : at + 2], ()):
            for alias in self.by_name.get(folded[at : at + length], ()):
                written = not alias.exact or plain.startswith(alias.written, at)
                if written and _stands_alone(folded, at, alias.folded):
                    return alias
        return None


@dataclass(frozen=True, slots=True)
class _Index:
    symbols: dict[str, Symbol]
    by_name: dict[str, list[_Alias]]  # folded alias → those who have it
    spoken: _Names  # those, and the decoys


_FETCHED: list[Path] = []  # the table that an operator has fetched, if any
_NOTHING = Symbol("", "", "", "", "", ())  # what a decoy stands for


def find(text: str, held: Iterable[Symbol] = ()) -> list[Mention]:
    """The symbols named in a text, in the order of the text; a symbol named twice comes twice.

    `held`: symbols that are known besides the table, such as a person's own holdings under the names that they gave.
    """
    plain = text.translate(_HALF_WIDTH)
    listed = _named(text, plain, _own_names(held))
    ends = [m.end for m in listed]
    found = list(listed)
    for symbol, start, end in _unlisted(plain):
        after = bisect_right(
            ends, start
        )  # the first named thing that ends behind the code's beginning
        if after == len(listed) or listed[after].start >= end:
            found.append(Mention(symbol, start, end, text[start:end]))
    found.sort(key=lambda m: m.start)
    return [m for m in found if not _is_amount(plain, m.start, m.end)]


def ids(text: str, held: Iterable[Symbol] = ()) -> tuple[str, ...]:
    """The canonical ids named in a text, each once, in the order of the text."""
    return tuple(dict.fromkeys(mention.symbol.id for mention in find(text, held)))


def canonical(written: str) -> str:
    """The canonical id of a code or name; what nobody knows comes back in upper case."""
    known = lookup(written)
    if known is not None:
        return known.id
    coded = next(_unlisted(written.strip().translate(_HALF_WIDTH)), None)
    return coded[0].id if coded else written.strip().upper()


def coded(written: str) -> Symbol | None:
    """A symbol by the form of its code alone, whether anybody knows it or not; None for what is no code.

    That is a code as in running text, a US ticker in capitals, and a pair of currencies (EUR/USD, EURUSD).
    """
    plain = written.strip().translate(_HALF_WIDTH)
    if currencies := _PAIR.fullmatch(plain):
        return _currencies(currencies[1], currencies[2])
    if any(start == 0 and end == len(plain) for _, start, end in _unlisted(plain)):
        return next(_unlisted(plain))[0]
    if _TICKER.fullmatch(plain) and plain.lower() not in THEMES:
        return _bare(plain, "US", "USD")
    return None


def _named(text: str, plain: str, own: _Names) -> list[Mention]:
    folded = plain.translate(_FOLD)
    mentions: list[Mention] = []
    end, listed = 0, _index().spoken
    for start in _START.finditer(folded):
        at = start.start()
        begin = folded[at : at + 2]
        if at < end or (begin not in listed.lengths and begin not in own.lengths):
            continue
        fits = (names.longest_at(plain, folded, at) for names in (own, listed))
        alias = max(filter(None, fits), key=lambda a: len(a.folded), default=None)
        if alias is not None:
            end = at + len(alias.folded)
            if alias.symbol is not _NOTHING:
                mentions.append(Mention(alias.symbol, at, end, text[at:end]))
    return mentions


def _unlisted(plain: str) -> Iterator[tuple[Symbol, int, int]]:
    """Codes by their form alone, with their places: (symbol, start, end)."""
    for match in _CODE.finditer(plain):
        made = _by_number(match) if match["six"] else _by_form(match)
        if made is not None:
            yield get(made.id) or made, match.start(), match.end()


def _by_number(match: re.Match[str]) -> Symbol | None:
    number = match["six"]
    said = (match["suffix"] or match["ex"] or "").upper().replace("SS", "SH")
    if not said and number.endswith("000"):
        return None  # far more often an amount
    exchange = said or next((ex for ex, begins in _EXCHANGES if begins.match(number)), "")
    return _bare(f"{number}.{exchange}", exchange, "CNY") if exchange else None


def _by_form(match: re.Match[str]) -> Symbol | None:
    if match["hk"]:
        return _bare(f"{int(match['hk']):04d}.HK", "HK", "HKD")
    if match["us"]:
        return _bare(match["us"], "US", "USD")
    if match["base"]:
        return _currencies(match["base"], match["quote"])
    coin = match["coin"]
    return None if coin in _FIAT else _bare(f"{coin}-USD", "CRYPTO", "USD")


def _currencies(base: str, quote: str) -> Symbol | None:
    """A pair of currencies; None for one and itself."""
    return None if base == quote else _bare(f"{base}/{quote}", "FX", quote)


def _bare(symbol_id: str, market: str, currency: str) -> Symbol:
    return Symbol(symbol_id, symbol_id, symbol_id, market, currency, ())


def _is_amount(plain: str, start: int, end: int) -> bool:
    """Whether a code of digits alone is a number of something: ¥600000, 600519 shares, 300750.5."""
    if not plain[start:end].isdigit():
        return False
    before = _AMOUNT_BEFORE.search(plain[max(0, start - 2) : start])
    return before is not None or _AMOUNT_AFTER.match(plain[end : end + 12].lower()) is not None


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
    symbols: dict[str, Symbol] = {}
    aliases: list[_Alias] = []
    for row in symbols_file.shipped():
        listed = tuple(filter(None, row.pop("aliases").split("|")))
        symbol = Symbol(**row, aliases=tuple(a.removeprefix("!") for a in listed))
        symbols[symbol.id] = symbol
        aliases.extend(_aliases(symbol, listed))
    decoys = [_Alias(word, word, exact=False, symbol=_NOTHING) for word in _DECOYS]
    added = [alias for table in _FETCHED for alias in _added(table, symbols)]
    spoken = [alias for alias in added if symbols_file.is_spoken(alias.written)]
    by_name = _Names([*aliases, *added]).by_name
    return _Index(symbols, by_name, _Names([*aliases, *spoken, *decoys]))


def _added(table: Path, symbols: dict[str, Symbol]) -> Iterator[_Alias]:
    """The names of a fetched table's symbols, which it adds to `symbols`."""
    for row in symbols_file.fetched(table):
        if row["id"] not in symbols:
            row.pop("source")
            symbol = symbols[row["id"]] = Symbol(**row, aliases=())
            yield from _aliases(symbol, tuple(f"!{n}" for n in (symbol.name, symbol.name_zh)))


def use(table: Path) -> int:
    """Add the symbols of a fetched table (symbols_file.py), in place of one that was added before.

    Returns how many symbols there are now. Takes a while for a long table: use a thread where a loop runs. Raises
    ValueError for a file that is none; the symbols are then as they were.
    """
    symbols_file.fetched(table)
    _FETCHED[:] = [table]
    _index.cache_clear()
    return len(_index().symbols)


def _own_names(held: Iterable[Symbol]) -> _Names:
    return _Names(
        replace(alias, symbol=get(symbol.id) or symbol)
        for symbol in held
        for alias in _aliases(symbol, ())
        if alias.folded and alias.folded not in THEMES
    )


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
        coin = symbol.id.removesuffix("-USD")
        yield from (f"{coin}{joint}{cash}" for joint in ("", "-", "/", "_") for cash in _CASH)
