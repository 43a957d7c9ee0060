"""Statements on the ledger of pots. Each takes a connection inside a transaction and never commits.

A pot's row is changed by its own numbers (`usd = usd + …`), so sums stay exact among any number of writers. The changed
rows come back: the caller judges them and takes the change back, in the same transaction, where it goes beyond a limit.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    bindparam,
    delete,
    select,
    tuple_,
    update,
)

from agent_core.storage.prepared import Prepared
from agent_core.storage.tables_budget import BudgetHold, BudgetPot
from agent_core.storage.upsert import insert_into

_POT = BudgetPot.__table__  # type: ignore[attr-defined]
_HOLD = BudgetHold.__table__  # type: ignore[attr-defined]
_COUNTS = ("usd", "usd_held", "tokens", "tokens_held", "runs", "unpriced")

# Statements of the hot path are built once: building costs more than running them.
_MINE = (_HOLD.c.turn_id == bindparam("turn"), _HOLD.c.session_id == bindparam("session"))
_REHOLD = Prepared(
    update(_HOLD)
    .where(*_MINE, _HOLD.c.n == bindparam("before"))
    .values(
        n=bindparam("after"),
        pots=bindparam("new_pots"),
        usd=bindparam("new_usd"),
        tokens=bindparam("new_tokens"),
    )
)
_HOLDS = Prepared(select(_HOLD).where(_HOLD.c.turn_id == bindparam("turn")))
_DROP = Prepared(delete(_HOLD).where(_HOLD.c.turn_id == bindparam("turn")).returning(_HOLD))


@cache
def _these(count: int) -> ColumnElement[bool]:
    these: ColumnElement[bool] = _POT.c.id.in_([bindparam(f"id{n}") for n in range(count)])
    return these


@cache
def _change(count: int) -> Prepared:
    added = {name: _POT.c[name] + bindparam(f"d_{name}") for name in _COUNTS}

    def made(dialect: str) -> Executable:
        if count == 1 or dialect != "postgresql":
            return update(_POT).where(_these(count)).values(added).returning(_POT)
        # Locked in one order, so that two never wait for each other; with the change, as everybody waits meanwhile.
        these = select(_POT.c.id).where(_these(count)).order_by(_POT.c.id)
        locked = these.with_for_update().cte("locked")
        return update(_POT).where(_POT.c.id == locked.c.id).values(added).returning(_POT)

    return Prepared(made)


def _add_hold(dialect: str) -> Executable:
    unique = ["turn_id", "session_id"]
    new = insert_into(dialect, _HOLD).on_conflict_do_nothing(index_elements=unique)
    return new.returning(_HOLD.c.n)


_ADD_HOLD = Prepared(_add_hold)


@dataclass(frozen=True, slots=True)
class Ref:
    """One row of the ledger: a pot of a person, a chat, a run or the installation (`key`), within a period."""

    kind: str
    key: str
    period: str


@dataclass(frozen=True, slots=True)
class Amount:
    """Nano-dollars and tokens."""

    usd: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.usd - other.usd, self.tokens - other.tokens)

    def times(self, factor: float) -> "Amount":
        """So many times as much, rounded up."""
        return Amount(math.ceil(self.usd * factor), math.ceil(self.tokens * factor))


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class PotRow:
    """A pot's row; see BudgetPot."""

    id: int
    kind: str
    key: str
    period: str
    usd: int
    usd_held: int
    tokens: int
    tokens_held: int
    runs: int
    unpriced: int
    raised: int
    asked: int
    denied: bool
    warned: bool


@dataclass(frozen=True, slots=True)
class Hold:
    """What one session has set aside, in which pots; `n` counts its changes."""

    pots: tuple[int, ...]
    amount: Amount
    n: int = 0


def pot_ids(conn: Connection, refs: Iterable[Ref]) -> tuple[int, ...]:
    """The rows of these pots, made where they are new, in the order of `refs`."""
    return tuple(_pot_id(conn, ref) for ref in refs)


