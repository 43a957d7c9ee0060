"""The files of one turn's messages: brought in before their rows are written, and what the person is told of them."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from agent_core.ports import ModelInfo
from agent_core.storage.statements import add_blob
from agent_core.types import NewRow
from gateway.engine.begin import Place, first_row
from gateway.engine.begun import Begun
from gateway.inbound.inbox import Item
from gateway.inbound.media import Brought, MayPay, Media, nobody_pays
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people.identity import Language


@dataclass(slots=True)
class TurnFiles:
    """Brings files for one turn and its principal. A line that the person was told in this turn is not said again."""

    media: Media
    senders: Sender
    begun: Begun
    language: Language
    model: Callable[[], ModelInfo]
    may_pay: MayPay = nobody_pays
    _said: set[str] = field(default_factory=set)

    @property
    def owner(self) -> str:
        """The principal: whose bytes they are."""
        return self.begun.principal or self.begun.item.author

    def first_row(self, brought: Brought | None, place: Place, now: dt.datetime) -> NewRow:
        """The turn's first row with what its files became, or with their names only."""
        begun = self.begun
        item = begun.item if brought is None else brought.item
        row = first_row(item, place, begun.lane.private, now, begun.own_language, begun.found)
        if brought is None:
            return row
        message = replace(row.message, blocks=(*row.message.blocks, *brought.blocks))
        return replace(row, message=message, meta=row.meta | brought.meta)

    async def bring(self, item: Item) -> Brought:
        """Fetch and read all files of a message; see Media.bring."""
        brought = await self.media.bring(
            item,
            self.owner,
            self.begun.lane.address,
            self.language,
            self.model(),
            self.may_pay,
        )
        lines = [line for line in brought.told.splitlines() if line not in self._said]
        self._said.update(lines)
        return replace(brought, told="\n".join(lines))

    def store(
        self, conn: Connection, brought: Brought, now: dt.datetime
    ) -> tuple[int, Draft] | None:
        """Store the bytes and what the person is to be told; to be sent once it is committed."""
        item = brought.item
        for blob in brought.blobs:
            add_blob(conn, owner=self.owner, session_id=self.begun.session_id, blob=blob, now=now)
        if not brought.told or brought.useless:
            return None  # then the reply itself says it
        draft = Draft(
            self.begun.turn_id,
            f"files:{item.id}",
            item.author,
            self.begun.lane.address,
            brought.told,
        )
        return outbox.put(conn, draft, now), draft

    def send(self, letter: tuple[int, Draft] | None) -> None:
        """Send what `store` returned."""
        if letter is not None:
            self.senders.send(self.senders.letter(*letter))
