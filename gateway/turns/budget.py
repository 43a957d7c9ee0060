"""One turn's side of the pots: what its journals do within their transactions, and the letters that follow them."""

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection, select

from agent_core.budget.ledger import Purse, Settled, Short, refs
from agent_core.budget.pots import OwnPots, resets_at
from agent_core.budget.words import name_of
from agent_core.errors import BudgetExceeded, BudgetWaits
from agent_core.ports import Need
from agent_core.runtime.team import Team
from agent_core.storage import ledger
from agent_core.storage.ledger import Hold
from agent_core.types import Usage
from gateway.budgets import asks as budget_asks
from gateway.budgets import notes as budget_notes
from gateway.budgets.budgets import Budgets
from gateway.budgets.notes import Letters
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people.identity import Language
from gateway.people.operators import Place, places
from gateway.storage.tables import Outbox
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.engine.begun import Begun

log = logging.getLogger(__name__)
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
WAITS = "budget"  # key of the message that says so
Parked = Literal["waits", "again", "nobody"]


@dataclass(slots=True)
class TurnBudget:
    """The budget of a turn and its sub-agents.

    Attributes:
        house: the installation's pots.
        purse: what the turn has set aside.
        lane: its conversation.
        session_id: its own session; others are its sub-agents'.
        person: where and in which language its person is told something.
        principal: who pays.
        like: what such turns have in common, see Budgets.begin.
        post: sends letters, after their commit.
    """

    house: Budgets
    purse: Purse
    lane: str
    session_id: str
    person: Place
    principal: str
    like: str
    post: Callable[[Letters], None]
    _lack: tuple[Short, Need] | None = None
    _letters: Letters = field(default_factory=list)

    # Before a call ----------------------------------------------------------------------------------------------

    def covers(self, session_id: str, need: Need) -> bool:
        """Whether the call may be made as things are. Raises BudgetExceeded for a model that may not be used at all."""
        rules, names = self.purse.rules, (self.session_id, self.like)
        if self.purse.is_free(need):
            self.house.forget(*names)
            return True
        if need.usd is None and rules.unpriced != "allow":
            self._unpriced(need, refuse=rules.unpriced == "refuse")
        if session_id == self.session_id:
            self.house.expect(need, *names)
        return self.purse.covers(session_id, need, self.house.clock.now())

    def _unpriced(self, need: Need, *, refuse: bool) -> None:
        if not any(pot.usd is not None for pot in self.purse.rules.pots):
            return
        if refuse:
            raise BudgetExceeded("unpriced", model=need.model)
        self.house.note_unpriced(need.model)

    def may_use(self, model: str, priced: bool) -> bool:
        """Whether the pots' rules allow a model, be its price unknown."""
        rules = self.purse.rules
        if not priced and rules.unpriced != "allow":
            try:
                self._unpriced(Need(model, 0, None), refuse=rules.unpriced == "refuse")
            except BudgetExceeded:
                return False
        return True

    def has_left(self, conn: Connection) -> bool:
        """See Purse."""
        return self.purse.has_left(conn, self.house.clock.now())

    def reserve(self, conn: Connection, session_id: str, need: Need) -> Hold | Short:
        """In a transaction: see Purse."""
        return self.purse.reserve(conn, session_id, need, self.house.clock.now())

    def reserved(self, session_id: str, made: Hold | Short) -> None:
        """`reserve` is committed."""
        if isinstance(made, Hold):
            now = self.house.clock.now()
            self.purse.kept(session_id, made, now)
            rules = self.purse.rules
            self.house.learn(refs(rules.pots, self.purse.payer, now, rules.zone), made)

    def check(self, made: Hold | Short, need: Need) -> None:
        """Raise what a call without room comes to."""
        if isinstance(made, Hold):
            return
        waits = made.pot.on_exceeded == "queue"
        asks = made.pot.on_exceeded == "ask_admin" and not made.row.denied
        if waits or asks:
            self._lack = made, need
            raise BudgetWaits(made.pot.kind)
        raise self.purse.refusal(made, need, self.house.clock.now())

    # After it ---------------------------------------------------------------------------------------------------

    def settle(
        self,
        conn: Connection,
        session_id: str,
        usage: Usage | None,
        *,
        model: str = "",
        last: bool,
    ) -> Settled | None:
        """In the transaction of an answer: book its cost; at the end of the turn everything else goes back."""
        now = self.house.clock.now()
        self._letters = []
        used = usage or Usage()
        settled = self.purse.settle(conn, session_id, used, now, model=model, last=last)
        if settled is not None and settled.warn:
            told = places(conn, self.house.operators, self.house.setting)
            for pot, row in settled.warn:
                self._letters += budget_notes.warning(
                    conn,
                    pot,
                    row,
                    told,
                    turn_id=self.purse.payer.run,
                    person=self.person,
                    now=now,
                    zone=self.purse.rules.zone,
                )
        return settled

    def settled(self, session_id: str, done: Settled | None) -> None:
        """`settle` is committed."""
        if done is None:
            return
        self.purse.kept(session_id, done.hold)
        self._send()
        if done.hold is None:
            self.house.waiters.room()

    def _send(self) -> None:
        letters, self._letters = self._letters, []
        if letters:
            self.post(letters)

    # Waiting ----------------------------------------------------------------------------------------------------

    @property
    def lacks(self) -> bool:
        """Whether the run has ended because it waits for room."""
        return self._lack is not None

    def pause(self, conn: Connection) -> None:
        """In the transaction in which the turn begins to wait, for whatever."""
        self.purse.pause(conn)

    def paused(self) -> None:
        """`pause` is committed."""
        self.purse.paused()

    def park(self, conn: Connection) -> Parked:
        """In a transaction: wait for room, unless there is some by now, or nobody who could be asked."""
        assert self._lack is not None  # noqa: S101 - `lacks` was asked
        short, need = self._lack
        now, zone = self.house.clock.now(), self.purse.rules.zone
        self._letters = []
        self.purse.pause(conn)  # what sub-agents had set aside may be the room that was missing
        row = ledger.pot(conn, short.row.id)
        if row is None or row.denied != short.row.denied or self.purse.has_room(row, need):
            return "again"
        asks = short.pot.on_exceeded == "ask_admin"
        if asks:
            told = places(conn, self.house.operators, self.house.setting)
            if not told:
                return "nobody"
            turn_id = self.purse.payer.run
            self._letters += budget_asks.ask(
                conn, short.pot, row, short.unit, told, turn_id=turn_id, now=now, zone=zone
            )
        self._letters += self._tell(conn, short, "budget_asks" if asks else "budget_waits", now)
        return "waits"

    def _tell(self, conn: Connection, short: Short, code: str, now: dt.datetime) -> Letters:
        turn_id, place = self.purse.payer.run, self.person
        told = select(_OUTBOX.c.id).where(_OUTBOX.c.turn_id == turn_id, _OUTBOX.c.key == WAITS)
        if conn.execute(told).first() is not None:
            return []
        text = say(
            f"{code}_run" if short.pot.kind == "run" else code,
            place.language,
            pot=name_of(short.pot.kind, place.language),
            size=budget_notes.size(short.pot, short.unit, place.language),
            at=budget_notes.when(short.pot, now, self.purse.rules.zone),
        )
        draft = Draft(turn_id, WAITS, place.person, place.address, text)
        return [(outbox.put(conn, draft, now), draft)]

    def parked(self, outcome: Parked) -> None:
        """`park` is committed. Raises BudgetExceeded where nobody can be asked."""
        lack, self._lack = self._lack, None
        assert lack is not None  # noqa: S101 - `park` has looked at it
        short, need = lack
        now = self.house.clock.now()
        if outcome == "nobody":
            log.warning("budget_nobody_to_ask", extra={"pot": short.pot.kind})
            raise self.purse.refusal(short, need, now)
        self.purse.paused()
        if outcome == "waits":
            self._send()
            until = resets_at(short.pot.kind, now, self.purse.rules.zone)
            self.house.waiters.add(self.lane, self.principal, until)


def begin(budgets: Budgets, conn: Connection, begun: "Begun", team: Team | None) -> None:
    """In the transaction that begins (or goes on with) a turn: open its purse."""
    budgets.begin(
        conn,
        turn_id=begun.turn_id,
        session_id=begun.session_id,
        principal=begun.principal,
        address=begun.lane.address,
        own=OwnPots() if team is None else team.pots,
        like=_like(begun),
        resumed=begun.resumed,
    )


def of_turn(
    budgets: Budgets | None, begun: "Begun", language: Language, senders: Sender
) -> TurnBudget | None:
    """The budget of a turn that `begin` has opened; None where nothing is limited."""
    purse = None if budgets is None else budgets.take(begun.turn_id)
    if purse is None or budgets is None:
        return None

    def post(letters: Letters) -> None:
        for letter in letters:
            senders.send(senders.letter(*letter))

    return TurnBudget(
        house=budgets,
        purse=purse,
        lane=begun.lane.id,
        session_id=begun.session_id,
        person=Place(begun.item.author, begun.lane.address, language),
        principal=begun.principal,
        like=_like(begun),
        post=post,
    )


def _like(begun: "Begun") -> str:
    return f"{begun.lane.preset}|{begun.lane.model}"
