"""Periods in a person's words, in English and Chinese: "in 2012", "from 2008 to 2010", "最近三个月", "去年".

A `Period` has days; a `Back` counts back from the last day of the data, which only a tool knows.
"""

import calendar
import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Unit = Literal["day", "week", "month", "quarter", "year"]
Span = tuple[dt.date, dt.date]

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
RECENT_MONTHS = 3  # "recently", "最近": the person names no length
EN_NUMBERS = {
    word: value
    for value, word in enumerate(
        [
            "a",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ],
        start=1,
    )
} | {"one": 1, "an": 1}
ZH_NUMBERS = {word: value for value, word in enumerate("一二三四五六七八九", start=1)} | {"两": 2}


@dataclass(frozen=True, slots=True)
class Period:
    """First and last day, both included; None is open."""

    start: dt.date | None
    end: dt.date | None

    @property
    def args(self) -> dict[str, str]:
        """The days as tools take them: `start` and `end`, ISO, open ends left out."""
        days = {"start": self.start, "end": self.end}
        return {name: day.isoformat() for name, day in days.items() if day}


@dataclass(frozen=True, slots=True)
class Back:
    """A period that ends at the last day known.

    `whole`: the calendar unit `count` units ago ("last year"; 0 is the present one so far);
    otherwise the `count` units that end that day ("past three months").
    """

    unit: Unit
    count: int
    whole: bool = False

    def until(self, day: dt.date) -> Period:
        """The period, counted back from `day`."""
        if not self.whole:
            return Period(_minus(day, self.unit, self.count), day)
        first = _first_day(_minus(_first_day(day, self.unit), self.unit, self.count), self.unit)
        if self.count == 0:
            return Period(first, day)
        return Period(first, _minus(first, self.unit, -1) - dt.timedelta(days=1))


def _minus(day: dt.date, unit: Unit, count: int) -> dt.date:
    if unit in ("day", "week"):
        return day - dt.timedelta(days=count * (7 if unit == "week" else 1))
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return _date(max(year, dt.MINYEAR), month + 1, day.day)


def _first_day(day: dt.date, unit: Unit) -> dt.date:
    match unit:
        case "day":
            return day
        case "week":
            return day - dt.timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return dt.date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        case "year":
            return dt.date(day.year, 1, 1)


def _date(year: int, month: int, day: int) -> dt.date:
    """The day, or the last of its month when the month is shorter."""
    return dt.date(year, month, min(day, calendar.monthrange(year, month)[1]))


def _months(year: int, first: int, last: int) -> Span:
    return dt.date(year, first, 1), _date(year, last, 31)


def _month_number(word: str) -> int:
    return MONTHS.index(word[:3].lower()) + 1


def _day(year: str, month: str, day: str) -> Span:
    one = _date(int(year), int(month), int(day))
    return one, one


def _quarter(year: str, quarter: str) -> Span:
    number = ZH_NUMBERS.get(quarter) or int(quarter)
    return _months(int(year), number * 3 - 2, number * 3)


def _half(year: str, half: str) -> Span:
    return _months(int(year), *((1, 6) if half.lower() in ("1", "first", "上") else (7, 12)))


