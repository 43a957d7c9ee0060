"""How well and how fast recall finds what was said: python -m tests.bench.recall --data DIR, or make bench-recall.

Prints the table of the product's own recipe and its parts, then, as the last line, one JSON object: LoCoMo on the five
dialogues that the weights were not tuned on, the Chinese set pooled, and the median time of a recall among the rows of
all ten dialogues in one owner. `--crowd N` adds N rows of other owners first; no figure but the time may change then.
`--database URL` measures on another database, which must be empty. `--turns N` measures whole turns instead
(`tests/bench/recall/turns.py`), among `--crowd` rows of others (default then: a million); it ends with 1 where other
people's rows changed what was recalled.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, create_engine

from agent_core.memory.bm25 import Weights
from gateway.storage.schema import prepare
from tests.bench.recall.crowd import add_crowd
from tests.bench.recall.measure import Figures, figures, fill, look_up, placed, times
from tests.bench.recall.sets import Corpus, chinese, locomo
from tests.bench.recall.source import source_figures

ALL = "everybody"
OWN = Weights()
PARTS = (
    ("row", replace(OWN, window=0.0, session=0.0, entity=0.0, time=0.0, question=0.0, reply=0.0)),
    ("row + window", replace(OWN, session=0.0, entity=0.0, time=0.0, question=0.0, reply=0.0)),
    ("row + window + session", replace(OWN, entity=0.0, time=0.0, question=0.0, reply=0.0)),
    ("+ speaker", replace(OWN, time=0.0, question=0.0, reply=0.0)),
    ("+ asked times, questions, replies (default)", OWN),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench-recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the question sets")
    parser.add_argument("--crowd", type=int, default=0, help="rows of other owners")
    parser.add_argument(
        "--again", type=int, default=1, help="how often the timed owner says everything"
    )
    parser.add_argument("--database", help="SQLAlchemy URL of an empty database")
    parser.add_argument("--turns", type=int, default=0, help="measure so many whole turns instead")
    options = parser.parse_args(argv)
    if options.turns:
        return _turns(options.data, options.turns, options.crowd or 1_000_000)
    dialogues, zh = locomo(options.data), chinese(options.data)
    with _database(options.database) as conn:
        for corpus in (*dialogues, zh):
            fill(conn, corpus.owner, corpus.lines)
        said = [line for corpus in dialogues for line in corpus.lines]
        for time in range(options.again):
            fill(conn, ALL, [replace(line, session=f"{time} {line.session}") for line in said])
        add_crowd(conn, options.crowd)
        conn.commit()
        _report(conn, dialogues, zh, (options.again, options.crowd))
    return 0


def _report(
    conn: Connection, dialogues: Sequence[Corpus], zh: Corpus, size: tuple[int, int]
) -> None:
    tuned, rest = (
        [case for c in dialogues[n::2] for case in placed(c, look_up(conn, c))] for n in (0, 1)
    )
    chinese_cases = placed(zh, look_up(conn, zh))
    print(f"{'recipe':<44}{'R@5':>7}{'R@10':>7}{'MRR':>7}{'zh R@10':>9}")
    for name, weights in PARTS:
        _line(name, figures([*tuned, *rest], weights), figures(chinese_cases, weights))
    _line(
        "the recipe of the source material",
        source_figures(dialogues, every=10),
        source_figures([zh]),
    )
    _line("default, dialogues tuned on", figures(tuned, OWN), None)
    own, own_zh = figures(rest, OWN), figures(chinese_cases, OWN)
    _line("default, the other dialogues", own, own_zh)
    texts = [q.text for corpus in dialogues for q in corpus.questions][::3]
    spent = times(conn, ALL, texts, OWN)
    rows = size[0] * sum(len(corpus.lines) for corpus in dialogues)
    p50, p95 = statistics.median(spent), spent[int(len(spent) * 0.95)]
    print(f"one recall among {rows} rows, {size[1]} of others: p50 {p50:.2f} ms, p95 {p95:.2f} ms")
    locomo_figures = {"r5": own.r5, "r10": own.r10, "mrr": own.mrr}
    result = {"locomo": locomo_figures, "zh": {"r10": own_zh.r10}, "p50_ms": p50}
    print(json.dumps(_rounded(result)))


def _turns(data: Path, turns: int, crowd: int) -> int:
    from tests.bench.recall.turns import measured  # the whole house, which nothing else here needs

    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), locomo(data), turns, crowd))
    print(json.dumps({"turn": _rounded(figures)}))
    return 0 if figures["same"] else 1


def _line(name: str, english: Figures, zh: Figures | None) -> None:
    more = f"{zh.r10:>9.3f}" if zh else ""
    print(f"{name:<44}{english.r5:>7.3f}{english.r10:>7.3f}{english.mrr:>7.3f}{more}", flush=True)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return round(value, 4) if isinstance(value, float) else value


@contextmanager
def _database(url: str | None) -> Iterator[Connection]:
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(url or f"sqlite:///{folder}/recall.db")
        with engine.connect() as conn:
            prepare(conn)
            yield conn
        engine.dispose()


if __name__ == "__main__":
    sys.exit(main())
