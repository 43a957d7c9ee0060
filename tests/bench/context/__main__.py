"""What each policy costs and keeps, on transcripts that are replayed through the product's own code.

    python -m tests.bench.context --data DIR [--quick] [--policy NAME ...]

Prints a table and, as its last line, one JSON object. `cost` is the bill against never compacting, under the same
marks; `cache_hit` the share of the input that the cache had; `facts` the share of 30 planted facts that the model still
sees at the end; `reachable` those or the archive's first ten hits. Columns without a suffix have cache entries of five
minutes, as the measurements of the guide "context_economics"; those with `_1h` have the marks that the product sets.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from agent_core.compaction.strategies import POLICIES, Policy
from agent_core.ports import Ttl
from tests.bench.context import transcripts
from tests.bench.context.replay import Result, replay
from tests.bench.context.transcripts import Session

SESSIONS = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One kind of chat. `gap` is the median of a person's pauses in seconds; `ttl` None: the product's own marks."""

    name: str
    kind: str
    gap: float
    ttl: Ttl | None


COLUMNS = (
    Column("tau_60", "tau", 60, "5m"),
    Column("tau_400", "tau", 400, "5m"),
    Column("swe_60", "swe", 60, "5m"),
    Column("tau_60_1h", "tau", 60, None),
    Column("tau_400_1h", "tau", 400, None),
    Column("swe_60_1h", "swe", 60, None),
)
QUICK = ("tau_60", "swe_60")
NEVER = "never"


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and print."""
    parser = argparse.ArgumentParser(
        prog="bench-context", description="Compare compaction policies."
    )
    parser.add_argument("--data", type=Path, required=True, help="a directory of transcripts")
    parser.add_argument("--quick", action="store_true", help="one session a kind, two columns")
    parser.add_argument("--policy", nargs="*", default=list(POLICIES), choices=list(POLICIES))
    options = parser.parse_args(arguments)
    sessions = _sessions(options.data, 1 if options.quick else SESSIONS)
    columns = [c for c in COLUMNS if sessions[c.kind] and (not options.quick or c.name in QUICK)]
    if not columns:
        print(f"{options.data}: no transcripts (*.json of tau-bench, *.traj)", file=sys.stderr)
        return 2
    table: dict[str, dict[str, dict[str, float]]] = {n: {} for n in [NEVER, *options.policy]}
    for column in columns:
        for name, cells in _column(column, sessions[column.kind], options.policy):
            table[name][column.name] = cells
            print(_line(column.name, name, cells), flush=True)
    print(json.dumps(table))
    return 0


def _sessions(data: Path, number: int) -> dict[str, list[Session]]:
    found = transcripts.found(data)
    tau = [s for path in found["tau"] for s in transcripts.tau(path, number)][:number]
    return {"tau": tau, "swe": transcripts.swe(found["swe"]) if found["swe"] else []}


def _column(
    column: Column, sessions: Sequence[Session], names: Sequence[str]
) -> Iterator[tuple[str, dict[str, float]]]:
    base = _replays(column, sessions, None)
    yield NEVER, _cells(base, base)
    for name in names:
        yield name, _cells(_replays(column, sessions, POLICIES[name]), base)


def _replays(column: Column, sessions: Sequence[Session], policy: Policy | None) -> list[Result]:
    return [replay(s, policy, gap=column.gap, ttl=column.ttl) for s in sessions]


def _cells(results: Sequence[Result], base: Sequence[Result]) -> dict[str, float]:
    cost = sum(r.cost for r in results) / sum(r.cost for r in base)
    return {
        "cost": round(cost, 3),
        "facts": round(fmean(r.facts for r in results), 3),
        "cache_hit": round(fmean(r.hit for r in results), 3),
        "reachable": round(fmean(r.reachable for r in results), 3),
        "summaries": sum(r.summaries for r in results),
        "largest": max(r.largest for r in results),
    }


def _line(column: str, name: str, cells: dict[str, float]) -> str:
    return (
        f"{column:12}{name:16}cost {cells['cost']:5.3f}  cache {cells['cache_hit']:4.2f}"
        f"  facts {cells['facts']:4.2f}  with archive {cells['reachable']:4.2f}"
        f"  summaries {cells['summaries']:4.0f}  largest request {cells['largest']:7,.0f}"
    )


if __name__ == "__main__":
    sys.exit(main())
