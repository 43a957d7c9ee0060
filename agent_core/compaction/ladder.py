"""What to do about a view before the next model call: a pure function of (view, situation, policy) (TOK-9, C-1).

Layers 1 and 2 are decided here as checkpoints; a summary (layers 3 and 5) is decided as a cut, which `compactor.py`
fills with a text. After each layer the request is measured again, and the ladder stops as soon as it is low enough.

Is there a lossless copy: yes, the rows themselves, which no layer touches. Can a cut split a pair: no, every cut is
moved by `pairs.safe_cut`. Where is the original: in the transcript, under the reference that the view shows (MSC-10).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_core.compaction import fold, prune
from agent_core.compaction.clearing import clearing_pays
from agent_core.compaction.decisions import Cleared, Clipped, Folded, checkpoint
from agent_core.compaction.economics import Situation
from agent_core.compaction.pairs import safe_cut
from agent_core.compaction.strategies import Policy
from agent_core.compaction.view import Part, View
from agent_core.models import tokens
from agent_core.types import Checkpoint

Note = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A compaction that the model (`compact`) or the person (`/compact`) asked for (CMP-27, CMP-30)."""

    topic: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done.

    Attributes:
        view: the view with `checkpoints` applied.
        checkpoints: of layers 1 and 2, in order.
        cut: rows with seq < cut go behind a summary; None: no summary.
        reason: why, in one word for the trace.
        notes: what was looked at and left, for the trace.
    """

    view: View
    checkpoints: tuple[Checkpoint, ...] = ()
    cut: int | None = None
    reason: str = "enough room"
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _Ladder:
    """One climb. `view` is what the layers so far have made of it."""

    view: View
    situation: Situation
    policy: Policy
    made: list[Checkpoint] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    reason: str = "enough room"

    @property
    def limit(self) -> int:
        """T, in the model's tokens."""
        limit, ceiling = self.situation.threshold, self.policy.ceiling
        return limit if ceiling is None else min(limit, ceiling)

    @property
    def now(self) -> int:
        """The request as it stands, in the model's tokens."""
        return self.situation.total(self.view.tokens)

    def over(self, share: float) -> bool:
        """Whether the request is above this share of T."""
        return self.now > share * self.limit

    def apply(self, decision: Cleared | Folded, reason: str) -> None:
        """Take a decision of layer 1 or 2. `until` is behind everything that was there when it was made."""
        last = self.view.rows[-1].seq
        before = self.now
        made = checkpoint(decision, until=last + 1)
        self.made.append(made)
        self.view = self.view.extended((), (made,))
        self.reason = reason
        self.notes.append(
            {
                "layer": made.kind,
                "reason": reason,
                "rows": len(decision.seqs),
                "before": before,
                "after": self.now,
            }
        )

    def plan(self, cut: int | None, reason: str) -> Plan:
        """The plan as it stands."""
        return Plan(self.view, tuple(self.made), cut, reason, tuple(self.notes))


def plan(view: View, situation: Situation, policy: Policy, *, asked: Asked | None = None) -> Plan:
    """What to do before the next model call."""
    if not view.rows:
        return Plan(view)
    ladder = _Ladder(view, situation, policy)
    if asked is not None:
        return ladder.plan(_cut(ladder, forced=True), "asked")
    match policy.schedule:
        case "economic":
            return _economic(ladder)
        case "in_place":
            return _in_place(ladder)
        case "threshold":
            return (
                _summary(ladder, "over the threshold")
                if ladder.over(1)
                else ladder.plan(None, "enough room")
            )
        case "count":
            return _by_count(ladder)


def _in_place(ladder: _Ladder) -> Plan:
    """Each layer at its mark, whatever it costs (TOK-9, CMP-2)."""
    policy = ladder.policy
    if ladder.over(policy.clear_at):
        _clear(ladder, "over the first mark")
    if ladder.over(policy.fold_at):
        _fold(ladder, "over the second mark")
    if ladder.over(policy.summarise_at):
        return _summary(ladder, "over the threshold")
    return ladder.plan(None, ladder.reason)


def _economic(ladder: _Ladder) -> Plan:
    """Edit when it pays, or when it must be."""
    policy, situation = ladder.policy, ladder.situation
    if situation.cold and ladder.now > policy.cold_at * situation.window:
        found = _summary(ladder, "the cache is cold")
        if found.cut is not None:
            return found
    if ladder.over(policy.clear_at) and clearing_pays(
        ladder.view, situation, policy, _ahead(ladder)
    ):
        _clear(ladder, "clearing pays")
    if not ladder.over(policy.summarise_at):
        return ladder.plan(None, ladder.reason)
    return _summary(ladder, "over the threshold")


def _by_count(ladder: _Ladder) -> Plan:
    """The last messages stay (STR-1 … STR-3); the window is a limit all the same."""
    policy = ladder.policy
    body = _body(ladder.view)
    if len(body) <= policy.keep_last + policy.slack and not ladder.over(1):
        return ladder.plan(None, "enough room")
    if len(body) <= policy.keep_last:
        return ladder.plan(None, "nothing in front of the last messages")
    wanted = body[-policy.keep_last].seqs[0] if policy.keep_last else _end(ladder.view)
    return ladder.plan(_moved(ladder.view, wanted, None), "more messages than are kept")


