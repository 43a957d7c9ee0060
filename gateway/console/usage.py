"""What model calls used and cost: by day, person, preset, model and channel; and what caching saved."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection

from gateway.budgets import usage
from gateway.budgets.usage import Scope, Tally
from gateway.console.calls import Call, Wanted

BARS = 12  # of a group; the others are summed


class Days(Wanted):
    """How many days, today included."""

    days: Annotated[int, Field(ge=1, le=90)] = 14


@dataclass(frozen=True, slots=True)
class Cost:
    """A sum of calls. `saved` is what caching saved, `hit_share` the part of the input that came from caches."""

    key: str
    calls: int
    unpriced: int
    input: int
    output: int
    usd: float
    saved: float
    hit_share: float


@dataclass(frozen=True, slots=True)
class UsagePage:
    """The page. Each group is dearest first; `days` in order."""

    days: int
    total: Cost
    by_day: list[Cost]
    by_model: list[Cost]
    by_user: list[Cost]
    by_preset: list[Cost]
    by_channel: list[Cost]


async def read(call: Call[Days]) -> UsagePage:
    """The page's data."""
    house, days = call.house, call.wanted.days
    zone, now = house.settings.locale.timezone, house.core.clock.now()
    scope = Scope(since=usage.first_moment(now, days, zone))

    def work(conn: Connection) -> UsagePage:
        users = usage.by(conn, scope, "user")
        return UsagePage(
            days,
            _cost(usage.total(conn, scope)),
            _days(usage.by(conn, scope, "day", zone), now, days, zone),
            _top(usage.by(conn, scope, "model")),
            _top(users),
            _top(usage.by(conn, scope, "preset")),
            _top(_by_channel(users)),
        )

    return await house.core.db.read(work)


def _days(found: list[Tally], now: dt.datetime, days: int, zone: str) -> list[Cost]:
    """Every day of the window, also those without a call."""
    known = {tally.key: tally for tally in found}
    first = usage.first_moment(now, days, zone).date()
    names = [(first + dt.timedelta(days=n)).isoformat() for n in range(days)]
    return [_cost(known.get(name, Tally(name))) for name in names]


def _by_channel(users: list[Tally]) -> list[Tally]:
    """A person's id begins with their channel."""
    found: dict[str, Tally] = {}
    for tally in users:
        channel = tally.key.partition(":")[0]
        found[channel] = found.get(channel, Tally(channel)) + tally
    return sorted(found.values(), key=lambda t: (-t.usd, -t.input, t.key))


def _top(tallies: list[Tally]) -> list[Cost]:
    shown = [_cost(t) for t in tallies[:BARS]]
    if rest := tallies[BARS:]:
        shown.append(_cost(sum(rest[1:], Tally("…") + rest[0])))
    return shown


def _cost(t: Tally) -> Cost:
    share = round(t.hit_share, 4)
    return Cost(t.key, t.calls, t.unpriced, t.input, t.output, t.usd, t.saved, share)
