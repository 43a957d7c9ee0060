"""All of a summary but its text: what is kept of the rows behind a cut, and how they are found again (CMP-18, MSC-6).

A person's words are about a twelfth of the tokens and hold nearly all of the rules, so they stay verbatim, clipped, in
a share of the window (guide "context_economics", 3). Lossless copy: the rows. Tool pairs: only texts are read. The
original: behind `Summary.archive` and the reference before each text (MSC-10).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agent_core.compaction import anchors, facts, signs
from agent_core.compaction.decisions import Fact, Summary, range_ref
from agent_core.compaction.economics import Situation
from agent_core.compaction.pairs import delivered_behind
from agent_core.compaction.shown import fold_text
from agent_core.compaction.strategies import Policy
from agent_core.compaction.view import View
from agent_core.models.tokens import of_text
from agent_core.types import Row, RowKind

# Words that may go first when what was said is too long: without a figure, and with figures that are said again.
PLAIN_CHARS, AGAIN_CHARS = 60, 200
REFERENCE = 5  # tokens of "- r1234: " before each of the words that are kept
TASK_CHARS = (
    6_000  # of the task at hand, when a cut falls inside its turn; two thirds from its head
)
KEEP_ANSWER = 2_000  # tokens up to which the last delivered answer stays raw behind a cut (CMP-35)


@dataclass(frozen=True, slots=True)
class Framed:
    """A summary without its text, and what that text is held to (CMP-16).

    `facts` are all that are in force, those included for which the slot had no room (`overflow` of them, KFS-5);
    `shown` are the texts that will stand beside the summary.
    """

    summary: Summary
    facts: tuple[Fact, ...] = ()
    overflow: int = 0
    shown: tuple[str, ...] = ()


def framed(
    view: View, cut: int, situation: Situation, policy: Policy, *, topic: str = "", state: str = ""
) -> Framed:
    """What is kept of the rows behind the cut, and how they are found again. Tens of milliseconds for a long head."""
    behind = [r for r in view.visible if r.seq < cut]
    new = [r for r in behind if r.seq >= view.until]
    chain = (facts.KEYWORDS,) if policy.keywords_only else facts.CHAIN
    # The course's slot holds what is in the tail as well (STR-3); else what is still shown raw need not come twice.
    stated = view.visible if policy.layout == "layers" else behind
    found = facts.extract(stated, chain)
    held, overflow = facts.slot(found) if policy.facts else ((), ())
    budget = situation.estimate(policy.words * situation.window)
    words, clip = said(behind, budget, policy.clip, {f.seq for f in found})
    task = _task(view, cut, clip)
    if task is not None:
        words = tuple(seq for seq in words if seq != task.seq)
    words = (*words, *_last_answer(view, cut))
    shown = words if task is None else (*words, task.seq)
    picked = anchors.pick(new, limit=policy.anchors, leave_out=shown) if policy.anchors else ()
    texts = [anchors.spoken(r) for r in new]
    summary = Summary(
        text="",
        profile=policy.profile,
        layout=policy.layout,
        facts=held,
        anchors=picked,
        words=words,
        clip=clip,
        state="\n".join(s for s in (_told(task, situation.room // 2), state) if s),
        archive=_archive(behind, policy),
        keywords=signs.keywords(texts),
        symbols=tuple(signs.codes_of(texts)),
        paths=tuple(signs.paths_of(texts)),
        topic=topic,
    )
    live = tuple(f for f in found if f.superseded_by is None)
    return Framed(summary, live, len(overflow), _beside(view, summary))


def _beside(view: View, summary: Summary) -> tuple[str, ...]:
    """The texts that stand beside the summary, as the head shows them."""
    rows = (view.row(seq) for seq in summary.words)
    words = (fold_text(row.message.text, *summary.clip) for row in rows if row is not None)
    return (
        *(f.text for f in summary.facts),
        *(a.text for a in summary.anchors),
        *words,
        summary.state,
    )


def _archive(behind: Sequence[Row], policy: Policy) -> str:
    """The course's three strategies show nothing but what they keep (STR-1 … STR-3)."""
    if policy.schedule == "count" or not behind:
        return ""
    return range_ref(behind[0].seq, behind[-1].seq)


