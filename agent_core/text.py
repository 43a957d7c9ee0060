"""Words and Han n-grams of texts in English, Chinese and a mix of both; excerpts. Pure, no dictionary.

Chinese is written without spaces, so a run of Han characters is indexed by its overlapping pairs: no segmenter, no word
list, and a two-character word is always found (guide "recall").
"""

import re
import unicodedata
from collections.abc import Iterator

# The unified ideographs in daily use with extension A, the compatibility block, and the rare planes.
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
ELLIPSIS = "…"

_HAN = re.compile(f"[{HAN}]")
_RUN = re.compile(f"[{HAN}]+")
# A word may hold what codes and numbers hold inside: BRK.B, 600519.SH, 3.5, snake_case, o'clock.
_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:[._'’-][^\W_{HAN}]+)*")
_CLAUSE_END = re.compile(r"(?<=[。！？；，、\n!?;])|(?<=[.,])(?=\s)|(?<=\.)$")
_SENTENCE_END = re.compile(r"(?<=[。！？；\n!?;])|(?<=\.)(?=\s)")
_PUNCTUATION = re.compile(r"[\W_]+")


def han_count(text: str) -> int:
    """How many Han characters a text has."""
    return 0 if text.isascii() else sum(len(run) for run in _RUN.findall(text))


def is_chinese(text: str) -> bool:
    """Whether a text reads as Chinese: one Han character says about as much as five Latin letters."""
    han = han_count(text)
    return han > 0 and han * 5 >= sum(c.isascii() and c.isalpha() for c in text)


def words(text: str) -> Iterator[str]:
    """Words in order, folded to lower case and half width; a run of Han characters comes whole."""
    for match in _TOKEN.finditer(_folded(text)):
        yield match[0]


def ngrams(run: str, size: int = 2) -> Iterator[str]:
    """The overlapping pieces of `size` characters; a shorter run comes whole."""
    if len(run) <= size:
        yield run
        return
    for at in range(len(run) - size + 1):
        yield run[at : at + size]


def terms(text: str) -> Iterator[str]:
    """What a text is found by: its words, and the pairs of its Han runs, in order, repeated as in the text."""
    for word in words(text):
        if _HAN.match(word):
            yield from ngrams(word)
        else:
            yield word


def normal(text: str) -> str:
    """The text without case, width, spaces and punctuation: equal for sayings that differ in those alone (KFS-5)."""
    return _PUNCTUATION.sub("", _folded(text))


def sentences(text: str) -> list[str]:
    """The sentences of a text; joined they are the text. A point inside a number or a code ends none (TIR-4)."""
    return [s for s in _SENTENCE_END.split(text) if s]


def clauses(text: str) -> list[str]:
    """Like `sentences`, split at commas as well; a comma inside a number splits nothing."""
    return [s for s in _CLAUSE_END.split(text) if s]


def one_line(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def clip(text: str, limit: int) -> str:
    """The first `limit` characters at most; where something is missing, the last one is an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + ELLIPSIS


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold()
