"""Holdings, events, profiles, alerts and conclusions of reports. Statements; none commits, each names its owner."""

import datetime as dt
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update

from agent_core import symbols
from agent_core.book import (
    LEVELS,
    Alert,
    Event,
    Focus,
    Holding,
    Look,
    Note,
    Profile,
    Record,
    Report,
    Seen,
    Window,
)
from agent_core.storage import tables_memory as tables

_HOLDING = tables.Holding.__table__  # type: ignore[attr-defined]
_EVENT = tables.EventRow.__table__  # type: ignore[attr-defined]
_PROFILE = tables.Profile.__table__  # type: ignore[attr-defined]
_ALERT = tables.Alert.__table__  # type: ignore[attr-defined]
_REPORT = tables.ReportNote.__table__  # type: ignore[attr-defined]
_MEMORY = tables.MemoryRow.__table__  # type: ignore[attr-defined]
_TABLES: dict[type, Any] = {
    Holding: _HOLDING,
    Event: _EVENT,
    Profile: _PROFILE,
    Alert: _ALERT,
    Report: _REPORT,
}
_KEYS: dict[type, tuple[str, ...]] = {Holding: ("account", "symbol"), Profile: ("symbol",)}
DECISIONS = (
    "decision",
    "trade",
)  # what a person did or means to do; the other kinds are dynamics alone
NOTES = ("view", "plan", "rule")


def put(conn: Connection, owner: str, record: Record) -> int:
    """Add or change a record; see agent_core.book.Portfolio."""
    kind, values = type(record), _values(record)
    table = _TABLES[kind]
    found = record.id or _same(conn, owner, table, {k: values[k] for k in _KEYS.get(kind, ())})
    if not found:
        made = conn.execute(insert(table).values(owner=owner, **values).returning(table.c.id))
        return int(made.scalar_one())
    mine = (table.c.id == found, table.c.owner == owner)
    if not conn.execute(update(table).where(*mine).values(**values)).rowcount:
        raise KeyError(f"{kind.__name__.lower()} {found}")
    return found


def records(conn: Connection, owner: str, kind: type[Record], limit: int = 500) -> list[Record]:
    """The newest records of a kind, newest first."""
    table = _TABLES[kind]
    newest = (_date(table).desc(), table.c.id.desc())
    query = select(table).where(table.c.owner == owner).order_by(*newest).limit(limit)
    return _read(kind, conn.execute(query))


def remove(conn: Connection, owner: str, kind: type[Record], record_id: int) -> bool:
    """Delete a record; False where the owner has none with this id."""
    table = _TABLES[kind]
    mine = (table.c.id == record_id, table.c.owner == owner)
    return conn.execute(delete(table).where(*mine)).rowcount > 0


def look(conn: Connection, wanted: Look) -> Seen:
    """What concerns one message; see agent_core.book.Seen."""
    holdings = _holdings(conn, wanted.owner) if wanted.book else ()
    focus = wanted.focus(holdings)
    notes = _notes(conn, wanted, focus)
    if not wanted.book:
        return Seen(focus=focus, notes=notes)
    windows = wanted.windows
    held = [h.symbol for h in holdings] if focus.portfolio else []
    return Seen(
        focus=focus,
        holdings=holdings,
        profiles=_profiles(conn, wanted.owner, (*focus.symbols, *held)),
        dynamics=_dynamics(conn, wanted, focus.symbols),
        reports=_window(conn, Report, wanted, windows.reports, *_about(_REPORT, focus)),
        decisions=_window(
            conn,
            Event,
            wanted,
            windows.decisions,
            _EVENT.c.kind.in_(DECISIONS),
            *_about(_EVENT, focus),
        ),
        alerts=_window(conn, Alert, wanted, windows.alerts, _ALERT.c.state == "pending"),
        notes=notes,
    )


def _holdings(conn: Connection, owner: str) -> tuple[Holding, ...]:
    query = select(_HOLDING).where(_HOLDING.c.owner == owner).order_by(_HOLDING.c.id)
    return tuple(_read(Holding, conn.execute(query)))


def _profiles(conn: Connection, owner: str, wanted: Iterable[str]) -> tuple[Profile, ...]:
    ids = list(dict.fromkeys(wanted))
    if not ids:
        return ()
    mine = (_PROFILE.c.owner == owner, _PROFILE.c.symbol.in_(ids))
    return tuple(_read(Profile, conn.execute(select(_PROFILE).where(*mine))))


