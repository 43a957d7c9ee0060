"""Reading numbers out of words, in English and Chinese: what an answer claims, and what a source holds.

A claim is a number that states a fact. Exempt by rule, because nobody looks them up: dates, years, times, quarters and
durations; numbers of lists, headings, steps, ordinals and footnotes; addresses, codes, names with a number in them
(S&P 500, 沪深300, GPT-5), parameters of indicators (SMA50, 20日均线, 95% VaR); scores out of 5, 10 or 100; and bare
whole numbers up to ten, which count things. Numerals in words ("three", "百分之五") are not read.
"""

import re
import sys
from dataclasses import dataclass

SMALL = 10  # bare whole numbers up to this count things

# Digits and signs that stand for the ASCII ones. Not the full-width comma: between digits it lists, it does not group.
_ASCII = str.maketrans("０１２３４５６７８９％．＋－−", "0123456789%.+--")

_SCALES = {
    "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8, "十亿": 1e9, "百亿": 1e10, "千亿": 1e11,
    "万亿": 1e12, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "mn": 1e6, "mln": 1e6,
    "m": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12, "trn": 1e12, "t": 1e12,
}  # fmt: skip
_PERCENT = (
    "%",
    "percentage points",
    "percentage point",
    "percent",
    "per cent",
    "pct",
    "个百分点",
    "百分点",
)
_POINTS = ("basis points", "basis point", "bps", "bp", "个基点", "基点")
_CURRENCY = r"(?:US|HK|A|C|S|NT)?[$€£¥￥]|USD|CNY|RMB|HKD|EUR|GBP|JPY|CHF|CAD|AUD|SGD|INR|EPS|PE|PB"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_YEAR = r"(?:19|20)[0-9]{2}"
_SAID = "建议|理由|原因|结论|看法|说明|提示|要点|风险|观察"  # 三点理由: things that are counted, no index points
_MONEY = rf"(?:points?|点(?!{_SAID})|元|美元|港元|人民币|dollars?|shares?|股(?!票)|手|USD|CNY|HKD|[%％]|万|亿)"
_SPAN = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|(?:trading\s|business\s)?days?|weeks?|months?|quarters?|years?"
    r"|yrs?|sessions?|bars?|periods?|个?交易日|个月|天|日|周|星期|年|个?季度|小时|分钟|秒钟?|根|期)"
)
_NAMES = (
    r"S&P\s?500|S&P\s?100|Russell\s?[123]000|Nikkei\s?225|FTSE\s?\d+|Stoxx\s?\d+|CSI\s?\d+|SSE\s?\d+|DAX\s?40|CAC\s?40"
    r"|Nasdaq[\s-]?100|Dow\s?30|ASX\s?200|Nifty\s?50|TOPIX\s?\d+|MSCI\s?\d+|Fortune\s?\d+|(?<![0-9.,$€£¥])401\(?k\)?"
    r"|(?:沪深|标普|中证|上证|科创|创业板|日经|富时|纳斯达克|纳指|罗素|恒生|道指|国证|深证)(?:指数)?\s?\d+"
)

