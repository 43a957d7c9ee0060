"""Whether clearing old tool results pays, and what is cleared beside a summary (layer 1 of the policy `economic`).

Lossless copy: the RESULT rows. Tool pairs: untouched, a cleared result stays a result. The original: behind the
reference of its mark (MSC-10).
"""

from collections.abc import Mapping

from agent_core.compaction import prune
from agent_core.compaction.decisions import Cleared, checkpoint
from agent_core.compaction.economics import Situation, pays
from agent_core.compaction.strategies import Policy
from agent_core.compaction.view import Part, View
from agent_core.types import Checkpoint


def tail_clearing(view: View, policy: Policy) -> tuple[Checkpoint, ...]:
    """Layer 1 beside a summary: the prefix is new anyway, so what is old in the tail goes at no further cost."""
    if policy.schedule != "economic":
        return ()
    seqs = prune.prunable(view, policy.keep_results, policy.clear_over)
    body = Cleared(seqs, plain=policy.plain)
    return (checkpoint(body, until=view.rows[-1].seq + 1),) if seqs else ()


def clearing_pays(view: View, situation: Situation, policy: Policy, ahead: float) -> bool:
    """Weigh what clearing frees against what it makes the provider read anew.

    First by the sizes of parts alone, which every call can afford; row by row only where that says yes. `ahead`: see
    `economics.pays`.
    """
    if not _pays(_stake(view, _roughly(view, policy)), situation, policy, ahead):
        return False
    seqs = set(prune.prunable(view, policy.keep_results, policy.clear_over))
    exact = {p.seqs: prune.freed(view, mine) for p in view.parts if (mine := _of(p, seqs))}
    return _pays(_stake(view, exact), situation, policy, ahead)


def _pays(
    stake: tuple[int, int, float], situation: Situation, policy: Policy, ahead: float
) -> bool:
    gone, kept, carried = stake
    return pays(
        gone * situation.ratio,
        kept * situation.ratio,
        situation,
        ahead=ahead,
        carried=carried,
        batch=policy.batch,
        patience=policy.patience,
    )


def _of(part: Part, seqs: set[int]) -> tuple[int, ...]:
    return tuple(seq for seq in part.seqs if seq in seqs) if part.kind == "results" else ()


def _roughly(view: View, policy: Policy) -> dict[tuple[int, ...], int]:
    """What clearing frees at most: the sizes of old results."""
    spared, found = policy.keep_results, {}
    for part in reversed(view.parts):
        if part.kind != "results":
            continue
        if spared <= 0 and part.tokens > policy.clear_over // 4 * len(part.seqs):
            found[part.seqs] = part.tokens
        spared -= len(part.seqs)
    return found


def _stake(view: View, sizes: Mapping[tuple[int, ...], int]) -> tuple[int, int, float]:
    """(estimate that goes, estimate that stays behind the first changed place, requests that carried what goes).

    `sizes`: what each part loses, by its seqs. The requests are an average over what goes, by size.
    """
    gone = kept = carried = 0
    calls = sum(1 for p in view.parts if p.message.role == "assistant")
    for part in view.parts:
        calls -= part.message.role == "assistant"
        size = sizes.get(part.seqs, 0) if part.kind == "results" else 0
        gone += size
        carried += size * calls
        kept += part.tokens - size if gone else 0
    return gone, kept, carried / gone if gone else 0.0
