"""Price sources in a chain: their order, their guards, what is kept of them, and which of them a run may see."""

import asyncio
import datetime as dt
from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.sources import allowed
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.ecb import EcbSource
from agent_core.finance.sources.guarded import COOLING, FAILURES, Guard, GuardedSource
from agent_core.finance.sources.kept import Kept, KeptSource
from agent_core.finance.sources.packed import pack, unpack
from agent_core.finance.sources.source import NoData, SourceDown
from tests.vendors import DAY, Watch


def days(first: str, count: int) -> tuple[dt.date, ...]:
    """Weekdays."""
    start = DAY(first)
    every = (start + dt.timedelta(days=i) for i in range(count * 2))
    return tuple(day for day in every if day.weekday() < 5)[:count]


def bars_on(dates: Sequence[dt.date], source: str, close: float = 10.0, **more: object) -> Bars:
    column = array("d", [close] * len(dates))
    bars = Bars("X", "USD", source, tuple(dates), column, column, column, column, column)
    return replace(bars, **more)  # type: ignore[arg-type]


class Listing:
    """A source with the days that it is given; it counts what it is asked for."""

    def __init__(self, name: str, dates: Sequence[dt.date], close: float = 10.0) -> None:
        self.name = name
        self.dates = list(dates)
        self.close = close
        self.asked: list[tuple[dt.date | None, dt.date | None]] = []
        self.fails: list[Exception] = []

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        self.asked.append((start, end))
        if self.fails:
            raise self.fails.pop(0)
        found = bars_on(self.dates, self.name, self.close).window(start, end)
        if not len(found):
            raise NoData(f"no prices of {symbol}", self.name, "ask for other days")
        return found


async def test_a_source_of_currency_pairs_is_asked_for_nothing_else() -> None:
    """So that a share which the bundled prices lack is told of as if there were no rates beside them."""
    both, alone = Sources([BundledSource(), EcbSource()]), Sources([BundledSource()])
    assert (both.has("GOOG"), both.has("TSLA"), both.has("EUR/USD")) == (True, False, None)
    told = []
    for sources in (both, alone):
        with pytest.raises(NoData) as none:
            await sources.bars("TSLA", None, None)
        told.append(str(none.value))
    assert told[0] == told[1]
    found = await both.bars("EUR/USD", DAY("2012-12-03"), DAY("2012-12-31"))
    assert (found.source, found.currency, len(found)) == ("ecb", "USD", 19)


async def test_the_first_source_that_reaches_the_day_answers() -> None:
    first, second = Listing("a", days("2024-03-01", 5)), Listing("b", days("2024-03-01", 5))
    found = await Sources([first, second], Watch()).bars("X", None, None)
    assert (found.source, second.asked) == ("a", [])


async def test_a_split_that_is_only_announced_moves_no_price_before_its_day() -> None:
    """Vendors and people write it down weeks ahead; the last close is still that of a whole share."""

    class Announced(Listing):
        async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
            found = await super().bars(symbol, start, end)
            return replace(found, splits=(Split(DAY("2024-03-20"), 2.0),))

    clock = Watch()
    sources = Sources([Announced("a", days("2024-03-01", 5))], clock)
    assert (await sources.bars("X", None, None)).close[-1] == 10.0
    clock.pass_by(days=12)
    assert (await sources.bars("X", None, None)).close[-1] == 5.0


async def test_old_prices_hide_no_newer_ones_of_a_later_source() -> None:
    old, new = Listing("old", days("2013-01-01", 5)), Listing("new", days("2024-03-01", 5))
    sources = Sources([old, new], Watch())
    assert (await sources.bars("X", None, None)).source == "new"
    assert (await sources.bars("X", None, DAY("2013-01-07"))).source == "old"
    assert (await sources.bars("X", None, None, as_of=DAY("2013-01-07"))).source == "old"


async def test_old_prices_are_better_than_none() -> None:
    old, down = Listing("old", days("2013-01-01", 5)), Listing("down", ())
    assert (await Sources([old, down], Watch()).bars("X", None, None)).source == "old"


async def test_every_source_says_why_it_has_nothing() -> None:
    a, b = Listing("a", ()), Listing("b", ())
    b.fails = [SourceDown("b cannot be asked: no answer within 5 s", "b", "try again later")]
    with pytest.raises(NoData) as error:
        await Sources([a, b], Watch()).bars("X", None, None)
    assert str(error.value) == (
        "no prices of X (source: a, b); a: ask for other days; "
        "b cannot be asked: no answer within 5 s, try again later"
    )


async def test_nothing_of_later_than_as_of_comes_through_the_chain() -> None:
    class Leaking(Listing):
        async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
            split, paid = Split(DAY("2024-03-06"), 2.0), Dividend(DAY("2024-03-06"), 1.0)
            return bars_on(self.dates, self.name, splits=(split,), dividends=(paid,))

    sources = Sources([Leaking("a", days("2024-03-01", 8))], Watch())
    found = await sources.bars("X", None, None, as_of=DAY("2024-03-05"))
    assert (found.as_of, found.dividends, set(found.close)) == (DAY("2024-03-05"), (), {10.0})
    later = await sources.bars("X", None, None, as_of=DAY("2024-03-06"))
    assert later.close[0] == 5.0


