"""The recipe of the source material over the same rows, taken as facts: for comparison."""

import datetime as dt
from collections.abc import Iterable

from agent_core.memory.question import question
from agent_core.memory.source_recipe import source_ranking
from agent_core.storage.recall_rows import Kept
from tests.bench.recall.measure import Figures
from tests.bench.recall.sets import Corpus

LIMIT = 8


def source_figures(corpora: Iterable[Corpus], every: int = 1) -> Figures:
    """The figures of each `every`th question; the present is a day after the last row."""
    r5 = r10 = mrr = any10 = 0.0
    count = 0
    for corpus in corpora:
        kept = [Kept(line.id, "fact", line.text, (), "mixed", line.at) for line in corpus.lines]
        now = max(line.at for line in corpus.lines) + dt.timedelta(days=1)
        for item in corpus.questions[::every]:
            best = source_ranking(kept, item.text, question(item.text, ()), now, LIMIT)
            ids, gold = [k.id for k in best], item.gold
            r5 += len(gold.intersection(ids[:5])) / len(gold)
            r10 += len(gold.intersection(ids[:10])) / len(gold)
            any10 += bool(gold.intersection(ids[:10]))
            mrr += next((1 / n for n, row in enumerate(ids, 1) if row in gold), 0.0)
            count += 1
    n = max(count, 1)
    return Figures(count, r5 / n, r10 / n, mrr / n, any10 / n)
