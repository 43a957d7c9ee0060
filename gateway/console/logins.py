"""Log-ins to the console as rows: begun, found, listed, ended. Statements; none commits.

A cookie holds 32 random bytes and the table their sha256, so that who reads the table, or a backup of it, is not let
in. What forms carry against forgery comes from the cookie alone.
"""

import datetime as dt
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from gateway.storage.tables_console import ConsoleSession

_SESSION = ConsoleSession.__table__  # type: ignore[attr-defined]
AGENT_CHARS = 200
SHOWN = 12  # characters of an id that name it in lists


@dataclass(frozen=True, slots=True)
class Login:
    """One log-in. `id` is the whole id; lists show its beginning."""

    id: str
    owner: str
    mark: str
    agent: str
    created_at: dt.datetime
    expires_at: dt.datetime


def begin(conn: Connection, owner: str, mark: str, agent: str, now: dt.datetime, hours: int) -> str:
    """Begin a log-in; returns what its cookie holds. Those that have expired are cleared away."""
    conn.execute(delete(_SESSION).where(_SESSION.c.expires_at <= now))
    cookie = secrets.token_urlsafe(32)
    values = {
        "id": id_of(cookie),
        "owner": owner,
        "mark": mark,
        "agent": agent[:AGENT_CHARS],
        "created_at": now,
        "expires_at": now + dt.timedelta(hours=hours),
    }
    conn.execute(insert(_SESSION), values)
    return cookie


def find(conn: Connection, login_id: str, now: dt.datetime) -> Login | None:
    """The log-in with this id, unless it has expired or was ended."""
    query = select(_SESSION).where(_SESSION.c.id == login_id, _SESSION.c.expires_at > now)
    row = conn.execute(query).first()
    return None if row is None else Login(*row)


def listing(conn: Connection, now: dt.datetime) -> list[Login]:
    """All that hold, the newest first."""
    query = select(_SESSION).where(_SESSION.c.expires_at > now)
    return [Login(*row) for row in conn.execute(query.order_by(_SESSION.c.created_at.desc()))]


def end(conn: Connection, beginning: str) -> str | None:
    """End the one log-in whose id begins so; returns whose it was, None where there is none."""
    if len(beginning) < SHOWN:
        return None
    mine = _SESSION.c.id.startswith(beginning, autoescape=True)
    row = conn.execute(delete(_SESSION).where(mine).returning(_SESSION.c.owner)).first()
    return None if row is None else str(row.owner)


def id_of(cookie: str) -> str:
    """The id of the log-in that a cookie names."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()


def form_token(cookie: str) -> str:
    """What a form of this log-in carries: another site's page cannot know it."""
    return hmac.new(cookie.encode(errors="replace"), b"console form", hashlib.sha256).hexdigest()


def is_form_token(cookie: str, given: str) -> bool:
    """Whether a form of this log-in was sent; in constant time."""
    return hmac.compare_digest(form_token(cookie).encode(), given.encode(errors="replace"))
