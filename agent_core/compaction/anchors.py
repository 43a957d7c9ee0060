"""Anchors: raw short excerpts of old rows of high value, so that a terse follow-up still sees what it is about (ANC-1).

Candidates are rows of the transcript, never a summary, so the previous summary cannot win a place (ANC-5, defect 27),
and what the runtime or recalled memory said is not looked at.

Lossless copy: the row itself. Tool pairs: untouched, an excerpt stands in the head as a quotation. The original:
`Anchor.seq` names its row (MSC-10).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from agent_core import text
from agent_core.compaction import signs
from agent_core.compaction.decisions import Anchor
from agent_core.compaction.facts import own_words
from agent_core.models.stream import mend
from agent_core.types import Row, RowKind, ToolResult

MAX_ANCHORS = 6  # ANC-3, as all numbers here
MAX_CHARS = 220
_ROLES = {RowKind.USER: "user", RowKind.ASSISTANT: "assistant", RowKind.RESULT: "tool"}


@dataclass(frozen=True, slots=True)
class Weights:
    """What each sign adds to a row's score (ANC-3); recency adds 0 to 1."""

    user: float = 3.0
    tool: float = 1.0
    calls: float = 1.5
    code: float = 2.0
    path: float = 1.5
    important: float = 2.0


def pick(
    rows: Sequence[Row],
    *,
    limit: int = MAX_ANCHORS,
    chars: int = MAX_CHARS,
    weights: Weights = Weights(),
    important: Iterable[str] = signs.IMPORTANT,
    has_code: Callable[[str], object] = signs.codes,
    leave_out: Collection[int] = (),
) -> tuple[Anchor, ...]:
    """The rows of the highest scores as excerpts, in the order of the transcript. Pure.

    Args:
        rows: the head, that is what a summary will stand for.
        limit: anchors at most.
        chars: characters of each excerpt at most.
        weights: what the signs count.
        important: words of weight, in lower case (ANC-4).
        has_code: whether a text names a symbol (ANC-5); anything true counts.
        leave_out: rows that are shown anyway.
    """
    found = [(row, said) for row in rows if (said := text.one_line(mend(spoken(row))))]
    terms = tuple(important)
    cheap = [
        (_known(row, said, weights, terms) + at / len(found), row, said)
        for at, (row, said) in enumerate(found)
        if row.seq not in leave_out
    ]
    cheap.sort(key=_rank)
    best: list[tuple[float, Row, str]] = []
    for score, row, said in cheap:
        # Symbols and paths are slow to find: they are looked for only where they could still win a place.
        if len(best) >= limit and (not best or score + weights.code + weights.path < best[-1][0]):
            break
        best.append((score + _named(said, weights, has_code), row, said))
        best = sorted(best, key=_rank)[:limit]
    best.sort(key=lambda scored: scored[1].seq)
    return tuple(Anchor(row.seq, _ROLES[row.kind], said[:chars]) for _, row, said in best)


def _rank(scored: tuple[float, Row, str]) -> tuple[float, int]:
    """Best first; of equals the later."""
    return -scored[0], -scored[1].seq


def spoken(row: Row) -> str:
    """What a person, a model or a tool said in a row; "" for rows of the runtime and hidden ones."""
    if row.meta.get("hidden"):
        return ""
    match row.kind:
        case RowKind.USER:
            return own_words(row)
        case RowKind.ASSISTANT:
            return row.message.text
        case RowKind.RESULT:
            return "\n".join(b.content for b in row.message.blocks if isinstance(b, ToolResult))
        case _:
            return ""


def _known(row: Row, said: str, weights: Weights, important: Sequence[str]) -> float:
    score = weights.user if row.kind is RowKind.USER else 0.0
    score += weights.tool if row.kind is RowKind.RESULT else 0.0
    score += weights.calls if row.message.calls else 0.0
    return score + (weights.important if signs.is_important(said, important) else 0.0)


def _named(said: str, weights: Weights, has_code: Callable[[str], object]) -> float:
    score = weights.code if has_code(said[: signs.SCANNED_CHARS]) else 0.0
    return score + (weights.path if signs.paths(said) else 0.0)
