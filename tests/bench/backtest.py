"""What a backtest costs: each strategy on 5 symbols × 13 years of daily bars. CPU time, medians; the bound is 1 s.

python tests/bench/backtest.py [--times 5]
"""

import argparse
import asyncio
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from agent_core.finance.backtest_account import Terms  # noqa: E402 - put on the path first
from agent_core.finance.backtest_job import Asked, Request, compute  # noqa: E402
from agent_core.finance.bars import Bars  # noqa: E402
from agent_core.finance.sources.bundled import BundledSource  # noqa: E402
from agent_core.finance.sources.chain import Sources  # noqa: E402
from agent_core.finance.strategies import expand  # noqa: E402
from agent_core.finance.strategy_names import NAMES, Name  # noqa: E402

BOUND_S = 1.0


async def five_symbols() -> list[Bars]:
    """The three bundled series of 13 years, two of them twice under other names."""
    sources = Sources([BundledSource()])
    names = {"AAPL": "AAPL", "IBM": "IBM", "MSFT": "MSFT", "D": "AAPL", "E": "IBM"}
    return [
        replace(await sources.bars(symbol, None, None), symbol=name)
        for name, symbol in names.items()
    ]


def request(bars: list[Bars], name: Name) -> Request:
    """Long and short, with costs and a stop: the most work that a strategy makes."""
    params = {} if name == "buy_and_hold" else {"short": True}
    rules, _ = expand(name, {**params, "stop_loss_pct": 10})
    terms = Terms(commission_bps=5, slippage_bps=5)
    return Request(tuple(Asked(one, 0) for one in bars), rules, terms, tuple(bars))


def measured(wanted: Request, times: int) -> float:
    """CPU seconds, the median."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        compute(wanted)
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def main() -> int:
    """Print a line for each strategy; 1 where one is over the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    bars = asyncio.run(five_symbols())
    print(f"{len(bars)} symbols × {len(bars[0])} daily bars, bound {BOUND_S:g} s")
    over = False
    for name in NAMES:
        taken = measured(request(bars, name), times)
        over |= taken > BOUND_S
        print(f"  {name:20} {taken:6.3f} s")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