def _body(view: View) -> list[Part]:
    """The parts that a cut can put behind it: not the head, nor raw rows that it keeps, nor marks of dropped rows."""
    return [p for p in view.parts if p.seqs and p.seqs[0] >= view.until]


def _end(view: View) -> int:
    return view.rows[-1].seq + 1


def _moved(view: View, wanted: int, budget: int | None) -> int | None:
    """The safe cut next to the wanted one (C-4); None when nothing is in front of it."""
    cut = safe_cut(view, wanted, budget=budget)
    body = _body(view)
    return cut if body and cut > body[0].seqs[0] else None


def _clear(ladder: _Ladder, reason: str) -> None:
    policy = ladder.policy
    if seqs := prune.prunable(ladder.view, policy.keep_results, policy.clear_over):
        ladder.apply(Cleared(seqs, plain=policy.plain), reason)


def _fold(ladder: _Ladder, reason: str) -> None:
    policy = ladder.policy
    sizes = policy.fold_over, policy.fold_head, policy.fold_tail
    if seqs := fold.foldable(ladder.view, policy.fold_keep, *sizes):
        ladder.apply(Folded(seqs, *sizes), reason)


def _ahead(ladder: _Ladder) -> float:
    """Requests until the mark of a summary, at the pace of those that are shown."""
    body = _body(ladder.view)
    calls = sum(1 for p in body if p.message.role == "assistant")
    pace = sum(p.tokens for p in body) * ladder.situation.ratio / max(1, calls)
    return (ladder.policy.summarise_at * ladder.limit - ladder.now) / max(1.0, pace)


def _summary(ladder: _Ladder, reason: str) -> Plan:
    if _tried(ladder):
        ladder.notes.append({"left": "summary", "why": "tried a moment ago"})
        return ladder.plan(None, ladder.reason)
    return ladder.plan(_cut(ladder, forced=False), reason)


def attempt(view: View) -> Checkpoint:
    """The memory of a summary that came to nothing: a clip of no rows, which shows nowhere."""
    return checkpoint(Clipped((), 0), until=view.rows[-1].seq + 1)


def _tried(ladder: _Ladder) -> bool:
    """Whether a summary came to nothing and little was added since: it would come to nothing again, and is paid."""
    view, policy, situation = ladder.view, ladder.policy, ladder.situation
    marks = (c.until for c in view.checkpoints if c.kind == "clip" and not c.body.get("seqs"))
    last = max(marks, default=0)
    added = sum(p.tokens for p in view.parts if p.seqs and p.seqs[0] >= last)
    return last > 0 and added * situation.ratio < policy.worth * situation.window


def _cut(ladder: _Ladder, *, forced: bool) -> int | None:
    """Where a summary cuts: before the tail; None with a note when it is not worth a model call (CMP-11, CMP-22)."""
    view, policy = ladder.view, ladder.policy
    body = _body(view)
    if not body:
        return None
    if not forced and len(body) <= policy.tail_messages + 2:
        ladder.notes.append({"left": "summary", "why": "few messages", "messages": len(body)})
        return None
    wanted = _tail(ladder, body)
    if forced and wanted <= body[0].seqs[0]:
        if len(body) <= 2:
            ladder.notes.append({"left": "summary", "why": "two messages or fewer"})
            return None
        wanted = body[max(1, len(body) // 2)].seqs[0]
    cut = _moved(view, wanted, None if forced else _tail_budget(ladder))
    behind = [p for p in body if cut is not None and p.seqs[0] < cut]
    if cut is None or (not forced and len(behind) <= 2):
        ladder.notes.append({"left": "summary", "why": "little in front of the tail"})
        return None
    if not forced and not _worth(ladder, behind):
        return None
    return cut


def _tail(ladder: _Ladder, body: Sequence[Part]) -> int:
    """The first row of the tail: as much as fits its budget, and at least the last messages (CMP-9, CMP-9b, C-3)."""
    budget, policy = _tail_budget(ladder), ladder.policy
    taken, start = 0, len(body)
    while start > 0:
        taken += body[start - 1].tokens
        if taken > budget and len(body) - start >= policy.tail_messages:
            break
        start -= 1
    return body[start].seqs[0] if start < len(body) else _end(ladder.view)


def _tail_budget(ladder: _Ladder) -> int:
    """By estimate."""
    return ladder.situation.estimate(tail_budget(ladder.policy, ladder.situation.window))


def tail_budget(policy: Policy, window: int) -> int:
    """Tokens of the tail (TOK-7), in the model's own."""
    budget = tokens.keep_recent(window) if policy.tail_tokens is None else policy.tail_tokens
    return min(budget, int(policy.tail_share * window))


def _worth(ladder: _Ladder, behind: Sequence[Part]) -> bool:
    """Whether so much would go that the next compaction is not due at once again (CMP-15)."""
    policy, situation = ladder.policy, ladder.situation
    said = sum(min(p.tokens, sum(policy.clip) // 2) for p in behind if _said(p))
    kept = min(said, situation.estimate(policy.words * situation.window))
    gain = situation.total(sum(p.tokens for p in behind) - kept) - situation.total(0)
    if gain >= policy.worth * situation.window:
        return True
    ladder.notes.append({"left": "summary", "why": "too little gained", "gain": gain})
    return False


def _said(part: Part) -> bool:
    """Whether a person said it."""
    return part.kind == "row" and part.message.role == "user"
