"""Watches what alerts wait for: one task, one question a symbol for all persons, and none while there is no alert."""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from sqlalchemy import Connection

from agent_core.finance import alert_rules
from agent_core.finance.alert_rules import Verdict, Watch
from agent_core.finance.bars import Bars
from agent_core.finance.calendars import Calendars, market_of
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.storage import alerts as rows
from agent_core.storage.alerts import Owned
from agent_core.tools.series import STALE
from gateway.alerts import alerts
from gateway.alerts.alerts import Look
from gateway.alerts.times import LIVE, next_look
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.rounds import Rounds
from gateway.storage.db import Database

log = logging.getLogger(__name__)
RETRY_S = 60.0


@dataclass(slots=True)
class AlertKeeper:
    """Started and stopped by the process; `wake` is called when alerts were added.

    A start looks at every symbol, since days may have gone by. A new alert was judged when it was made, so that its
    symbol waits for its time.
    """

    db: Database
    clock: Clock
    sources: Sources
    senders: Sender
    calendars: Calendars
    language: str = "auto"
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _due: dict[str, dt.datetime] = field(default_factory=dict)
    _looked: bool = False
    _rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        self._rounds = Rounds(
            "alerts", self._round, waits="alerts_wait", retry_s=RETRY_S, sleep=self.sleep
        )

    def wake(self) -> None:
        """Alerts have changed, and that is committed."""
        self._rounds.wake()

    async def start(self) -> None:
        """Look at what came while nobody ran, then wait."""
        self._rounds.start()

    async def stop(self) -> None:
        """End the waiting. Harmless where it was not started."""
        await self._rounds.stop()

    async def _round(self) -> float | None:
        due = await self.look()
        return None if due is None else (due - self.clock.now()).total_seconds()

    async def look(self) -> dt.datetime | None:
        """Look at the symbols that are due. Returns when the next one is; None: there is no alert."""
        every = await self.db.read(rows.every)
        groups = {s: list(group) for s, group in groupby(every, lambda owned: owned.alert.symbol)}
        for symbol in self._due.keys() - groups.keys():
            del self._due[symbol]
        for symbol, group in groups.items():
            if symbol not in self._due:
                now = self.clock.now()
                self._due[symbol] = await self._next(symbol, _last(group)) if self._looked else now
            if self._due[symbol] <= self.clock.now():
                await self._look_at(symbol, group)
        self._looked = True
        return min(self._due.values(), default=None)

    async def _look_at(self, symbol: str, group: Sequence[Owned]) -> None:
        found = [(owned, _watch(owned)) for owned in group]
        watched = [(owned, watch) for owned, watch in found if watch is not None]
        if not watched:  # nothing that this version can judge
            self._due[symbol] = self.clock.now() + dt.timedelta(days=1)
            return
        start = min(alert_rules.since(watch) for _, watch in watched)
        bars = await self._bars(symbol, start)
        now = self.clock.now()
        if bars is None:
            verdicts = [(owned, Verdict(watch)) for owned, watch in watched]
            last, due = _last(group), max(await self._next(symbol, now.date()), now + LIVE)
        else:
            verdicts = await asyncio.to_thread(_judged, watched, bars)
            last, due = bars.as_of, await self._next(symbol, bars.as_of)
        currency = bars.currency if bars is not None else ""
        look = Look(now, currency, now.date() - last > STALE, self.language)

        def work(conn: Connection) -> list[tuple[int, Draft]]:
            letters = (alerts.settle(conn, owned, verdict, look) for owned, verdict in verdicts)
            return [letter for letter in letters if letter is not None]

        for letter in await self.db.write(work):
            self.senders.send(self.senders.letter(*letter))
        self._due[symbol] = due

    async def _bars(self, symbol: str, start: dt.date) -> Bars | None:
        try:
            return await self.sources.bars(symbol, start, None)
        except NoData as why:
            log.warning("alert_not_checked", extra={"symbol": symbol, "why": str(why)})
        except Exception:  # a source of another package may raise anything; the other symbols go on
            log.exception("alert_not_checked", extra={"symbol": symbol})
        return None

    async def _next(self, symbol: str, last: dt.date) -> dt.datetime:
        """When to look at a symbol again whose newest price is of `last`."""
        now = self.clock.now()
        live = now.date() - last <= STALE
        market = market_of(symbol)
        return await asyncio.to_thread(next_look, self.calendars, market, now, live=live)


def _watch(owned: Owned) -> Watch | None:
    return alert_rules.restored(owned.alert.condition, armed=owned.alert.state == "pending")


def _last(group: Sequence[Owned]) -> dt.date:
    seen = (watch.seen for watch in map(_watch, group) if watch is not None)
    return max(seen, default=dt.date.min)


def _judged(watched: Sequence[tuple[Owned, Watch]], bars: Bars) -> list[tuple[Owned, Verdict]]:
    return [(owned, alert_rules.judge(watch, bars)) for owned, watch in watched]
