"""When a reminder is due, from a person's words in English or Chinese.

Days and clock times are local: "in 1 day" keeps the time of day across a change to or from summer time; minutes and
hours are elapsed time. A local time that a change skips is moved on by the length of the gap; one that comes twice is
the first of the two.
"""

import datetime as dt
import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "秒", "秒钟"), "seconds"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "分", "分钟"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "小时", "个小时", "钟头"), "hours"),
    **dict.fromkeys(("d", "day", "days", "天", "日"), "days"),
    **dict.fromkeys(("w", "week", "weeks", "周", "星期", "个星期"), "weeks"),
}
_LATIN = "|".join(sorted((u for u in _UNITS if u.isascii()), key=len, reverse=True))
_HAN = "|".join(sorted((u for u in _UNITS if not u.isascii()), key=len, reverse=True))
_IN = re.compile(
    rf"in\s+((?:\d{{1,6}}\s*(?:{_LATIN})(?![a-z])[\s,]*)+)(.*)", re.IGNORECASE | re.DOTALL
)
_LATER = re.compile(
    rf"((?:(?:\d{{1,6}}|半)\s*(?:{_HAN})\s*)+)(?:之后|以后|后)[，,\s]*(.*)", re.DOTALL
)
_AMOUNT = re.compile(rf"(\d{{1,6}}|半)\s*({_HAN}|{_LATIN})", re.IGNORECASE)
_DATE = r"(?:(?P<date>\d{4}-\d{1,2}-\d{1,2})|(?P<day>today|tomorrow|今天|明天|后天))"
_CLOCK = (
    r"(?:(?P<half>早上|上午|中午|下午|晚上)?\s*(?P<hour>\d{1,2})"
    r"(?:[:：](?P<minute>\d{2})|点(?:(?P<han_minute>\d{1,2})分?|(?P<thirty>半))?))"
)
_AT = re.compile(
    rf"(?:at\s+)?(?:{_DATE}[\sT]*)?(?:at\s+)?{_CLOCK}[，,\s]*(?P<text>.*)",
    re.IGNORECASE | re.DOTALL,
)
_DAYS = {"today": 0, "今天": 0, "tomorrow": 1, "明天": 1, "后天": 2}
_AFTERNOON = frozenset({"下午", "晚上"})


@dataclass(frozen=True, slots=True)
class When:
    """An aware UTC time, and what to be reminded of."""

    at: dt.datetime
    text: str


def parse(words: str, now: dt.datetime, timezone: str) -> When | None:
    """The time at the beginning of `words` and the text behind it; None when no time stands there.

    The time may lie in the past when a date is named; a clock time alone is the next one.
    """
    zone = ZoneInfo(timezone)
    words = words.strip()
    for pattern in (_IN, _LATER):
        if match := pattern.fullmatch(words):
            at = _after(match[1], now, zone)
            return None if at is None else When(at, match[2].strip())
    match = _AT.fullmatch(words)
    if match is None:
        return None
    at = _on(match, now.astimezone(zone), zone)
    return None if at is None else When(at, match["text"].strip())


def _after(amounts: str, now: dt.datetime, zone: ZoneInfo) -> dt.datetime | None:
    days, elapsed = dt.timedelta(), dt.timedelta()
    for number, unit in _AMOUNT.findall(amounts):
        kind = _UNITS[unit.lower()]
        amount = dt.timedelta(**{kind: 0.5 if number == "半" else int(number)})
        if kind in ("days", "weeks") and number != "半":
            days += amount
        else:
            elapsed += amount
    try:
        local = now.astimezone(zone).replace(tzinfo=None) + days
        base = local.replace(tzinfo=zone).astimezone(dt.UTC) if days else now
        return base + elapsed
    except OverflowError:
        return None


def _on(match: re.Match[str], local: dt.datetime, zone: ZoneInfo) -> dt.datetime | None:
    hour = int(match["hour"])
    if match["half"] in _AFTERNOON and hour < 12:
        hour += 12
    minute = 30 if match["thirty"] else int(match["minute"] or match["han_minute"] or 0)
    try:
        clock = dt.time(hour, minute)
        named = dt.date.fromisoformat(_padded(match["date"])) if match["date"] else None
    except ValueError:
        return None
    day = named or local.date() + dt.timedelta(days=_DAYS.get((match["day"] or "").lower(), 0))
    at = dt.datetime.combine(day, clock, zone).astimezone(dt.UTC)
    if named is None and match["day"] is None and at <= local:
        at = dt.datetime.combine(day + dt.timedelta(days=1), clock, zone).astimezone(dt.UTC)
    return at


def _padded(date: str) -> str:
    year, month, day = date.split("-")
    return f"{year}-{month:0>2}-{day:0>2}"