def said(
    rows: Sequence[Row], budget: int, clip: tuple[int, int], laid_down: Collection[int] = ()
) -> tuple[tuple[int, ...], tuple[int, int]]:
    """(rows whose words are kept, clip of each text) within `budget` estimated tokens; all of them where it can be.

    What goes first are short words that say nothing by themselves ("yes, go on"), the oldest before the newest; then
    every text is clipped more; then the oldest go, last those in which something is laid down (`laid_down`: seqs).
    """
    if budget <= 0:
        return (), clip
    spoken = {
        r.seq: r.message.text for r in rows if r.kind is RowKind.USER and r.message.text.strip()
    }
    ranks = _ranks(spoken, laid_down)
    tight = clip
    for share in (1, 2, 3, 4):
        tight = (clip[0] // share, clip[1] // share)
        left = _within(spoken, budget, tight, lambda seq: ranks[seq] == 0)
        if left is not None:
            return left, tight
    left = _within(spoken, budget, tight, lambda _: True, ranks)
    return left or (), tight


def _ranks(spoken: Mapping[int, str], laid_down: Collection[int]) -> dict[int, int]:
    """How much each text would be missed.

    2: something is laid down in it; 0: it is short, and every figure in it is said again later; else 1.
    """
    later: set[str] = set()
    ranks: dict[int, int] = {}
    for seq, text in reversed(list(spoken.items())):
        figures = {word for word in text.split() if any(c.isdigit() for c in word)}
        plain = len(text) <= (AGAIN_CHARS if figures else PLAIN_CHARS) and figures <= later
        ranks[seq] = 2 if seq in laid_down else 0 if plain else 1
        later |= figures
    return ranks


def _within(
    spoken: Mapping[int, str],
    budget: int,
    clip: tuple[int, int],
    may_go: Callable[[int], bool],
    ranks: Mapping[int, int] | None = None,
) -> tuple[int, ...] | None:
    """The rows that stay within the budget, leaving out what may go; None where that is not enough."""
    sizes = {seq: _size(text, clip) for seq, text in spoken.items()}
    total = sum(sizes.values())
    gone: set[int] = set()
    for seq in sorted(sizes, key=lambda s: (0 if ranks is None else ranks[s], s)):
        if total <= budget:
            break
        if may_go(seq):
            gone.add(seq)
            total -= sizes[seq]
    return tuple(seq for seq in sizes if seq not in gone) if total <= budget else None


def _size(text: str, clip: tuple[int, int]) -> int:
    """As the head shows it, with its reference."""
    return of_text(fold_text(text, *clip)) + REFERENCE


def _last_answer(view: View, cut: int) -> tuple[int, ...]:
    """The newest answer that was delivered, when it lies behind the cut and is not too long to stay (CMP-35)."""
    seq = delivered_behind(view, cut)
    row = None if seq is None else view.row(seq)
    fits = row is not None and of_text(row.message.text) <= KEEP_ANSWER
    return (row.seq,) if row is not None and fits else ()


def _task(view: View, cut: int, clip: tuple[int, int]) -> Row | None:
    """What the person asked in the turn at hand, when the cut falls inside that turn and a clip would shorten it."""
    turn = view.rows[-1].turn_id
    rows = [r for r in view.visible if r.turn_id == turn and r.kind is RowKind.USER and r.seq < cut]
    long = bool(rows) and len(rows[-1].message.text.strip()) > sum(clip) + 30
    return rows[-1] if long else None


def _told(task: Row | None, most: int) -> str:
    """The task nearly whole, in at most so many characters, as part of the state of the work."""
    if task is None:
        return ""
    tail = min(TASK_CHARS, most) // 3
    text = fold_text(task.message.text.strip(), 2 * tail, tail)
    return f"What the person asked in turn {task.turn_id}, word for word:\n{text}"
