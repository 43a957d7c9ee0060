"""Pots on both databases: what is set aside, paid, given back."""

import asyncio
import datetime as dt
from collections.abc import Callable
from functools import partial
from itertools import permutations

import pytest
from sqlalchemy import Connection

from agent_core.budget.ledger import Purse, Short
from agent_core.budget.pots import NANO, Payer, Pot, Rules
from agent_core.ports import Need
from agent_core.storage import ledger
from agent_core.storage.ledger import Amount, Hold, PotRow, Ref
from agent_core.types import Usage
from gateway.storage.db import Database

pytestmark = pytest.mark.statements

NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
DAY = Pot("user_day", usd=NANO)


def purse(*pots: Pot, person: str = "telegram:1", run: int = 1, **rules: object) -> Purse:
    return Purse(
        Rules(pots or (DAY,), **rules),  # type: ignore[arg-type]
        Payer(person, "telegram:777:1", run),
    )


def need(usd: float | None, tokens: int = 100) -> Need:
    return Need("a/model", tokens, usd)


def paid(usd: float | None, tokens: int = 100) -> Usage:
    return Usage(tokens // 2, tokens - tokens // 2, usd=usd, usd_uncached=usd)


class Till:
    """A purse whose changes are committed one by one."""

    def __init__(self, db: Database, own: Purse, now: dt.datetime = NOON) -> None:
        self.db, self.purse, self.now = db, own, now

    async def reserve(self, want: Need, session: str = "s") -> Hold | Short:
        made = await self.db.write(lambda c: self.purse.reserve(c, session, want, self.now))
        if isinstance(made, Hold):
            self.purse.kept(session, made, self.now)
        return made

    async def settle(
        self, usage: Usage, session: str = "s", *, last: bool = False
    ) -> tuple[tuple[Pot, PotRow], ...]:
        done = await self.db.write(
            lambda c: self.purse.settle(c, session, usage, self.now, last=last)
        )
        if done is None:
            return ()
        self.purse.kept(session, done.hold)
        return done.warn

    async def row(self, kind: str = "user_day") -> PotRow:
        own = self.purse

        def work(conn: Connection) -> PotRow:
            found = ledger.pots_of(conn, own._refs(self.now))
            return next(row for row in found if row.kind == kind)

        return await self.db.read(work)


async def test_a_call_is_set_aside_and_paid_at_its_real_cost(db: Database) -> None:
    till = Till(db, purse())
    assert isinstance(await till.reserve(need(0.4)), Hold)
    row = await till.row()
    assert (row.usd, row.usd_held, row.tokens_held, row.runs) == (0, 4 * NANO // 10, 100, 1)
    await till.settle(paid(0.1), last=True)
    row = await till.row()
    assert (row.usd, row.usd_held, row.tokens, row.tokens_held, row.runs) == (
        NANO // 10,
        0,
        100,
        0,
        1,
    )


async def test_what_does_not_fit_changes_nothing(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(0.4))
    other = Till(db, purse(run=2))
    short = await other.reserve(need(0.61))
    assert isinstance(short, Short)
    assert (short.pot.kind, short.unit, short.row.usd_held) == ("user_day", "usd", 4 * NANO // 10)
    row = await till.row()
    assert (row.usd_held, row.runs) == (4 * NANO // 10, 1)
    assert isinstance(await other.reserve(need(0.6)), Hold)


async def test_changes_of_the_same_pots_at_once_add_up_in_whatever_order_they_are_named(
    db: Database,
) -> None:
    refs = [Ref(kind, "k", "2026-01-05") for kind in ("user_day", "channel_day", "day")]
    ids = await db.write(lambda conn: ledger.pot_ids(conn, refs))
    one = Amount(usd=3, tokens=2)

    def change(order: tuple[int, ...], conn: Connection) -> list[int]:
        return [row.id for row in ledger.change(conn, order, spent=one, held=one, runs=1)]

    orders = [*permutations(ids)] * 10
    found = await asyncio.gather(*(db.write(partial(change, order)) for order in orders))
    assert found == [list(order) for order in orders]
    for row in await db.read(lambda conn: ledger.pots_of(conn, refs)):
        assert (row.usd, row.usd_held, row.tokens, row.runs) == (180, 180, 120, 60)


async def test_the_first_pot_that_does_not_fit_decides(db: Database) -> None:
    pots = (Pot("user_day", usd=NANO), Pot("channel_day", tokens=50), Pot("day", usd=1))
    short = await Till(db, purse(*pots)).reserve(need(0.5))
    assert isinstance(short, Short)
    assert (short.pot.kind, short.unit) == ("channel_day", "tokens")


async def test_a_call_that_is_made_again_reserves_once(db: Database) -> None:
    """Guide "presets", 5: a retry carries the same reservation key."""
    till = Till(db, purse())
    await till.reserve(need(0.4))
    await till.reserve(need(0.5))
    assert (await till.row()).usd_held == NANO // 2


async def test_a_transaction_that_went_through_unseen_counts_once(db: Database) -> None:
    till = Till(db, purse())
    before = till.purse
    first = await db.write(lambda c: before.reserve(c, "s", need(0.4), NOON))
    again = await db.write(lambda c: before.reserve(c, "s", need(0.4), NOON))
    assert first == again
    row = await till.row()
    assert (row.usd_held, row.runs) == (4 * NANO // 10, 1)
    before.kept("s", first, NOON)  # type: ignore[arg-type]
    for _ in range(2):
        await db.write(lambda c: before.settle(c, "s", paid(0.1), NOON, last=False))
    assert (await till.row()).usd == NANO // 10


async def test_the_next_call_of_a_turn_has_room_at_once(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(0.2))
    await till.settle(paid(0.1))
    assert till.purse.covers("s", need(0.25), NOON)
    assert not till.purse.covers("s", need(0.26), NOON)


async def test_room_ahead_is_given_up_where_there_is_none(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(0.6))
    await till.settle(paid(0.5))
    assert (await till.row()).usd_held == 0
    assert isinstance(await till.reserve(need(0.6)), Short)
    assert isinstance(await till.reserve(need(0.5)), Hold)


async def test_the_end_of_a_turn_gives_back_what_its_sub_agents_set_aside(db: Database) -> None:
    till = Till(db, purse())
    for session in ("s", "s/1", "s/2"):
        assert isinstance(await till.reserve(need(0.3), session), Hold)
    assert isinstance(await till.reserve(need(0.3), "s/3"), Short)
    await till.settle(paid(0.1), "s/1")
    await till.settle(Usage(), last=True)
    row = await till.row()
    assert (row.usd, row.usd_held, row.tokens_held, row.runs) == (NANO // 10, 0, 0, 1)


async def test_a_run_after_a_death_takes_over_what_was_set_aside(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(0.4))
    await till.reserve(need(0.4), "s/1")
    again = purse()
    again.loaded = False
    later = Till(db, again)
    assert isinstance(await later.reserve(need(0.5)), Hold)
    row = await later.row()
    assert (row.usd_held, row.runs) == (9 * NANO // 10, 1)
    await later.settle(paid(0.2), last=True)
    row = await later.row()
    assert (row.usd, row.usd_held) == (NANO // 5, 0)


async def test_a_waiting_turn_holds_nothing_and_is_one_run(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(0.4))
    await db.write(till.purse.pause)
    assert (await till.row()).usd_held == 0
    again = purse()
    again.loaded = False
    later = Till(db, again)
    await later.reserve(need(0.3))
    row = await later.row()
    assert (row.usd_held, row.runs) == (3 * NANO // 10, 1)


async def test_midnight_moves_what_is_set_aside(db: Database) -> None:
    till = Till(db, purse(zone="Asia/Shanghai"))
    await till.reserve(need(0.4))
    before = await till.row()
    till.now = NOON + dt.timedelta(hours=5)  # 01:00 there
    assert not till.purse.covers("s", need(0.1), till.now)
    await till.reserve(need(0.4))
    after = await till.row()
    assert (before.period, after.period) == ("2026-01-05", "2026-01-06")
    assert after.usd_held == 4 * NANO // 10
    till.now = NOON
    assert (await till.row()).usd_held == 0


async def test_an_unknown_price_is_counted_as_unknown(db: Database) -> None:
    """MDL-3."""
    till = Till(db, purse())
    await till.reserve(need(None))
    await till.settle(paid(None))
    row = await till.row()
    assert (row.usd, row.unpriced, row.tokens) == (0, 1, 100)


async def test_nothing_more_is_spent_from_an_empty_pot_whatever_the_price(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(1.0))
    await till.settle(paid(1.0), last=True)
    assert isinstance(await Till(db, purse(run=2)).reserve(need(None)), Short)
    assert isinstance(await Till(db, purse(run=3, reserve=False)).reserve(need(0.1)), Short)


async def test_without_reservation_a_call_needs_only_something_left(db: Database) -> None:
    till = Till(db, purse(reserve=False))
    assert isinstance(await till.reserve(need(5.0)), Hold)
    assert (await till.row()).usd_held == 0
    await till.settle(paid(2.0))
    assert not till.purse.covers("s", need(0.1), NOON)
    assert isinstance(await till.reserve(need(0.1)), Short)


async def test_runs_are_limited(db: Database) -> None:
    own = (Pot("user_day", runs=2),)
    for run in (1, 2):
        till = Till(db, purse(*own, run=run))
        await till.reserve(need(0.1))
        await till.settle(paid(0.1))
        assert isinstance(await till.reserve(need(0.1)), Hold)  # more calls of one run
        await till.settle(paid(0.1), last=True)
    short = await Till(db, purse(*own, run=3)).reserve(need(0.1))
    assert isinstance(short, Short)
    assert (short.unit, short.row.runs) == ("runs", 2)


async def test_people_are_warned_once(db: Database) -> None:
    own = (Pot("user_day", usd=NANO, warn_at=0.8), Pot("day", usd=10 * NANO))
    till = Till(db, purse(*own))
    await till.reserve(need(0.9))
    assert await till.settle(paid(0.79)) == ()
    await till.reserve(need(0.1))
    ((pot, row),) = await till.settle(paid(0.01))
    assert (pot.kind, row.usd) == ("user_day", 8 * NANO // 10)
    assert await till.settle(paid(0.1), last=True) == ()


async def test_a_raised_pot_has_its_size_again(db: Database) -> None:
    till = Till(db, purse())
    await till.reserve(need(1.0))
    await till.settle(paid(1.0), last=True)
    row = await till.row()
    await db.write(lambda c: ledger.mark(c, row.id, raised=1))
    assert isinstance(await Till(db, purse(run=2)).reserve(need(1.0)), Hold)


@pytest.mark.parametrize(
    ("model", "usd", "pot", "free"),
    [
        ("demo", 0.0, DAY, True),
        ("a/local", 0.0, DAY, True),
        ("a/local", 0.0, Pot("user_day", tokens=5), False),
        ("demo", 0.0, Pot("user_day", runs=1), True),
        ("a/model", 0.1, DAY, False),
        ("a/model", None, DAY, False),
    ],
)
def test_what_costs_nothing_needs_no_ledger(model: str, usd: float | None, pot: Pot, free: bool):
    assert purse(pot).is_free(Need(model, 10, usd)) is free


async def test_a_free_answer_writes_nothing(db: Database) -> None:
    till = Till(db, purse())
    assert await till.settle(Usage(50, 50, usd=0.0), last=True) == ()
    count: Callable[[Connection], int] = lambda c: len(ledger.pots_of(c, till.purse._refs(NOON)))  # noqa: E731
    assert await db.read(count) == 0