_YEAR = r"(?<!\d)(?P<y>(?:19|20)\d\d)"
_MONTH = r"(?P<m>0?[1-9]|1[0-2])"
_DAY = r"(?P<d>0?[1-9]|[12]\d|3[01])"
_NAME = (
    r"(?P<m>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_LINK = r"(?:to|and|through|until|till|-|–|—)"

# From the most exact to the least; what one pattern reads is hidden from those after it.
_POINTS: tuple[tuple[str, Callable[[dict[str, str]], Span]], ...] = (
    (rf"{_YEAR}([-/.]){_MONTH}\2{_DAY}(?!\d)", lambda g: _day(g["y"], g["m"], g["d"])),
    (rf"{_YEAR}\s*年\s*{_MONTH}\s*月\s*{_DAY}\s*[日号]", lambda g: _day(g["y"], g["m"], g["d"])),
    (
        rf"\b{_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}(?!\d)",
        lambda g: _day(g["y"], str(_month_number(g["m"])), g["d"]),
    ),
    (
        rf"(?<!\d){_DAY}(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME},?\s+{_YEAR}(?!\d)",
        lambda g: _day(g["y"], str(_month_number(g["m"])), g["d"]),
    ),
    (
        rf"{_YEAR}\s*年\s*{_MONTH}\s*月?\s*[到至~-]\s*(?P<n>0?[1-9]|1[0-2])\s*月",
        lambda g: _months(int(g["y"]), int(g["m"]), int(g["n"])),
    ),
    (
        rf"\b{_NAME}\s*{_LINK}\s*{_NAME.replace('<m>', '<n>')},?\s+(?:of\s+)?{_YEAR}(?!\d)",
        lambda g: _months(int(g["y"]), _month_number(g["m"]), _month_number(g["n"])),
    ),
    (
        rf"\b{_NAME},?\s+(?:of\s+)?{_YEAR}(?!\d)",
        lambda g: _months(int(g["y"]), _month_number(g["m"]), _month_number(g["m"])),
    ),
    (rf"{_YEAR}\s*[-/]?\s*q(?P<q>[1-4])\b", lambda g: _quarter(g["y"], g["q"])),
    (rf"\bq(?P<q>[1-4])\s*(?:of\s+|/)?{_YEAR}(?!\d)", lambda g: _quarter(g["y"], g["q"])),
    (rf"{_YEAR}\s*年?\s*第?(?P<q>[一二三四1-4])\s*季度?", lambda g: _quarter(g["y"], g["q"])),
    (rf"{_YEAR}\s*年?\s*(?P<h>[上下])半年", lambda g: _half(g["y"], g["h"])),
    (
        rf"\b(?:the\s+)?(?P<h>first|second)\s+half\s+(?:of\s+)?{_YEAR}(?!\d)",
        lambda g: _half(g["y"], g["h"]),
    ),
    (rf"\bh(?P<h>[12])\s*(?:of\s+)?{_YEAR}(?!\d)", lambda g: _half(g["y"], g["h"])),
    (
        rf"{_YEAR}\s*(?:[-/]\s*{_MONTH}(?!\d)|年\s*{_MONTH.replace('<m>', '<n>')}\s*月)",
        lambda g: _months(int(g["y"]), int(g["m"] or g["n"]), int(g["m"] or g["n"])),
    ),
    (rf"{_YEAR}(?!\d)\s*年?", lambda g: _months(int(g["y"]), 1, 12)),
)
POINTS = tuple((re.compile(pattern, re.IGNORECASE), make) for pattern, make in _POINTS)

RANGE = re.compile(r"\b(?:to|and|through|until|till)\b|[–—到至~]|[a-z]\s*-\s*[a-z]", re.IGNORECASE)
BEFORE = (re.compile(r"\bbefore\s*$", re.IGNORECASE), re.compile(r"^\s*(?:之前|以前)"))
UNTIL = (
    re.compile(r"\b(?:until|till|up\s+to)\s*$|(?:截至|截止到?|直到)\s*$", re.IGNORECASE),
    re.compile(r"^\s*(?:为止)"),
)
AFTER = (re.compile(r"\bafter\s*$", re.IGNORECASE), re.compile(r"^\s*(?:之后|以后)"))
SINCE = (
    re.compile(r"\b(?:since|from|starting(?:\s+in)?)\s*$|自从?\s*$", re.IGNORECASE),
    re.compile(
        r"^\s*(?:以来|至今|到现在|开始|起|on\b|onwards?\b|(?:to|until|till)\s+(?:now|today)\b)",
        re.IGNORECASE,
    ),
)


def find_period(text: str) -> Period | Back | None:
    """The period that a text names; several days or years span one period. None: it names none."""
    return _absolute(text) or _relative(text)


def _absolute(text: str) -> Period | None:
    found: list[tuple[int, int, Span]] = []
    rest = text
    for pattern, make in POINTS:
        for match in pattern.finditer(rest):
            found.append((match.start(), match.end(), make(match.groupdict())))
            rest = rest[: match.start()] + "\0" * len(match[0]) + rest[match.end() :]
    if not found:
        return None
    first, last = min(days[0] for *_, days in found), max(days[1] for *_, days in found)
    if len(found) > 1 or RANGE.search(text[found[0][0] : found[0][1]]):
        return Period(first, last)
    return _opened(text[: found[0][0]], text[found[0][1] :], first, last)


def without_periods(text: str) -> str:
    """The text with the days and periods that it names left out."""
    for pattern, _ in (*POINTS, *RELATIVE):
        text = pattern.sub(" ", text)
    return text


def _opened(before: str, after: str, first: dt.date, last: dt.date) -> Period:
    """The one span named, opened on a side by the words around it."""

    def says(words: tuple[re.Pattern[str], re.Pattern[str]]) -> bool:
        return bool(words[0].search(before) or words[1].search(after))

    one = dt.timedelta(days=1)
    if says(BEFORE):
        return Period(None, first - one)
    if says(UNTIL):
        return Period(None, last)
    if says(AFTER):
        return Period(last + one, None)
    return Period(first, None if says(SINCE) else last)


_EN_UNIT = r"(?P<u>day|week|month|quarter|year)s?\b"
_ZH_UNIT = r"(?P<u>天|日|周|星期|月|季度|季|年)"
_EN_COUNT = rf"(?P<n>\d{{1,3}}|{'|'.join(EN_NUMBERS)})"
_ZH_COUNT = r"(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,3})"
ZH_UNITS: dict[str, Unit] = {
    "天": "day", "日": "day", "周": "week", "星期": "week", "月": "month",
    "季度": "quarter", "季": "quarter", "年": "year",
}  # fmt: skip
EN_UNITS: dict[str, Unit] = {
    "day": "day", "week": "week", "month": "month", "quarter": "quarter", "year": "year",
}  # fmt: skip


def _count(word: str | None) -> int:
    if not word:
        return 1
    if word.isdigit():
        return int(word)
    if word in EN_NUMBERS:
        return EN_NUMBERS[word]
    tens, ten, ones = word.rpartition("十")
    return (ZH_NUMBERS.get(tens, 1) * 10 if ten else 0) + ZH_NUMBERS.get(ones, 0)


def _unit(word: str) -> Unit:
    return ZH_UNITS.get(word) or EN_UNITS[word]


def _rolling(match: re.Match[str]) -> Back:
    return Back(_unit(match["u"]), max(1, _count(match["n"])))


_RELATIVE: tuple[tuple[str, Callable[[re.Match[str]], Back]], ...] = (
    (r"\b(?:last|past|previous)\s+(?:half\s+(?:a\s+)?year|six\s+months)\b", lambda _: Back("month", 6)),
    (r"(?:最近|近|过去|这)\s*半\s*年", lambda _: Back("month", 6)),
    (rf"\b(?:last|past|previous|recent)\s+{_EN_COUNT}[\s-]+{_EN_UNIT}", _rolling),
    (rf"\b(?:last|previous)\s+{_EN_UNIT}", lambda m: Back(_unit(m["u"]), 1, whole=True)),
    (rf"\bpast\s+{_EN_UNIT}", lambda m: Back(_unit(m["u"]), 1)),
    (rf"\bthis\s+{_EN_UNIT}", lambda m: Back(_unit(m["u"]), 0, whole=True)),
    (r"\b(?:ytd|year[\s-]to[\s-]date)\b|今年|年初至今|本年", lambda _: Back("year", 0, whole=True)),
    (rf"(?:最近|近|过去|这)的?\s*{_ZH_COUNT}\s*个?\s*{_ZH_UNIT}", _rolling),
    (r"去年|上一年", lambda _: Back("year", 1, whole=True)),
    (r"前年", lambda _: Back("year", 2, whole=True)),
    (r"上一?个?(?P<u>月|季度|周|星期)", lambda m: Back(_unit(m["u"]), 1, whole=True)),
    (r"[这本]个?(?P<u>月|季度|周|星期)", lambda m: Back(_unit(m["u"]), 0, whole=True)),
    (r"\b(?:recent(?:ly)?|lately)\b|最近|近期", lambda _: Back("month", RECENT_MONTHS)),
)  # fmt: skip
RELATIVE = tuple((re.compile(pattern, re.IGNORECASE), make) for pattern, make in _RELATIVE)


def _relative(text: str) -> Back | None:
    lowered = text.lower()
    for pattern, make in RELATIVE:
        if match := pattern.search(lowered):
            return make(match)
    return None
