"""Where a transcript may be cut (TPR-2, TPR-3, CMP-10, C-4): never between a call and its results.

What stands on either side of a cut is whole by construction: the view shows no result without its call and marks a
result that was left out (TPR-1); a call that has no result at all gets one from the provider's normaliser.

Three questions (MSC-10). Is there a lossless copy: the rows behind the cut, which never change. Can the cut split a
pair: no, that is what this file is for. Where is the original: the summary checkpoint names the range of rows.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_core.compaction.view import View
from agent_core.types import Row, RowKind

_LEADS = frozenset({RowKind.USER, RowKind.ASSISTANT, RowKind.NOTE})
SLACK = 1.25  # C-4: an earlier cut is taken while the tail stays within so many times its budget


@dataclass(frozen=True, slots=True)
class Span:
    """Rows that stay on one side: a row with calls and all that answers it. `open`: results may still come."""

    first: int
    last: int
    open: bool = False

    def splits(self, cut: int) -> bool:
        """Whether this cut goes through it."""
        return self.first < cut and (self.open or cut <= self.last)


def spans(view: View) -> list[Span]:
    """Every row with calls that is shown, with its results, by first row.

    A result belongs to the newest row before it that makes its call. Open: a call of the newest turn without a result.
    """
    newest = view.rows[-1].turn_id if view.rows else 0
    callers: dict[str, Row] = {}
    last: dict[int, int] = {}
    missing: dict[int, set[str]] = {}
    for row in _live(view):
        if row.kind is RowKind.ASSISTANT and row.message.calls:
            ids = {call.id for call in row.message.calls}
            callers |= dict.fromkeys(ids, row)
            last[row.seq] = row.seq
            missing[row.seq] = ids if row.turn_id == newest else set()
        elif row.kind is RowKind.RESULT and row.ref in callers:
            caller = callers[row.ref].seq
            last[caller] = row.seq
            missing[caller].discard(row.ref)
    return [Span(first, end, bool(missing[first])) for first, end in last.items()]


def safe_cut(view: View, wanted: int, *, budget: int | None = None) -> int:
    """The cut nearest to `wanted` that splits no pair; rows with a smaller seq go behind it.

    Earlier than wanted (TPR-2, TPR-3) while something goes behind it and the tail stays within 1.25 x `budget` tokens
    (None: any size); else later (CMP-10). The tail is never empty and begins with a row of a person, the model or the
    runtime. An answer that was delivered before it, with nothing but people's words between, is taken into the tail
    (CMP-35); for one that is farther away see `delivered_behind`. Where no cut helps the result is `view.until`.
    """
    leads = [row for row in _live(view) if row.kind in _LEADS]
    starts = [row.seq for row in leads]
    if not starts:
        return view.until
    found, at = spans(view), min(max(wanted, starts[0]), starts[-1])
    earlier, later = _snap(_earlier(found, at), starts), _snap(_later(found, at), starts)
    if earlier is not None and earlier > starts[0] and _fits(view, earlier, budget):
        cut = earlier
    else:
        cut = next((c for c in (later, earlier) if c is not None and c > starts[0]), starts[0])
    answer = _answer_before(leads, cut)
    taken = starts[0] < answer < cut and not any(span.splits(answer) for span in found)
    if taken and _fits(view, answer, budget):
        cut = answer
    return cut if cut > starts[0] else view.until


def tail_tokens(view: View, cut: int) -> int:
    """Tokens of the parts that stay rows before a model when this cut is made."""
    total, here = 0, False
    for part in view.parts:
        if part.kind != "results":  # results go where their call goes
            here = bool(part.seqs) and part.seqs[0] >= cut
        total += part.tokens if here else 0
    return total


def delivered_behind(view: View, cut: int) -> int | None:
    """The seq of the newest delivered answer where a cut puts it behind, else None.

    A summary whose `words` hold it keeps it raw, as a message of its own behind the head (CMP-35).
    """
    newest = next((row.seq for row in reversed(view.visible) if is_delivered(row)), None)
    return newest if newest is not None and newest < cut else None


def is_delivered(row: Row) -> bool:
    """Whether a row is an answer as a person got it: words of the model, no calls."""
    answer = row.kind is RowKind.ASSISTANT and not row.message.calls
    return answer and bool(row.message.text.strip())


def _live(view: View) -> Iterator[Row]:
    """The rows of the tail as it is now, without those that were dropped."""
    dropped = view.standing.dropped
    return (r for r in view.visible if r.seq >= view.until and r.seq not in dropped)


def _earlier(found: Sequence[Span], cut: int) -> int:
    for span in reversed(found):
        if span.splits(cut):
            cut = span.first
    return cut


def _later(found: Sequence[Span], cut: int) -> int | None:
    while (span := next((s for s in found if s.splits(cut)), None)) is not None:
        if span.open:
            return None
        cut = span.last + 1
    return cut


def _snap(cut: int | None, starts: Sequence[int]) -> int | None:
    """The first row that a tail may begin with at or behind a cut."""
    if cut is None:
        return None
    at = bisect_left(starts, cut)
    return starts[at] if at < len(starts) else None


def _fits(view: View, cut: int, budget: int | None) -> bool:
    return budget is None or tail_tokens(view, cut) <= SLACK * budget


def _answer_before(leads: Sequence[Row], cut: int) -> int:
    """The delivered answer that only words of people separate from a cut; 0 for none."""
    before = leads[: bisect_left(leads, cut, key=lambda row: row.seq)]
    last = next((r for r in reversed(before) if r.kind is RowKind.ASSISTANT), None)
    here = any(is_delivered(r) for r in leads[len(before) :])
    return last.seq if last is not None and is_delivered(last) and not here else 0
