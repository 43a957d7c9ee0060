"""The emergency guard: a request always fits the window, whatever failed before (CMP-25, defect 7).

Pinned are the system text, the head with its facts, summary and anchors, the last thing the person said, and the newest
exchange. Everything between goes, oldest first, then what stays is clipped, largest first. The guard takes a slice
more than it must, so that it does not come back at the next call.

Lossless copy: the rows. Tool pairs: a range ends before a row that is no result, and the view shows no result without
its call. The original: behind the reference of the range or row, which the view names (MSC-10).
"""

from collections.abc import Iterator, Sequence

from agent_core.compaction.decisions import Clipped, Dropped, checkpoint
from agent_core.compaction.shown import texts_of
from agent_core.compaction.view import Part, View
from agent_core.types import Checkpoint

SPARE = 0.1  # of the limit: what is freed beyond what must be
LEAST_CHARS = 400  # no text is clipped below this, before all are
SMALLEST_CHARS = 40
ROUNDS = 24


def guard(view: View, limit: int) -> tuple[View, tuple[Checkpoint, ...]]:
    """The view brought to at most `limit` estimated tokens, and the checkpoints that did it, in order.

    Nothing where it fits. What the head alone takes cannot be shortened here; its parts have limits of their own.
    """
    made: list[Checkpoint] = []
    if view.tokens <= limit:
        return view, ()
    goal = int(limit * (1 - SPARE))
    for after, until in _ranges(view, view.tokens - goal):
        made.append(checkpoint(Dropped(), after=after, until=until))
    dropped = view.extended((), tuple(made)) if made else view
    for _ in range(ROUNDS):
        if dropped.tokens <= limit:
            break
        clip = _clip(dropped, goal)
        if clip is None:
            break
        made.append(clip)
        dropped = dropped.extended((), (clip,))
    return dropped, tuple(made)


def _ranges(view: View, excess: int) -> Iterator[tuple[int, int]]:
    """(after, until) of what goes: around the last thing the person said, up to the newest exchange."""
    parts = [p for p in view.parts if p.seqs and p.seqs[0] >= view.until]
    said = max((i for i, p in enumerate(parts) if _said(p)), default=-1)
    newest = _newest_exchange(parts)
    first = end = None
    for i, part in enumerate(parts[:newest]):
        if i == said:
            if first is not None:
                yield first - 1, part.seqs[0]
            first = None
            continue
        if excess <= 0 and part.kind != "results":
            end = part.seqs[0]
            break
        first = min(part.seqs) if first is None else first
        excess -= part.tokens
    else:
        end = min(parts[newest].seqs) if newest < len(parts) else None
    if first is not None and end is not None:
        yield first - 1, end


def _newest_exchange(parts: Sequence[Part]) -> int:
    """Where the newest answer stands, with the results of its calls, or the newest message."""
    last = len(parts) - 1
    return last - 1 if last > 0 and parts[last].kind == "results" else max(0, last)


def _said(part: Part) -> bool:
    return part.kind == "row" and part.message.role == "user"


def _clip(view: View, goal: int) -> Checkpoint | None:
    """Halve the longest text that is left, or more where that is not enough."""
    longest: tuple[int, tuple[int, ...]] = (0, ())
    for part in view.parts:
        if part.seqs and (size := max(map(len, texts_of(part.message)), default=0)) > longest[0]:
            longest = (size, part.seqs)
    size, seqs = longest
    if size <= SMALLEST_CHARS:
        return None
    spare = max(0, view.tokens - goal)
    chars = max(LEAST_CHARS if size > LEAST_CHARS else SMALLEST_CHARS, min(size // 2, size - spare))
    return checkpoint(Clipped(tuple(seqs), chars), until=max(seqs) + 1)
