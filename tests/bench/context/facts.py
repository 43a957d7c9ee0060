"""Facts that a person mentions in passing, planted into a session, and where they can still be found at its end."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from agent_core.types import Context, Message, Text, Thinking, ToolResult
from tests.bench.context.transcripts import Session, Turn

PLANTED = 30
TOP = 10
# A fifth holds one of the words of KFS-1, so that a slot of keywords has something to find.
_THINGS = (
    "locker code", "parking bay", "gym card", "badge number", "storage unit", "library card",
    "bike lock", "customer number", "ticket for the museum", "dentist's extension", "wifi name",
    "printer queue", "mailbox number", "courier reference", "safe box", "garage remote",
    "choir folder", "loyalty account", "rental plate", "seat cushion order", "tax file",
    "insurance slip", "school form", "phone contract",
)  # fmt: skip
_KEYED = (
    "对了，我的储物柜是 {}", "重要：我的车位是 {}", "我的预算编号是 {}",
    "一定要记住我的会员号 {}", "不要忘了我的快递号 {}", "我对 {} 号药过敏",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact. `value` occurs nowhere else; `question` is what would ask for it."""

    text: str
    value: str
    question: str


def made(seed: int) -> list[Fact]:
    """Thirty facts in an order of their own."""
    draw = Random(seed)
    values = [
        f"{draw.choice('QXZKV')}{draw.choice('JWYHP')}-{n}"
        for n in draw.sample(range(10_000, 99_999), PLANTED)
    ]
    facts = [
        Fact(f"By the way, my {thing} is {value}.", value, f"What is my {thing}?")
        for thing, value in zip(_THINGS, values, strict=False)
    ]
    facts += [
        Fact(text.format(value), value, text.format(""))
        for text, value in zip(_KEYED, values[len(_THINGS) :], strict=True)
    ]
    draw.shuffle(facts)
    return facts


def plant(session: Session, facts: Sequence[Fact]) -> Session:
    """The session with the facts said along the way, evenly, by turns before and behind what was said anyway."""
    turns = [Turn(t.text, t.steps) for t in session.turns]
    for n, fact in enumerate(facts):
        turn = turns[n * len(turns) // len(facts)]
        turn.text = f"{fact.text} {turn.text}" if n % 2 else f"{turn.text} {fact.text}"
    return replace(session, turns=tuple(turns))


def words(messages: Iterable[Message]) -> str:
    """All that a model reads in these messages."""
    return "\n".join(
        b.content if isinstance(b, ToolResult) else b.text
        for m in messages
        for b in m.blocks
        if isinstance(b, Text | Context | Thinking | ToolResult)
    )


def in_context(facts: Sequence[Fact], messages: Iterable[Message]) -> list[bool]:
    """Which facts the model sees."""
    text = words(messages)
    return [fact.value in text for fact in facts]


def in_archive(facts: Sequence[Fact], rows: Sequence[Message]) -> list[bool]:
    """Which facts are in the ten rows that share the rarest words with their question."""
    texts = [words([m]) for m in rows]
    bags = [set(_grams(t)) for t in texts]
    seen = Counter(g for bag in bags for g in bag)
    return [_recalled(fact, texts, bags, seen) for fact in facts]


def _recalled(
    fact: Fact, texts: Sequence[str], bags: Sequence[set[str]], seen: Counter[str]
) -> bool:
    asked = set(_grams(fact.question))
    weight = {g: math.log(1 + len(texts) / seen[g]) for g in asked if seen[g]}
    scores = [sum(weight[g] for g in weight if g in bag) for bag in bags]
    best = sorted(range(len(texts)), key=lambda i: -scores[i])[:TOP]
    return any(fact.value in texts[i] for i in best)


def _grams(text: str) -> list[str]:
    """Words, and pairs of Han characters."""
    han = re.findall(r"[\u4e00-\u9fff]+", text)
    pairs = [run[i : i + 2] for run in han for i in range(len(run) - 1)]
    return re.findall(r"[a-z]+", text.lower()) + pairs
