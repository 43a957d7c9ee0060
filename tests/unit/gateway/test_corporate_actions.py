"""Dividends and splits of the paper account, on both databases: booked once, in cash, position, history and event."""

import asyncio
import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.book import Event, Holding
from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.broker_paper import PaperBroker
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.folder import FolderSource
from agent_core.storage import orders as rows
from agent_core.storage import orders_audit
from agent_core.trading import Trade
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from gateway.trading.actions import CorporateActions
from gateway.trading.book import Start, open_paper
from gateway.trading.house import order_desk
from gateway.trading.keeper import LOOK_S
from gateway.trading.orders import OrderDesk
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server
from tests.house import START, Watch, on_sqlite
from tests.unit.agent_core.made_bars import bars_of
from tests.unit.gateway.order_house import buy, house, keeper
from tests.unit.gateway.trading import ALICE, BOB, RATES, limit, order, place, stop

__all__ = ["database_url", "db", "postgres_server"]
pytestmark = pytest.mark.statements
MONDAY = START.date()


class Market:
    """GOOG, one bar a day from the clock's first day to its day; splits and dividends as a test says."""

    name = "market"

    def __init__(self, clock: Watch, *closes: float) -> None:
        self.clock, self.closes = clock, closes
        self.splits: tuple[Split, ...] = ()
        self.dividends: tuple[Dividend, ...] = ()
        self.asked = 0

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        self.asked += 1
        count = min((self.clock.now().date() - MONDAY).days + 1, len(self.closes))
        dates = [MONDAY + dt.timedelta(days=n) for n in range(count)]
        made = bars_of(self.closes[:count], symbol=symbol, dates=dates)
        told = replace(made, splits=self.splits, dividends=self.dividends, source=self.name)
        return told.window(start, end)


def the_day(n: int) -> dt.date:
    return MONDAY + dt.timedelta(days=n)


def a_desk(db: Database, market: Market) -> OrderDesk:
    sources = Sources([market], market.clock)
    return OrderDesk(
        db,
        market.clock,
        Quotes(sources, RATES, market.clock),
        {"paper": PaperBroker(sources, market.clock)},
        actions=CorporateActions(db, market.clock, sources),
    )


def go_to(market: Market, n: int) -> None:
    market.clock.seconds = n * 86_400.0


async def book(db: Database, owner: str = ALICE) -> tuple[float, list[tuple[float, float]]]:
    """Cash, and quantity and cost of each position."""
    [cash] = await db.read(lambda conn: rows.cash(conn, owner))
    held = await StoredPortfolio(db).records(owner, Holding)
    return cash.amount, [(h.quantity, h.cost) for h in held]


async def history(db: Database) -> list[tuple[str, dt.date, float, float]]:
    found = await db.read(lambda conn: rows.trades(conn, ALICE))
    lines = [t for t in found if t.kind in {"dividend", "split"}]
    return [(t.kind, t.day, t.quantity, t.amount) for t in reversed(lines)]


async def test_a_dividend_is_paid_in_cash_once_with_a_line_of_history_and_an_event(
    db: Database,
) -> None:
    """10 GOOG bought at 100; 0.35 a share: 3.50, whoever looks, and however often."""
    market = Market(Watch(), 100, 100, 99.65, 100)
    at = a_desk(db, market)
    await place(at, order(quantity=10))
    go_to(market, 1)
    await at.look_after()
    assert await book(db) == (99_000, [(10, 100)])
    market.dividends = (Dividend(the_day(2), 0.35),)
    await at.look_after()
    assert await history(db) == [], "not before its day"
    go_to(market, 2)
    await asyncio.gather(at.refresh(ALICE), at.look_after(), at.refresh(BOB))
    restarted = a_desk(db, market)
    await restarted.look_after()
    assert await book(db) == (99_003.5, [(10, 100)])
    assert await history(db) == [("dividend", the_day(2), 10, 3.5)]
    newest, _ = await StoredPortfolio(db).records(ALICE, Event)
    assert (newest.kind, newest.codes, newest.source) == ("trade", ("GOOG",), "market")
    assert newest.text == (
        f"Dividend of GOOG on {the_day(2)}: 10 shares at 0.35 = 3.50 USD (paper)."
    )


async def test_a_split_changes_position_cost_and_open_orders_once(db: Database) -> None:
    """10 GOOG at 100 and a stop for them at 90; 2 for 1 on Wednesday: 20 at 50, and a stop at 45."""
    market = Market(Watch(), 100, 100, 50, 50, 44)
    at = a_desk(db, market)
    await place(at, order(quantity=10))
    go_to(market, 1)
    await at.look_after()
    waits = await place(at, stop(90.0, quantity=10), key="k2")
    market.splits = (Split(the_day(2), 2.0),)
    go_to(market, 2)
    await asyncio.gather(at.look_after(), at.refresh(ALICE))
    go_to(market, 3)
    await a_desk(db, market).look_after()
    assert await book(db) == (99_000, [(20, 50)])
    [changed] = await db.read(lambda conn: rows.undone(conn, ALICE))
    assert (changed.id, changed.quantity, changed.stop_price) == (waits.id, 20, 45)
    assert changed.split_on == the_day(2)
    go_to(market, 4)
    await at.look_after()
    assert await book(db) == (99_880, []), "20 sold at the open of 44, below the stop"
    assert await history(db) == [("split", the_day(2), 10, 0)]
    verdict = await db.read(orders_audit.verify)
    assert verdict.broken == (), "the change is a step of the audit"
    sold = (await db.read(lambda conn: rows.trades(conn, ALICE)))[0]
    assert sold.realised == pytest.approx(20 * (44 - 50))


