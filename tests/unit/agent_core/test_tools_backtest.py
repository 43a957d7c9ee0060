"""run_backtest: what it takes, what its answer states, what it refuses, and what it keeps."""

import asyncio
import csv
import datetime as dt
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest

from agent_core.book import Event, Profile
from agent_core.finance import work
from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_job import Asked, Request, compute
from agent_core.finance.bars import Bars, Dividend
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.finance.strategies import expand
from agent_core.tools import notices, several
from agent_core.tools.backtest import backtest_tools
from agent_core.tools.backtest_answer import Trial, picture
from agent_core.tools.spec import Artifact, ToolContext, ToolFailure, ToolOutput, ToolSpec
from tests.unit.agent_core.made_bars import bars_of, days

NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
PUBLISHED: dict[str, Any] = {
    "symbols": ["GOOG"], "strategy": "macd", "params": {"fraction": 0.9}, "risk_free_pct": 2,
    "start": "2012-01-02", "end": "2012-03-28",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    """All tests of this file share one process, which does not outlive them."""
    yield
    asyncio.run(work.close())


class Still:
    """A clock that stands."""

    def now(self) -> dt.datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


class Book:
    """Keeps what is put into it."""

    def __init__(self) -> None:
        self.put_: list[tuple[str, Event | Profile]] = []

    async def put(self, owner: str, record: Any) -> int:
        self.put_.append((owner, record))
        return len(self.put_)


class Prices:
    """A source of bars written by hand."""

    name = "made"

    def __init__(self, *series: Bars) -> None:
        self._series = {bars.symbol: bars for bars in series}
        self.symbols = tuple(self._series)

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        if symbol not in self._series:
            raise NoData(f"no prices of {symbol}", self.name, "")
        return self._series[symbol].window(start, end)


def spec(*series: Bars, book: Book | None = None) -> ToolSpec:
    sources = Sources([Prices(*series) if series else BundledSource()])
    (found,) = backtest_tools(sources, book)  # type: ignore[arg-type]
    return found


async def run(
    tool: ToolSpec | None = None,
    language: Literal["en", "zh"] = "en",
    as_of: str | None = None,
    owner: str = "telegram:1",
    **args: Any,
) -> ToolOutput:
    day = dt.date.fromisoformat(as_of) if as_of else None
    ctx = ToolContext(owner, "s", 1, "c1", language, Still(), day)
    return await (tool or spec()).call(ctx, args)


async def answer(tool: ToolSpec | None = None, **args: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((await run(tool, **args)).content)
    return fields


async def refused(**args: Any) -> str:
    with pytest.raises(ToolFailure) as caught:
        await run(**args)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_tool_has_the_properties_of_the_source_design() -> None:
    """TGV-1, TGV-3: in the background, one at a time, and once in a turn for the same arguments."""
    tool = spec()
    assert tool.name == "run_backtest"
    assert tool.background
    assert tool.deterministic
    assert tool.read_only
    assert not tool.concurrency_safe
    assert not tool.requires_approval
    assert tool.credibility == "logic tool"
    assert tool.timeout >= work.LIMIT_S
    assert len(json.dumps(tool.parameters)) + len(tool.description) < 3000, "schemas cost tokens"


async def test_the_published_setup_is_expressed_by_arguments_and_shown_in_the_answer() -> None:
    """MACD within the window alone, 90 % of the equity, next open, no costs, 2 % risk-free; and with warm-up."""
    cold = await answer(warmup=False, **PUBLISHED)
    warm = await answer(**PUBLISHED)
    got = [
        [found["result"][name] for name in ("return_pct", "sharpe", "max_drawdown_pct")]
        for found in (cold, warm)
    ]
    assert got == [[5.96, 4.41, 0.48], [6.17, 2.81, 2.53]]
    assert (cold["settings"]["warmup"], cold["settings"]["warmup_bars"]) == (False, 0)
    assert (warm["settings"]["warmup"], warm["settings"]["warmup_bars"]) == (True, 400)
    assert cold["settings"] | warm["settings"] == cold["settings"] | {
        "fill": "next open", "fraction": 0.9, "commission_bps": 0, "slippage_bps": 0,
        "risk_free_pct": 2, "sharpe_deviation": "population", "warmup": True, "warmup_bars": 400,
    }  # fmt: skip


async def test_a_position_that_is_still_held_is_told_beside_the_trades() -> None:
    """All of its gain is of a trade that has not ended: "0 trades" alone would explain nothing."""
    done = await run(warmup=False, **PUBLISHED)
    found = json.loads(done.content)["result"]
    assert (found["trades"], found["open_trades"]) == (0, 1)
    row = json.loads(done.content)["published_row"]
    assert (row["cr_pct"], row["sr"], row["mdd_pct"]) == (
        found["return_pct"], found["sharpe"], found["max_drawdown_pct"],
    )  # fmt: skip
    assert row["arr_pct"] == pytest.approx(math.expm1(row["cr_pct"] / 100) * 100, abs=0.011)
    assert found["annual_return_pct"] is None
    assert done.summary.endswith("0 trades, 1 still open")
    done = await run(language="zh", warmup=False, **PUBLISHED)
    assert done.summary.endswith("0 笔交易，另有 1 笔未平仓")


async def test_an_answer_states_where_its_figures_come_from_and_what_they_are_worth() -> None:
    tool = spec()
    found = await answer(tool, **PUBLISHED)
    assert tool.output_schema is not None
    assert set(found) == set(tool.output_schema["properties"])  # type: ignore[call-overload]
    assert found["source"] == "bundled"
    assert found["as_of"] == "2012-03-28"
    assert found["window"] == {"start": "2012-01-03", "end": "2012-03-28"}
    assert (found["currency"], found["credibility"]) == ("USD", "logic tool")
    assert found["strategy"] == "macd(12,26,9)"
    assert found["rules"]["entry"] == {
        "crosses_above": ["macd(12,26,9).line", "macd(12,26,9).signal"]
    }
    assert "no commission and no slippage is counted" in found["note"]
    assert "no dividends are known" in found["note"]
    assert found["notice"] == notices.past("en")
    excess = found["result"]["return_pct"] - found["benchmark"]["return_pct"]
    assert found["excess_return_pct"] == pytest.approx(excess, abs=0.011)


async def test_the_line_and_the_files_say_the_same_as_the_answer() -> None:
    done = await run(language="zh", symbols=["谷歌"], strategy="macd", start="2012")
    found = json.loads(done.content)
    shown = set(re.findall(r"\d+\.\d\d", done.summary))
    assert shown == {
        f"{abs(found['result']['return_pct']):.2f}", f"{abs(found['benchmark']['return_pct']):.2f}",
        f"{found['result']['max_drawdown_pct']:.2f}",
    }  # fmt: skip
    assert "回测" in done.summary
    assert found["notice"] == notices.past("zh")
    picture, trades = done.artifacts
    assert isinstance(picture, Artifact)
    assert isinstance(trades, Artifact)
    assert [picture.name, trades.name] == found["artifacts"]
    assert picture.data.startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO(trades.data.decode())))
    assert len(rows) == found["result"]["trades"] + found["result"]["open_trades"]
    assert rows[-1]["entered"] == found["last_trades"][-1]["entered"]


