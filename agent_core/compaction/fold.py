"""Layer 2: fold long texts to head, mark and tail (CMP-5, CMP-6). It only chooses; the view shows a "fold" checkpoint.

Three questions (MSC-10). Is there a lossless copy: the row, which never changes. Can the cut split a pair: no, calls
and results stay where they are, only texts get shorter. Where is the original: in the row; the archive gives back any
row by its reference.
"""

from agent_core.compaction.decisions import Folded
from agent_core.compaction.shown import fold_text, texts_of
from agent_core.compaction.view import View
from agent_core.models.tokens import of_text
from agent_core.types import RowKind

PRESERVE_RECENT = 6  # CMP-5: messages at the end that are left alone; each result counts as one
LEAST, HEAD, TAIL = 2_400, 900, 500  # CMP-5: characters


def foldable(
    view: View,
    preserve_recent: int = PRESERVE_RECENT,
    least: int = LEAST,
    head: int = HEAD,
    tail: int = TAIL,
) -> tuple[int, ...]:
    """Rows in the order shown with a text longer than `least` that folding would shorten.

    Left alone: the `preserve_recent` last messages, the head, what a person said in the newest turn, cleared results,
    and rows that are folded or clipped already.
    """
    seqs = list(dict.fromkeys(seq for part in view.parts for seq in part.seqs))
    if len(seqs) <= preserve_recent + 1:
        return ()
    fold = Folded((), least, head, tail)
    return tuple(
        s for s in seqs[: len(seqs) - preserve_recent] if _may(view, s) and _long(view, s, fold)
    )


def freed(
    view: View, seqs: tuple[int, ...], least: int = LEAST, head: int = HEAD, tail: int = TAIL
) -> int:
    """Tokens that folding these rows frees (an estimate)."""
    return sum(
        of_text(text) - of_text(fold_text(text, head, tail))
        for seq in seqs
        for text in _texts(view, seq)
        if len(text) > least
    )


def _may(view: View, seq: int) -> bool:
    standing, row = view.standing, view.row(seq)
    done = any(seq in had for had in (standing.cleared, standing.folded, standing.clipped))
    if row is None or done or seq in standing.dropped:
        return False
    return row.kind is not RowKind.USER or row.turn_id != view.rows[-1].turn_id


def _long(view: View, seq: int, fold: Folded) -> bool:
    return any(
        len(t) > fold.least and len(fold_text(t, fold.head, fold.tail)) < len(t)
        for t in _texts(view, seq)
    )


def _texts(view: View, seq: int) -> list[str]:
    message = view.shown(seq)
    return [] if message is None else texts_of(message)
