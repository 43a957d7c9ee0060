"""What a text is found by: stems of Latin words, characters and pairs of Han runs, whole codes, symbols, dates.

The same function cuts what is indexed and what is asked, so both meet. A person's `?`, `'`, `AND` or emoji is text
that yields words or nothing: no query language is ever reached (RCL-10, defect 4). Pure but for a cache of stems.
"""

import datetime as dt
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from agent_core import symbols
from agent_core.text import HAN, ngrams

# What is indexed of one row: a longer one is found by its beginning, and no message makes the index slow.
MAX_CHARS = 20_000
# A word this long is no word; it would only widen the index.
MAX_WORD = 64
SYMBOL = "$"
DATE = "@"
SPEAKER = "&"

STOP = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can cannot could d did do does doing don down during each few for from further get got had has have having he her
    here hers him himself his how i if in into is it its itself just ll m me more most my myself no nor not now of off
    on once only or other our ours out over own re s same she should so some such t than that the their theirs them
    then there these they this those through to too under until up ve very was we were what when where which while who
    whom why will with would you your yours
    """.split()  # noqa: SIM905 - a list of words reads better as text
)
# Particles, pronouns, question words and the like: alone they say nothing, and no pair of two of them does.
STOP_HAN = frozenset(
    "的了是在我你他她它们这那有和与就都也还很吗呢吧啊呀哦嗯么什怎哪谁为把被给对到说要会能可以个些"
    "着过地得不没从上下中里之及其或而但因所曾经最几请问"
)

_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:[._'-][^\W_{HAN}]+)*")
_HAN = re.compile(f"[{HAN}]")
_PARTS = re.compile(r"[._'-]")
_PAIR = re.compile(r"[a-z0-9]{2,10}-(?:usdt?|usdc|btc|eth|eur|perp)")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|week(?:end)?s?|months?|years?|days?|(?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d)\b"
    r"|昨[天晚日]|前天|今[天晚日年]|明[天晚年]|去年|上[周月个]|下[周月个]|周[一二三四五六日末]|星期|月|[日号]|点钟?|小时|以前|之前",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|什么时候|何时|几时|哪天|哪一天|几月|几号|多久", re.IGNORECASE
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(
    r"(?:\d{4}[-/年])?(?P<m>\d{1,2})[-/月](?P<d>\d{1,2})(?:[日号]|\b)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<mon>{'|'.join(_MONTHS)})[a-z]*\b"
    rf"|\b(?P<mon2>{'|'.join(_MONTHS)})[a-z]* (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b"
)


def words(text: str) -> list[str]:
    """The words of a text in its order, repeated as in the text; only the first `MAX_CHARS` characters count."""
    found: list[str] = []
    for match in _TOKEN.finditer(normal(text)):
        found.extend(_pieces(match[0]))
    return found


def warm() -> None:
    """Load the stemmer and the names of symbols, some 30 ms of CPU, before the first text waits for them."""
    symbols_in(_stemmer().stemWord("warm"))


def symbols_in(text: str) -> list[str]:
    """The canonical ids of the symbols that a text names, once each (RCL-1, RCL-14)."""
    return list(dict.fromkeys(m.symbol.id for m in symbols.find(text[:MAX_CHARS])))


def symbol_words(ids: Iterable[str]) -> list[str]:
    """The words by which symbols are found, however a text names them."""
    return [SYMBOL + symbol.casefold() for symbol in ids]


def date_words(text: str) -> list[str]:
    """The days of the year that a text names, in English, Chinese or figures: 5月4日, May 4th, 2026-05-04."""
    found = (_day(match) for match in _DATE.finditer(normal(text).lower()))
    return list(dict.fromkeys(DATE + day for day in found if day))


def date_word(day: dt.date) -> str:
    """The word of a day, whatever its year."""
    return f"{DATE}{day:%m%d}"


def speaker_word(name: str) -> str:
    """The word by which the rows of a speaker are found."""
    return SPEAKER + " ".join(normal(name).casefold().split())[:MAX_WORD]


def names(text: str) -> list[str]:
    """The Latin words of a text as they are written, but for case: among them the names of speakers."""
    found: list[str] = []
    for match in _TOKEN.finditer(normal(text)):
        first = _PARTS.split(match[0].casefold())[0]
        if first not in STOP and not _HAN.match(first) and first.isalpha():
            found.append(first)
    return list(dict.fromkeys(found))


def is_question(text: str) -> bool:
    """Whether a text ends as a question: it asks for what another row says."""
    return text.rstrip().endswith(("?", "？", "吗", "呢"))


def tells_time(text: str) -> bool:
    """Whether a text says when something is or was."""
    return _TIME.search(text[:MAX_CHARS]) is not None


def asks_time(text: str) -> bool:
    """Whether a question wants to know when."""
    return _WHEN.search(text[:MAX_CHARS]) is not None


def _day(match: re.Match[str]) -> str:
    month: str = match["mon"] or match["mon2"]
    number = _MONTHS.index(month) + 1 if month else int(match["m"])
    day = int(match["d"] or match["d2"] or match["d3"])
    return f"{number:02}{day:02}" if 1 <= number <= 12 and 1 <= day <= 31 else ""


def normal(text: str) -> str:
    """The part of a text that counts: half width, without what cannot be seen (zero-width, direction, variants)."""
    plain = text[:MAX_CHARS]
    if plain.isascii():
        return plain
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", plain))
    return plain.replace("\u2019", "'").replace("\u2010", "-").replace("\u2011", "-")


def _pieces(token: str) -> Iterator[str]:
    if _HAN.match(token):
        yield from _han(token)
        return
    folded = token.casefold()
    if _is_code(token, folded):
        yield folded[:MAX_WORD]
        return
    for part in _PARTS.split(folded):
        if part not in STOP and len(part) <= MAX_WORD:
            yield stem(part)


def _is_code(token: str, folded: str) -> bool:
    """Whether inner points and hyphens belong to it: 00700.HK, BTC-USDT, BRK.B, 3.5; not well-known, not Caroline's."""
    if folded.isalnum() or "'" in folded:
        return False
    return any(c.isdigit() for c in folded) or token.isupper() or bool(_PAIR.fullmatch(folded))


def _han(run: str) -> Iterator[str]:
    for char in run:
        if char not in STOP_HAN:
            yield char
    if len(run) > 1:
        for pair in ngrams(run):
            if not (pair[0] in STOP_HAN and pair[1] in STOP_HAN):
                yield pair


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The stem of a Latin word in lower case (Porter 2); anything else comes back as it is."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return word
    result: str = _stemmer().stemWord(word)
    return result


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    """English alone, from beside the forty languages that the package loads when it is imported itself (3 MB)."""
    home = find_spec("snowballstemmer")
    assert home is not None  # noqa: S101 - a dependency
    package = ModuleType("snowballstemmer_by_language")
    package.__path__ = list(home.submodule_search_locations or ())
    sys.modules[package.__name__] = package
    return import_module(f"{package.__name__}.english_stemmer").EnglishStemmer()
