"""A book in memory for tests of what is made from one, with counts of what was asked of it."""

import datetime as dt
from dataclasses import dataclass, field, replace

from agent_core.book import Alert, Event, Holding, Look, Note, Profile, Report, Seen

NOW = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


@dataclass
class Shelf:
    """What `look` gives, with the focus of the message; every other use is an error."""

    seen: Seen = field(default_factory=Seen)
    looks: list[Look] = field(default_factory=list)

    async def look(self, look: Look) -> Seen:
        self.looks.append(look)
        focus = look.focus(self.seen.holdings if look.book else ())
        wanted = {
            *focus.symbols,
            *((h.symbol for h in self.seen.holdings) if focus.portfolio else ()),
        }
        if not look.book:
            return Seen(focus, notes=self.seen.notes)
        return replace(
            self.seen,
            focus=focus,
            profiles=tuple(p for p in self.seen.profiles if p.symbol in wanted),
            dynamics=tuple(e for e in self.seen.dynamics if set(e.codes) & set(focus.symbols)),
        )

    async def put(self, owner: str, record: object) -> int:
        raise AssertionError("a turn's begin writes nothing")

    async def records(self, owner: str, kind: object, limit: int = 500) -> list[object]:
        raise AssertionError("a turn's begin reads once")

    async def remove(self, owner: str, kind: object, record_id: int) -> bool:
        raise AssertionError("a turn's begin deletes nothing")


def holding(symbol: str, quantity: float = 100, cost: float = 10, **more: str) -> Holding:
    return Holding(symbol, quantity, cost, NOW, **{"currency": "USD"} | more)  # type: ignore[arg-type]


def profile(symbol: str, text: str, **more: str) -> Profile:
    return Profile(symbol, text, NOW, **more)


def report(text: str, at: dt.datetime = NOW, **more: object) -> Report:
    return Report(text, at, **more)  # type: ignore[arg-type]


def decision(text: str, at: dt.datetime = NOW, **more: object) -> Event:
    return Event("decision", text, at, **more)  # type: ignore[arg-type]


def alert(text: str, at: dt.datetime = NOW, **more: object) -> Alert:
    return Alert(text, at, **more)  # type: ignore[arg-type]


def note(text: str, at: dt.datetime = NOW, **more: object) -> Note:
    return Note(**{"kind": "view", "text": text, "at": at} | more)  # type: ignore[arg-type]
