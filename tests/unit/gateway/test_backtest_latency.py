"""Other chats are unaffected while backtests run: heavy work is done outside of this process (issue "Cost").

Measured in CPU seconds of this process: what holds up its event loop, in the loop or beside it under the interpreter's
lock, is among them; what else a machine does meanwhile is not.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from agent_core.finance import work
from agent_core.finance.sources.bundled import SYMBOLS, BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.strategy_names import Name
from agent_core.tools.backtest import backtest_tools
from agent_core.tools.spec import ToolContext, ToolOutput
from gateway.storage.db import Database
from tests.house import House, Watch, on_sqlite, settings

pytestmark = pytest.mark.slow
STRATEGIES: tuple[Name, ...] = ("donchian_breakout", "macd", "bollinger")
BOUND_S = 0.05
# Each message is a turn: one that is over its author's rate would only be refused, and that is quick.
# One for all, as a gateway has it: prices are read once.
PRICES = Sources([BundledSource()])
OFTEN = settings(sessions={"rate_limit": {"messages_per_minute": 1_000_000}})


@pytest.fixture(autouse=True)
async def worker() -> AsyncIterator[None]:
    yield
    await work.close()


@pytest.fixture(autouse=True)
def own_heap() -> Iterator[None]:
    """A gateway's heap is small: what other tests left here is not searched for garbage within a turn."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def p99(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.99)]


async def backtest(strategy: Name) -> ToolOutput:
    """The whole tool on all that there is: prices, trades, figures, picture."""
    (tool,) = backtest_tools(PRICES)
    ctx = ToolContext("telegram:1", "s", 1, "c1", "en", Watch())
    args = {
        "symbols": list(SYMBOLS), "strategy": strategy, "start": "2000", "end": "2013",
        "walk_forward": 0.7,
    }  # fmt: skip
    return await tool.call(ctx, args)


async def several(strategy: Name) -> None:
    """One after the other, so that enough turns fall beside three that run for a 99th percentile."""
    for _ in range(4):
        await backtest(strategy)


async def test_a_trivial_coroutine_is_never_held_up_for_long() -> None:
    """What is done in this process while one sleeps for 2 ms: the lag of the event loop."""
    await backtest("macd")  # the process has started, and has imported what it needs
    running = asyncio.gather(*(backtest(name) for name in STRATEGIES))
    late = []
    while not running.done():
        begin = time.process_time()
        await asyncio.sleep(0.002)
        late.append(time.process_time() - begin)
    assert len(await running) == 3
    assert len(late) > 100, "the backtests took long enough to be felt"
    assert p99(late) <= BOUND_S


@on_sqlite
async def test_a_trivial_turn_of_another_chat_stays_quick(db: Database) -> None:
    """From the message to its answer, with the database; three backtests run all the while.

    On a slow machine quiet turns take long too: then twice their time is the bound.
    """

    async def turn() -> float:
        begin = time.process_time()
        await house.ask("hello", author="2", chat="2")
        return time.process_time() - begin

    async with House(db, lambda request: "fine", rules=OFTEN) as house:
        await backtest("macd")
        await turn()
        quiet = [await turn() for _ in range(50)]
        running = asyncio.gather(*(several(name) for name in STRATEGIES))
        busy = []
        while not running.done():
            busy.append(await turn())
        await running
        quiet += [await turn() for _ in range(50)]
        turns = 1 + len(quiet) + len(busy)
        assert len(house.model.requests) == turns, "each was a turn"
    assert len(busy) >= 100
    assert p99(busy) <= max(BOUND_S, 2 * p99(quiet))
