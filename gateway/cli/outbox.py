"""`outbox`: replies that a platform refused, and how to send one again."""

from typing import Annotated

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, show, show_one

app = typer.Typer(help="Replies that could not be delivered: list, resend.", no_args_is_help=True)

_COLUMNS = ("id", "status", "place", "owner", "at", "error", "beginning")
TEXT_CHARS = 40


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
        for row in rows:
            row["beginning"] = row["text"][:TEXT_CHARS]
        show(rows, _COLUMNS, as_json=as_json, empty="nothing is parked")
        return 0

    raise typer.Exit(finish(command))


@app.command("resubmit", help="Another name of `resend`.")
@app.command()
def resend(
    number: Annotated[int, typer.Argument(metavar="ID", help="The id that `outbox list` shows.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Send a parked reply again, from the part that failed: at once if the gateway runs, else at its next start."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.cli.engine_line import ask
        from gateway.outbound.parked import release

        settings = settings_for(config)
        if not transact(settings, lambda conn: release(conn, number)):
            err(f"swarmgate: no parked reply has the id {number}; see: swarmgate outbox list")
            return 1
        answer = ask(settings.data_dir / "control.sock", {"op": "resend", "id": number})
        now = bool(answer and answer.get("taken"))
        row = {"id": number, "status": "ready", "sending": now}
        when = "is being sent" if now else "will be sent when the gateway starts"
        show_one(row, f"reply {number} {when}", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))