async def test_a_run_sees_the_sources_of_its_preset_in_its_order() -> None:
    """`data.sources` of a preset holds for whatever a tool does with sources, also in tasks that it starts."""
    a, b = Listing("a", days("2024-03-01", 5)), Listing("b", days("2024-03-01", 5))
    sources = Sources([BundledSource(), a, b], Watch())
    with allowed.only(("b", "a", "elsewhere")):
        assert sources.names == ("b", "a")
        assert sources.symbols == ()
        task = asyncio.create_task(sources.bars("X", None, None))
    assert (await task).source == "b"
    assert sources.names == ("bundled", "a", "b")
    with allowed.only(()), pytest.raises(NoData, match="enable a price source"):
        await sources.bars("AAPL", None, None)


class Timing:
    """A guard on a clock that stands, with what it waited for."""

    def __init__(self, **more: float) -> None:
        self.clock, self.waited = Watch(), list[float]()
        self.guard = Guard("a", self.clock, sleep=self._sleep, **more)

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(round(seconds, 3))


async def answers() -> str:
    return "yes"


async def test_requests_wait_for_their_turn_and_are_refused_when_it_is_far() -> None:
    """60 a minute: twenty at once, then one a second; who would wait more than twenty seconds is told so."""
    timing = Timing(per_minute=60)
    for _ in range(40):
        assert await timing.guard.ask(answers) == "yes"
    assert timing.waited == [float(i) for i in range(1, 21)]
    with pytest.raises(SourceDown, match="limits our requests") as error:
        await timing.guard.ask(answers)
    assert error.value.retry_after == 21
    timing.clock.pass_by(seconds=60)
    assert await timing.guard.ask(answers) == "yes"
    assert len(timing.waited) == 20


async def test_a_dead_source_costs_its_time_out_three_times_and_not_at_each_question() -> None:
    timing, asked = Timing(timeout=0.001), 0

    async def hangs() -> str:
        nonlocal asked
        asked += 1
        await asyncio.Event().wait()
        return ""

    for _ in range(FAILURES):
        with pytest.raises(SourceDown, match=r"no answer within 0\.001 s"):
            await timing.guard.ask(hangs)
    for _ in range(5):
        with pytest.raises(SourceDown, match="left alone for 30 s"):
            await timing.guard.ask(hangs)
    assert asked == FAILURES
    timing.clock.pass_by(seconds=COOLING)
    with pytest.raises(SourceDown, match="no answer"):
        await timing.guard.ask(hangs)
    with pytest.raises(SourceDown, match="left alone for 60 s"):
        await timing.guard.ask(hangs)
    timing.clock.pass_by(seconds=60)
    assert await timing.guard.ask(answers) == "yes"
    with pytest.raises(SourceDown, match="no answer"):
        await timing.guard.ask(hangs)
    assert await timing.guard.ask(answers) == "yes"


async def test_retry_after_is_kept() -> None:
    timing = Timing()

    async def refused() -> str:
        raise SourceDown("limits", "a", "wait", retry_after=120)

    with pytest.raises(SourceDown):
        await timing.guard.ask(refused)
    timing.clock.pass_by(seconds=119)
    with pytest.raises(SourceDown, match="left alone for 1 s"):
        await timing.guard.ask(answers)
    timing.clock.pass_by(seconds=1)
    assert await timing.guard.ask(answers) == "yes"


async def test_having_nothing_is_no_failure_of_the_source() -> None:
    source = Listing("a", ())
    guarded = GuardedSource(source, Guard("a", Watch()))
    for _ in range(FAILURES + 1):
        with pytest.raises(NoData, match="ask for other days"):
            await guarded.bars("X", None, None)
    assert len(source.asked) == FAILURES + 1


