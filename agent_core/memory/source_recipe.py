"""The ranking of the source material, kept beside ours so that both can be compared (`profile: source`).

Three pipelines over the memories: full text 0.8, a shared symbol 1.2, keywords 0.25, each of twice the limit at most
(RCL-2); a memory found by several has the maximum, never the sum (RCL-3); times 2^(-age / half-life) without a floor
(RCL-4). Inside full text the order of BM25 breaks ties (RCL-11). Pure.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from agent_core import words
from agent_core.memory.bm25 import Asked, rarity
from agent_core.memory.lifecycle import decay
from agent_core.storage.recall_rows import Kept
from agent_core.text import HAN, ngrams

FULL_TEXT, SYMBOL, KEYWORD = 0.8, 1.2, 0.25
KEYWORDS = 5
K1, B = 1.2, 0.75
# Words of trading that every memory has (RCL-6), beside particles.
GENERIC = frozenset(
    """
    可以 现在 建仓 买入 卖出 加仓 减仓 补仓 清仓 持仓 止盈 止损 什么 怎么 如何 为什么 是否 能否 应该 今天 明天 分析
    看看 一下 帮我 我想 股票 操作
    """.split()  # noqa: SIM905 - a list of words reads better as text
)
_RUN = re.compile(f"[{HAN}]{{2,}}")


def source_ranking(
    memories: Sequence[Kept], text: str, asked: Asked, now: dt.datetime, limit: int
) -> list[Kept]:
    """The memories that a pipeline finds, best first. Those of other symbols must be left out before (RCL-5)."""
    by_id = {kept.id: kept for kept in memories}
    scores: dict[int, float] = {}
    order: dict[int, int] = {}
    pipelines = (
        (SYMBOL, _by_symbol(memories, asked)),
        (FULL_TEXT, _by_text(memories, asked)),
        (KEYWORD, _by_keyword(memories, keywords(text))),
    )
    for weight, found in pipelines:
        for place, memory in enumerate(found[: 2 * limit]):
            kept = by_id[memory]
            score = weight * decay(kept.kind, kept.at, now)
            scores[memory] = max(scores.get(memory, 0.0), score)
            order.setdefault(memory, place)
    best = sorted(scores, key=lambda memory: (-scores[memory], order[memory], -memory))
    return [by_id[memory] for memory in best]


def keywords(text: str) -> list[str]:
    """The first keywords of a message: Han runs of two characters, longer ones in pairs; Latin words (RCL-6)."""
    plain = words.normal(text)
    runs: Iterable[str] = _RUN.findall(plain)
    pieces = [piece for run in runs for piece in (ngrams(run) if len(run) > 2 else (run,))]
    latin = [name for name in words.names(plain) if len(name) > 1]
    return [word for word in dict.fromkeys([*pieces, *latin]) if _telling(word)][:KEYWORDS]


def _telling(word: str) -> bool:
    return word not in GENERIC and not all(char in words.STOP_HAN for char in word)


def _by_symbol(memories: Sequence[Kept], asked: Asked) -> list[int]:
    """Newest first, as they come."""
    return [k.id for k in memories if set(words.symbol_words(k.codes)).intersection(asked.symbols)]


def _by_keyword(memories: Sequence[Kept], wanted: Sequence[str]) -> list[int]:
    return [k.id for k in memories if any(word in k.text.casefold() for word in wanted)]


def _by_text(memories: Sequence[Kept], asked: Asked) -> list[int]:
    """By BM25, best first."""
    bags = {k.id: Counter([*words.words(k.text), *words.symbol_words(k.codes)]) for k in memories}
    mean = sum(bag.total() for bag in bags.values()) / max(len(bags), 1) or 1.0
    scores: dict[int, float] = {}
    for word in asked.words:
        having = [(memory, bag) for memory, bag in bags.items() if word in bag]
        weight = rarity(len(having), len(bags)) * (K1 + 1)
        for memory, bag in having:
            size = K1 * (1 - B + B * bag.total() / mean)
            scores[memory] = scores.get(memory, 0.0) + weight * bag[word] / (bag[word] + size)
    return sorted(scores, key=lambda memory: (-scores[memory], -memory))
