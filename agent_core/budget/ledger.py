"""What a running turn sets aside in pots and pays from them: reserve before each model call, settle after it.

All of it runs inside transactions that others commit; what a Purse knows changes only when one is known to be committed
(`kept`). A turn has one Purse for itself and its sub-agents, so that parallel ones meet in the rows of the ledger.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from agent_core.budget.pots import NANO, OF_PRESETS, Payer, Pot, Rules, nano, period, resets_at
from agent_core.errors import BudgetExceeded
from agent_core.ports import Need
from agent_core.storage import ledger
from agent_core.storage.ledger import NOTHING, Amount, Hold, PotRow, Ref
from agent_core.types import Usage

# The next request of a turn is longer than the last by what tools returned; more than this costs one transaction more.
MARGIN = 1.25
DEMO = "demo"  # the demo planner is no model that anybody pays for, in whatever unit


@dataclass(frozen=True, slots=True)
class Short:
    """Why a call has no room: the first pot that it does not fit, as its row stands without the call."""

    pot: Pot
    row: PotRow
    unit: str


@dataclass(frozen=True, slots=True)
class Settled:
    """What a settlement came to: the session's hold from now on, and pots that have passed their `warn_at` with it."""

    hold: Hold | None
    warn: tuple[tuple[Pot, PotRow], ...] = ()


