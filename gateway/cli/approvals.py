"""`approvals`: what waits for a decision, deciding it on this machine, and each yes that is remembered."""

import datetime as dt
import getpass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, show, show_one

if TYPE_CHECKING:
    from gateway.settings.settings import Settings

app = typer.Typer(
    help="Approvals: list, decide; and those that are remembered.", no_args_is_help=True
)

_COLUMNS = ("id", "owner", "tool", "arguments", "age", "expires", "conversation")
ARGUMENTS_CHARS = 60


class Verdict(StrEnum):
    """What an operator may say."""

    APPROVE = "approve"
    DENY = "deny"


_STATUS = {Verdict.APPROVE: "approved", Verdict.DENY: "denied"}


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """Open questions: who asked for what, where, since when, and until when it may be decided."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.questions.local_decisions import listing as waiting

        now = dt.datetime.now(dt.UTC)
        rows = transact(settings_for(config), lambda conn: waiting(conn, now))
        for row in rows:
            row["arguments"] = _line(row["args"])
            row["age"] = _span(now - row["asked_at"])
            row["expires"] = f"in {_span(row['expires_at'] - now)}"
        show(rows, _COLUMNS, as_json=as_json, empty="nothing waits for a decision")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def decide(
    number: Annotated[int, typer.Argument(metavar="ID", help="The id that `list` shows.")],
    verdict: Annotated[Verdict, typer.Argument(help="What is decided.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Approve or deny a call: at once if the gateway runs, else its next start goes on with the decision."""

    def command() -> int:
        from gateway.cli.engine_line import ask

        settings, status, who = settings_for(config), _STATUS[verdict], _who()
        request = {"op": "decide", "id": number, "verdict": status, "who": who}
        answer = ask(settings.data_dir / "control.sock", request)
        running = answer is not None
        done, said = (
            _alone(settings, number, status, who)
            if answer is None
            else (answer["done"], answer["said"])
        )
        if not done:
            err(f"swarmgate: {said}")
            return 1
        row = {"id": number, "status": status, "by": f"terminal:{who}", "running": running}
        when = "goes on now" if running else "goes on when the gateway starts"
        show_one(row, f"{said}; its turn {when}", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def remembered(as_json: Json = False, config: Config = None) -> None:
    """Each yes that counts for later calls too: whose, for what, until when, and who gave it."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.questions.remembered import listing as kept

        rows = transact(settings_for(config), kept)
        for row in rows:
            row["arguments"] = _line(row["args"])
        columns = ("id", "owner", "tool", "arguments", "remember", "by")
        show(rows, columns, as_json=as_json, empty="no yes is remembered")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def revoke(
    number: Annotated[int, typer.Argument(metavar="ID", help="The id that `remembered` shows.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Take a remembered yes back: the next call of that kind asks again. Works beside a running gateway."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.questions.remembered import revoke as take_back

        if not transact(settings_for(config), lambda conn: take_back(conn, number)):
            err(
                f"swarmgate: question {number} has no yes that is remembered; see: approvals remembered"
            )
            return 1
        row = {"id": number, "revoked": True}
        show_one(row, f"the yes to question {number} counts no more", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


def _alone(settings: "Settings", number: int, status: str, who: str) -> tuple[bool, str]:
    """Decide while no engine runs, holding its role so that none begins meanwhile. Raises DatabaseError."""
    import asyncio

    from gateway import preflight
    from gateway.cli.admin import url_for
    from gateway.questions.local_decisions import rule
    from gateway.storage.db import DatabaseError
    from gateway.storage.schema import open_database

    preflight.require(settings.data_dir)
    settings.data_dir.mkdir(parents=True, exist_ok=True)

    async def once() -> tuple[bool, str]:
        database = await open_database(url_for(settings))
        try:
            try:
                await database.lock_engine()
            except DatabaseError:
                return False, (
                    f"another swarmgate holds this database and does not answer here: decide in the chat with "
                    f"/approve {number} or /deny {number}, or try again when that one has ended"
                )
            now = dt.datetime.now(dt.UTC)
            ruling = await database.write(
                lambda conn: rule(conn, number, status, who, now, settings.access)
            )
            return ruling.done, ruling.said
        finally:
            await database.close()

    return asyncio.run(once())


def _who() -> str:
    """The operator's name on this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no login name, as in some containers
        return "operator"


def _line(args: dict[str, Any]) -> str:
    """The arguments of a call in one line."""
    from gateway.questions.words import shown

    text = ", ".join(f"{name}={shown(value)}" for name, value in args.items())
    return text if len(text) <= ARGUMENTS_CHARS else text[: ARGUMENTS_CHARS - 1] + "…"


def _span(span: dt.timedelta) -> str:
    """A span of time to be read, in its largest unit."""
    seconds = max(0, int(span.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
