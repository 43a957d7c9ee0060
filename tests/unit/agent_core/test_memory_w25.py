"""W2-5 as an evaluation: which questions about one's holdings the overview makes answerable (FIX-2, PFI-2).

The source gives two percentages, 20 and 100, and no cases. The composition here is ours: five cases about profiles, one
names a symbol and four speak of the book as a whole. Each profile has a sentinel that stands nowhere else, and the
reader is deterministic: it answers from the assembled request alone, and a case counts where it finds every sentinel
that the case needs. Negatives and the three kinds of message are counted beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent_core.assembly.builder import Frame, Prefix, request
from agent_core.assembly.classes import HEADINGS, Caps, Limits
from agent_core.assembly.gather import Gathered, gather_context
from agent_core.book import Look, Seen
from agent_core.compaction.view import View
from agent_core.models.scripted import INFO
from agent_core.ports import ModelRequest
from agent_core.types import Context, Message, Row, RowKind, Text
from tests.unit.agent_core.books import NOW, Shelf, holding, profile

SYMBOLS = ("300750.SZ", "002594.SZ", "600519.SH", "NVDA", "0700.HK", "BTC-USD")
SENTINELS = {symbol: f"sentinel-{n}-{symbol.lower()}" for n, symbol in enumerate(SYMBOLS)}
BOOK = Seen(
    holdings=tuple(holding(s, n + 1, 100) for n, s in enumerate(SYMBOLS)),
    profiles=tuple(profile(s, f"thesis {SENTINELS[s]}", signal="hold 0.5") for s in SYMBOLS),
)


@dataclass(frozen=True)
class Case:
    """A question, and the symbols whose profiles an answer needs."""

    text: str
    needs: tuple[str, ...]


CASES = (
    Case("宁德时代的逻辑还成立吗", ("300750.SZ",)),
    Case("我的持仓里谁的逻辑变了", SYMBOLS),
    Case("哪只最该减", SYMBOLS),
    Case("核心仓和卫星仓的配比合理吗", SYMBOLS),
    Case("which of my holdings has the weakest thesis?", SYMBOLS),
)
NEGATIVES = (
    "怎么配置环境变量",
    "你好",
    "大盘今天怎么样",
    "hello",
    "what is the market doing",
    "A股哪只最强",
    "Arm Holdings news",
    "帮我写一首诗",
)
MIXED = ("宁德时代在我的组合里占比合理吗", "Is NVDA too large in my portfolio?")
OFF = Limits(holdings=Caps(0, 0))


@dataclass
class Watched(Shelf):
    """The book, with a count of signals computed: the port offers none, and each other attribute would be one."""

    scans: int = 0

    def __getattr__(self, name: str) -> Any:
        self.scans += 1
        raise AttributeError(name)


async def gathered(text: str, limits: Limits, shelf: Shelf | None = None) -> Gathered:
    return await gather_context(
        "alice", "private", text, (), NOW, shelf or Watched(BOOK), None, limits=limits
    )


def assembled(text: str, contexts: Sequence[Context]) -> ModelRequest:
    """The request as a model gets it."""
    row = Row(1, 1, RowKind.USER, Message("user", (*contexts, Text(text))), "", NOW)
    return request(View.of([row]), Frame(Prefix("You advise.", ()), INFO, 1000), 1)


def answered(case: Case, made: ModelRequest) -> bool:
    """The reader: whether each profile that the case needs stands in the request."""
    seen = "\n".join(
        getattr(block, "text", "") for message in made.messages for block in message.blocks
    )
    return all(SENTINELS[symbol] in seen for symbol in case.needs)


async def score(limits: Limits) -> list[bool]:
    return [
        answered(case, assembled(case.text, (await gathered(case.text, limits)).contexts))
        for case in CASES
    ]


async def test_the_overview_takes_the_cases_from_20_to_100_percent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """PFI-2."""
    off, on = await score(OFF), await score(Limits())
    with capsys.disabled():
        print(f"\n  W2-5: {sum(off)}/{len(off)} without the overview, {sum(on)}/{len(on)} with it")
    assert (sum(off), sum(on), len(CASES)) == (1, 5, 5)
    assert off[0]  # the case that names a symbol needs no overview


async def test_what_it_costs_and_what_it_must_not_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Recall of each holding, characters, negatives, and no signal computed (PFI-1, PFI-4)."""
    shelf = Watched(BOOK)
    found = [await gathered(case.text, Limits(), shelf) for case in CASES[1:]]
    recall = {
        symbol: sum(SENTINELS[symbol] in f.contexts[0].text for f in found) / len(found)
        for symbol in SYMBOLS
    }
    false = [text for text in NEGATIVES if (await gathered(text, Limits(), shelf)).contexts]
    chars = [sum(f.chars.values()) for f in found]
    with capsys.disabled():
        print(
            f"\n  W2-5: recall {min(recall.values()):.0%} of each holding, {max(chars)} characters at most, "
            f"{len(false)}/{len(NEGATIVES)} false, {shelf.scans} fusion scans"
        )
    assert set(recall.values()) == {1.0}
    assert max(chars) < 1_500
    assert false == []
    assert shelf.scans == 0
    assert len(shelf.looks) == len(CASES) - 1 + len(NEGATIVES)  # one read for each message


async def test_three_kinds_of_message_are_told_apart() -> None:
    """FIX-2: symbol named, portfolio-level, neither; both at once counts for both and says nothing twice (PFI-3)."""
    named = await gathered(CASES[0].text, Limits())
    assert set(named.chars) == {"symbols"}
    for case in CASES[1:]:
        assert set((await gathered(case.text, Limits())).chars) == {"holdings"}
    for text in MIXED:
        both = await gathered(text, Limits())
        assert set(both.chars) == {"symbols", "holdings"}
        for sentinel in SENTINELS.values():
            assert both.contexts[0].text.count(sentinel) == 1


async def test_without_holdings_there_is_neither_overview_nor_heading() -> None:
    """PFI-4."""
    empty = replace(BOOK, holdings=())
    for case in CASES[1:]:
        assert (await gathered(case.text, Limits(), Shelf(empty))).contexts == ()
    assert HEADINGS["holdings"] not in str(await gathered(CASES[1].text, Limits(), Shelf(empty)))


async def test_each_further_message_reads_once() -> None:
    shelf = Watched(BOOK)
    for _ in range(3):
        await gathered(CASES[1].text, Limits(), shelf)
    assert [type(look) for look in shelf.looks] == [Look] * 3