def _pot_id(conn: Connection, ref: Ref) -> int:
    found = pots_of(conn, [ref])
    if not found:
        new = {"kind": ref.kind, "key": ref.key, "period": ref.period}
        unique = ["kind", "key", "period"]
        insert_new = insert_into(conn.dialect.name, _POT).on_conflict_do_nothing(
            index_elements=unique
        )
        conn.execute(insert_new, new)
        found = pots_of(conn, [ref])
    return found[0].id


def pots_of(conn: Connection, refs: Sequence[Ref]) -> list[PotRow]:
    """The rows of these pots that exist."""
    wanted = [(ref.kind, ref.key, ref.period) for ref in refs]
    query = select(_POT).where(tuple_(_POT.c.kind, _POT.c.key, _POT.c.period).in_(wanted))
    return [_pot(row) for row in conn.execute(query)]


def pot(conn: Connection, pot_id: int) -> PotRow | None:
    """One pot, locked against other writers until this transaction ends; None where there is none."""
    query = select(_POT).where(_POT.c.id == pot_id)
    if conn.dialect.name == "postgresql":
        query = query.with_for_update()
    row = conn.execute(query).first()
    return None if row is None else _pot(row)


def change(
    conn: Connection,
    pots: Sequence[int],
    *,
    spent: Amount = NOTHING,
    held: Amount = NOTHING,
    runs: int = 0,
    unpriced: int = 0,
) -> list[PotRow]:
    """Add to (or, below 0, take from) each of these pots; returns them as they are then, in the order of `pots`."""
    if not pots:
        return []
    ids = {f"id{n}": pot_id for n, pot_id in enumerate(pots)}
    values = ids | {
        "d_usd": spent.usd,
        "d_usd_held": held.usd,
        "d_tokens": spent.tokens,
        "d_tokens_held": held.tokens,
        "d_runs": runs,
        "d_unpriced": unpriced,
    }
    found = {row.id: _pot(row) for row in _change(len(pots)).execute(conn, values)}
    return [found[pot_id] for pot_id in pots if pot_id in found]


def mark(conn: Connection, pot_id: int, **values: Any) -> None:
    """Set raised, asked, denied or warned of a pot."""
    conn.execute(update(_POT).where(_POT.c.id == pot_id).values(**values))


def drop_pots(conn: Connection, pots: Sequence[int]) -> None:
    """Forget pots that nothing is paid from any more: those of a run that has ended."""
    if pots:
        conn.execute(delete(_POT).where(_POT.c.id.in_(pots)))


def keep_hold(conn: Connection, turn_id: int, session_id: str, old: Hold | None, new: Hold) -> bool:
    """Write a session's hold; False when it is not as `old` any more, so this change was made before."""
    pots = " ".join(map(str, new.pots))
    if old is None:
        values = {
            "turn_id": turn_id,
            "session_id": session_id,
            "n": new.n,
            "pots": pots,
            "usd": new.amount.usd,
            "tokens": new.amount.tokens,
        }
        return _ADD_HOLD.execute(conn, values).first() is not None
    changed = _REHOLD.execute(
        conn,
        {
            "turn": turn_id,
            "session": session_id,
            "before": old.n,
            "after": new.n,
            "new_pots": pots,
            "new_usd": new.amount.usd,
            "new_tokens": new.amount.tokens,
        },
    )
    return changed.rowcount == 1


def holds_of(conn: Connection, turn_id: int) -> dict[str, Hold]:
    """What the sessions of a turn have set aside."""
    return {row.session_id: _hold(row) for row in _HOLDS.execute(conn, {"turn": turn_id})}


def holds_beside_turns(conn: Connection) -> list[tuple[int, Hold]]:
    """What calls that belong to no turn have set aside: the number that stands for a turn's id is below 0."""
    found = conn.execute(select(_HOLD).where(_HOLD.c.turn_id < 0))
    return [(row.turn_id, _hold(row)) for row in found]


def drop_holds(conn: Connection, turn_id: int) -> list[Hold]:
    """The holds of a turn, which are no more; what they set aside is for the caller to give back."""
    return [_hold(row) for row in _DROP.execute(conn, {"turn": turn_id})]


def _pot(row: Any) -> PotRow:
    return PotRow(*row)


def _hold(row: Any) -> Hold:
    return Hold(tuple(map(int, row.pots.split())), Amount(row.usd, row.tokens), row.n)
