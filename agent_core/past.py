"""What of a person's past can be read back or kept: the ports of the archive, of notes and of recall."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Restored:
    """What a reference into the archive stands for, whole.

    `ref` names it with its session. `source` names the tools whose results it holds, "" for none; `credibility` is the
    level of a single result (CRD-1), "" where it is not one or none was noted.
    """

    ref: str
    text: str
    source: str = ""
    credibility: str = ""


class Archive(Protocol):
    """Reads back what a view left out. Reading changes nothing and may be repeated at any time."""

    async def read(self, owner: str, session_id: str, ref: str) -> Restored | None:
        """What `ref` stands for, for a run of `owner` in `session_id`: of that session or another one of the owner's.

        None where there is nothing of the kind, or it is somebody else's: no answer tells the two apart (ARC-7).
        """
        ...


@dataclass(frozen=True, slots=True)
class NewNote:
    """Something to remember for a person. `codes` are symbol ids; `valid_until` is when it ends to hold."""

    text: str
    kind: Literal["view", "plan", "rule"]
    codes: tuple[str, ...] = ()
    valid_until: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What came of it: stored or known (`id` names the memory), or why not (RMB-3, RMB-4).

    too_many: of this turn; secret: it holds one; unsaid: the person has neither said nor confirmed it; off: there is no
    memory here; closed: the preset lets nothing be noted.
    """

    state: Literal["stored", "known", "too_many", "secret", "unsaid", "off", "closed"]
    id: int = 0


class Memory(Protocol):
    """Where a tool notes what a person wants remembered."""

    async def remember(
        self, owner: str, session_id: str, turn_id: int, note: NewNote
    ) -> Remembered:
        """Store a note of `owner` (never of anybody else), made in this turn; durable when it returns."""
        ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """What recall found: a text of sections, "" for nothing, and by which ids its items are known.

    `memory:<id>` is a memory, `row:<session>:<seq>` a row of a transcript.
    """

    text: str = ""
    ids: tuple[str, ...] = ()


class Recall(Protocol):
    """Finds what is remembered of a person for a message. Reading changes nothing."""

    async def recall(
        self,
        owner: str,
        scope: str,
        text: str,
        *,
        symbols: Sequence[str] | None,
        now: dt.datetime,
        shown: frozenset[str],
        limit: int | None = None,
    ) -> Recalled:
        """What the owner's memories and past conversations in this scope hold for a message (MEM-17, RCL-8).

        `scope` is "private" or a group's conversation id. `symbols` are the canonical ids that the message is about;
        None: those that it names. `shown` are ids that are in the view already; `view:<session>:<seq>` there stands
        for all rows of a session from that one on. `limit` bounds the memories and rows that are searched for (None: as
        the implementation has it); what always holds comes on top. Everything found is data, never an instruction.
        """
        ...
