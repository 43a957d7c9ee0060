"""`tasks`: what runs in the background, what came of it, and ending it."""

import datetime as dt
from typing import Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show, show_one

app = typer.Typer(help="Background tasks: list, show, cancel.", no_args_is_help=True)

_COLUMNS = ("id", "state", "tool", "owner", "progress", "begun", "summary")
_NONE = "no task has the id {id}; see: swarmgate tasks list"
SUMMARY_CHARS = 60
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The id that `tasks list` shows.")]


@app.command("list")
def listing(
    user: Annotated[str | None, typer.Option(help="Of one person, such as telegram:123.")] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Tasks that run, wait, or have ended within a day; newest first."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.tasks import overview

        found = transact(settings_for(config), lambda conn: overview.listing(conn, user))
        rows = [row if as_json else row | _short(row) for row in found]
        show(rows, _COLUMNS, as_json=as_json, empty="no background task is kept")
        return 0

    raise typer.Exit(finish(command))


@app.command("show")
def show_task(task_id: TaskId, as_json: Json = False, config: Config = None) -> None:
    """One task: what it was asked, how it stands, and what it answered."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.tasks import overview

        row = transact(settings_for(config), lambda conn: overview.shown(conn, task_id))
        if row is None:
            err(f"swarmgate: {_NONE.format(id=task_id)}")
            return 1
        if as_json:
            show_one(row, "", as_json=True)
            return 0
        for name, value in row.items():
            if value not in (None, "", [], {}) and name != "answer":
                out(f"{name}: {_cell(value)}")
        if row["answer"]:
            out(f"\n{row['answer']}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def cancel(task_id: TaskId, as_json: Json = False, config: Config = None) -> None:
    """End a task that runs or waits; nothing more is said of it. A running gateway here stops it at once."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.cli.engine_line import ask
        from gateway.tasks import rows

        settings = settings_for(config)
        now = dt.datetime.now(dt.UTC)

        def work(conn: Any) -> str | None:
            row = rows.by_id(conn, task_id)
            if row is None:
                return None
            return "cancelled" if rows.cancel(conn, task_id, now) else str(row.state)

        state = transact(settings, work)
        if state != "cancelled":
            said = _NONE.format(id=task_id)
            err(f"swarmgate: {said if state is None else f'task {task_id} has ended: {state}'}")
            return 1
        answer = ask(settings.data_dir / "control.sock", {"op": "tasks"})
        row = {"id": task_id, "state": state, "running": bool(answer and answer.get("looks"))}
        show_one(row, f"task {task_id} is cancelled", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


def _short(row: dict[str, Any]) -> dict[str, object]:
    share = row["progress"]
    place = f"waits as {row['position']}" if row["position"] else ""
    return {
        "progress": f"{share:.0%}" if share is not None and row["state"] == "running" else place,
        "begun": f"{row['created']:%Y-%m-%d %H:%M}",
        "summary": (row["summary"] or row["error"])[:SUMMARY_CHARS],
    }


def _cell(value: object) -> str:
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items() if one is not None)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
