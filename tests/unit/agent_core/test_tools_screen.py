"""screen_stocks: rules as the model writes them, order, what is left out, progress, cancellation, speed."""

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest

from agent_core.finance.bars import Bars
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.screen import CHUNK, screen_tools
from agent_core.tools.spec import ToolContext, ToolFailure
from tests.unit.agent_core.made_bars import bars_of
from tests.unit.agent_core.made_prices import MadeSource, Still, answer, run, weekdays

BUNDLED = screen_tools(Sources([BundledSource()]))


def flat(symbol: str, gain: float = 0.0, count: int = 120) -> Bars:
    """100 until the last day, which gains so many percent."""
    close = [100.0] * (count - 1) + [100.0 + gain]
    return bars_of(close, symbol=symbol, dates=weekdays(count))


async def screened(*series: Bars, **args: Any) -> dict[str, Any]:
    return await answer(screen_tools(Sources([MadeSource(series)])), "screen_stocks", **args)


async def test_bounds_filter_and_the_first_rule_ranks() -> None:
    found = await screened(
        flat("A", 5), flat("B", 12), flat("C", -3), flat("D", 30),
        rules=[{"measure": "return_pct", "days": 5, "min": 0, "max": 20}],
    )  # fmt: skip
    assert [(row["rank"], row["symbol"], row["return_pct(5)"]) for row in found["rows"]] == [
        (1, "B", 12.0),
        (2, "A", 5.0),
    ]
    assert found["failed_first_at"] == {"return_pct(5)": 2}
    assert (found["screened"], found["matched"], found["shown"]) == (4, 2, 2)
    assert found["sorted_by"] == "return_pct(5) descending"


async def test_a_sort_of_its_own_and_a_limit() -> None:
    found = await screened(
        flat("A", 5), flat("B", 12), flat("C", -3),
        sort={"measure": "return_pct", "days": 1, "descending": False}, limit=2,
    )  # fmt: skip
    assert [row["symbol"] for row in found["rows"]] == ["C", "A"]
    assert (found["matched"], found["shown"]) == (3, 2)


async def test_what_is_left_out_is_named_with_the_reason() -> None:
    idle = replace(flat("IDLE"), volume=[0.0] * 120)
    old = replace(flat("OLD"), dates=weekdays(120, last=weekdays(40)[0]))
    found = await screened(
        flat("A", 5), flat("NEW", count=10), idle, old,
        rules=[{"measure": "volume_ratio", "min": 0}], symbols=["A", "NEW", "IDLE", "OLD", "微软", "???"],
    )  # fmt: skip
    assert [row["symbol"] for row in found["rows"]] == ["A"]
    why = {left["symbol"]: left["why"] for left in found["left_out"]}
    assert why == {
        "NEW": "too few bars", "IDLE": "no volume", "OLD": "stale", "MSFT": "no prices", "???": "no prices",
    }  # fmt: skip
    assert found["left_out_count"] == 5


async def test_nothing_that_matches_is_an_answer_and_nothing_to_look_at_is_none() -> None:
    found = await screened(flat("A"), rules=[{"measure": "return_pct", "days": 5, "min": 50}])
    assert found["rows"] == []
    assert "no symbol keeps all bounds" in found["note"]
    with pytest.raises(ToolFailure, match=r"NEW: too few bars .* use fewer days"):
        await screened(flat("NEW", count=10))
    with pytest.raises(ToolFailure, match="`symbols` is empty"):
        await screened(flat("A"), symbols=[])


async def test_currencies_that_differ_are_said() -> None:
    found = await screened(flat("A"), replace(flat("B"), currency="CNY"))
    assert found["currency"] == "USD, CNY"
    assert "in the symbol's own currency" in found["note"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"rules": [{"measure": "rsi"}]}, "rules.0: Value error, rsi has no bound: give min or max"),
        ({"rules": [{"measure": "rsi", "min": 70, "max": 30}]}, "min 70 is above max 30"),
        ({"rules": [{"measure": "beta", "min": 1}]}, "rules.0.measure: Input should be 'return_pct'"),
        ({"rules": [{"measure": "rsi", "min": 1, "period": 3}]}, "rules.0.period: Extra inputs"),
        ({"rules": [{"measure": "return_pct", "days": 0, "min": 1}]}, "rules.0.days: .*greater than"),
        ({"rules": [{"measure": "volatility_pct", "days": 1, "min": 1}]}, "2 days or more"),
        ({"rules": [{"measure": "rsi", "min": 1}] * 9}, "at most 8"),
    ],
)  # fmt: skip
async def test_a_rule_that_is_none_names_its_field(args: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolFailure, match=words) as failure:
        await run(BUNDLED, "screen_stocks", **args)
    assert "\n" not in str(failure.value)


async def test_a_large_universe_fits_into_an_answer_and_tells_its_progress() -> None:
    """BGT-1: it reports how far it is; EVT-6: at most 8,000 characters, though many are left out."""
    series = [flat(f"S{i:03}", i % 50) for i in range(2 * CHUNK)]
    series += [flat(f"NEW{i:03}", count=5) for i in range(60)]
    told: list[float | None] = []
    spec = screen_tools(Sources([MadeSource(tuple(series))]))[0]

    def tell(detail: str, progress: float | None = None) -> None:
        assert "screened" in detail
        told.append(progress)

    ctx = ToolContext("alice", "s", 1, "c", "en", Still(), progress=tell)
    rules = [{"measure": name, "min": -1000} for name in ("return_pct", "rsi", "above_sma_pct")]
    output = await spec.call(ctx, {"rules": rules, "limit": 99})
    found = json.loads(output.content)
    assert len(output.content) <= 8000
    assert (found["screened"], found["shown"], found["left_out_count"]) == (100, 30, 60)
    assert len(found["left_out"]) == 20
    assert told == [0.0, CHUNK / 160, 2 * CHUNK / 160, 3 * CHUNK / 160]


async def test_a_cancelled_screening_ends_at_once() -> None:
    """BGT: cancelling reaches the tool between two symbols."""
    started, never = asyncio.Event(), asyncio.Event()

    class Slow(MadeSource):
        async def bars(self, symbol: str, start: Any, end: Any) -> Bars:
            started.set()
            await never.wait()
            raise AssertionError("never comes here")

    task = asyncio.create_task(run(screen_tools(Sources([Slow((flat("A"),))])), "screen_stocks"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_bundled_universe_is_screened_in_a_moment() -> None:
    """At most .5 s of one core is the aim; here the worker process is warm, and the bound is generous."""
    measures = ["return_pct", "rsi", "volatility_pct", "above_sma_pct", "volume_ratio"]
    args: dict[str, Any] = {"rules": [{"measure": m, "min": -1000} for m in measures]}
    await run(BUNDLED, "screen_stocks", **args)  # parses the prices, starts the worker
    began = time.perf_counter()
    await run(BUNDLED, "screen_stocks", **args)
    assert time.perf_counter() - began < 0.5
