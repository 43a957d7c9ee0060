"""Telling a person what happened to their book while nobody was asking: in their private conversation, once.

The message is a row of the transaction that books what it tells of; it is sent once that is committed, at the latest
when the process starts again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.ports import Clock
from agent_core.tools.orders_notes import told as note_told
from agent_core.tools.orders_words import level_of, line_of
from agent_core.trading import Order
from gateway.inbound import conversation
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people import links
from gateway.people.identity import Language, known, language_of
from gateway.texts.texts import say

Words = Callable[[Language], str]
Told = tuple[int, Draft]


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes to persons. `language` is the settings' own, "auto" where each person has theirs."""

    senders: Sender
    clock: Clock
    language: str = "auto"

    def write(
        self, conn: Connection, owner: str, key: str, words: Words, turn_id: int = 0
    ) -> list[Told]:
        """Store a message under a key of its own; empty for who has no private conversation or was shut out."""
        place = links.place_of(conn, owner)
        lane = conversation.find(conn, place) if place else None
        person = known(conn, owner)
        if lane is None or person.revoked:
            return []
        text = words(language_of("", None, self.language, person.language))
        draft = Draft(turn_id, key, owner, lane.address, text)
        return [(outbox.put(conn, draft, self.clock.now()), draft)]

    def write_fill(self, conn: Connection, order: Order) -> list[Told]:
        """Store what became of an order that was filled."""

        def words(language: Language) -> str:
            said = say("order_done", language, line=line_of(order, language))
            return f"{said} {note_told(order.note, language)}".strip()

        return self.write(conn, order.owner, f"order:{order.id}", words, order.turn_id)

    def write_split(self, conn: Connection, order: Order) -> list[Told]:
        """Store what a split has made of an open order."""

        def words(language: Language) -> str:
            return say(
                "order_split", language, symbol=order.symbol, day=order.split_on,
                line=line_of(order, language), level=level_of(order, language),
            )  # fmt: skip

        return self.write(
            conn, order.owner, f"split:{order.id}:{order.split_on}", words, order.turn_id
        )

    def send(self, told: Iterable[Told]) -> None:
        """Send what was written and committed."""
        for row_id, draft in told:
            self.senders.send(self.senders.letter(row_id, draft))