class Shelf:
    """Keeps in memory what the database keeps."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Kept] = {}

    async def load(self, source: str, symbol: str) -> Kept | None:
        return self.kept.get((source, symbol))

    async def save(self, kept: Kept) -> None:
        packed = unpack(pack(kept.bars))
        self.kept[kept.bars.source, kept.bars.symbol] = replace(kept, bars=packed)


class Keeping:
    """A source whose days go to Thursday 7 March 2024; it is Friday noon, before New York opens."""

    def __init__(self, max_age: dt.timedelta | None = None) -> None:
        self.clock, self.shelf = Watch(), Shelf()
        self.source = Listing("a", days("2024-01-01", 49))
        assert self.source.dates[-1] == DAY("2024-03-07")
        self.kept = KeptSource(self.source, self.shelf, self.clock, max_age=max_age)

    async def ask(self, start: str | None = None, end: str | None = None) -> Bars:
        return await self.kept.bars("X", DAY(start) if start else None, DAY(end) if end else None)

    @property
    def fetches(self) -> int:
        return len(self.source.asked)


async def test_what_was_fetched_is_not_fetched_again_until_the_market_has_closed_once_more() -> (
    None
):
    keeping = Keeping()
    first = await keeping.ask()
    assert (first.as_of, first.fetched_at) == (DAY("2024-03-07"), keeping.clock.at)
    keeping.clock.pass_by(hours=2)
    assert len(await keeping.ask("2024-02-01", "2024-02-09")) == 7
    assert (await keeping.ask()).fetched_at != keeping.clock.at
    assert keeping.fetches == 1
    keeping.clock.pass_by(hours=8)  # Friday 22:00 UTC: New York has closed
    keeping.source.dates.append(DAY("2024-03-08"))
    assert (await keeping.ask()).as_of == DAY("2024-03-08")
    keeping.clock.pass_by(hours=40)  # Sunday
    assert (await keeping.ask()).as_of == DAY("2024-03-08")
    assert keeping.fetches == 2


async def test_while_the_market_is_open_prices_are_five_minutes_old_at_most() -> None:
    keeping = Keeping()
    keeping.clock.pass_by(hours=4)  # 16:00 UTC, 11:00 in New York
    await keeping.ask()
    keeping.clock.pass_by(minutes=4)
    await keeping.ask()
    assert keeping.fetches == 1
    keeping.clock.pass_by(minutes=2)
    await keeping.ask()
    assert keeping.fetches == 2


async def test_a_vendor_that_publishes_late_is_asked_again() -> None:
    """Friday's close is not there at 22:00 UTC; half an hour later it is asked for again."""
    keeping = Keeping()
    keeping.clock.pass_by(hours=10)
    assert (await keeping.ask()).as_of == DAY("2024-03-07")
    keeping.clock.pass_by(minutes=20)
    await keeping.ask()
    assert keeping.fetches == 1
    keeping.clock.pass_by(minutes=20)
    keeping.source.dates.append(DAY("2024-03-08"))
    assert (await keeping.ask()).as_of == DAY("2024-03-08")


async def test_what_was_kept_of_the_past_answers_no_question_about_now() -> None:
    """A run of a past day asked a moment ago: its last close is not the last close that there is."""
    for hours in (0, 4):  # before New York opens, and while it is open
        keeping = Keeping()
        keeping.clock.pass_by(hours=hours)
        assert (await keeping.ask("2024-01-01", "2024-02-01")).as_of == DAY("2024-02-01")
        keeping.clock.pass_by(minutes=1)
        assert (await keeping.ask("2024-01-08")).as_of == DAY("2024-03-07")
        assert (await keeping.ask("2024-01-08", "2024-02-01")).as_of == DAY("2024-02-01")
        assert keeping.fetches == 2


async def test_days_of_the_past_stay_as_they_are_unless_max_age_says_otherwise() -> None:
    for max_age, fetches in ((None, 1), (dt.timedelta(days=3), 2)):
        keeping = Keeping(max_age)
        await keeping.ask("2024-01-01", "2024-02-01")
        keeping.clock.pass_by(days=30)
        await keeping.ask("2024-01-08", "2024-01-31")
        assert keeping.fetches == fetches


async def test_an_earlier_start_is_fetched_in_one_piece_with_what_is_kept() -> None:
    keeping = Keeping()
    await keeping.ask("2024-02-01", "2024-02-29")
    await keeping.ask("2024-01-08", "2024-01-31")
    assert keeping.source.asked[1] == (DAY("2024-01-08"), DAY("2024-02-29"))
    await keeping.ask("2024-01-08", "2024-02-29")
    assert keeping.fetches == 2


async def test_a_source_that_is_down_is_answered_for_by_what_is_kept_and_marked() -> None:
    keeping = Keeping()
    await keeping.ask()
    fetched = keeping.clock.at
    keeping.clock.pass_by(days=3)
    keeping.source.fails = [SourceDown("down", "a", "later")] * 2
    found = await keeping.ask()
    assert (found.stale, found.fetched_at, found.as_of) == (True, fetched, DAY("2024-03-07"))
    assert not (await keeping.shelf.load("a", "X")).bars.stale  # type: ignore[union-attr]
    with pytest.raises(SourceDown):
        await Keeping.ask(_fresh_copy(keeping), "2023-01-02")


def _fresh_copy(keeping: Keeping) -> Keeping:
    """The same source, of which nothing is kept."""
    other = Keeping()
    other.source.fails = list(keeping.source.fails) or [SourceDown("down", "a", "later")]
    return other


async def test_two_questions_at_once_are_one_request() -> None:
    keeping = Keeping()
    first, second = await asyncio.gather(keeping.ask(), keeping.ask("2024-02-01"))
    assert keeping.fetches == 1
    assert second.as_of == first.as_of


async def test_a_packed_series_is_the_same_series() -> None:
    bars = await BundledSource().bars("AAPL", DAY("2012-01-01"), None)
    paid = (Dividend(DAY("2012-08-09"), 2.65),)
    whole = replace(bars, dividends=paid, fetched_at=Watch().now())
    assert unpack(pack(whole)) == whole
    assert whole.splits
    for broken in (b"", b"x" * 40, pack(whole)[:-9]):
        with pytest.raises(ValueError, match="no packed series"):
            unpack(broken)
