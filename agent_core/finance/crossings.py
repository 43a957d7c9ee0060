"""Where one line crosses another: the events that a reader of indicators looks for."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Line = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Crossing:
    """On `date` the first line came to stand above, or below, the second; `what` names both."""

    date: dt.date
    what: str
    direction: Literal["above", "below"]


def crossings(
    dates: Sequence[dt.date], what: str, line: Line, other: Line | float
) -> list[Crossing]:
    """All crossings in the order of time. A touch is none: the side must change, with or without a touch between.

    Bars on which either line has no value are passed over.
    """
    found: list[Crossing] = []
    side = 0
    for i, (day, value) in enumerate(zip(dates, line, strict=True)):
        against = other if isinstance(other, int | float) else other[i]
        if value is None or against is None:
            continue
        now = (value > against) - (value < against)
        if now and side and now != side:
            found.append(Crossing(day, what, "above" if now > 0 else "below"))
        side = now or side
    return found
