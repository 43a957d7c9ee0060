"""A person's own book in chat: changed only as it was shown, twice confirmed where it matters, closed in groups."""

import json
from typing import Any

import pytest

from agent_core.book import Holding
from agent_core.models.scripted import Answer
from agent_core.storage import orders as rows
from agent_core.trading import Cash
from gateway.questions.local_decisions import rule
from gateway.storage.db import Database
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server
from tests.harness import agent, delegate, team
from tests.house import START, House, on_sqlite
from tests.unit.gateway.asking import question, results, settled
from tests.unit.gateway.order_house import TRADING, calls, change, house
from tests.unit.gateway.trading import ALICE, BOB

__all__ = ["database_url", "db", "postgres_server"]
GOOG_ROW = {"action": "buy", "symbol": "GOOG", "quantity": 1, "price": 800}


async def hold(db: Database, symbol: str = "GOOG", quantity: float = 100, **more: Any) -> None:
    fields: dict[str, Any] = {"cost": 500.0, "updated_at": START, "currency": "USD"} | more
    await StoredPortfolio(db).put(ALICE, Holding(symbol, quantity, **fields))


async def positions(db: Database) -> dict[str, tuple[float, float]]:
    found = await StoredPortfolio(db).records(ALICE, Holding)
    return {h.symbol: (h.quantity, round(h.cost, 2)) for h in found}


async def has_cash(db: Database, amount: float) -> None:
    await db.write(lambda conn: rows.set_cash(conn, ALICE, Cash("default", "USD", amount)))


def last(it: House) -> str:
    return results(it.model.requests[-1])[-1]


# Plan and execution -----------------------------------------------------------------------------------------------


async def test_a_small_change_is_shown_before_and_after_and_done_after_one_yes(
    db: Database,
) -> None:
    """MSC-3: the arguments are the plan; the question shows it whole."""
    await hold(db)
    await has_cash(db, 10_000)
    async with house(db, change(GOOG_ROW), "done") as it:
        await it.ask("I bought one more GOOG at 800")
        shown = question(it).text
        assert "1. **GOOG** (default): 100 @ 500 USD → 101 @ 502.9703 USD" in shown
        assert "cash (default) 10,000.00 → 9,200.00 USD" in shown
        assert "About 0.9% of the net value in all." in shown
        assert "action" not in shown  # what the tool shows stands in place of the arguments
        assert await positions(db) == {"GOOG": (100, 500)}
        await it.press("ok:1")
        await it.quiet()
        assert await positions(db) == {"GOOG": (101, 502.97)}
        [trade] = await db.read(lambda conn: rows.trades(conn, ALICE))
        assert (trade.kind, trade.amount, trade.source) == ("buy", -800, "question 1")
        await settled(it)


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([GOOG_ROW | {"quantity": 10}], "This moves"),
        ([{"action": "remove", "symbol": "AAPL"}], "This removes a position"),
        ([GOOG_ROW | {"quantity": 2}] * 3, "This moves"),  # each alone is small: graded in sum
        ([{"action": "set_cash", "currency": "USD", "amount": 0}], "This moves"),
    ],
)
@on_sqlite
async def test_a_heavy_or_destructive_change_takes_a_second_yes(
    db: Database, items: Any, why: str
) -> None:
    """TGV-8: more than 5 % of the net value, one by one or in sum, or a position that goes."""
    await hold(db)
    await hold(db, "AAPL", 1, cost=400.0)
    await has_cash(db, 10_000)
    before = await positions(db)
    async with house(db, change(*items), "done") as it:
        await it.ask("change it")
        await it.press("ok:1")
        await it.quiet()
        assert await positions(db) == before
        assert f"⚠️ {why}" in question(it).text
        await it.press("ok:1")  # the same button again: a double click is no second yes
        await it.quiet()
        assert await positions(db) == before
        assert it.channel.answers[-1][1].startswith("The values were changed meanwhile")
        await it.press("ok:1:1", author="2")  # somebody else's is none either
        await it.quiet()
        assert await positions(db) == before
        await it.press("ok:1:1")
        await it.quiet()
        cash = (await db.read(lambda conn: rows.cash(conn, ALICE)))[0].amount
        assert (await positions(db) != before) or cash == 0
        await settled(it)


@on_sqlite
async def test_the_second_yes_can_be_a_command_and_a_no_still_counts(db: Database) -> None:
    await hold(db)
    remove = {"action": "remove", "symbol": "GOOG"}
    async with house(db, change(remove), "kept", change(remove, call_id="u2"), "gone") as it:
        await it.ask("remove GOOG")
        await it.ask("/approve 1")
        assert await it.one("select status from question") == "open"
        await it.ask("/deny 1")
        assert await positions(db) == {"GOOG": (100, 500)}
        await it.ask("remove GOOG")
        await it.ask("/approve 2")
        await it.ask("/approve 2")
        assert await positions(db) == {}


@on_sqlite
async def test_the_owner_of_the_machine_needs_two_yeses_as_well(db: Database) -> None:
    await hold(db)
    async with house(db, change({"action": "remove", "symbol": "GOOG"})) as it:
        await it.ask("remove GOOG")
        access, now = it.settings.access, it.clock.now()
        for done, said in (
            (False, "This removes a position. Approve it once more"),
            (True, "is approved"),
        ):
            found = await db.write(lambda conn: rule(conn, 1, "approved", "root", now, access))
            assert (found.done, said in found.said) == (done, True)


