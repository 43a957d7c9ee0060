"""Layer 1: clear old tool results (CMP-1 … CMP-4). It only chooses; the view shows what a "clear" checkpoint names.

Three questions (MSC-10). Is there a lossless copy: the RESULT row, which never changes, and the blob of a large result.
Can the cut split a pair: no, a cleared result stays a result of its call, only its content is a mark. Where is the
original: behind the mark's reference, `[cleared ref=r17]` is the row 17 of the session.
"""

from agent_core.compaction.shown import PLAIN, cleared_mark, texts_of
from agent_core.compaction.view import View
from agent_core.models.tokens import of_text
from agent_core.types import Message

KEEP_RECENT = 3  # CMP-1
OVER = 100  # CMP-1: characters; what is no longer stays

__all__ = ["KEEP_RECENT", "OVER", "PLAIN", "cleared_mark", "freed", "prunable"]


def prunable(view: View, keep_recent: int = KEEP_RECENT, over: int = OVER) -> tuple[int, ...]:
    """RESULT rows in the order shown whose content may be cleared.

    All but the `keep_recent` last that are shown, with more than `over` characters as they show now, not cleared yet.
    """
    seqs = result_seqs(view)
    old = seqs[: max(0, len(seqs) - keep_recent)]
    return tuple(s for s in old if not _is_cleared(view, s) and _size(view.shown(s)) > over)


def freed(view: View, seqs: tuple[int, ...], *, plain: bool = False) -> int:
    """Tokens that clearing these rows frees (an estimate, at least 0 each)."""
    return sum(_freed(view, seq, plain) for seq in seqs)


def result_seqs(view: View) -> list[int]:
    """Every RESULT row that is shown, in the order shown, once each."""
    return list(dict.fromkeys(s for p in view.parts if p.kind == "results" for s in p.seqs))


def _is_cleared(view: View, seq: int) -> bool:
    return seq in view.standing.cleared or seq in view.standing.dropped


def _size(message: Message | None) -> int:
    return 0 if message is None else max(map(len, texts_of(message)), default=0)


def _freed(view: View, seq: int, plain: bool) -> int:
    message = view.shown(seq)
    if message is None or _is_cleared(view, seq):
        return 0
    mark = of_text(cleared_mark(seq, plain=plain))
    return sum(max(0, of_text(text) - mark) for text in texts_of(message))
