"""What a view costs in a long session: made anew, grown by a row, under a new decision. CPU time, medians.

python tests/bench/view.py [--messages 1000]
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from agent_core.compaction.decisions import Cleared, Summary, checkpoint  # noqa: E402 - put on the path first
from agent_core.compaction.pairs import safe_cut  # noqa: E402
from agent_core.compaction.prune import prunable  # noqa: E402
from agent_core.compaction.view import View  # noqa: E402
from tests.unit.agent_core.transcript import Transcript  # noqa: E402


def session(messages: int) -> Transcript:
    """English and Chinese words, a lookup in each turn."""
    t = Transcript()
    for n in range(messages // 4):
        t.said("价格多少？ " * 20 if n % 2 else "what does it cost? " * 10)
        t.looked(f"k{n}", "close 101.25, 收盘 " * 90)
        t.replied("about a hundred " * 20)
    return t


def median_ms(work: Callable[[], object], times: int = 40) -> float:
    """CPU milliseconds."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken) * 1_000


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--messages", type=int, default=1_000)
    t = session(arguments.parse_args().messages)
    view = View.of(t.rows[:-1])
    whole = View.of(t.rows)
    seqs = prunable(whole)
    clear = checkpoint(Cleared(seqs), until=len(t.rows) + 1)
    cut = checkpoint(Summary("so far", "brief"), until=safe_cut(whole, len(t.rows) // 2))
    figures = {
        "from nothing": lambda: View.of(t.rows).messages,
        "one more row": lambda: view.extended(t.rows[-1:]).messages,
        "results cleared": lambda: whole.extended((), [clear]).messages,
        "a summary": lambda: whole.extended((), [cut]).messages,
        "what is prunable": lambda: prunable(whole),
        "a safe cut": lambda: safe_cut(whole, len(t.rows) // 2, budget=20_000),
    }
    print(f"{len(t.rows)} rows, {whole.tokens} tokens, {len(seqs)} results to clear")
    for name, work in figures.items():
        print(f"{name:20} {median_ms(work):8.3f} ms")


if __name__ == "__main__":
    main()