async def test_who_looks_late_finds_fills_split_and_dividend_as_they_came(db: Database) -> None:
    """A limit is reached on Tuesday, Wednesday splits 2 for 1, Friday pays 0.10: asked for on Friday alone.

    5 at 99 = 495 paid; 10 shares since Wednesday, 1.00 of dividend.
    """
    market = Market(Watch(), 100, 99, 50, 50, 50)
    at = a_desk(db, market)
    await place(at, limit(99.0, quantity=5))
    await place(at, order(quantity=2), key="k2")
    market.splits = (Split(the_day(2), 2.0),)
    market.dividends = (Dividend(the_day(4), 0.1),)
    go_to(market, 4)
    await at.look_after()
    await at.look_after()
    cash, held = await book(db)
    assert cash == pytest.approx(100_000 - 5 * 99 - 2 * 99 + 14 * 0.1)
    assert held == [(14, pytest.approx(7 * 99 / 14))]
    await at.look_after()
    assert (await book(db))[0] == pytest.approx(cash)
    assert sum(q for kind, _, q, _ in await history(db) if kind == "dividend") == 14


async def test_a_fill_from_before_a_split_joins_a_position_that_was_split_already(
    db: Database,
) -> None:
    """10 at 100; Wednesday fills 5 more at 98; Thursday splits 2 for 1: asked on Thursday, all is in new shares."""
    market = Market(Watch(), 100, 100, 98, 49, 49)
    at = a_desk(db, market)
    await place(at, order(quantity=10))
    go_to(market, 1)
    await at.look_after()
    await place(at, limit(98.0, quantity=5), key="k2")
    market.splits = (Split(the_day(3), 2.0),)
    market.dividends = (Dividend(the_day(3), 0.2),)
    go_to(market, 3)
    await at.look_after()
    await at.look_after()
    cost = (20 * 50 + 10 * 49) / 30
    assert await book(db) == (100_000 - 1_000 - 490 + 6, [(30, pytest.approx(cost))])
    lines = await history(db)
    assert [(kind, q) for kind, _, q, _ in lines] == [
        ("split", 10), ("dividend", 20), ("split", 5), ("dividend", 10),
    ]  # fmt: skip
    await place(at, order(side="sell", quantity=30), key="k3")
    go_to(market, 4)
    await at.look_after()
    assert (await book(db))[1] == []


@on_sqlite
async def test_what_nobody_waited_for_is_told_in_private_once_and_in_the_persons_language(
    db: Database,
) -> None:
    clock = Watch()
    market = Market(clock, 100, 100, 49.5, 49.5)
    at = a_desk(db, market)
    async with house(db, buy(), "done", desk=at, clock=clock, nap=None) as it:
        await it.ask("buy 2 GOOG")
        await it.press("ok:1")
        await it.quiet()
        looks = keeper(it, at)
        await looks.start()
        go_to(market, 1)
        await looks.look()
        market.splits = (Split(the_day(2), 2.0),)
        market.dividends = (Dividend(the_day(2), 0.5),)
        await place(at, stop(80.0, quantity=2), key="k2")
        go_to(market, 2)
        await looks.look()
        await looks.look()
        await looks.stop()
        await it.quiet()
        told = [text for text in it.channel.texts("1") if "💰" in text or "split of" in text]
        assert told == [
            f"💰 Split of GOOG on {the_day(2)}, 2 for 1: 2 → 4 shares, cost 50 USD each (paper).",
            f"💰 Dividend of GOOG on {the_day(2)}: 4 shares at 0.50 = 2.00 USD (paper).",
            f"📈 The split of GOOG on {the_day(2)} changed an open order, which is worth the same. "
            "Order 2: Sell 4 GOOG, open, stop 40.00.",
        ]


@on_sqlite
async def test_a_position_is_looked_after_without_an_open_order(db: Database) -> None:
    market = Market(Watch(), 100, 100, 100)
    at = a_desk(db, market)
    async with house(db, desk=at, clock=market.clock, nap=None) as it:
        looks = keeper(it, at)
        assert looks._pause(*(await db.read(lambda conn: (rows.undone(conn), False)))) is None
        assert looks._pause([], held=True) == LOOK_S


@on_sqlite
async def test_the_desk_of_the_settings_pays_what_a_folder_of_prices_states(
    db: Database, tmp_path: Path
) -> None:
    """deploy/sources.md: dividends.csv and splits.csv beside the prices."""
    days = [
        f"{the_day(n)},{price},{price},{price},{price},1000" for n, price in enumerate((40, 40, 20))
    ]
    (tmp_path / "GOOG.csv").write_text("\n".join(["date,open,high,low,close,volume", *days]))
    (tmp_path / "splits.csv").write_text(f"symbol,date,ratio\nGOOG,{the_day(2)},2\n")
    (tmp_path / "dividends.csv").write_text(f"symbol,date,amount\nGOOG,{the_day(2)},0.25\n")
    clock = Watch()
    sources = Sources([FolderSource(tmp_path)], clock)
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    at = order_desk(settings, db, clock, sources)
    await at.db.write(lambda conn: open_paper(conn, ALICE, Start(), clock.now()))
    bought = Trade("buy", "paper", "USD", clock.now(), MONDAY, symbol="GOOG", quantity=10, price=40)
    held = Holding("GOOG", 10, 40, clock.now(), "USD", account="paper")
    await StoredPortfolio(db).put(ALICE, held)
    await db.write(lambda conn: rows.add_trade(conn, ALICE, bought))
    clock.seconds = 2 * 86_400
    await at.look_after()
    assert await book(db) == (100_005, [(20, 20)])