async def test_a_yes_to_one_state_of_the_book_is_none_to_another(db: Database) -> None:
    """MSC-3: the ticket is bound to the plan."""
    await hold(db)
    async with house(db, change(GOOG_ROW), "hm") as it:
        await it.ask("I bought one more")
        await hold(db, quantity=50)
        await it.press("ok:1")
        await it.quiet()
        assert await positions(db) == {"GOOG": (50, 500)}
        assert "no longer as it was shown" in last(it)


@on_sqlite
async def test_only_the_person_may_say_yes_not_an_operator(db: Database) -> None:
    """TGV-9: a book is changed after its own person's confirmation."""
    await hold(db)
    async with house(db, change(GOOG_ROW), "done") as it:
        await it.ask("I bought one more")
        await it.press("ok:1", author="9")
        await it.quiet()
        assert await positions(db) == {"GOOG": (100, 500)}


@on_sqlite
async def test_the_first_positions_of_an_empty_book_take_one_yes(db: Database) -> None:
    """Nothing is there that could be damaged, and a share of nothing is none."""
    item = {"action": "set", "symbol": "茅台", "quantity": 10, "price": 1500}
    async with house(db, change(item | {"currency": "CNY"}), "noted") as it:
        await it.ask("I hold 10 Moutai")
        assert "**600519.SH** (default): none → 10 @ 1,500 CNY" in question(it).text
        await it.press("ok:1")
        await it.quiet()
        assert await positions(db) == {"600519.SH": (10, 1500)}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (
            {"action": "sell", "symbol": "GOOG", "quantity": 999, "price": 1},
            "there are 100 GOOG to sell",
        ),
        ({"action": "remove", "symbol": "AAPL"}, "there is no AAPL"),
        ({"action": "buy", "symbol": "GOOG"}, "buy needs quantity, price"),
        (
            {"action": "set", "symbol": "XYZZ", "quantity": 1, "price": 1},
            "name the currency of XYZZ",
        ),
        (GOOG_ROW | {"currency": "EUR"}, "GOOG is kept in USD, not in EUR"),
        (GOOG_ROW | {"quantity": 0}, "quantity must be above 0"),
        ({"action": "buy", "symbol": "a b c", "quantity": 1, "price": 1}, "no known symbol"),
    ],
)
@on_sqlite
async def test_a_plan_that_cannot_be_is_refused_before_anybody_is_asked(
    db: Database, item: Any, said: str
) -> None:
    await hold(db)
    async with house(db, change(item), "sorry") as it:
        await it.ask("change it")
        assert said in last(it)
        assert await it.one("select count(*) from question") == 0


@on_sqlite
async def test_a_sub_agent_changes_no_book(db: Database) -> None:
    """TGV-9, SWM-3."""
    the_team = team(agent(), agent("trader", tools=TRADING))
    ask = Answer(calls=(delegate("trader"),))
    async with house(db, ask, change(GOOG_ROW), "proposed", "ok", the_team=the_team) as it:
        await it.ask("change it")
        assert await it.one("select count(*) from question") == 0
        assert await positions(db) == {}


# Groups -----------------------------------------------------------------------------------------------------------


GROUP: dict[str, Any] = {"chat": "-5", "private": False}


@on_sqlite
async def test_a_book_stays_closed_in_a_group_unless_its_person_opens_it_by_button(
    db: Database,
) -> None:
    """DESIGN.md 3.4: not loaded in groups unless the principal says so; words and others do not open it."""
    await hold(db)
    view = calls("portfolio", "v1")
    shared = calls("portfolio", "v2", share_here=True)
    async with house(db, view, "it is private", shared, "here it is") as it:
        await it.ask("my portfolio?", **GROUP)
        assert "this is a group: it was not read" in last(it)
        await it.ask("show it here", **GROUP)
        assert not any('"positions"' in text for text in results(it.model.requests[-1]))
        await it.press("ok:1", author="2", **GROUP)
        await it.press("ok:1", author="9", **GROUP)  # an operator is not its person
        await it.quiet()
        assert await it.one("select status from question") == "open"
        await it.press("ok:1", **GROUP)
        await it.quiet()
        assert json.loads(last(it))["own"]["positions"][0]["symbol"] == "GOOG"


@on_sqlite
async def test_a_book_is_not_changed_in_a_group(db: Database) -> None:
    await hold(db)
    async with house(db, change(GOOG_ROW), "not here") as it:
        await it.ask("change it", **GROUP)
        assert "this is a group" in last(it)
        assert await it.one("select count(*) from question") == 0


@on_sqlite
async def test_an_order_in_a_group_shows_neither_cash_nor_position(db: Database) -> None:
    buy = calls("place_order", symbol="GOOG", side="buy", quantity=2)
    async with house(db, buy) as it:
        await it.ask("buy", **GROUP)
        shown = question(it, "-5").text
        assert "Buy 2 GOOG" in shown
        assert "Cash" not in shown


@on_sqlite
async def test_nobody_sees_the_book_of_another(db: Database) -> None:
    """MEM-17: the owner is the turn's, whatever the arguments say."""
    await hold(db)
    async with house(db, calls("portfolio", account=ALICE), "empty") as it:
        await it.ask("alice's portfolio", author="2", chat="2")
        assert "The portfolio is empty" in last(it)
        assert await StoredPortfolio(db).records(BOB, Holding) == []
