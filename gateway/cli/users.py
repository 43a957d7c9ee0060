"""`users`: who is known, who waits with a pairing code, whom to let in or shut out."""

import datetime as dt
from typing import Annotated

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, show, show_one

app = typer.Typer(help="People: list, approve, revoke.", no_args_is_help=True)


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """Everybody known, and everybody who waits with a pairing code."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.people.access import people

        rows = transact(settings_for(config), lambda conn: people(conn, _now()))
        show(rows, ("id", "name", "access", "code"), as_json=as_json, empty="nobody wrote yet")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def approve(
    code: Annotated[str, typer.Argument(help="The pairing code, such as ABCD-1234.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Let in the person who was shown this pairing code."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.people.access import UnknownCode, approve

        try:
            row = transact(settings_for(config), lambda conn: approve(conn, code, _now()))
        except UnknownCode as error:
            err(f"swarmgate: {error}")
            return 1
        show_one(row, f"{row['id']} ({row['name'] or 'no name'}) may talk now", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def revoke(
    person: Annotated[str, typer.Argument(metavar="ID", help="A stable id: telegram:123.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Shut a person out."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.people.access import revoke

        if not transact(settings_for(config), lambda conn: revoke(conn, person)):
            err(f"swarmgate: nobody has the id {person}; see: swarmgate users list")
            return 1
        show_one({"id": person, "access": "revoked"}, f"{person} is shut out", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
