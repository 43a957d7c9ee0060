"""The installation's pots at work: one purse for each turn, on the transactions that the turn commits anyway.

The transaction that begins a turn sets aside what its first call will probably cost, going by the call before; each
answer's own sets aside for the next one. So a call needs a transaction of its own only where that was too little. A
model that costs nothing touches no pot.
"""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlalchemy import Connection

from agent_core.budget.ledger import MARGIN, Purse
from agent_core.budget.pots import OwnPots, Payer, Rules, tightened
from agent_core.ports import Clock, Need
from agent_core.storage import ledger
from agent_core.storage.ledger import Hold, Ref
from channels.types import Address
from gateway.budgets.waiters import Waiters
from gateway.metrics.observer import Observers

log = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")
REMEMBERED = 1_000  # sessions whose last call is known, and rows of pots: some 100 KB


@dataclass(slots=True)
class Budgets:
    """What all turns share.

    Attributes:
        rules: the settings' pots.
        clock: for days and months.
        operators: person ids; they are told, and asked.
        waiters: conversations whose turn waits until a pot has room.
        setting: the language of the settings, for operators who chose none.
        observers: are told of what is paid beside turns.
    """

    rules: Rules
    clock: Clock
    operators: Sequence[str] = ()
    waiters: Waiters = field(default_factory=Waiters)
    setting: str = "auto"
    observers: Observers = field(default_factory=Observers)
    _ids: OrderedDict[Ref, int] = field(default_factory=OrderedDict)
    _last: OrderedDict[str, Need] = field(default_factory=OrderedDict)
    _begun: dict[int, Purse] = field(default_factory=dict)
    _unpriced: set[str] = field(default_factory=set)

    def spare(self, own: OwnPots) -> frozenset[str]:
        """The models that answer where a pot of the settings or of a preset has no room, if any is to."""
        pots = (pot for pot in (*self.rules.pots, *own.pots) if pot.on_exceeded == "fallback_model")
        return frozenset(pot.fallback_model or self.rules.fallback_model for pot in pots)

    def begin(
        self,
        conn: Connection,
        *,
        turn_id: int,
        session_id: str,
        principal: str,
        address: Address,
        own: OwnPots,
        like: str,
        resumed: bool,
    ) -> None:
        """In the transaction that begins a turn: open its purse, with room for its first call where there is some.

        `own` are the preset's pots; `like` names what such turns have in common (preset and
        model), so that the first call of a session is expected to be like the last one of another.
        """
        rules = tightened(self.rules, own)
        if not rules.pots:
            return
        payer = Payer(principal, str(replace(address, thread=None)), turn_id)
        purse = Purse(rules, payer, self.ids, loaded=not resumed)
        self._begun[turn_id] = purse
        need = self._last.get(session_id) or self._last.get(like)
        if need is None or resumed:
            return
        now = self.clock.now()
        made = purse.reserve(conn, session_id, _larger(need), now)
        if isinstance(made, Hold):
            purse.kept(session_id, made, now)

    def take(self, turn_id: int) -> Purse | None:
        """The purse of a turn that `begin` has opened, once that is committed; None where nothing is limited."""
        purse = self._begun.pop(turn_id, None)
        if purse is not None:
            for session_id, booked in purse.booked.items():
                self.learn(booked, purse.holds[session_id])
        return purse

    def ids(self, conn: Connection, refs: Sequence[Ref]) -> tuple[int, ...]:
        """The rows of pots. A row is never deleted while its period lasts, so it is looked up once."""
        missing = [ref for ref in refs if ref not in self._ids]
        found = dict(zip(missing, ledger.pot_ids(conn, missing), strict=True))
        return tuple(found.get(ref) or self._ids[ref] for ref in refs)

    def learn(self, refs: Sequence[Ref], hold: Hold) -> None:
        """The rows of these pots are committed."""
        for ref, pot_id in zip(refs, hold.pots, strict=False):
            _remember(self._ids, ref, pot_id)

    def expect(self, need: Need, *names: str) -> None:
        """The next call of these will be like this one."""
        for name in names:
            _remember(self._last, name, need)

    def note_unpriced(self, model: str) -> None:
        """Say once for each model that its calls are in no sum of money (MDL-3)."""
        if model not in self._unpriced:
            self._unpriced.add(model)
            log.warning("budget_unpriced_model", extra={"model": model})

    def forget(self, *names: str) -> None:
        """The last call of these cost nothing: nothing is set aside for the next one."""
        for name in names:
            self._last.pop(name, None)


def _remember(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


def _larger(need: Need) -> Need:
    """What the next call may need: a conversation grows."""
    usd = None if need.usd is None else need.usd * MARGIN
    return replace(need, tokens=round(need.tokens * MARGIN), usd=usd)
