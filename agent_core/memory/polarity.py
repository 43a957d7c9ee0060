"""What two sayings must share to mean the same, however alike they look: figures, negations, directions (DED-5).

跌破支撑不买 and 跌破支撑买 differ in one character of six, "stop 8%" and "stop 18%" in one of seven; each pair says
two opposite things. Pure.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

_NUMBER = re.compile(r"(?<![a-z0-9])-?\d[\d,]*(?:\.\d+)?%?|\d[\d,]*(?:\.\d+)?%?")
_HAN_NUMBER = re.compile("[〇零一二两三四五六七八九十百千万亿半]+")
_NEGATION = re.compile(
    r"[不没未无别勿非莫禁否忌拒]|\b(?:not?|never|none|nothing|without|avoid|refuse|forbid(?:den)?|cannot)\b|n['’]t\b"
)
# Words in whose stead the other one says the opposite.
_DIRECTIONS = re.compile(
    r"[买卖多空加减增涨跌升降高低上下前后内外开平盈亏进出]"
    r"|\b(?:buy|sell|long|short|above|below|over|under|more|less|up|down|before|after|increase|decrease|add|reduce"
    r"|always|min(?:imum)?|max(?:imum)?|least|most)(?:s|ing)?\b"
)


def signature(text: str) -> tuple[Mapping[str, int], int, Mapping[str, int]]:
    """(figures, number of negations, directions) of a text; equal for all that may be merged by likeness."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return (
        Counter(numbers(folded)),
        len(_NEGATION.findall(folded)),
        Counter(_DIRECTIONS.findall(folded)),
    )


def numbers(text: str) -> list[str]:
    """The figures of a text, in digits or in Han characters, without commas and needless zeros."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [_plain(n) for n in _NUMBER.findall(folded)] + _HAN_NUMBER.findall(folded)


def negations(text: str) -> int:
    """How many words of a text deny something."""
    return len(_NEGATION.findall(unicodedata.normalize("NFKC", text).casefold()))


def _plain(number: str) -> str:
    digits, percent = number.replace(",", "").removesuffix("%"), number.endswith("%")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits + ("%" if percent else "")