_EXEMPT = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"https?://\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,255}", 0),
        (r"(?<![\w-])[\w-]{1,80}\.(?:png|svg|csv|json|pdf|md|xlsx?|py)\b", 0),
        (_NAMES, re.IGNORECASE | re.ASCII),
        (rf"{_YEAR}[-/](?:1[0-2]|0?[1-9])(?:[-/][0-3]?[0-9])?(?![0-9])(?:[T ][0-9]{{2}}:[0-9]{{2}}\S*)?", 0),
        (rf"{_YEAR}\.[0-9]{{1,2}}\.[0-9]{{1,2}}", 0),
        (r"[0-9]{1,2}/[0-9]{1,2}/(?:19|20)?[0-9]{2}(?![0-9])", 0),
        (r"(?<![0-9])[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![0-9])", 0),
        (rf"{_MONTH}\s+[0-3]?[0-9](?:st|nd|rd|th)?(?![0-9.%])(?:,?\s+{_YEAR})?", 0),
        (rf"(?<![0-9.])[0-3]?[0-9](?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?![a-z])(?:,?\s+{_YEAR})?", 0),
        (r"(?<![0-9])(?:[0-9]{4}|[0-9]{2})\s?年(?:\s?[0-9]{1,2}\s?月(?:\s?[0-9]{1,2}\s?[日号])?)?", 0),
        (r"(?<![0-9])[0-9]{1,2}\s?月(?:份|底|初|末)?(?:\s?[0-9]{1,2}\s?[日号])?", 0),
        (r"\b(?:Q[1-4]|[1-4]Q|H[12]|[12]H|FY)(?:\s?'?[0-9]{2,4})?(?![0-9])", 0),
        (r"第\s?[0-9]+|前\s?[0-9]+\s?(?:名|只|大|位|个)|(?<![0-9])[0-9]{1,4}(?:st|nd|rd|th)\b", 0),
        (r"\b(?:top|no\.|step|part|section|table|figure|page|item|option|scenario|rank)\s?#?[0-9]+(?![0-9.%])",
         re.IGNORECASE),
        (r"#[0-9]+", 0),
        (r"^[ \t]*(?:[-*+>|][ \t]*)*[(（]?[0-9]{1,3}(?:[.)）]\s|[、：:．])", re.MULTILINE),
        (r"^[ \t]*(?:#+|\*\*)[ \t]*[0-9]+(?:\.[0-9]+)*[.、)]?(?=\s)", re.MULTILINE),
        (r"[(（][0-9]{1,2}[)）](?=\s?[A-Za-z\u4e00-\u9fff])|\[\^?[0-9]+\]", 0),
        (r"\b[0-9]{4,6}\.(?:SH|SS|SZ|HK|BJ|TW|T|KS|KQ)\b|\b(?:SH|SZ|BJ|HK)[.:]?[0-9]{4,6}\b|[(（][0-9]{5,6}[)）]",
         re.IGNORECASE),
        (r"\b(?:SMA|EMA|WMA|MA|RSI|ATR|MACD|BOLL|ADX|KDJ|CCI|WR|DMI|ROC)\s?[-(（]?\s?[0-9]+(?:\s?[,，/]\s?[0-9]+)*"
         r"\s?[)）]?(?![0-9.])", re.IGNORECASE),
        (r"9[0-9](?:\.[0-9]+)?\s?%\s?(?:的)?(?:VaR|CVaR|confidence|CI\b|置信|在险)", re.IGNORECASE),
        (rf"(?<![0-9.$€£¥])[0-9]+(?:\.[0-9]+)?(?:\s?(?:-|–|~|to|至|到)\s?[0-9]+)?[\s-]?{_SPAN}(?![a-z])",
         re.IGNORECASE),
        (r"(?<![0-9.$€£¥])[0-9]+[smhdwy]\b", 0),
        (r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9])?\s?/\s?(?:5|10|100)(?![0-9.])", 0),
        (rf"(?<![0-9.,$€£¥\w]){_YEAR}s?(?:\s?[-–~/至到]\s?(?:{_YEAR}|[0-9]{{2}}))?(?![0-9%％]|,[0-9]{{3}}|\.[0-9])"
         rf"(?!\s?{_MONEY}|\s?[-–~至到]\s?[0-9.,]+\s?{_MONEY})", re.ASCII),
        (rf"\b(?!(?:{_CURRENCY})[0-9])[A-Za-z_][A-Za-z_&]{{0,30}}-?[0-9]\w*(?:\.[0-9]+)*", re.ASCII),
    )
)  # fmt: skip
_DATES = re.compile(
    rf"https?://\S+|{_YEAR}-[0-9]{{2}}(?:-[0-9]{{2}})?(?:[T ][0-9]{{2}}:[0-9]{{2}}\S*)?"
    r"|(?<![0-9])[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![0-9])"
)


