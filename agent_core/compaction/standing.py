"""What all checkpoints of a session say together: which rows are gone, which show otherwise, which summary holds.

A pure reading of the checkpoints in the order in which they were made; the rows are not needed for it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent_core.compaction.decisions import Cleared, Clipped, Folded, Summary, body_of
from agent_core.types import Checkpoint

_COMPACTIONS = frozenset({"clear", "fold", "summary"})


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of seqs, joined where they touch; `spans` are (first, last), both included, ascending."""

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, bounds: Iterable[tuple[int, int]]) -> "Ranges":
        """From (after, until) pairs, both left out, in any order."""
        spans: list[tuple[int, int]] = []
        for after, until in sorted(bounds):
            first, last = after + 1, until - 1
            if last < first:
                continue
            if spans and first <= spans[-1][1] + 1:
                spans[-1] = (spans[-1][0], max(spans[-1][1], last))
            else:
                spans.append((first, last))
        return cls(tuple(spans))

    def find(self, seq: int) -> tuple[int, int] | None:
        """The span that holds a seq."""
        at = bisect_right(self.spans, seq, key=lambda span: span[0]) - 1
        return self.spans[at] if at >= 0 and seq <= self.spans[at][1] else None

    def __contains__(self, seq: int) -> bool:
        return bool(self.spans) and self.find(seq) is not None


@dataclass(slots=True)
class Standing:
    """How the rows of a session stand. Not changed once it is made.

    Attributes:
        undone: rows that `/undo` took back.
        dropped: rows that the emergency guard left out (CMP-25).
        cleared: results shown as a mark; the value: without a reference. Once cleared, always cleared (CMP-3).
        folded: rows whose long texts are folded; the newest decision about a row counts.
        clipped: the most characters of each text of a row; the newest decision counts.
        summary: the summary in force, and `cut`: rows with a smaller seq are behind it (1 without one).
        recall_until: recalled memory in rows with a smaller seq is not shown any more.
    """

    undone: Ranges = field(default_factory=Ranges)
    dropped: Ranges = field(default_factory=Ranges)
    cleared: dict[int, bool] = field(default_factory=dict)
    folded: dict[int, Folded] = field(default_factory=dict)
    clipped: dict[int, int] = field(default_factory=dict)
    summary: Summary | None = None
    cut: int = 1
    recall_until: int = 0

    @classmethod
    def of(cls, checkpoints: Sequence[Checkpoint]) -> "Standing":
        """Read checkpoints in the order in which they were made."""
        standing = cls(
            undone=Ranges.of((c.after, c.until) for c in checkpoints if c.kind == "undo"),
            dropped=Ranges.of((c.after, c.until) for c in checkpoints if c.kind == "drop"),
            recall_until=max((c.until for c in checkpoints if c.kind in _COMPACTIONS), default=0),
        )
        for made in checkpoints:
            if made.kind in {"clear", "fold", "clip"}:
                standing._note(made)
        if (last := _in_force(checkpoints)) is not None:
            body = body_of(last)
            if isinstance(body, Summary):
                standing.summary, standing.cut = body, max(1, last.until)
        return standing

    def _note(self, made: Checkpoint) -> None:
        match body_of(made):
            case Cleared(seqs, plain):
                for seq in seqs:
                    self.cleared.setdefault(seq, plain)
            case Folded(seqs) as fold:
                self.folded.update(dict.fromkeys(seqs, fold))
            case Clipped(seqs, chars):
                self.clipped.update(dict.fromkeys(seqs, chars))
            case _:
                pass


def _in_force(checkpoints: Sequence[Checkpoint]) -> Checkpoint | None:
    """The newest summary that no later undo voids.

    An undo voids the first summary that covers a row of it, and all later ones: those were made from its text.
    """
    valid: list[Checkpoint] = []
    for made in checkpoints:
        if made.kind == "summary":
            valid.append(made)
        elif made.kind == "undo":
            first = next((i for i, summary in enumerate(valid) if _covers(summary, made)), None)
            del valid[len(valid) if first is None else first :]
    return valid[-1] if valid else None


def _covers(summary: Checkpoint, undo: Checkpoint) -> bool:
    return undo.after + 1 < min(undo.until, summary.until)
