"""`archive`: what was condensed in a session, and what a reference stands for."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show

if TYPE_CHECKING:
    import datetime as dt

    from sqlalchemy import Connection

    from agent_core.types import Checkpoint

app = typer.Typer(help="Archives: what a model no longer sees, read back.", no_args_is_help=True)
_COLUMNS = ("id", "kind", "tokens", "at", "summary")
_INSPECT = ("Resolved Questions", "Pending User Asks")  # MSC-12: why an agent repeats a question
SUMMARY_CHARS = 80
Dated = list[tuple["Checkpoint", "dt.datetime"]]
Reference = Annotated[
    str,
    typer.Argument(
        metavar="[SESSION/]REF",
        help="A reference such as r17, r3-r40 or b0123456789abcdef; without a session, of the one condensed last.",
    ),
]
Session = Annotated[
    str | None, typer.Argument(metavar="[SESSION]", help="A session's id, or the beginning of it.")
]


@app.command("list")
def listing(session: Session = None, as_json: Json = False, config: Config = None) -> None:
    """What was cleared, folded or condensed in a session (default: the one condensed last), newest first."""

    def command() -> int:
        from gateway.cli.admin import transact

        def work(conn: "Connection") -> tuple[str, Dated] | None:
            session_id = _session(conn, session or "")
            return None if session_id is None else (session_id, _dated(conn, session_id))

        found = transact(settings_for(config), work)
        if found is None and session:
            err(f"swarmgate: no single session has the id {session}; see: swarmgate sessions list")
            return 1
        rows = [] if found is None else _rows(*found)
        show(rows, _COLUMNS, as_json=as_json, empty="nothing was condensed yet")
        return 0

    raise typer.Exit(finish(command))


@app.command("show")
def show_archive(ref: Reference, as_json: Json = False, config: Config = None) -> None:
    """What a reference stands for; of a summary, first what it says and what it kept."""

    def command() -> int:
        from gateway.cli.admin import transact

        settings = settings_for(config)
        found = transact(settings, lambda conn: _found(conn, ref))
        if found is None:
            err(f"swarmgate: there is nothing under {ref}; see: swarmgate archive list")
            return 1
        clean = _clean(found, settings.secrets())
        if as_json:
            out(json.dumps(clean, ensure_ascii=False, indent=2))
            return 0
        for line in _lines(clean):
            out(line)
        return 0

    raise typer.Exit(finish(command))


def _session(conn: "Connection", prefix: str) -> str | None:
    """The session named by (the beginning of) its id, a sub-agent's too; "" for the one condensed last."""
    from agent_core.storage.sessions import find_session, last_condensed

    if not prefix:
        return last_condensed(conn)
    head, slash, child = prefix.partition("/")
    root = find_session(conn, head)
    return None if root is None else root + slash + child


def _dated(conn: "Connection", session_id: str) -> Dated:
    from agent_core.storage.sessions import dated_checkpoints

    return dated_checkpoints(conn, session_id)


def _rows(session_id: str, dated: Dated) -> list[dict[str, object]]:
    from agent_core import text
    from agent_core.compaction.archive_index import entry

    rows: list[dict[str, object]] = []
    for made, at in reversed(dated):
        if (kept := entry(made)) is None:
            continue
        body = kept.summary
        about = text.clip(text.one_line(body.text), SUMMARY_CHARS) if body else ""
        rows.append(
            {
                "id": f"{session_id}/{kept.refs[0]}",
                "kind": kept.kind,
                "refs": list(kept.refs),
                "tokens": f"{body.before} → {body.after}" if body else "",
                "at": at.isoformat(timespec="seconds"),
                "summary": about or ", ".join(kept.refs[1:8]),
            }
        )
    return rows


def _found(conn: "Connection", wanted: str) -> dict[str, Any] | None:
    from agent_core.compaction import archive
    from gateway.memory.archive import restore

    ref = archive.parse(wanted)
    session_id = _session(conn, ref.session) if ref else None
    if ref is None or (session_id is None and not ref.blob):
        return None
    own = archive.Ref("", ref.first, ref.last, ref.blob)
    restored = restore(conn, own, session_id or "", lambda _: True, everything=True)
    if restored is None:
        return None
    return {
        "id": restored.ref,
        "source": restored.source,
        "credibility": restored.credibility,
        "compaction": _compaction(conn, session_id or "", own.short),
        "text": restored.text,
    }


def _compaction(conn: "Connection", session_id: str, short: str) -> dict[str, Any] | None:
    """The newest summary that stands for exactly these rows: its metadata, its text, the facts and anchors."""
    from dataclasses import asdict

    from agent_core.compaction.archive_index import describe, entry

    for made, at in reversed(_dated(conn, session_id)):
        kept = entry(made)
        if kept is not None and kept.summary is not None and kept.refs == (short,):
            return describe(made, session_id=session_id, at=at) | {
                "text": kept.summary.text,
                "facts": [asdict(fact) for fact in kept.summary.facts],
                "anchors": [asdict(anchor) for anchor in kept.summary.anchors],
                "sections": {name: section(kept.summary.text, name) for name in _INSPECT},
            }
    return None


def section(summary: str, title: str) -> str:
    """The lines below a heading of a summary, "" where it has none."""
    lines: list[str] = []
    inside = False
    for line in summary.splitlines():
        if line.lstrip().startswith("#"):
            inside = line.strip().strip("# :").casefold().startswith(title.casefold())
        elif inside:
            lines.append(line)
    return "\n".join(lines).strip()


def _clean(found: dict[str, Any], secrets: frozenset[str]) -> dict[str, Any]:
    """Rows of before secrets were replaced on writing may hold some."""
    from gateway.redact import Redactor

    clean: dict[str, Any] = Redactor(secrets).value(found)
    return clean


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [" · ".join(p for p in (found["id"], found["source"], found["credibility"]) if p), ""]
    if made := found["compaction"]:
        before, after = made["tokens"]
        head = f"condensed {made['created_at']} · {made['message_count']} rows · {before} → {after} tokens"
        lines += [head + (f" · topic: {made['topic']}" if made["topic"] else ""), ""]
        for name in ("symbols", "paths", "keywords"):
            lines += [f"{name}: {', '.join(made[name])}"] if made[name] else []
        lines += ["", "── summary", made["text"] or "(none: this policy keeps no summary)", ""]
        lines += [f"fact r{fact['seq']}: {fact['text']}" for fact in made["facts"]]
        lines += [f"anchor r{a['seq']} {a['role']}: {a['text']}" for a in made["anchors"]]
        lines += ["", "── messages"]
    return [*lines, found["text"]]