class Sealed(Sequence[float]):
    """A column of which nothing later than index `last` may be read."""

    def __init__(self, values: Sequence[float], last: int) -> None:
        self._values, self._last = values, last

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        stop = index.stop if isinstance(index, slice) else index + 1
        assert stop is not None, "a whole column was read"
        assert 0 <= stop <= self._last + 1, "a later bar was read"
        return self._values[index]


async def test_no_bar_later_than_as_of_is_readable() -> None:
    """A source whose later bars raise when they are touched; and the answer is that of a source without them."""
    whole = await BundledSource().bars("GOOG", None, None)
    day = dt.date(2012, 6, 29)
    last = whole.index_until(day)
    columns = {
        name: Sealed(getattr(whole, name), last)
        for name in ("open", "high", "low", "close", "volume")
    }
    sealed = replace(whole, **columns)  # type: ignore[arg-type]
    asked = {
        "symbols": ["GOOG"],
        "strategy": "sma_cross",
        "start": "2011-01-01",
        "walk_forward": 0.6,
    }
    found = await answer(spec(sealed), as_of=str(day), **asked)
    assert found["as_of"] == found["result"]["window"]["end"] == "2012-06-29"
    assert found == await answer(spec(whole.rows(0, last + 1)), as_of=str(day), **asked)
    later = await answer(spec(sealed), as_of=str(day), end="2013", **asked)
    assert later["as_of"] == "2012-06-29"


async def test_both_parts_of_a_walk_forward_split_are_reported() -> None:
    found = await answer(
        symbols=["AAPL", "IBM"], strategy="ema_cross", start="2005", end="2010", walk_forward=0.7,
        commission_bps=5, slippage_bps=5,
    )  # fmt: skip
    first, second = found["in_sample"], found["out_of_sample"]
    assert first["window"]["start"] == found["window"]["start"]
    assert first["window"]["end"] < second["window"]["start"]
    assert first["bars"] / found["result"]["bars"] == pytest.approx(0.7, abs=0.01)
    assert found["result"]["fees"] > 0
    assert "no commission" not in found["note"]
    assert (await answer(**PUBLISHED))["out_of_sample"] is None


