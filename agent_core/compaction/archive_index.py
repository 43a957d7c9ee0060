"""What was compacted in a session: for lists, for the operator, and as hints for the model (ARC-2, ARC-3). Pure."""

import datetime as dt
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core import text
from agent_core.compaction import signs
from agent_core.compaction.archive import parse
from agent_core.compaction.decisions import (
    Cleared,
    Clipped,
    Dropped,
    Folded,
    Summary,
    body_of,
    range_ref,
    row_ref,
)
from agent_core.types import Checkpoint

MAX_SUMMARY = 500  # ARC-2, as the next three
MAX_SYMBOLS = 24
MAX_PATHS = 24
MAX_KEYWORDS = 60
MAX_LINES = 2  # ARC-3, as the next two
LINE_SUMMARY = 400
LINE_TAGS = 5
_MENTION = re.compile(r"(?:archive://\S+?/)?r[1-9][0-9]{0,17}-r[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision about what the model sees. `refs` give back what it left out, each for itself."""

    kind: str
    refs: tuple[str, ...]
    summary: Summary | None = None


def entry(made: Checkpoint) -> Entry | None:
    """A checkpoint as an entry of the archive; None for those that left out nothing that a reference could name."""
    match body_of(made):
        case Cleared(seqs) | Folded(seqs) | Clipped(seqs):
            return Entry(made.kind, tuple(row_ref(seq) for seq in seqs)) if seqs else None
        case Summary() as body:
            return Entry(made.kind, (reference(made, body),), body)
        case Dropped():
            return Entry(made.kind, (_range(made.after + 1, made.until - 1),))
        case _:
            return None


def reference(made: Checkpoint, body: Summary) -> str:
    """The rows behind a summary."""
    return body.archive or _range(max(1, made.after + 1), made.until - 1)


def describe(
    made: Checkpoint, *, session_id: str = "", at: dt.datetime | None = None
) -> dict[str, Any]:
    """The metadata of a compaction (ARC-2). `at` is when it was made; an empty dict for other checkpoints."""
    body = body_of(made)
    if not isinstance(body, Summary):
        return {}
    ref = reference(made, body)
    parsed = parse(ref)
    first, last = (parsed.first, parsed.last) if parsed else (1, made.until - 1)
    digest = hashlib.sha256(f"{session_id}\0{ref}\0{made.until}\0{body.text}".encode()).hexdigest()
    stamp = at.astimezone(dt.UTC).strftime("%Y%m%d%H%M%S") if at else "0" * 14
    return {
        "id": f"ctx_{stamp}_{digest[:12]}",
        "created_at": at.isoformat() if at else None,
        "message_count": last - first + 1,
        "message_range": [first, last],
        "tail_start": made.until,
        "summary": text.clip(body.text, MAX_SUMMARY),
        "symbols": list(body.symbols[:MAX_SYMBOLS]),
        "paths": list(body.paths[:MAX_PATHS]),
        "keywords": list(body.keywords[:MAX_KEYWORDS]),
        "archive_ref": f"archive://{session_id}/{ref}" if session_id else ref,
        "topic": body.topic,
        "model": body.model,
        "profile": body.profile,
        "tokens": [body.before, body.after],
    }


def related(checkpoints: Sequence[Checkpoint], said: str, *, words: int = 1) -> tuple[str, ...]:
    """Lines about archives that a message has to do with, at most two, the closest first (ARC-3).

    An archive is related by a symbol, a file, its own reference, or so many key`words`; among equals the newest
    comes first.
    """
    scored: list[tuple[int, int, str]] = []
    seen: set[str] = set()
    for age, made in enumerate(reversed(checkpoints)):
        body = body_of(made)
        if not isinstance(body, Summary) or (ref := reference(made, body)) in seen:
            continue
        seen.add(ref)
        score, tags = _closeness(body, ref, said)
        if score >= words:
            scored.append((-score, age, _line(ref, tags, body)))
    return tuple(line for _, _, line in sorted(scored)[:MAX_LINES])


def _closeness(body: Summary, ref: str, said: str) -> tuple[int, list[str]]:
    """(how close an archive is to a message, what they share, the most telling first)."""
    folded, known = said.casefold(), set(text.words(said))
    codes = [code for code in signs.codes(said) if code in body.symbols]
    files = [p for p in body.paths if p in said or _base(p) in known or _base(p) in folded]
    words = [w for w in body.keywords if _names(w, folded, known)]
    named = any(mention.endswith(ref) for mention in _MENTION.findall(said))
    score = 100 * named + 10 * len(codes) + 10 * len(files) + len(words)
    return score, [*codes, *files, *words]


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1].casefold()


def _names(keyword: str, folded: str, known: set[str]) -> bool:
    """Latin words stand alone; Han words have no borders."""
    word = keyword.casefold()
    return word in known or (text.han_count(word) > 1 and word in folded)


def _line(ref: str, shared: Sequence[str], body: Summary) -> str:
    tags = list(dict.fromkeys((*shared, *body.symbols, *body.paths, *body.keywords)))[:LINE_TAGS]
    about = text.clip(text.one_line(body.text), LINE_SUMMARY)
    return f"- ref={ref} [{', '.join(tags)}] {about}".rstrip()


def _range(first: int, last: int) -> str:
    return range_ref(first, max(first, last))
