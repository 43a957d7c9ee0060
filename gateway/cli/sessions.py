"""`sessions`: whose conversations are kept, what was said in one, and one as JSON lines."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show

if TYPE_CHECKING:
    from pathlib import Path

    from agent_core.types import Message, Row

app = typer.Typer(help="Sessions: list, show, export.", no_args_is_help=True)

_COLUMNS = ("id", "title", "owner", "turns", "rows", "created_at", "last_at")
RESULT_CHARS = 400
Id = Annotated[str, typer.Argument(metavar="ID", help="A session's id, or the beginning of it.")]
Found = list[tuple[str, str | None, "Row"]]


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """All sessions, newest first."""

    def command() -> int:
        from agent_core.storage.sessions import listing as sessions
        from gateway.cli.admin import transact

        rows = transact(settings_for(config), sessions)
        show(rows, _COLUMNS, as_json=as_json, empty="no session yet")
        return 0

    raise typer.Exit(finish(command))


@app.command("show")
def show_session(session: Id, as_json: Json = False, config: Config = None) -> None:
    """What was said and done in a session, to be read. With --json: its rows as one list."""

    def command() -> int:
        rows = _rows(session, config)
        if rows is None:
            return 1
        if as_json:
            out(json.dumps([_row(*found) for found in rows], ensure_ascii=False, indent=2))
            return 0
        for found in rows:
            for line in _lines(*found):
                out(line)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def export(
    session: Id,
    trace: Annotated[
        bool, typer.Option("--trace", help="The events of its turns instead of its rows.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """A session's whole transcript, with those of its sub-agents, as JSON lines. --json changes nothing."""

    def command() -> int:
        if trace:
            return _export_trace(session, config)
        rows = _rows(session, config)
        if rows is None:
            return 1
        for found in rows:
            out(json.dumps(_row(*found), ensure_ascii=False))
        return 0

    raise typer.Exit(finish(command))


def _export_trace(wanted: str, config: "Path | None") -> int:
    from sqlalchemy import Connection

    from agent_core.storage.sessions import find_session
    from agent_core.storage.traces import TraceEvent, traces_of_session
    from gateway.cli.admin import transact

    def work(conn: Connection) -> list[TraceEvent] | None:
        session_id = find_session(conn, wanted)
        return None if session_id is None else list(traces_of_session(conn, session_id))

    found = transact(settings_for(config), work)
    if found is None:
        err(f"swarmgate: no single session has the id {wanted}; see: swarmgate sessions list")
        return 1
    for event in found:
        line = {
            "id": event.id,
            "turn": event.turn_id,
            "session": event.session_id,
            "at": event.at.isoformat(),
            "event": event.event,
        }
        line |= {key: value for key, value in event.fields.items() if key not in line}
        out(json.dumps(line, ensure_ascii=False))
    return 0


def _rows(wanted: str, config: "Path | None") -> Found | None:
    from sqlalchemy import Connection

    from agent_core.storage.sessions import find_session, with_children
    from gateway.cli.admin import transact

    def work(conn: Connection) -> Found | None:
        session_id = find_session(conn, wanted)
        return None if session_id is None else list(with_children(conn, session_id))

    found = transact(settings_for(config), work)
    if found is None:
        err(f"swarmgate: no single session has the id {wanted}; see: swarmgate sessions list")
    return found


def _row(session: str, agent: str | None, row: "Row") -> dict[str, Any]:
    from agent_core.types import encode

    return {
        "id": f"{session}#{row.seq}",
        "session": session,
        "agent": agent,
        "seq": row.seq,
        "turn": row.turn_id,
        "kind": row.kind.value,
        "ref": row.ref,
        "at": row.at.isoformat(),
        "message": json.loads(encode(row.message)),
        "meta": row.meta,
    }


def _lines(session: str, agent: str | None, row: "Row") -> list[str]:
    """A row to be read; intents say nothing that their call does not say."""
    from agent_core.types import RowKind

    if row.kind is RowKind.INTENT:
        return []
    who = f"{row.kind.value} ({agent})" if agent else row.kind.value
    head = f"── {row.seq} {who} · {row.at:%Y-%m-%d %H:%M:%S}"
    return [head, *_said(row.message), ""]


def _said(message: "Message") -> list[str]:
    from agent_core.types import Image, Text, Thinking, ToolResult, ToolUse

    lines: list[str] = []
    for block in message.blocks:
        match block:
            case Text(text):
                lines.append(text)
            case Thinking(text):
                lines += [f"(reasoning) {line}" for line in text.splitlines()]
            case ToolUse(_, name, args):
                lines.append(f"→ {name} {json.dumps(args, ensure_ascii=False)}")
            case ToolResult(_, name, content, is_error):
                cut = content if len(content) <= RESULT_CHARS else content[:RESULT_CHARS] + " …"
                lines.append(f"← {name}{' failed' if is_error else ''}: {cut}")
            case Image():
                lines.append("[picture]")
            case _:  # what a model is told of the situation is no part of what was said
                pass
    return lines