async def test_weeks_and_months_are_bars_of_their_own_with_a_history_to_warm_up() -> None:
    found = await answer(
        symbols=["IBM"], rules={"entry": {"gt": ["close", "sma(40)"]}, "exit": {"lt": ["close", "sma(40)"]}},
        start="2009", end="2011", interval="week",
    )  # fmt: skip
    assert found["settings"]["interval"] == "week"
    assert found["result"]["bars"] == 157
    assert found["settings"]["warmup_bars"] == 400
    assert found["last_trades"][0]["left"] > "2009"


async def test_rules_may_be_given_instead_of_a_name() -> None:
    rules = {
        "entry": {"gt": ["sma(20)", "sma(50)"]},
        "exit": {"lt": ["sma(20)", "sma(50)"]},
    }
    by_rules = await answer(symbols=["AAPL"], rules=rules, start="2010")
    by_name = await answer(symbols=["AAPL"], strategy="sma_cross", start="2010")
    assert by_rules["result"] == by_name["result"]
    assert by_rules["rules"] == by_name["rules"]


async def test_another_symbol_can_be_the_benchmark() -> None:
    found = await answer(benchmark="IBM", **PUBLISHED)
    assert found["benchmark"]["hold"] == "IBM"
    held = await answer(**PUBLISHED | {"symbols": ["IBM"]})
    assert found["benchmark"]["return_pct"] == held["benchmark"]["return_pct"]


async def test_a_start_before_listing_and_days_without_volume_are_said() -> None:
    """Issue "Bad input": what is missing is said and never filled in."""
    early = await answer(symbols=["GOOG"], strategy="buy_and_hold", start="2001", end="2004")
    assert early["window"]["start"] == "2004-08-19"
    assert "data begins only on 2004-08-19" in early["note"]
    idle = bars_of([10, 20, 25, 30], volume=[100, 0, 0, 100], symbol="IDLE")
    found = await answer(spec(idle), symbols=["IDLE"], strategy="buy_and_hold", start="2020")
    assert found["last_trades"][0]["entry_price"] == 30
    assert "bars without volume on which an order had to wait: 2" in found["note"]
    assert "2 of 4 days have no volume" in found["note"]


async def test_a_split_and_a_gap_in_the_window_are_said() -> None:
    split = await answer(symbols=["AAPL"], strategy="buy_and_hold", start="2005-Q1")
    assert "2005-02-28" in split["note"]
    assert abs(split["result"]["worst_trade_pct"] or 0) < 60
    gap = bars_of([10, 10, 10], dates=(days(60)[0], days(60)[1], days(60)[50]), symbol="GAP")
    found = await answer(spec(gap), symbols=["GAP"], strategy="buy_and_hold", start="2020")
    assert "there are no prices between 2020-01-07 and 2020-02-25" in found["note"]


async def test_dividends_are_counted_where_the_source_knows_them() -> None:
    paid = bars_of([10, 10, 10, 10], symbol="PAYS", dividends=(Dividend(days(4)[2], 1.0),))
    found = await answer(spec(paid), symbols=["PAYS"], strategy="buy_and_hold", start="2020")
    assert found["result"]["dividends"] == 10_000
    assert found["result"]["return_pct"] == 10
    assert "no dividends" not in found["note"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"symbols": []}, "name 1 to 20"),
        ({"symbols": ["GOOG"] * 21}, "name 1 to 20"),
        ({"symbols": ["GOOG", "NOSUCH"]}, "no symbol is named 'NOSUCH'"),
        ({"symbols": ["GOOG", "NOSUCH"]}, "nothing was tested"),
        ({"strategy": None}, "give either strategy (sma_cross,"),
        ({"rules": {"entry": {"gt": ["close", 1]}}}, "one of both"),
        (
            {"strategy": None, "rules": {"entry": {"gt": ["clse", 1]}}},
            "rules.entry.gt.0: there is no indicator",
        ),
        ({"params": {"fst": 3}}, "params.fst: there is no such field; did you mean fast?"),
        ({"start": "2012-01-03", "end": "2012-01-04"}, "the window has 2 bars"),
        ({"start": "2012-01-03", "end": "2012-01-20", "walk_forward": 0.5}, "needs 20 at least"),
        (
            {"start": "2012-01-03", "end": "2012-02-03", "warmup": False},
            "macd(12,26,9).signal: not one value",
        ),
        ({"start": "2012-01-03", "end": "2012-02-03", "warmup": False}, "allow warmup"),
        ({"start": "soon"}, "is not a date"),
        ({"cash": 0}, "cash: Input should be greater than 0"),
        ({"walk_forward": 1}, "walk_forward: Input should be less than or equal to 0.9"),
        ({"commission_bps": -1}, "commission_bps: Input should be greater than or equal to 0"),
        ({"strategy": "martingale"}, "strategy: Input should be 'sma_cross'"),
    ],
)
async def test_what_cannot_be_tested_is_refused_with_the_cure(
    args: dict[str, Any], said: str
) -> None:
    assert said in await refused(
        **{"symbols": ["GOOG"], "strategy": "macd", "start": "2012", **args}
    )