@dataclass(slots=True)
class Purse:
    """The pots of one turn.

    `ids` gives the rows of pots, which never change. `counted`: the turn is in the pots as a run. `loaded`: `holds` is
    what the database has; a turn that goes on after a restart has to look first. `needs` are the last calls' worst
    cases, `booked` the pots of the holds, by session; `dry` are sessions that must look before the next call.
    """

    rules: Rules
    payer: Payer
    ids: Callable[[Connection, Sequence[Ref]], tuple[int, ...]] = ledger.pot_ids
    counted: bool = False
    loaded: bool = True
    holds: dict[str, Hold] = field(default_factory=dict)
    needs: dict[str, Amount] = field(default_factory=dict)
    booked: dict[str, tuple[Ref, ...]] = field(default_factory=dict)
    dry: set[str] = field(default_factory=set)

    # In memory --------------------------------------------------------------------------------------------------

    def is_free(self, need: Need) -> bool:
        """Whether the call changes no pot: there is none, or nothing is paid and nothing else counts."""
        rules = self.rules
        free = need.usd == 0 and (rules.counts_only_money or need.model == DEMO)
        return not rules.pots or free

    def covers(self, session_id: str, need: Need, now: dt.datetime) -> bool:
        """Whether what the session has set aside in today's pots is enough; then no transaction is needed."""
        hold = self.holds.get(session_id)
        if hold is None or not self.loaded or session_id in self.dry:
            return False
        want = self._want(need)
        if want.usd > hold.amount.usd or want.tokens > hold.amount.tokens:
            return False
        if self._refs(now) != self.booked.get(session_id):
            return False  # a day has begun since
        self.needs[session_id] = want
        return True

    def kept(self, session_id: str, hold: Hold | None, booked: dt.datetime | None = None) -> None:
        """The transaction that made this hold is committed; `booked`: in the pots of that time, else of before.

        None: the turn has ended, and all holds with it.
        """
        self.loaded = True
        if hold is None:
            self.holds.clear()
            return
        self.counted = True
        self.holds[session_id] = hold
        if booked is not None:
            self.booked[session_id] = self._refs(booked)

    def paused(self) -> None:
        """`pause` is committed: what is known of holds is of before."""
        self.loaded = False
        self.holds.clear()
        self.booked.clear()

    def _refs(self, now: dt.datetime) -> tuple[Ref, ...]:
        return refs(self.rules.pots, self.payer, now, self.rules.zone)

    def _want(self, need: Need) -> Amount:
        return Amount(nano(need.usd or 0.0), need.tokens) if self.rules.reserve else NOTHING

    # In a transaction -------------------------------------------------------------------------------------------

    def load(self, conn: Connection) -> None:
        """Learn what an earlier run of the turn has left set aside; calls that are made again take it over."""
        if self.loaded:
            return
        for session_id, hold in ledger.holds_of(conn, self.payer.run).items():
            self.holds.setdefault(
                session_id, hold
            )  # another session's transaction may have kept a newer one
            self.counted = True

    def reserve(
        self, conn: Connection, session_id: str, need: Need, now: dt.datetime
    ) -> Hold | Short:
        """Set the worst case of a call aside in every pot, or in none: then it says in which it has no room.

        A session has one hold: a call that is made again finds its own, and takes only what is missing.
        """
        self.load(conn)
        want = self._want(need)
        strict = need.usd is None or not self.rules.reserve
        old = self.holds.get(session_id)
        ids = self.ids(conn, self._refs(now))
        before = old.amount if old is not None and old.pots == ids else NOTHING
        runs = 0 if self.counted else 1
        rows = ledger.change(conn, ids, held=want - before, runs=runs)
        short = self._short(rows, strict=strict)
        new = Hold(ids, want, 0 if old is None else old.n + 1)
        if short is None and ledger.keep_hold(conn, self.payer.run, session_id, old, new):
            if old is not None and old.pots != ids:
                ledger.change(conn, old.pots, held=NOTHING - old.amount)
            self._set_aside(session_id, want)
            return new
        undone = ledger.change(conn, ids, held=before - want, runs=-runs)
        if short is None:
            self._set_aside(session_id, want)
            return self._stored(conn, session_id)  # an earlier try went through unseen
        row = next(row for row in undone if row.id == short.row.id)
        return Short(short.pot, row, short.unit)

    def _set_aside(self, session_id: str, want: Amount) -> None:
        self.needs[session_id] = want
        self.dry.discard(session_id)

    def settle(
        self,
        conn: Connection,
        session_id: str,
        usage: Usage,
        now: dt.datetime,
        *,
        model: str = "",
        last: bool,
    ) -> Settled | None:
        """Book what a call of `model` cost, in the pots in which it was set aside.

        `last`: nothing more is paid in this turn, and everything is given back; else the next call gets room at once,
        where there is some. Returns None where there is nothing to book.
        """
        self.load(conn)
        old = self.holds.get(session_id)
        free = self._is_free(usage, model)
        if old is None and free:
            return self._end(conn) if last else None
        cost = NOTHING if free else _cost(usage)
        unpriced = int(usage.usd is None)
        if last:
            return self._settle_last(conn, old, cost, unpriced, now)
        if old is None:
            ids = self.ids(conn, self._refs(now))
            runs = int(not self.counted)
            rows = ledger.change(conn, ids, spent=cost, runs=runs, unpriced=unpriced)
            hold = Hold(ids, NOTHING)
            ledger.keep_hold(conn, self.payer.run, session_id, None, hold)
            return Settled(hold, self._warnings(conn, rows))
        return self._settle_on(conn, session_id, old, cost, unpriced)

    def _is_free(self, usage: Usage, model: str) -> bool:
        nothing = usage.usd == 0 and (self.rules.counts_only_money or model == DEMO)
        return not self.rules.pots or nothing or usage == Usage()

    def _settle_on(
        self, conn: Connection, session_id: str, old: Hold, cost: Amount, unpriced: int
    ) -> Settled:
        ahead = self.needs.get(session_id, NOTHING).times(MARGIN) if self.rules.reserve else NOTHING
        new = Hold(old.pots, ahead, old.n + 1)
        rows = ledger.change(conn, old.pots, spent=cost, held=ahead - old.amount, unpriced=unpriced)
        if self._short(rows, strict=unpriced > 0 or not self.rules.reserve) is not None:
            self.dry.add(session_id)
            rows = ledger.change(conn, old.pots, held=NOTHING - ahead)
            new = Hold(old.pots, NOTHING, old.n + 1)
        if ledger.keep_hold(conn, self.payer.run, session_id, old, new):
            return Settled(new, self._warnings(conn, rows))
        back = old.amount - new.amount
        ledger.change(conn, old.pots, spent=NOTHING - cost, held=back, unpriced=-unpriced)
        return Settled(self._stored(conn, session_id))  # an earlier try went through unseen

    def _stored(self, conn: Connection, session_id: str) -> Hold:
        return ledger.holds_of(conn, self.payer.run)[session_id]

    def _settle_last(
        self, conn: Connection, old: Hold | None, cost: Amount, unpriced: int, now: dt.datetime
    ) -> Settled:
        ids = old.pots if old is not None else self.ids(conn, self._refs(now))
        back = self._given_back(conn)
        held = back.pop(ids, NOTHING)
        runs = int(not self.counted)
        rows = ledger.change(
            conn, ids, spent=cost, held=NOTHING - held, runs=runs, unpriced=unpriced
        )
        for pots, amount in back.items():
            ledger.change(conn, pots, held=NOTHING - amount)
        ledger.drop_pots(conn, [row.id for row in rows if row.kind == "run"])
        return Settled(None, self._warnings(conn, rows))

    def _end(self, conn: Connection) -> Settled | None:
        if not self.holds:
            return None
        for pots, amount in self._given_back(conn).items():
            rows = ledger.change(conn, pots, held=NOTHING - amount)
            ledger.drop_pots(conn, [row.id for row in rows if row.kind == "run"])
        return Settled(None)

    def pause(self, conn: Connection) -> None:
        """Give back what the turn has set aside, since it waits; empty holds stay, as a sign that it counts."""
        self.load(conn)
        for session_id, hold in ledger.holds_of(conn, self.payer.run).items():
            ledger.change(conn, hold.pots, held=NOTHING - hold.amount)
            empty = Hold(hold.pots, NOTHING, hold.n + 1)
            ledger.keep_hold(conn, self.payer.run, session_id, hold, empty)

    def _given_back(self, conn: Connection) -> dict[tuple[int, ...], Amount]:
        found: dict[tuple[int, ...], Amount] = {}
        for hold in ledger.drop_holds(conn, self.payer.run):
            found[hold.pots] = found.get(hold.pots, NOTHING) + hold.amount
        return found

    # Judging ----------------------------------------------------------------------------------------------------

    def _short(self, rows: Sequence[PotRow], *, strict: bool = False) -> Short | None:
        """The first pot, in order, that holds more than it may; `strict`: or that has nothing left."""
        for own, row in zip(self.rules.pots, rows, strict=True):
            pot = own.raised(row.raised)
            if unit := _over(pot, row, strict=strict):
                return Short(pot, row, unit)
        return None

    def has_room(self, row: PotRow, need: Need) -> bool:
        """Whether a call would fit this pot as it is now."""
        want = self._want(need)
        pot = self._pot(row)
        runs = row.runs if self.counted else row.runs + 1
        held = Amount(row.usd_held, row.tokens_held) + want
        after = replace(row, usd_held=held.usd, tokens_held=held.tokens, runs=runs)
        return not _over(pot, after, strict=need.usd is None or not self.rules.reserve)

    def has_left(self, conn: Connection, now: dt.datetime) -> bool:
        """Whether there is something left in every pot, for a call whose worst case nobody knows."""
        return not any(
            _over(self._pot(row), row, strict=True) for row in ledger.pots_of(conn, self._refs(now))
        )

    def _pot(self, row: PotRow) -> Pot:
        of_preset = row.key.endswith(OF_PRESETS)
        own = (p for p in self.rules.pots if p.kind == row.kind and p.of_preset == of_preset)
        return next(own).raised(row.raised)

    def _warnings(self, conn: Connection, rows: Sequence[PotRow]) -> tuple[tuple[Pot, PotRow], ...]:
        """Pots that are nearly used up and were not told of before in their period."""
        found = []
        for row in rows:
            pot = self._pot(row)
            if pot.warn_at is None or row.warned or share(pot, row) < pot.warn_at:
                continue
            ledger.mark(conn, row.id, warned=True)
            found.append((pot, row))
        return tuple(found)

    def refusal(self, short: Short, need: Need, now: dt.datetime) -> BudgetExceeded:
        """The error that tells of a pot without room."""
        pot = short.pot
        size = getattr(pot, short.unit)
        spare = pot.fallback_model or self.rules.fallback_model
        fallback = spare if pot.on_exceeded == "fallback_model" else ""
        return BudgetExceeded(
            pot.kind,
            short.unit,
            size / NANO if short.unit == "usd" else size,
            resets_at=resets_at(pot.kind, now, self.rules.zone),
            model=need.model,
            fallback=fallback,
        )


def refs(pots: Iterable[Pot], payer: Payer, now: dt.datetime, zone: str) -> tuple[Ref, ...]:
    """The ledger rows that a call of this payer is booked in now."""
    return tuple(Ref(p.kind, payer.key(p), period(p.kind, now, zone)) for p in pots)


def _cost(usage: Usage) -> Amount:
    return Amount(nano(usage.usd or 0.0), usage.total_input + usage.output_tokens)


def _over(pot: Pot, row: PotRow, *, strict: bool) -> str:
    """The unit in which a row goes beyond its pot; "" for none."""
    used = {"usd": row.usd + row.usd_held, "tokens": row.tokens + row.tokens_held}
    for unit, amount in used.items():
        size = getattr(pot, unit)
        if size is not None and (amount > size or (strict and amount >= size)):
            return unit
    return "runs" if pot.runs is not None and row.runs > pot.runs else ""


def share(pot: Pot, row: PotRow) -> float:
    """The part of a pot that is spent, by the unit that is nearest to its end."""
    sizes = ((row.usd, pot.usd), (row.tokens, pot.tokens), (row.runs, pot.runs))
    return max((used / size for used, size in sizes if size), default=0.0)