def _unit_pattern(unit: str) -> str:
    """A Latin unit ends where no letter follows; 万, % and the like end by themselves."""
    latin = unit[-1].isascii() and unit[-1].isalpha()
    return re.escape(unit) + ("(?![A-Za-z])" if latin else "")


_UNITS = "|".join(
    _unit_pattern(unit) for unit in sorted((*_PERCENT, *_POINTS, *_SCALES), key=len, reverse=True)
)
_NUMBER = re.compile(
    rf"(?<![A-Za-z_0-9.])(?P<money>(?:{_CURRENCY})\s?)?"
    r"(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|(?<![0-9.])\.[0-9]+)(?P<power>[eE][-+]?[0-9]+)?"
    rf"(?P<unit>\s?(?:{_UNITS}))?",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    rf"\s?(?:股(?!票)|手|元|美元|港元|点(?!{_SAID})|shares?\b|points?\b|dollars?\b|USD|CNY|lots?\b)"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    Attributes:
        text: as it is written, with its unit.
        value: without its sign; 1.2亿 is 1.2e8, 6% is 6, 25 basis points are 0.25 (percent).
        percent: it is a percentage.
        step: what one in its last printed digit is worth.
        digits: how many significant digits are printed.
    """

    text: str
    value: float
    percent: bool
    step: float
    digits: int


def claims(text: str) -> list[Figure]:
    """The numbers that an answer states as facts, in order."""
    plain = text.translate(_ASCII)
    begins = {found.start("digits") for found in _NUMBER.finditer(plain)}
    for exempt in _EXEMPT:
        plain = exempt.sub(lambda found: " " * len(found[0]), plain)
    # What is left of a number of which a part was exempt is none: the .1 of #1.1, the 234 of #1,234.
    whole = (f for f in _NUMBER.finditer(plain) if f.start("digits") in begins)
    return [figure for found in whole if (figure := _claim(found, plain))]


def held(text: str) -> list[float]:
    """Every number that a source holds, without signs: as it stands, and scaled by its unit."""
    values: list[float] = []
    for found in _NUMBER.finditer(_DATES.sub(" ", text.translate(_ASCII))):
        figure = _figure(found)
        values.append(figure.value)
        bare = _finite(found["digits"].replace(",", "") + (found["power"] or ""), 1.0)
        if bare != figure.value:
            values.append(bare)
    return values


def _claim(found: re.Match[str], text: str) -> Figure | None:
    figure, unit, money = _figure(found), _unit(found), bool(found["money"])
    whole = "." not in found["digits"] and not found["power"]
    after = text[found.end() : found.end() + 12]
    if not unit and re.match(r"[A-Za-z]", after) and not re.match(r"(?:x|X|USD|CNY|HKD)\b", after):
        return None  # 5G, 3D
    if unit in {"m", "b", "t"} and found["unit"] == found["unit"].lower() and not money:
        return None  # 5m: minutes or months as well as millions
    if unit == "m" and whole and not money and found["unit"] == "M" and figure.digits == 1:
        return None  # 3M: a company, or three months
    bare = not unit and not money and whole
    if bare and figure.value <= SMALL and not _COUNTED.match(after):
        return None
    return figure


def _unit(found: re.Match[str]) -> str:
    return (found["unit"] or "").strip().lower()


def _figure(found: re.Match[str]) -> Figure:
    unit, digits = _unit(found), found["digits"].replace(",", "")
    scale = _SCALES.get(unit, 0.01 if unit in _POINTS else 1.0)
    power = found["power"] or ""
    decimals = len(digits.partition(".")[2])
    return Figure(
        text=found[0].strip(),
        value=_finite(f"{digits}{power}", scale),
        percent=unit in _PERCENT or unit in _POINTS,
        step=10.0**-decimals * _finite(f"1{power}", scale),
        digits=len(digits.replace(".", "").lstrip("0")),
    )


def _finite(digits: str, scale: float) -> float:
    """The largest number that there is stands for all beyond it (1e999)."""
    return min(float(digits) * scale, sys.float_info.max)