async def test_prices_in_two_currencies_are_not_put_into_one_account() -> None:
    a = bars_of([10, 10, 10], symbol="A")
    b = replace(bars_of([10, 10, 10], symbol="B"), currency="EUR")
    said = await refused(tool=spec(a, b), symbols=["A", "B"], strategy="buy_and_hold", start="2020")
    assert "one account cannot hold EUR, USD prices" in said


async def test_many_symbols_are_counted_in_a_title_that_would_be_too_long() -> None:
    ctx = ToolContext("telegram:1", "s", 1, "c1", "zh", Still())
    found = (await several.load(Sources([BundledSource()]), ctx, BundledSource().symbols)).found
    bars = found[0].window
    request = Request((Asked(bars, 0),), expand("macd", {})[0], Terms(), (bars,))
    outcome = compute(request)

    def titles(label: str, count: int) -> tuple[str, str]:
        trial = Trial(label, tuple(found[:count]), None, request, outcome, "day")
        drawn = picture(ctx, trial, "light")
        return drawn.en.title, drawn.zh.title

    assert titles("macd(12,26,9)", 1) == ("macd(12,26,9) · AAPL", "macd(12,26,9) · AAPL 苹果")
    assert titles("macd(12,26,9)", 2)[0] == "macd(12,26,9) · AAPL, GOOG"
    assert titles("rsi_reversion(14,30,70) long/short", 4) == (
        "rsi_reversion(14,30,70) long/short · 4 symbols",
        "rsi_reversion(14,30,70) long/short · 4 只证券",
    )


async def test_an_event_is_kept_and_the_profiles_are_renewed_for_the_owner_of_the_turn() -> None:
    """RMB-2: the owner is the turn's, whatever the model writes."""
    book = Book()
    done = await run(
        spec(book=book), owner="telegram:7", symbols=["GOOG", "IBM"], strategy="macd", start="2012"
    )
    assert json.loads(done.content)["kept"]
    assert {owner for owner, _ in book.put_} == {"telegram:7"}
    event, *profiles = [record for _, record in book.put_]
    assert event == Event(
        "backtest", done.summary, NOW, ("GOOG", "IBM"), "run_backtest", "logic tool"
    )
    assert [profile.symbol for profile in profiles] == ["GOOG", "IBM"]
    stances = {one["symbol"]: one["stance_at_end"] for one in json.loads(done.content)["symbols"]}
    for profile in profiles:
        assert isinstance(profile, Profile)
        assert profile.text == done.summary
        assert profile.signal == f"{stances[profile.symbol]} on 2012-12-31 by macd(12,26,9)"
        assert (profile.updated_at, profile.credibility) == (NOW, "logic tool")


async def test_a_test_that_is_refused_keeps_nothing() -> None:
    book = Book()
    with pytest.raises(ToolFailure):
        await run(spec(book=book), symbols=["GOOG"], strategy="macd", start="1990", end="1991")
    assert book.put_ == []


async def test_a_cancelled_backtest_ends_at_once_and_keeps_nothing() -> None:
    """Defect 26: what was asked for and given up leaves no effect behind."""
    book, reached = Book(), asyncio.Event()

    def progress(detail: str, progress: float | None = None) -> None:
        del progress
        if detail == "computing":
            reached.set()

    ctx = replace(ToolContext("telegram:1", "s", 1, "c1", "en", Still()), progress=progress)
    args = {
        "symbols": list(BundledSource.symbols),
        "strategy": "donchian_breakout",
        "start": "2000",
        "end": "2013",
    }
    task = asyncio.create_task(spec(book=book).call(ctx, args))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert book.put_ == []
    assert (await answer(**PUBLISHED))["result"]["return_pct"] == 6.17
