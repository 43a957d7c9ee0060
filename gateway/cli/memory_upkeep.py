"""`memory gc` and `memory check`: what the daily upkeep would do, and how memory fares in all."""

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, show, show_one

if TYPE_CHECKING:
    from gateway.memory.upkeep import Plan
    from gateway.settings.settings import Settings

_GC_COLUMNS = ("id", "owner", "kind", "act", "importance", "why")


def check(as_json: Json = False, config: Config = None) -> None:
    """The self-check of memory from what was really sent and stored; figures alone. Exit 1 when something is amiss."""

    def command() -> int:
        from gateway.cli.admin import transact
        from gateway.memory.check import report

        settings = settings_for(config)
        found = transact(settings, lambda conn: report(conn, settings.memory))
        show([asdict(finding) for finding in found], ("id", "ok", "said"), as_json=as_json)
        return 0 if all(finding.ok for finding in found) else 1

    raise typer.Exit(finish(command))


def collect(
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="One person's.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run/--apply", help="Show what would be done, or do it.")
    ] = True,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """What the daily upkeep would archive and shorten now; nothing is changed without --apply."""

    def command() -> int:
        settings = settings_for(config)
        if not settings.memory.keeps_order:
            err(
                "swarmgate: the daily upkeep is off (memory.enabled, memory.tiers); this is by hand"
            )
        if dry_run:
            rows = [row for plan in _kept(settings, user, apply=False) for row in _plan_rows(plan)]
            show(rows, _GC_COLUMNS, as_json=as_json, empty="nothing is due")
            return 0
        done = _kept(settings, user, apply=True)
        show_one(done, ", ".join(f"{name} {n}" for name, n in done.items()), as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


def _kept(settings: "Settings", user: str | None, *, apply: bool) -> Any:
    """The plans of the upkeep, or what it did."""
    import asyncio

    from gateway import preflight
    from gateway.cli.admin import url_for
    from gateway.clock import SystemClock
    from gateway.memory.upkeep import MemoryUpkeep
    from gateway.people.identity import principal_of
    from gateway.storage.schema import open_database

    preflight.require(settings.data_dir)
    settings.data_dir.mkdir(parents=True, exist_ok=True)

    async def once() -> Any:
        database = await open_database(url_for(settings))
        try:
            minder = MemoryUpkeep(database, SystemClock())
            owner = await database.read(partial(principal_of, person=user)) if user else None
            return await (minder.sweep(owner) if apply else minder.plans(owner))
        finally:
            await database.close()

    return asyncio.run(once())


def _plan_rows(plan: "Plan") -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {
            "id": action.id,
            "owner": plan.owner,
            "kind": action.kind,
            "act": action.act,
            "importance": round(action.importance, 4),
            "why": action.why,
        }
        for action in plan.actions
    ]
    return rows + [
        {
            "id": item.id,
            "owner": plan.owner,
            "kind": item.kind,
            "act": item.level,
            "importance": None,
            "why": f"{len(item.before)} → {len(item.after)} characters",
        }
        for item in plan.shorter
    ]
