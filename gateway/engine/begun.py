"""What a begin has come to: a turn to run, a command to carry out, or a wait."""

from dataclasses import dataclass
from typing import NamedTuple

from agent_core.runtime.team import Team
from agent_core.types import Checkpoint, Row
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.outbound.draft import Draft
from gateway.people.identity import Language, language_of
from gateway.turns.found import Found


class Chosen(NamedTuple):
    """The preset that a turn begins with; the digest is empty where its content is unknown."""

    name: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn to run, or a lane command to carry out (`command`). `rows` is the whole session.

    `resumed`: the turn was begun before; `stopping`: a person has asked to stop it meanwhile. `unwritten`: the turn's
    first row is still to be written, since files came along (`gateway/inbound/media.py`). `wait`: nothing was begun
    yet, an album may still be coming in for so many seconds. `held`: nor was it, this turn may not be gone on with now.
    `interrupted`: it is stopping because its author wrote on.
    `letters`: messages of a turn that ended with this begin, which say something else now.
    `found`: what was recalled for the turn's first message. `principal`: who owns memory, portfolio and budget of the
    turn; `own_language`: the author's own choice, or empty. `digest` is what its preset said when it began, empty where
    that is unknown; `team` who works in it, None when there is no such team any more.
    """

    lane: Lane
    item: Item
    command: bool
    session_id: str = ""
    turn_id: int = 0
    epoch: int = 0
    horizon: int = 0
    rows: tuple[Row, ...] = ()
    resumed: bool = False
    stopping: bool = False
    unwritten: bool = False
    wait: float = 0.0
    held: bool = False
    interrupted: bool = False
    principal: str = ""
    own_language: str = ""
    checkpoints: tuple[Checkpoint, ...] = ()
    letters: tuple[tuple[int, Draft], ...] = ()
    found: Found | None = None
    digest: str = ""
    team: Team | None = None

    @property
    def compacts(self) -> str | None:
        """The topic of a turn that only compacts ("" for none); None for any other turn."""
        first = next((row for row in self.rows if row.turn_id == self.turn_id), None)
        return None if first is None else first.meta.get("compact")

    def language(self, setting: str) -> Language:
        """The language of the turn or the command."""
        return language_of(self.item.text, self.item.language, setting, self.own_language)
