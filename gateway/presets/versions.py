"""What presets said when turns began with them, kept for turns that go on. Statements; none commits."""

import datetime as dt
from collections.abc import Collection

from sqlalchemy import Connection, delete, exists, select

from agent_core.runtime.team import Team
from agent_core.storage.tables import Turn
from agent_core.storage.upsert import insert_into
from gateway.storage.tables import PresetVersion

_VERSION = PresetVersion.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]


def keep(
    conn: Connection, team: Team, present: Collection[str], now: dt.datetime
) -> frozenset[str]:
    """Store a team's text, once, and drop those that are neither `present` nor an open turn's. Returns what is kept."""
    new = insert_into(conn.dialect.name, _VERSION).on_conflict_do_nothing(index_elements=["digest"])
    values = {"digest": team.digest, "name": team.name, "source": team.source, "at": now}
    conn.execute(new, values)
    kept = set(conn.execute(select(_VERSION.c.digest)).scalars())
    past = kept - {*present, team.digest}
    if past:
        used = exists().where(_TURN.c.digest == _VERSION.c.digest, _TURN.c.ended_at.is_(None))
        doomed = delete(_VERSION).where(_VERSION.c.digest.in_(past), ~used)
        kept -= set(conn.execute(doomed.returning(_VERSION.c.digest)).scalars())
    return frozenset(kept)


def source_of(conn: Connection, digest: str) -> str | None:
    """The kept text of a preset, or None."""
    query = select(_VERSION.c.source).where(_VERSION.c.digest == digest)
    found: str | None = conn.execute(query).scalar()
    return found