def _dynamics(conn: Connection, wanted: Look, ids: Sequence[str]) -> tuple[Event, ...]:
    """The newest events of each symbol: one query for each, as there are few."""
    found: dict[int, Event] = {}
    for symbol in ids:
        about = _EVENT.c.codes.contains(f" {symbol} ", autoescape=True)
        for event in _window(conn, Event, wanted, wanted.windows.dynamics, about):
            found[event.id] = event
    return tuple(found.values())


def _window(
    conn: Connection, kind: type[Record], wanted: Look, window: Window, *only: ColumnElement[bool]
) -> tuple[Record, ...]:
    """The newest records within a window. Alerts may lie as far ahead as they may lie back: they are due then."""
    table = _TABLES[kind]
    ahead = dt.timedelta(days=window.days if kind is Alert else 0)
    dates = table.c.at.between(wanted.now - dt.timedelta(days=window.days), wanted.now + ahead)
    query = select(table).where(table.c.owner == wanted.owner, dates, *only)
    newest = query.order_by(table.c.at.desc(), table.c.id.desc()).limit(window.items)
    return tuple(_read(kind, conn.execute(newest)))


def _notes(conn: Connection, wanted: Look, focus: Focus) -> tuple[Note, ...]:
    window, m = wanted.windows.notes, _MEMORY.c
    date = func.coalesce(m.confirmed_at, m.created_at, type_=m.created_at.type)
    query = select(m.id, m.kind, m.text, m.codes, m.source, m.credibility, date.label("at")).where(
        m.owner == wanted.owner,
        m.scope == wanted.scope,
        m.kind.in_(NOTES),
        m.archived_at.is_(None),
        m.superseded_by.is_(None),
        or_(m.valid_until.is_(None), m.valid_until > wanted.now),
        date.between(wanted.now - dt.timedelta(days=window.days), wanted.now),
        *_about(_MEMORY, focus),
    )
    found = conn.execute(query.order_by(date.desc(), m.id.desc()).limit(window.items))
    return tuple(Note(**_decoded(row)) for row in found)


def _about(table: Any, focus: Focus) -> list[ColumnElement[bool]]:
    """Rows about no symbol or one in focus; all of them where the book is meant or no symbol is named (RCL-5)."""
    if focus.portfolio or not focus.symbols:
        return []
    named = (table.c.codes.contains(f" {s} ", autoescape=True) for s in focus.symbols)
    return [or_(table.c.codes == "", *named)]


def _same(conn: Connection, owner: str, table: Any, key: dict[str, Any]) -> int:
    if not key:
        return 0
    same = (table.c[name] == value for name, value in key.items())
    return conn.execute(select(table.c.id).where(table.c.owner == owner, *same)).scalar() or 0


def _date(table: Any) -> Any:
    return table.c.at if "at" in table.c else table.c.updated_at


def _values(record: Any) -> dict[str, Any]:
    values = {f.name: getattr(record, f.name) for f in fields(record) if f.name != "id"}
    if values.get("symbol"):
        values["symbol"] = symbols.canonical(values["symbol"])
    if "codes" in values:
        codes = dict.fromkeys(symbols.canonical(code) for code in values["codes"])
        values["codes"] = f" {' '.join(codes)} " if codes else ""
    if "condition" in values:
        values["condition"] = json.dumps(values["condition"], ensure_ascii=False)
    if values.get("credibility", LEVELS[0]) not in LEVELS:
        raise ValueError(f"credibility {values['credibility']!r} is none of {', '.join(LEVELS)}")
    for name in ("quantity", "cost"):
        if not math.isfinite(values.get(name, 0.0)):
            raise ValueError(f"{name} {values[name]} is no number")
    return values


def _read(kind: type[Record], rows: Iterable[Row[Any]]) -> list[Record]:
    return [kind(**_decoded(row)) for row in rows]


def _decoded(row: Any) -> dict[str, Any]:
    values: dict[str, Any] = dict(row._mapping)  # noqa: SLF001 - the documented way to a dict
    values.pop("owner", None)
    if "codes" in values:
        values["codes"] = tuple(values["codes"].split())
    if "condition" in values:
        values["condition"] = json.loads(values["condition"])
    return values
