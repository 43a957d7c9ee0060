"""The emergency guard: a request always fits the window, whatever failed before (CMP-25, defect 7).

Pinned are the system text, the head with its facts, summary and anchors, the last thing the person said, and the newest
exchange. Everything between goes, oldest first, then what stays is clipped to one length. The guard takes a slice
more than it must, so that it does not come back at the next call. A head that was made for a larger window, and does
not fit this one even so, is made anew with less in it; facts stay to the last.

Lossless copy: the rows. Tool pairs: a range ends before a row that is no result, and the view shows no result without
its call. The original: behind the reference of the range or row, which the view names (MSC-10).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from agent_core.compaction import headings
from agent_core.compaction.decisions import Clipped, Dropped, Summary, checkpoint
from agent_core.compaction.shown import texts_of
from agent_core.compaction.view import Part, View
from agent_core.models import tokens
from agent_core.types import Checkpoint

SPARE = 0.1  # of the limit: what is freed beyond what must be
SMALLEST_CHARS = 40  # no text is clipped below this


def guard(view: View, limit: int) -> tuple[View, tuple[Checkpoint, ...]]:
    """The view brought to at most `limit` estimated tokens, and the checkpoints that did it, in order.

    Nothing where it fits. The facts alone are not shortened here; they have limits of their own.
    """
    made: list[Checkpoint] = []
    if view.tokens <= limit:
        return view, ()
    goal = int(limit * (1 - SPARE))
    for after, until in _ranges(view, view.tokens - goal):
        made.append(checkpoint(Dropped(), after=after, until=until))
    slim = view.extended((), tuple(made)) if made else view
    if slim.tokens > limit and (clip := _clip(slim, goal)) is not None:
        made.append(clip)
        slim = slim.extended((), (clip,))
    if slim.tokens > limit and (smaller := _smaller_head(slim, limit)) is not None:
        made.append(smaller)
        slim = slim.extended((), (smaller,))
    return slim, tuple(made)


def _smaller_head(view: View, limit: int) -> Checkpoint | None:
    """The head with as little less in it as brings the view to its limit; None where nothing more can go."""
    found, slim, goal = None, view, int(limit * (1 - SPARE))
    for less in _LESS:
        if slim.summary is None or slim.tokens <= limit:
            break
        said = less(slim.summary, slim.tokens - goal)
        if said != slim.summary:
            found = checkpoint(said, until=view.until)
            slim = view.extended((), (found,))
    return found


def _shorter(said: Summary, excess: int) -> Summary:
    kept = max(1, tokens.of_text(said.text) - excess)
    return replace(said, text=headings.shorten(said.text, kept))


# What a head gives up, one after the other: excerpts and state, sentences, the person's own words, the whole text.
_LESS: tuple[Callable[[Summary, int], Summary], ...] = (
    lambda said, _: replace(said, anchors=(), state=""),
    _shorter,
    lambda said, _: replace(said, clip=(SMALLEST_CHARS, SMALLEST_CHARS)),
    lambda said, _: replace(said, words=()),
    lambda said, _: replace(said, text=""),
)


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
    """One length for all texts, as large as brings the view to its goal; the smallest where none does."""
    sizes = {p.seqs: max(map(len, texts_of(p.message)), default=0) for p in view.parts if p.seqs}
    most = max(sizes.values(), default=0)
    found, chars = None, most
    while chars > SMALLEST_CHARS:
        chars = max(SMALLEST_CHARS, chars * 3 // 4)
        seqs = tuple(s for own, size in sizes.items() if size > chars for s in own)
        found = checkpoint(Clipped(seqs, chars), until=view.rows[-1].seq + 1)
        if view.extended((), (found,)).tokens <= goal:
            break
    return found
