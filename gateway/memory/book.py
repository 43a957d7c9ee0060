"""A person's memories as a list to look into: words that find them, where they come from, a file of all, and back."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from agent_core import text
from agent_core.storage import memories
from agent_core.storage.memories import NewMemory
from agent_core.storage.tables import Session
from agent_core.storage.upkeep import Entry, Version, entries, versions
from agent_core.words import words

_SESSION = Session.__table__  # type: ignore[attr-defined]
KINDS = ("preference", "decision", "playbook", "persona", "view", "plan", "rule")
CREDIBILITIES = ("objective fact", "logic tool", "emotional view", "mixed")
MAX_TEXT = 2_000  # characters of one imported memory
FORMAT = "swarmgate-memory/1"


class Unreadable(ValueError):
    """A file that is no export; one line says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a memory comes from (MEM-16). `title` and `at` are those of the session, if it is still there."""

    source: str
    session: str = ""
    title: str = ""
    at: dt.datetime | None = None
    memories: tuple[int, ...] = ()


def search(found: Iterable[Entry], wanted: str) -> list[Entry]:
    """The memories that share words with `wanted`, most of them first; the words are text, never syntax."""
    asked = set(words(wanted))
    scored = [(len(asked & set(words(about(entry)))), entry) for entry in found]
    hits = [(score, entry) for score, entry in scored if score]
    return [entry for _, entry in sorted(hits, key=lambda hit: (-hit[0], -hit[1].id))]


def about(entry: Entry) -> str:
    """What a memory is found by."""
    return f"{entry.text}\n{entry.topic_key} {' '.join(entry.codes)}"


def origin(conn: Connection, entry: Entry) -> Origin:
    """Where a memory comes from, as far as it can still be told."""
    kind, mark, session = entry.source.partition(":")
    ids = entry.meta.get("source_l1_ids", ())
    below = tuple(i for i in ids if isinstance(i, int)) if isinstance(ids, list) else ()
    if not mark:
        return Origin(kind, memories=below)
    row = conn.execute(select(_SESSION).where(_SESSION.c.id == session)).first()
    if row is None:
        return Origin(kind, session, memories=below)
    return Origin(kind, session, row.title, row.created_at, below)


def as_json(entry: Entry, kept: Sequence[Version] = ()) -> dict[str, Any]:
    """A memory as it is exported: no owner, so that it can be given to nobody else by mistake."""
    return {
        "id": entry.id,
        "kind": entry.kind,
        "text": entry.text,
        "codes": list(entry.codes),
        "scope": entry.scope,
        "source": entry.source,
        "credibility": entry.credibility,
        "topic_key": entry.topic_key,
        "level": entry.level,
        "state": entry.state,
        "quality": entry.quality,
        "access_count": entry.access_count,
        "created_at": entry.created_at.isoformat(),
        "confirmed_at": _iso(entry.confirmed_at),
        "accessed_at": _iso(entry.accessed_at),
        "valid_until": _iso(entry.valid_until),
        "superseded_by": entry.superseded_by,
        "versions": [{"level": v.level, "text": v.text, "at": v.at.isoformat()} for v in kept],
    }


def export(conn: Connection, owner: str, *, scope: str | None = None) -> dict[str, Any]:
    """Everything remembered of an owner (in one scope), archived and superseded ones too, as JSON."""
    found = entries(conn, owner, scope=scope, everything=True)
    rows = [as_json(entry, versions(conn, owner, entry.id)) for entry in found]
    return {"format": FORMAT, "memories": rows}


def dumped(exported: dict[str, Any]) -> str:
    """An export as the text of a file."""
    return json.dumps(exported, ensure_ascii=False, indent=2)


def load(conn: Connection, owner: str, data: str, now: dt.datetime) -> Counter[str]:
    """Read an export into an owner's memories. Returns how many were added, known before, or left out.

    Only live memories come in, with source "import", at their own dates but never from the future; equal texts are not
    stored twice. A group's memories become nobody's: they belong to a place that may not be here. Raises Unreadable.
    """
    counts: Counter[str] = Counter(added=0, known=0, left_out=0)
    for at, row in enumerate(_rows(data), 1):
        new, created = _new(owner, row, at)
        if new is None:
            counts["left_out"] += 1
        elif any(m.kind == new.kind for m in memories.of_hash(conn, owner, new.hash)):
            counts["known"] += 1
        else:
            memories.add(conn, new, min(created, now))
            counts["added"] += 1
    return counts


def _rows(data: str) -> list[Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise Unreadable(f"it is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Unreadable(f'it is no export of memories: "format" must be "{FORMAT}"')
    rows = found.get("memories")
    if not isinstance(rows, list):
        raise Unreadable('"memories" must be a list')
    return rows


def _new(owner: str, row: Any, at: int) -> tuple[NewMemory | None, dt.datetime]:
    """A row as a memory, None for one that does not hold any more. Raises Unreadable."""

    def wrong(what: str) -> Unreadable:
        return Unreadable(f"memory {at}: {what}")

    if not isinstance(row, dict):
        raise wrong("it must be an object")
    said, kind = row.get("text"), row.get("kind")
    if not isinstance(said, str) or not said.strip() or len(said) > MAX_TEXT:
        raise wrong(f'"text" must have 1 to {MAX_TEXT} characters')
    if kind not in KINDS:
        raise wrong(f'"kind" must be one of {", ".join(KINDS)}')
    codes = row.get("codes", [])
    if not isinstance(codes, list) or not all(isinstance(c, str) and " " not in c for c in codes):
        raise wrong('"codes" must be a list of symbols')
    level = row.get("credibility", "mixed")
    if level not in CREDIBILITIES:
        raise wrong(f'"credibility" must be one of {", ".join(CREDIBILITIES)}')
    try:
        created = _aware(row["created_at"])
        until = None if row.get("valid_until") is None else _aware(row["valid_until"])
    except (KeyError, TypeError, ValueError):
        raise wrong('"created_at" and "valid_until" must be times with a zone') from None
    if row.get("state", "live") != "live" or row.get("scope", memories.PRIVATE) != memories.PRIVATE:
        return None, created
    whole = (
        next((v["text"] for v in row.get("versions", ()) if _is_raw(v)), said)
        if row.get("level", "raw") != "raw"
        else said
    )
    topic = str(row.get("topic_key", ""))
    new = NewMemory(
        owner, kind, whole, "import", codes=tuple(codes), credibility=level, topic_key=topic,
        valid_until=until,
    )  # fmt: skip
    return new, created


def _is_raw(version: Any) -> bool:
    return (
        isinstance(version, dict)
        and version.get("level") == "raw"
        and isinstance(version.get("text"), str)
    )


def _aware(value: str) -> dt.datetime:
    at = dt.datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError(value)
    return at


def _iso(at: dt.datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def shown(words_: str, chars: int) -> str:
    """A memory's text on one line."""
    return text.clip(text.one_line(words_), chars)
