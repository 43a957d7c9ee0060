"""What was found for a message before its turn begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent_core.types import Context, Row
from gateway.inbound.conversation import Lane
from gateway.people.identity import Language

# In the meta of a turn's first row: its preset lets nothing of the turn be remembered, now or later.
UNLEARNT = "unlearnt"


@dataclass(frozen=True, slots=True)
class Found:
    """Blocks for the first row of the turn of one inbox row, and what that row's meta keeps of them.

    In `meta`: "recalled", ids of what the blocks show, "symbols", what the message is about, and UNLEARNT.
    """

    item_id: int
    contexts: tuple[Context, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)

    def beside(self, contexts: tuple[Context, ...]) -> "Found":
        """The same with further blocks after those that it has."""
        return replace(self, contexts=(*self.contexts, *contexts))

    def unlearnt(self) -> "Found":
        """The same for a turn of which nothing may be remembered."""
        return replace(self, meta=self.meta | {UNLEARNT: True})


# What a message calls, beside what was found for it: (found, lane, words, principal, language, earlier rows).
Called = Callable[[Found, Lane, str, str, Language, Sequence[Row]], Found]
