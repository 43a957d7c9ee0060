"""Pots: how much may be spent by whom within which days, and when each begins anew. Pure.

Money is counted in whole nano-dollars, so that sums are exact: the cheapest token known costs some 10 of them, and 63
bits hold nine thousand million dollars. Days are those of the installation's time zone (DESIGN.md 7).
"""

import datetime as dt
import math
from dataclasses import dataclass, replace
from typing import Literal
from zoneinfo import ZoneInfo

NANO = 1_000_000_000  # a dollar

PotKind = Literal["run", "user_day", "user_month", "channel_day", "day", "month"]
OnExceeded = Literal["stop_and_report", "fallback_model", "ask_admin", "queue"]
Unpriced = Literal["warn", "refuse", "allow"]

# It ends the keys of presets' pots; no person and no chat has it in its id.
OF_PRESETS = "+presets"

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
        fallback_model: the model that answers then; "" for the rules' own.
        of_preset: it is a preset's, counted beside the settings' pot of this kind and never in its place.
    """

    kind: PotKind
    usd: int | None = None
    tokens: int | None = None
    runs: int | None = None
    warn_at: float | None = None
    on_exceeded: OnExceeded = "stop_and_report"
    fallback_model: str = ""
    of_preset: bool = False

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
    """All pots that a call must fit, in the order of KINDS, and what counts for all of them.

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

    def key(self, pot: Pot) -> str:
        """Whose pot it is; the installation has one for all. Presets share theirs, apart from the settings'."""
        if pot.kind == "run":
            return str(self.run)
        own = self.principal if pot.kind.startswith("user_") else ""
        whose = self.channel if pot.kind == "channel_day" else own
        return f"{whose}{OF_PRESETS}" if pot.of_preset else whose


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


@dataclass(frozen=True, slots=True)
class OwnPots:
    """The pots of a preset, in any order, and its word on what counts for all; None leaves that to the settings."""

    pots: tuple[Pot, ...] = ()
    reserve: bool | None = None
    unpriced: Unpriced | None = None

    def with_run(self, usd: int | None) -> "OwnPots":
        """With at most so many nano-dollars for a run (None: as it is)."""
        if usd is None:
            return self
        run = next((pot for pot in self.pots if pot.kind == "run"), Pot("run"))
        less = replace(run, usd=usd if run.usd is None else min(usd, run.usd))
        return replace(self, pots=(less, *(pot for pot in self.pots if pot.kind != "run")))


def tightened(rules: Rules, own: OwnPots) -> Rules:
    """The rules with a preset's pots beside them, which can only be stricter: a call must fit all of them.

    Of two words on reserving and on unpriced models the stricter one counts; where the settings limit nothing, the
    preset's.
    """
    if own == OwnPots():
        return rules
    both = [*rules.pots, *own.pots]
    pots = tuple(pot for kind in KINDS for pot in both if pot.kind == kind)
    reserve = rules.reserve if own.reserve is None else own.reserve
    unpriced = own.unpriced or rules.unpriced
    if rules.pots:
        reserve = reserve or rules.reserve
        unpriced = max(unpriced, rules.unpriced, key=_STRICTNESS.index)
    return replace(rules, pots=pots, reserve=reserve, unpriced=unpriced)


_STRICTNESS: tuple[Unpriced, ...] = ("allow", "warn", "refuse")
