"""`outbox`: replies that a platform refused, and how to send them again."""

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show, show_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from gateway.outbound.parked import Filter
    from gateway.settings.settings import Settings

app = typer.Typer(help="Replies that could not be delivered: list, resend.", no_args_is_help=True)

_COLUMNS = ("id", "status", "place", "owner", "at", "error", "beginning")
TEXT_CHARS = 40


def _span(text: str) -> dt.timedelta:
    from gateway.settings.retention import span_of

    try:
        span = span_of(text)
    except ValueError:
        span = None
    if not isinstance(span, dt.timedelta):
        raise typer.BadParameter(f"{text!r} is no span of time: write one such as 30m, 2h or 7d")
    return span


@app.command("list")
def listing(
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are still on their way.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Replies that a platform refused for good, with its reason."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.outbound.parked import listing as parked

        rows = transact(settings_for(config), lambda conn: parked(conn, everything=everything))
        _show(rows, as_json=as_json, empty="nothing is parked")
        return 0

    raise typer.Exit(finish(command))


@app.command("resubmit", help="Another name of `resend`.")
@app.command()
def resend(
    number: Annotated[
        int | None, typer.Argument(metavar="ID", help="The id that `outbox list` shows.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are parked.")] = False,
    channel: Annotated[
        str, typer.Option(help="How their place begins: telegram, telegram:BOT, telegram:BOT:CHAT.")
    ] = "",
    cause: Annotated[str, typer.Option(help="Words in the reason.")] = "",
    newer: Annotated[
        dt.timedelta | None,
        typer.Option(metavar="SPAN", parser=_span, help="Stored within this time, such as 2h."),
    ] = None,
    older: Annotated[
        dt.timedelta | None,
        typer.Option(metavar="SPAN", parser=_span, help="Stored longer ago than this."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent; change nothing.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Send a parked reply again, or all that the options say: each once, from the part that failed, a chat's in order.

    At once if the gateway runs, else at its next start.
    """
    several = bool(everything or channel or cause or newer or older)
    if several == (number is not None):
        raise typer.BadParameter("give an ID, or --all, --channel, --cause, --newer or --older")

    def command() -> int:
        from gateway.outbound.parked import Filter

        settings = settings_for(config)
        if number is not None:
            return _one(settings, number, dry_run=dry_run, as_json=as_json)
        now = dt.datetime.now(dt.UTC)
        since, before = (now - span if span else None for span in (newer, older))
        which = Filter(channel, cause, since, before)
        return _several(settings, which, dry_run=dry_run, as_json=as_json)

    raise typer.Exit(finish(command))


def _one(settings: "Settings", number: int, *, dry_run: bool, as_json: bool) -> int:
    from gateway.outbound.parked import Filter

    rows = _released(settings, Filter(row=number), dry_run=dry_run)
    if not rows:
        err(f"swarmgate: no parked reply has the id {number}; see: swarmgate outbox list")
        return 1
    [row] = rows
    found = {key: row[key] for key in ("id", "status", "sending")}
    show_one(found, f"reply {number} {_fate(rows, dry_run=dry_run)}", as_json=as_json)
    return 0


def _several(settings: "Settings", which: "Filter", *, dry_run: bool, as_json: bool) -> int:
    rows = _released(settings, which, dry_run=dry_run)
    _show(rows, as_json=as_json, empty="no parked reply is one of these")
    if rows and not as_json:
        many = "1 reply" if len(rows) == 1 else f"{len(rows)} replies"
        out(f"{many} {_fate(rows, dry_run=dry_run)}")
    return 0


def _released(settings: "Settings", which: "Filter", *, dry_run: bool) -> list[dict[str, Any]]:
    """What is ready to go again, or would be; the gateway that runs here has been told."""
    from gateway.cli.admin import transact
    from gateway.outbound.parked import listing as parked
    from gateway.outbound.parked import release

    def work(conn: "Connection") -> list[dict[str, Any]]:
        rows = parked(conn, which)
        if dry_run:
            return rows
        ready = set(release(conn, which))
        return [row | {"status": "ready"} for row in rows if row["id"] in ready]

    rows = transact(settings, work)
    sending = bool(rows) and not dry_run and _told(settings, [row["id"] for row in rows])
    return [row | {"sending": sending} for row in rows]


def _told(settings: "Settings", ids: "Sequence[int]") -> bool:
    """Whether a gateway on this machine sends them now."""
    from gateway.cli.engine_line import ask

    answer = ask(settings.data_dir / "control.sock", {"op": "resend", "ids": list(ids)})
    return bool(answer and answer.get("taken"))


def _fate(rows: "Sequence[dict[str, Any]]", *, dry_run: bool) -> str:
    be = "is" if len(rows) == 1 else "are"
    if dry_run:
        return "would be sent"
    return f"{be} being sent" if rows[0]["sending"] else "will be sent when the gateway starts"


def _show(rows: list[dict[str, Any]], *, as_json: bool, empty: str) -> None:
    for row in rows:
        row["beginning"] = row["text"][:TEXT_CHARS]
    show(rows, _COLUMNS, as_json=as_json, empty=empty)
