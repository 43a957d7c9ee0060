"""What is told to whoever counts and traces: facts of the path of a message, and the events of each turn.

The seam between the gateway and its figures: the code that runs says what happened, once, and knows no library for
metrics or traces. Nothing durable hangs on it. An observer that fails is left out of that one moment and said so; it
never breaks what it looks at. All calls come from the event loop and return at once.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_core.events import Event
from agent_core.types import Usage

log = logging.getLogger(__name__)

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message was taken in and is durable, or was refused; `seconds` from its arrival at the gateway to the commit.

    `again`: the platform sent it twice; `turned_away`: nobody who may write, or too much at once.
    """

    channel: str
    outcome: Literal["taken", "again", "turned_away"]
    seconds: float


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message to a person was sent, put off, or given up (`parked`).

    `seconds` from the moment it was ready to its end; 0 for one that was put off.
    """

    channel: str
    outcome: Literal["sent", "parked", "delayed", "limited", "perhaps"]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Decided:
    """A question to a person came to its end. `verdict`: approved, denied, answered, expired or cancelled."""

    kind: str
    verdict: str


@dataclass(frozen=True, slots=True)
class PaidBeside:
    """A model was called outside any turn, such as to learn from one."""

    model: str
    usage: Usage


Fact = Accepted | Delivered | Decided | PaidBeside


@dataclass(frozen=True, slots=True)
class TurnSeen:
    """A run of a turn begins. `waited`: seconds since its message came in; None for one that goes on after a break.

    A turn that waited for a person, or that a restart cut off, is seen once for each of its runs.
    """

    turn_id: int
    session_id: str
    conversation: str
    channel: str
    preset: str
    waited: float | None


class TurnWatch(Protocol):
    """Watches one run of a turn."""

    def event(self, event: Event) -> None:
        """In the order in which the run emits them; see agent_core/events.py."""
        ...

    def over(self) -> None:
        """The run is over, whatever it came to; called once, after the last event."""
        ...


class Observer(Protocol):
    """Counts, traces, or otherwise looks on."""

    def fact(self, fact: Fact) -> None:
        """Something happened beside a turn."""
        ...

    def turn(self, seen: TurnSeen) -> TurnWatch:
        """A run of a turn begins."""
        ...


class Observers:
    """All observers as one. Empty, it costs a call."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def fact(self, fact: Fact) -> None:
        """See Observer."""
        for observer in self._observers:
            try:
                observer.fact(fact)
            except Exception:  # a defect of the figures must not reach the path of a message
                log.exception("observer_failed")

    def turn(self, seen: TurnSeen) -> "Watches":
        """See Observer."""
        watches: list[TurnWatch] = []
        for observer in self._observers:
            try:
                watches.append(observer.turn(seen))
            except Exception:  # as above
                log.exception("observer_failed")
        return Watches(watches)


class Watches:
    """The watches of one run as one."""

    def __init__(self, watches: Sequence[TurnWatch]) -> None:
        self._watches = tuple(watches)

    def beside(self, emit: Emit) -> Emit:
        """`emit`, and then whoever watches."""

        def both(event: Event) -> None:
            emit(event)
            for watch in self._watches:
                try:
                    watch.event(event)
                except Exception:  # a defect of the figures must not reach the turn
                    log.exception("observer_failed")

        return both if self._watches else emit

    def over(self) -> None:
        """See TurnWatch."""
        for watch in self._watches:
            try:
                watch.over()
            except Exception:  # as above
                log.exception("observer_failed")
