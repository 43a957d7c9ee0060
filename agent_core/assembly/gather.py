"""What is known of a person for one message: the six classes and what recall finds, as `Context` blocks (ASM-6, ASM-9).

Read once at a turn's begin and stored in the user's row, so that a request can be rebuilt byte for byte. A source that
fails or is slow costs its part and never the turn (ASM-7). In a group, books and private notes stay closed unless the
person has opened them there (DESIGN.md 3.4).
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.assembly.classes import Limits, compose, sections
from agent_core.assembly.disclosure import focus_of
from agent_core.assembly.truth import REFERENCE
from agent_core.book import Focus, Look, Portfolio, Seen
from agent_core.compaction.head import harmless
from agent_core.past import Recall
from agent_core.types import Context

log = logging.getLogger(__name__)

PRIVATE = "private"
PATIENCE = 2.0  # seconds that a turn waits for a source: reads of a few milliseconds, unless the database is gone


@dataclass(frozen=True, slots=True)
class Asked:
    """The message that context is for.

    `text`: the person's own words alone. `last`: the symbols of the turn before (`Gathered.focus.symbols`). `shown`:
    ids of what the view still holds (`Gathered.ids`). `opened`: in a group, that the person's book may be used there.
    """

    owner: str
    scope: str
    text: str
    now: dt.datetime
    last: Sequence[str] = ()
    shown: frozenset[str] = frozenset()
    opened: bool = False

    @property
    def book(self) -> bool:
        """Whether holdings and what concerns them may be read."""
        return self.scope == PRIVATE or self.opened


@dataclass(frozen=True, slots=True)
class Gathered:
    """Blocks for the user's row, none where there is nothing; what they hold; what the message is about.

    `chars`: of each class that is in them, for traces and evals.
    """

    contexts: tuple[Context, ...] = ()
    ids: frozenset[str] = frozenset()
    focus: Focus = field(default_factory=Focus)
    chars: dict[str, int] = field(default_factory=dict)


async def gather_context(
    owner: str,
    scope: str,
    text: str,
    last_turn_symbols: Sequence[str],
    now: dt.datetime,
    portfolio: Portfolio | None,
    recall: Recall | None,
    *,
    shown: frozenset[str] = frozenset(),
    opened: bool = False,
    limits: Limits | None = None,
    patience: float = PATIENCE,
    most: int | None = None,
) -> Gathered:
    """Context of kind "recall" for this message; raises nothing but cancellation.

    Reads only: the book in one transaction, then recall in its own. `most` bounds what recall searches for (None: as
    it has it itself).
    """
    asked = Asked(owner, scope, text, now, tuple(last_turn_symbols), shown, opened)
    limits = limits or Limits()
    seen = await _seen(asked, portfolio, limits, patience)
    focus = seen.focus if seen else focus_of(text, (), asked.last)
    book = _book(asked, seen, limits) if seen else Gathered(focus=focus)
    found = await _recalled(asked, focus, recall, book.ids, patience, most)
    return Gathered(
        (*book.contexts, *found.contexts), book.ids | found.ids, focus, book.chars | found.chars
    )


async def _seen(
    asked: Asked, portfolio: Portfolio | None, limits: Limits, patience: float
) -> Seen | None:
    if portfolio is None:
        return None
    look = Look(
        asked.owner,
        asked.scope,
        asked.now,
        asked.book,
        lambda holdings: focus_of(asked.text, holdings, asked.last),
        limits.windows,
    )
    try:
        async with asyncio.timeout(patience):
            return await portfolio.look(look)
    except Exception as e:  # noqa: BLE001 - whatever is wrong with the store, the person gets an answer (ASM-7)
        log.debug("no context from the book: %r", e)
        return None


def _book(asked: Asked, seen: Seen, limits: Limits) -> Gathered:
    try:
        found = sections(seen, asked.now, asked.shown, limits)
    except Exception as e:  # noqa: BLE001 - as above: one odd record does not cost the turn
        log.debug("no context from the book: %r", e)
        return Gathered(focus=seen.focus)
    if not found:
        return Gathered(focus=seen.focus)
    return Gathered(
        (Context(f"{REFERENCE}\n{compose(found)}", "recall"),),
        frozenset(id_ for section in found for id_ in section.ids),
        seen.focus,
        {section.name: len(section.text) for section in found},
    )


async def _recalled(
    asked: Asked,
    focus: Focus,
    recall: Recall | None,
    known: frozenset[str],
    patience: float,
    most: int | None,
) -> Gathered:
    if recall is None:
        return Gathered()
    try:
        async with asyncio.timeout(patience):
            found = await recall.recall(
                asked.owner,
                asked.scope,
                asked.text,
                symbols=focus.symbols,
                now=asked.now,
                shown=asked.shown | known,
                limit=most,
            )
        text = harmless(found.text).strip()
        ids = frozenset(found.ids)
    except Exception as e:  # noqa: BLE001 - as above
        log.debug("nothing recalled: %r", e)
        return Gathered()
    if not text:
        return Gathered()
    return Gathered((Context(text, "recall"),), ids, chars={"recall": len(text)})
