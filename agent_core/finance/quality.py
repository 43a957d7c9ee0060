"""What a reader must know of a window's bars before a figure is made of them: gaps, days without trade, splits.

Nothing is mended here: a gap stays a gap, and a day without volume keeps its price.
"""

import datetime as dt
from dataclasses import dataclass
from itertools import pairwise

from agent_core.finance.bars import Bars, Split

# The longest regular closing of an exchange is China's spring festival with its weekends: 11 days from close to close.
LONGEST_CLOSING = dt.timedelta(days=12)


@dataclass(frozen=True, slots=True)
class Quality:
    """What is amiss in a window, or worth saying.

    Attributes:
        gaps: The days before and after each stretch without prices that is longer than any holiday.
        idle: Bars on which nothing was traded.
        bars: All bars of the window.
        splits: Share splits within the window that its prices are adjusted for.
    """

    gaps: tuple[tuple[dt.date, dt.date], ...]
    idle: int
    bars: int
    splits: tuple[Split, ...]

    @property
    def traded(self) -> bool:
        """Whether volumes mean something: on nine bars of ten at least."""
        return self.idle * 10 <= self.bars


def check(bars: Bars) -> Quality:
    """The quality of a window of daily bars; an empty one has nothing amiss."""
    gaps = tuple((a, b) for a, b in pairwise(bars.dates) if b - a > LONGEST_CLOSING)
    idle = sum(1 for volume in bars.volume if volume <= 0)
    inside = [s for s in bars.applied if len(bars) and bars.first < s.date <= bars.as_of]
    return Quality(gaps, idle, len(bars), tuple(inside))


def remarks(found: Quality, language: str) -> list[str]:
    """One clause for each thing that a reader must know."""
    zh = language == "zh"
    said = []
    for before, after in found.gaps[:2]:
        said.append(
            f"{before} 与 {after} 之间没有价格"
            if zh
            else f"there are no prices between {before} and {after}"
        )
    if len(found.gaps) > 2:
        more = len(found.gaps) - 2
        said.append(f"另有 {more} 处缺口" if zh else f"and in {more} more gaps")
    if found.idle:
        said.append(
            f"{found.bars} 个交易日中有 {found.idle} 个没有成交量"
            if zh
            else f"{found.idle} of {found.bars} days have no volume"
        )
    said.extend(_split(split, zh) for split in found.splits)
    return said


def _split(split: Split, zh: bool) -> str:
    """The ratio as people say it: 2-for-1, and 1-for-10 where shares were joined."""
    day, ratio = split.date, split.ratio
    if zh:
        said = f"1拆{ratio:g}" if ratio >= 1 else f"{1 / ratio:g}合1"
        return f"{day} {said}，此前价格已按此调整"
    said = f"{ratio:g}-for-1" if ratio >= 1 else f"1-for-{1 / ratio:g}"
    return f"a {said} split on {day}: prices before it are adjusted for it"
