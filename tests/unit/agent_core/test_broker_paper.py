"""The paper broker's fills, bar by bar: next open, limits and stops within a bar and over a gap, the last bar."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from agent_core.finance.bars import Bars, Split
from agent_core.finance.broker_paper import PaperBroker
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.trading import Order, Report

DAY = dt.date(2026, 1, 5)
NEXT = DAY + dt.timedelta(days=1)


class Still:
    """A clock that stands on a day."""

    def __init__(self, day: dt.date = NEXT) -> None:
        self.day = day

    def now(self) -> dt.datetime:
        return dt.datetime.combine(self.day, dt.time(12), dt.UTC)

    def monotonic(self) -> float:
        return 0.0


class Given:
    """A source with the bars of a test: (open, high, low, close, volume) a day from DAY on."""

    name = "given"

    def __init__(self, *rows: tuple[float, float, float, float, float]) -> None:
        self.rows = rows

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        if not self.rows:
            raise NoData("no prices", self.name, "wait")
        days = tuple(DAY + dt.timedelta(days=n) for n in range(len(self.rows)))
        o, h, low, c, v = (tuple(column) for column in zip(*self.rows, strict=True))
        made = Bars(symbol, "USD", self.name, days, o, h, low, c, v)
        return made.window(start, end)


FIRST = (100.0, 101.0, 99.0, 100.0, 1e6)


def bar(o: float, h: float, low: float, c: float, volume: float = 1e6) -> tuple[float, ...]:
    return (o, h, low, c, volume)


def an_order(
    side: Any = "buy", kind: Any = "market", level: float | None = None, n: float = 10
) -> Order:
    return Order(
        key="k", symbol="X", side=side, quantity=n, kind=kind, account="paper", mode="paper", broker="paper",
        currency="USD", reference=100.0, market_date=DAY, notional_usd=1_000.0,
        placed_at=dt.datetime(2026, 1, 5, tzinfo=dt.UTC),
        limit_price=level if kind == "limit" else None, stop_price=level if kind == "stop" else None,
    )  # fmt: skip


async def judged(
    order: Order, *rows: Any, clock: Any = None, as_of: dt.date | None = None
) -> Report:
    broker = PaperBroker(Sources([Given(FIRST, *rows)]), clock or Still(), 10.0)
    return await broker.submit(order, as_of)


@pytest.mark.parametrize(
    ("side", "kind", "level", "row", "price"),
    [
        ("buy", "market", None, bar(102, 105, 98, 104), 102.0),
        ("sell", "market", None, bar(102, 105, 98, 104), 102.0),
        ("buy", "limit", 99.0, bar(102, 105, 98, 104), 99.0),  # reached within the bar
        ("buy", "limit", 99.0, bar(97, 98, 95, 96), 97.0),  # opens below: a gap in one's favour
        ("buy", "limit", 97.0, bar(102, 105, 98, 104), None),
        ("sell", "limit", 104.0, bar(102, 105, 98, 104), 104.0),
        ("sell", "limit", 104.0, bar(106, 107, 105, 106), 106.0),
        ("sell", "limit", 106.0, bar(102, 105, 98, 104), None),
        ("buy", "stop", 104.0, bar(102, 105, 98, 104), 104.0),
        ("buy", "stop", 104.0, bar(106, 107, 105, 106), 106.0),  # opens above: a gap against one
        ("sell", "stop", 99.0, bar(102, 105, 98, 104), 99.0),
        ("sell", "stop", 99.0, bar(95, 96, 94, 95), 95.0),
        ("sell", "stop", 97.0, bar(102, 105, 98, 104), None),
    ],
)
async def test_the_next_bar_fills_by_its_open_its_range_and_its_gap(
    side: str, kind: str, level: float | None, row: Any, price: float | None
) -> None:
    found = await judged(an_order(side, kind, level), row)
    assert (found.price, found.status) == (price, "open" if price is None else "filled")
    if price is not None:
        assert (found.day, found.fee) == (NEXT, round(10 * price * 0.001, 2))


async def test_the_earliest_bar_that_fills_counts() -> None:
    """A later, better price is not waited for."""
    rows = (bar(105, 106, 104, 105), bar(103, 103, 99, 100), bar(90, 91, 89, 90))
    found = await judged(
        an_order("buy", "limit", 100.0), *rows, clock=Still(DAY + dt.timedelta(days=3))
    )
    assert (found.day, found.price) == (DAY + dt.timedelta(days=2), 100.0)


async def test_a_bar_without_volume_fills_nothing() -> None:
    found = await judged(an_order(), bar(102, 102, 102, 102, 0.0), bar(103, 104, 102, 103))
    assert (found.day, found.price) == (DAY + dt.timedelta(days=2), 103.0)


async def test_without_a_later_bar_it_waits_while_one_can_come() -> None:
    found = await judged(an_order(), clock=Still(DAY))
    assert (found.status, found.note) == ("open", "waits for the first bar after 2026-01-05")


@pytest.mark.parametrize(
    ("side", "kind", "level", "status"),
    [
        ("buy", "market", None, "filled"),
        ("buy", "limit", 101.0, "filled"),
        ("buy", "limit", 99.0, "open"),
        ("sell", "stop", 99.0, "open"),
    ],
)
async def test_where_the_data_ends_the_last_close_stands_in(
    side: str, kind: str, level: float | None, status: str
) -> None:
    late = Still(DAY + dt.timedelta(days=30))
    found = await judged(an_order(side, kind, level), clock=late)
    assert found.status == status
    assert found.price == (100.0 if status == "filled" else None)
    assert "given has no bar after 2026-01-05" in found.note


async def test_a_run_of_a_past_day_is_filled_at_that_days_close_and_sees_nothing_later() -> None:
    found = await judged(an_order(), bar(50, 51, 49, 50), as_of=DAY)
    assert (found.price, found.day) == (100.0, DAY)


async def test_a_source_that_is_down_leaves_the_order_open() -> None:
    broker = PaperBroker(Sources([Given()]), Still())
    found = await broker.look(an_order())
    assert found.status == "open"
    assert found.note.startswith("no prices at the moment: no prices (source: given)")


class Split2(Given):
    """The same source, which tells of a split: two shares for one from `day` on."""

    def __init__(self, day: dt.date, *rows: Any) -> None:
        super().__init__(*rows)
        self.day = day

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        return replace(await super().bars(symbol, start, end), splits=(Split(self.day, 2.0),))


@pytest.mark.parametrize(
    ("side", "kind", "level", "price"),
    [
        ("buy", "limit", 90.0, None),  # 45 in the new shares
        ("buy", "limit", 98.0, 49.0),
        ("sell", "stop", 96.0, None),  # the price halves and nobody lost anything
        ("sell", "stop", 99.0, 49.5),
        ("buy", "market", None, 50.0),
    ],
)
async def test_a_split_changes_an_order_as_it_changes_the_share(
    side: Any, kind: Any, level: float | None, price: float | None
) -> None:
    """Ten shares of before are twenty, and a level is half of what it was, from the day of the split on."""
    source = Split2(NEXT, FIRST, bar(50.0, 51.0, 49.0, 50.0))
    broker = PaperBroker(Sources([source]), Still(), 10.0)
    report = await broker.look(an_order(side, kind, level))
    assert (report.status, report.price) == ("filled" if price else "open", price)
    assert (report.ratio, report.split_on) == (2.0, NEXT)
    assert report.fee == (round(20 * price * 0.001, 2) if price else 0.0)


async def test_an_order_that_a_split_has_changed_is_not_changed_by_it_again() -> None:
    source = Split2(NEXT, FIRST, bar(50.0, 51.0, 49.0, 50.0))
    order = replace(an_order("buy", "limit", 49.0, 20), split_on=NEXT)
    report = await PaperBroker(Sources([source]), Still()).look(order)
    assert (report.status, report.price, report.day) == ("filled", 49.0, NEXT)
    assert (report.ratio, report.split_on) == (1.0, None)


async def test_a_bar_before_the_split_fills_in_the_shares_of_its_day() -> None:
    """Looked at late: the order was filled at 99 a share, which is 49.5 in the shares of today."""
    after = NEXT + dt.timedelta(days=1)
    source = Split2(after, FIRST, bar(99.0, 99.5, 98.0, 99.0), bar(50.0, 51.0, 49.0, 50.0))
    broker = PaperBroker(Sources([source]), Still(after))
    report = await broker.look(an_order())
    assert (report.status, report.price, report.day) == ("filled", 99.0, NEXT)


async def test_a_split_before_the_order_changes_nothing() -> None:
    source = Split2(DAY, FIRST, bar(102.0, 103.0, 101.0, 102.0))
    broker = PaperBroker(Sources([source]), Still())
    assert (await broker.look(an_order())).price == 102.0


async def test_bars_in_another_currency_fill_no_order() -> None:
    """A source further on may quote pence where the order was in pounds."""

    class Pence(Given):
        async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
            return replace(await super().bars(symbol, start, end), currency="GBX")

    source = Pence(FIRST, FIRST)
    report = await PaperBroker(Sources([source]), Still()).look(an_order())
    assert (report.status, report.price) == ("open", None)


async def test_where_no_bar_has_a_volume_every_bar_fills() -> None:
    """Fixings of currencies have none: an order of a pair would wait for ever."""
    source = Given((1.08, 1.08, 1.08, 1.08, 0.0), (1.09, 1.09, 1.09, 1.09, 0.0))
    report = await PaperBroker(Sources([source]), Still()).look(an_order())
    assert (report.status, report.price) == ("filled", 1.09)
