"""Counting the votes of a plan: a pure function of the ballots, in the order in which they were asked for."""

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.runtime.flow import Value, Vote, shown


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of a vote.

    Attributes:
        value: what won, None where nothing did.
        tied: the values between which there is no decision, in the order of the ballots; empty where one won.
        counts: how often each value was voted for, most first.
        counted: ballots that count; `asked` were asked for.
        asked: ballots that were asked for.
    """

    value: Value
    tied: tuple[Value, ...]
    counts: tuple[tuple[Value, int], ...]
    counted: int
    asked: int

    @property
    def words(self) -> str:
        """The counts in one line."""
        return ", ".join(f"{shown(value)} {count}" for value, count in self.counts)


def tally(vote: Vote, ballots: Sequence[Value]) -> Tally:
    """Count. None is no ballot: whoever failed, or left the field out. Means and medians take numbers alone."""
    if vote.method in {"median", "mean"}:
        return _number(vote, ballots)
    given = {_key(b): b for b in reversed([b for b in ballots if b is not None])}
    cast = Counter(_key(b) for b in ballots if b is not None)
    most = max(cast.values(), default=0)
    total = cast.total()
    # A Counter keeps the order in which keys came, and sorting is stable: equals stay in the order of the ballots.
    ranked = sorted(cast.items(), key=lambda entry: -entry[1])
    counts = tuple((given[key], count) for key, count in ranked)
    first = tuple(value for value, count in counts if count == most)
    won = len(first) == 1 and _enough(vote, most, total)
    value = first[0] if won or (first and vote.tie == "first") else None
    tied = () if value is not None or not first else _open(first, counts)
    return Tally(value, tied, counts, total, len(ballots))


def _enough(vote: Vote, most: int, total: int) -> bool:
    if vote.method == "majority":
        return most * 2 > total
    return most == total if vote.method == "unanimous" else most > 0


def _open(first: tuple[Value, ...], counts: tuple[tuple[Value, int], ...]) -> tuple[Value, ...]:
    """What a person may choose between: those in front, or all where only one is in front of too few."""
    return first if len(first) > 1 else tuple(value for value, _ in counts)


def _number(vote: Vote, ballots: Sequence[Value]) -> Tally:
    numbers = [float(b) for b in ballots if isinstance(b, int | float) and not isinstance(b, bool)]
    counts = tuple(sorted(Counter(numbers).items(), key=lambda entry: -entry[1]))
    if not numbers:
        return Tally(None, (), (), 0, len(ballots))
    middle = statistics.median if vote.method == "median" else statistics.fmean
    return Tally(round(middle(numbers), 10), (), counts, len(numbers), len(ballots))


def _key(value: Value) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
