"""Which memories an agent reads and writes: a preset's key `memory` (guide "presets", 3).

A memory has its owner and the place where it counts: in private, or in one group. `user` is what is known of a person
in private, `channel` what is known in the group where the turn runs; neither is ever open in the other's place. `run`
is what the agents of one run bring: whoever writes it lays out its result, whoever reads it is handed those.
"""

from dataclasses import dataclass
from typing import Literal

from agent_core.assembly.gather import PRIVATE
from agent_core.past import Memory, NewNote, Remembered

Scope = Literal["user", "channel", "run"]


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """What an agent may read and write; the default is a supervisor's.

    `recall`: the most memories and earlier rows that are recalled for one message or task, 0 or more, beside the few
    that always hold (RCL-7), which 0 leaves out as well; None: as recall itself has it.
    """

    read: frozenset[Scope] = frozenset({"user", "channel"})
    write: frozenset[Scope] = frozenset({"user", "channel"})
    recall: int | None = None

    def reads(self, place: str) -> bool:
        """Whether memories are recalled in this place: "private", a group's id, "" for where nothing is kept."""
        return bool(place) and self.recall != 0 and _scope(place) in self.read

    def writes(self, place: str) -> bool:
        """Whether something may be kept of what is said in this place."""
        return bool(place) and _scope(place) in self.write


NONE = MemoryRules(frozenset(), frozenset())


def _scope(place: str) -> Scope:
    return "user" if place == PRIVATE else "channel"


class Closed:
    """A Memory that takes nothing: the preset lets the agent write none here."""

    async def remember(
        self, owner: str, session_id: str, turn_id: int, note: NewNote
    ) -> Remembered:
        """See Memory."""
        del owner, session_id, turn_id, note
        return Remembered("closed")


def open_memory(memory: Memory | None, rules: MemoryRules, place: str) -> Memory | None:
    """What a tool may note in: nothing where the rules are against it."""
    return memory if memory is None or rules.writes(place) else Closed()
