"""Cron lines: five fields in a time zone, read by cronsim, as Debian's cron reads them.

Around a change of the clock, a line with a fixed hour that the change skips is due right after it, and one whose time
comes twice is due the first time; a line for every hour is due in each hour that there is. Times given back are UTC.
"""

import datetime as dt
import re
from difflib import get_close_matches
from zoneinfo import ZoneInfo

LONGEST_LATE = dt.timedelta(hours=2)
SHORTEST_LATE = dt.timedelta(minutes=2)
_BEFORE = dt.timedelta(seconds=1)
_FIELDS = {
    "minute": ("minute", 0, "0-59"),
    "hour": ("hour", 1, "0-23"),
    "day-of-month": ("day of the month", 2, "1-31 that the month has"),
    "month": ("month", 3, "1-12 or JAN-DEC"),
    "day-of-week": ("day of the week", 4, "0-7 or SUN-SAT"),
}
_NAMES = "SUN MON TUE WED THU FRI SAT JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()  # noqa: SIM905


class BadCron(ValueError):
    """A cron line that is none; `cure` is one line."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


def check(line: str) -> None:
    """Raises BadCron for a line that is not read, or that is never due."""
    following(line, "UTC", dt.datetime(2000, 1, 1, tzinfo=dt.UTC))


def following(line: str, timezone: str, after: dt.datetime) -> dt.datetime:
    """The first slot later than `after`. Raises BadCron."""
    from cronsim import CronSim, CronSimError

    parts = line.split()
    if len(parts) != len(_FIELDS):
        cure = 'write five: minute, hour, day, month, weekday, such as "30 9 * * 1-5"'
        raise BadCron(f"{len(parts)} fields are no cron line", cure)
    try:
        slot = next(CronSim(line, after.astimezone(ZoneInfo(timezone))))
    except CronSimError as e:
        raise _bad(str(e), parts) from e
    except StopIteration:
        raise BadCron("is never due", "name a day that some year has") from None
    return slot.astimezone(dt.UTC)


def latest(line: str, timezone: str, due: dt.datetime, now: dt.datetime) -> dt.datetime | None:
    """Of the slots from `due` to `now` the last one that may still be run, None where all are too old (`grace`)."""
    found, slot = None, following(line, timezone, max(due, now - LONGEST_LATE) - _BEFORE)
    while slot <= now:
        found, slot = slot, following(line, timezone, slot)
    if found is None or now - found > grace(found, slot):
        return None
    return found


def grace(slot: dt.datetime, after: dt.datetime) -> dt.timedelta:
    """How late a slot may still be run: half the time to the next one, from two minutes to two hours."""
    return min(max((after - slot) / 2, SHORTEST_LATE), LONGEST_LATE)


def _bad(why: str, parts: list[str]) -> BadCron:
    """Cronsim says which field is wrong; what stands there is known here."""
    field = why.removeprefix("Bad ")
    if field not in _FIELDS:
        return BadCron("is no cron line", 'write five fields, such as "30 9 * * 1-5"')
    name, at, range_ = _FIELDS[field]
    words = re.findall(r"[A-Za-z]+", parts[at])
    wrong = next((word for word in words if word.upper() not in _NAMES), "")
    near = get_close_matches(wrong.upper(), _NAMES, n=1, cutoff=0.5) if wrong else []
    cure = f"did you mean {near[0]}?" if near else f"write {range_}, lists, ranges and steps of it"
    return BadCron(f"{parts[at]!r} is no {name}", cure)
