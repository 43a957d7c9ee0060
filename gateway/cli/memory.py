"""`memory`: what is remembered of a person, on the operator's machine, beside a running gateway."""

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli import memory_upkeep
from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show, show_one

if TYPE_CHECKING:
    from sqlalchemy import Connection


app = typer.Typer(help="What is remembered of a person.", no_args_is_help=True)
app.command("gc")(memory_upkeep.collect)
app.command("check")(memory_upkeep.check)
_COLUMNS = ("id", "kind", "state", "level", "codes", "created_at", "text")
LINE_CHARS = 100
User = Annotated[
    str,
    typer.Option("--user", metavar="ID", help="Whose: telegram:123, slack:T1:U2, web:alice …"),
]
Number = Annotated[int, typer.Argument(metavar="ID", help="A memory's number, see: memory list")]


@app.command("list")
def listing(
    user: User,
    everything: Annotated[
        bool, typer.Option("--all", help="Archived and replaced ones too.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """What is remembered of a person, newest first."""

    def command() -> int:
        rows = _with_owner(config, user, lambda conn, owner: _rows(conn, owner, everything))
        plain = [row | {"codes": ", ".join(row["codes"])} for row in rows] if not as_json else rows
        shown = [row | {"text": _short(row["text"])} for row in plain] if not as_json else plain
        show(shown, _COLUMNS, as_json=as_json, empty=f"nothing is remembered of {user}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def trace(memory: Number, user: User, as_json: Json = False, config: Config = None) -> None:
    """Where a memory comes from, what it said before it was shortened or edited, and its figures."""

    def command() -> int:
        found = _with_owner(config, user, lambda conn, owner: _traced(conn, owner, memory))
        if found is None:
            return _unknown(memory, user)
        lines = [f"{key}: {value}" for key, value in found.items() if key != "versions" and value]
        lines += [f"before ({v['level']}, {v['at']}): {v['text']}" for v in found["versions"]]
        show_one(found, "\n".join(lines), as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def restore(
    memory: Number,
    user: User,
    level: Annotated[str, typer.Option(help="Which earlier text, as trace shows it.")] = "raw",
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Bring a shortened, edited or archived memory back to an earlier text, to the byte."""

    def command() -> int:
        text = _with_owner(config, user, lambda conn, owner: _restored(conn, owner, memory, level))
        if text is None:
            err(
                f"swarmgate: memory {memory} of {user} has no {level} text; see: memory trace {memory}"
            )
            return 1
        show_one({"id": memory, "level": level, "text": text}, text, as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def export(
    user: User,
    file: Annotated[Path | None, typer.Argument(help="Default: standard output.")] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """All memories of a person, with their earlier texts, as JSON for `memory import`. --json changes nothing."""
    del as_json

    def command() -> int:
        from gateway.memory import book as memory_book

        found = _with_owner(config, user, memory_book.export)
        text = memory_book.dumped(found)
        if file is None:
            out(text)
            return 0
        _write_private(file, text)
        err(f"swarmgate: {len(found['memories'])} memories are in {file}")
        return 0

    raise typer.Exit(finish(command))


@app.command("import")
def load(
    user: User,
    file: Annotated[Path, typer.Argument(help="An export; - for standard input.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Read an export into a person's memories; equal ones are not stored twice."""

    def command() -> int:
        from gateway.memory import book as memory_book

        data = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        try:
            counts = _with_owner(
                config, user, lambda conn, owner: memory_book.load(conn, owner, data, _now())
            )
        except memory_book.Unreadable as error:
            err(f"swarmgate: {file}: {error}; give a file that `memory export` wrote")
            return 1
        said = f"added {counts['added']}, known before {counts['known']}, left out {counts['left_out']}"
        show_one({"id": user} | dict(counts), said, as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def forget(
    user: User,
    memory: Annotated[
        int | None, typer.Argument(metavar="[ID]", help="One memory; without it, everything.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Delete a memory, or everything that is kept of a person, and prove it by counting again."""

    def command() -> int:
        if memory is not None:
            wanted = memory
            gone = _with_owner(config, user, lambda conn, owner: _removed(conn, owner, wanted))
            if not gone:
                return _unknown(memory, user)
            show_one({"id": memory, "forgotten": True}, f"memory {memory} is gone", as_json=as_json)
            return 0
        if not yes and not typer.confirm(f"Delete everything that is kept of {user}?", err=True):
            err("swarmgate: nothing was deleted")
            return 1
        return _forget_all(config, user, as_json=as_json)

    raise typer.Exit(finish(command))


def _with_owner(config: Path | None, user: str, work: Any) -> Any:
    """`work(conn, owner)` in one transaction; linked identities have one owner."""
    from gateway.cli.admin import transact
    from gateway.people.identity import principal_of

    return transact(settings_for(config), lambda conn: work(conn, principal_of(conn, user)))


def _rows(conn: "Connection", owner: str, everything: bool) -> list[dict[str, Any]]:
    from agent_core.storage.upkeep import entries
    from gateway.memory.book import as_json

    return [as_json(entry) for entry in entries(conn, owner, everything=everything)]


def _traced(conn: "Connection", owner: str, memory: int) -> dict[str, Any] | None:
    from agent_core.storage.upkeep import entry, versions
    from gateway.memory.book import as_json, origin

    found = entry(conn, owner, memory)
    if found is None:
        return None
    came = origin(conn, found)
    return as_json(found, versions(conn, owner, memory)) | {
        "owner": owner,
        "session": came.session,
        "session_title": came.title,
        "session_at": came.at.isoformat() if came.at else None,
        "made_of": list(came.memories),
    }


def _restored(conn: "Connection", owner: str, memory: int, level: str) -> str | None:
    from agent_core.storage.upkeep import entry, restore

    found = entry(conn, owner, memory)
    return None if found is None else restore(conn, found, level, _now())


def _removed(conn: "Connection", owner: str, memory: int) -> int:
    from agent_core.storage.upkeep import remove

    return remove(conn, owner, [memory])


def _forget_all(config: Path | None, user: str, *, as_json: bool) -> int:
    from gateway.cli.admin import transact
    from gateway.memory.forget import AtBroker, everything
    from gateway.workspaces import workspaces_of

    settings = settings_for(config)
    files = workspaces_of(settings)
    try:
        report = transact(settings, lambda conn: everything(conn, user, _now(), workspaces=files))
    except AtBroker as error:
        err(f"swarmgate: {error}")
        return 1
    rows = [
        {"id": name, "removed": count - report.after[name], "left": report.after[name]}
        for name, count in report.before.items()
    ]
    show(rows, ("id", "removed", "left"), as_json=as_json)
    if report.left:
        err(f"swarmgate: {report.left} rows of {user} are left; report this as a defect")
        return 1
    return 0


def _write_private(file: Path, text: str) -> None:
    """A person's memories are for nobody else on the machine."""
    file.touch(mode=0o600)
    file.write_text(text + "\n", encoding="utf-8")


def _unknown(memory: int, user: str) -> int:
    err(f"swarmgate: {user} has no memory {memory}; see: swarmgate memory list --user {user}")
    return 1


def _short(text: str) -> str:
    from gateway.memory.book import shown

    return shown(text, LINE_CHARS)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
