"""Pots: how much may be spent by whom within which days, and when each begins anew. Pure.

Money is counted in whole nano-dollars, so that sums are exact: the cheapest token known costs some 10 of them, and 63
bits hold nine thousand million dollars. Days are those of the installation's time zone (DESIGN.md 7).
"""

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo

N = TypeVar("N", int, float)
NANO = 1_000_000_000  # a dollar

PotKind = Literal["run", "user_day", "user_month", "channel_day", "day", "month"]
OnExceeded = Literal["stop_and_report", "fallback_model", "ask_admin", "queue"]
Unpriced = Literal["warn", "refuse", "allow"]

# In this order the first pot that a call does not fit decides (guide "presets", 5).
KINDS: tuple[PotKind, ...] = ("run", "user_day", "user_month", "channel_day", "day", "month")


@dataclass(frozen=True, slots=True)
class Pot:
    """The size of a kind of pot; None is without limit.

    Attributes:
        kind: whose it is and for how long.
        usd: nano-dollars.
        tokens: read and written ones together, from a cache or not.
        runs: turns.
        warn_at: the part of the pot, 0..1, from which people are told, once a period; None: never.
        on_exceeded: what a call comes to that does not fit.
    """

    kind: PotKind
    usd: int | None = None
    tokens: int | None = None
    runs: int | None = None
    warn_at: float | None = None
    on_exceeded: OnExceeded = "stop_and_report"

    def raised(self, times: int) -> "Pot":
        """The pot with so many further helpings of its own size, as operators have granted them."""
        if not times:
            return self
        usd, tokens, runs = (
            None if size is None else size * (1 + times)
            for size in (self.usd, self.tokens, self.runs)
        )
        return replace(self, usd=usd, tokens=tokens, runs=runs)


@dataclass(frozen=True, slots=True)
class Rules:
    """All pots of an installation, in the order of KINDS, and what counts for all of them.

    `reserve`: whether the worst case must fit before a call; else a call is made as long as something is left.
    """

    pots: tuple[Pot, ...] = ()
    zone: str = "UTC"
    reserve: bool = True
    unpriced: Unpriced = "warn"
    fallback_model: str = "demo"

    @property
    def counts_only_money(self) -> bool:
        """Whether a call that costs nothing changes no pot."""
        return all(pot.tokens is None and pot.runs is None for pot in self.pots)


@dataclass(frozen=True, slots=True)
class Payer:
    """For whom a turn pays: `principal` the person, `channel` the chat without its threads, `run` the turn."""

    principal: str
    channel: str
    run: int

    def key(self, kind: PotKind) -> str:
        """Whose pot of a kind it is; the installation has one for all."""
        if kind == "run":
            return str(self.run)
        if kind.startswith("user_"):
            return self.principal
        return self.channel if kind == "channel_day" else ""


def nano(usd: float) -> int:
    """Nano-dollars of an amount, rounded up, so that nothing costs less than it does."""
    return math.ceil(round(usd * NANO, 3))


def period(kind: PotKind, now: dt.datetime, zone: str) -> str:
    """The local day or month of a pot; "" for a run, which has one pot for good."""
    if kind == "run":
        return ""
    local = now.astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m}" if kind.endswith("month") else f"{local:%Y-%m-%d}"


def resets_at(kind: PotKind, now: dt.datetime, zone: str) -> dt.datetime | None:
    """When a pot of this kind begins anew, in the zone's own time; None for a run, which has one pot for good."""
    if kind == "run":
        return None
    today = now.astimezone(ZoneInfo(zone)).date()
    if kind.endswith("month"):
        first = (today.replace(day=1) + dt.timedelta(days=32)).replace(day=1)
    else:
        first = today + dt.timedelta(days=1)
    return dt.datetime.combine(first, dt.time(), ZoneInfo(zone))


def tightened(rules: Rules, more: Iterable[Pot]) -> Rules:
    """The rules with further pots over them, which can only be stricter: of two sizes the smaller one counts."""
    own = {pot.kind: pot for pot in rules.pots}
    for pot in more:
        own[pot.kind] = _stricter(own[pot.kind], pot) if pot.kind in own else pot
    return replace(rules, pots=tuple(own[kind] for kind in KINDS if kind in own))


def _stricter(a: Pot, b: Pot) -> Pot:
    return replace(
        a,
        usd=_least(a.usd, b.usd),
        tokens=_least(a.tokens, b.tokens),
        runs=_least(a.runs, b.runs),
        warn_at=_least(a.warn_at, b.warn_at),
        on_exceeded=a.on_exceeded,
    )


def _least(a: N | None, b: N | None) -> N | None:
    return min((x for x in (a, b) if x is not None), default=None)
