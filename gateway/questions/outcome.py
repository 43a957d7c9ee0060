"""What a decision came to, and what follows its commit."""

from dataclasses import dataclass

from gateway.engine.base import Engine
from gateway.metrics.observer import Decided, Observers
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decision came to: `said` to who decided (`aloud`: as a message), and what is to be done after the commit.

    `letters` rewrite the question's message; `wake` is a conversation that goes on, and for whom. `ended`: the kind of
    a question that is over with this, and its verdict.
    """

    said: str = ""
    aloud: bool = False
    letters: tuple[tuple[int, Draft], ...] = ()
    wake: tuple[str, str] | None = None
    ended: tuple[str, str] | None = None


def carry_out(
    outcome: Outcome, senders: Sender, engine: Engine, observers: Observers | None = None
) -> None:
    """What follows the commit of a decision. Should it get lost, the next start does it."""
    for row_id, draft in outcome.letters:
        senders.send(senders.rewritten(row_id, draft))
    if outcome.wake is not None:
        engine.wake(*outcome.wake)
    if outcome.ended is not None and observers is not None:
        observers.fact(Decided(*outcome.ended))
