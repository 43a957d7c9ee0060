"""A person's book: what they hold, what is known and happened about it; and the port behind which it is kept.

Positions, costs and signals are answered from here and never from memories alone (MSC-5). Every record belongs to one
owner, whom each call names; ids of others are as good as missing. Symbols are canonical ids (agent_core/symbols.py);
times are aware UTC.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

Level = Literal["objective fact", "logic tool", "mixed", "emotional view"]
# From what carries most to what carries least (CRD-1).
LEVELS: tuple[Level, ...] = ("objective fact", "logic tool", "mixed", "emotional view")

_NAMED: dict[str, Level] = {level: level for level in LEVELS}


def level_of(written: str) -> Level:
    """The level that is meant; what is unknown or missing counts as mixed, which is the base of no decision."""
    folded = " ".join(written.split()).lower()
    return _NAMED.get(folded, "mixed")


def least(*levels: str) -> Level:
    """The least credible of several: where texts are merged, none of them rises (CRD-2)."""
    ranks = [LEVELS.index(level_of(level)) for level in levels]
    return LEVELS[max(ranks)] if ranks else "mixed"


@dataclass(frozen=True, slots=True)
class Holding:
    """A position. `cost` is the average price in `currency`; `relation` is core, satellite, watch or ""."""

    symbol: str
    quantity: float
    cost: float
    updated_at: dt.datetime
    currency: str = ""
    name: str = ""
    relation: str = ""
    note: str = ""
    account: str = "default"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `kind` is decision, trade, backtest, report, signal or news."""

    kind: str
    text: str
    at: dt.datetime
    codes: tuple[str, ...] = ()
    source: str = ""
    credibility: str = "objective fact"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a symbol for one person. `signal` is the last fused signal, as it was computed then."""

    symbol: str
    text: str
    updated_at: dt.datetime
    signal: str = ""
    source: str = ""
    credibility: str = "logic tool"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition that a person wants to hear of; `state` is pending, fired or done."""

    text: str
    at: dt.datetime
    symbol: str = ""
    condition: dict[str, Any] = field(default_factory=dict)
    state: str = "pending"
    conversation_id: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """The conclusion of a report that was made for a person."""

    text: str
    at: dt.datetime
    title: str = ""
    codes: tuple[str, ...] = ()
    credibility: str = "logic tool"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """What a person had remembered: a view, a plan or a rule. It is a memory, and only read here."""

    kind: str
    text: str
    at: dt.datetime
    codes: tuple[str, ...] = ()
    source: str = ""
    credibility: str = "mixed"
    id: int = 0


Record = TypeVar("Record", Holding, Event, Profile, Alert, Report)


@dataclass(frozen=True, slots=True)
class Focus:
    """What a message is about: symbols in its order, and whether the whole book is meant (PDC-1, PFI-1).

    `carried`: the symbol was not named but meant by a pronoun (PDC-3).
    """

    symbols: tuple[str, ...] = ()
    portfolio: bool = False
    carried: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """How far back, and how many at most, the newest first. A record exactly `days` old is within."""

    days: float
    items: int


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of the classes of context (SIX-1). `dynamics`: events of one symbol (ours)."""

    reports: Window = Window(3, 3)
    decisions: Window = Window(7, 5)
    alerts: Window = Window(1, 5)
    notes: Window = Window(30, 5)
    dynamics: Window = Window(7, 3)


@dataclass(frozen=True, slots=True)
class Look:
    """What to read for one message.

    `scope`: "private" or a group's conversation; notes of that scope alone are read. `book`: whether holdings and what
    concerns them may be read there. `focus` tells from the holdings what the message is about: it runs within the
    reading transaction, so it is pure and quick.
    """

    owner: str
    scope: str
    now: dt.datetime
    book: bool
    focus: Callable[[Sequence[Holding]], Focus]
    windows: Windows = Windows()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read, newest first; holdings in the order in which they were entered.

    Where symbols are in focus, reports, decisions and notes about other symbols alone are not among them (PDC-1).
    `profiles` and `dynamics`: of the symbols in focus; of every holding where the book is meant (profiles).
    """

    focus: Focus = Focus()
    holdings: tuple[Holding, ...] = ()
    profiles: tuple[Profile, ...] = ()
    dynamics: tuple[Event, ...] = ()
    reports: tuple[Report, ...] = ()
    decisions: tuple[Event, ...] = ()
    alerts: tuple[Alert, ...] = ()
    notes: tuple[Note, ...] = ()


class Portfolio(Protocol):
    """Keeps the books of all persons. Each method is one transaction."""

    async def put(self, owner: str, record: Record) -> int:
        """Add a record, or change the one with its `id`; a holding and a profile replace the one of their symbol.

        Returns the id; durable then. Raises KeyError where `owner` has no record with that id, and ValueError for a
        level of credibility that does not exist or a number that is none.
        """
        ...

    async def records(self, owner: str, kind: type[Record], limit: int = 500) -> list[Record]:
        """The newest records of a kind, newest first."""
        ...

    async def remove(self, owner: str, kind: type[Record], record_id: int) -> bool:
        """Delete a record; False where `owner` has none with this id."""
        ...

    async def look(self, look: Look) -> Seen:
        """What concerns one message; reads only, and computes no signal (PFI-1)."""
        ...
