"""`presets`: which teams there are, and what is wrong with a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, out, show
from gateway.problems import OperatorError, Problem
from gateway.settings import Settings

if TYPE_CHECKING:
    from agent_core.runtime.team import Team
    from swarm_presets.loader import PresetSet

app = typer.Typer(help="Swarm presets: list, validate.", no_args_is_help=True)


def loaded(settings: Settings, *paths: Path) -> "PresetSet":
    """The shipped presets, those of the settings' folder, and further files; the last one wins by name."""
    from agent_core.models.catalog import PROVIDERS
    from gateway.toolbox import toolbox
    from swarm_presets.loader import load_folder

    providers = {*settings.models.providers, *PROVIDERS}
    models = frozenset(f"{name}/*" for name in providers)
    return load_folder([settings.presets_dir, *paths], tools=toolbox().names, models=models)


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """The presets that can be chosen, and those that are broken."""

    def command() -> int:
        settings = settings_for(config)
        presets = loaded(settings)
        rows = [_row(team, settings.preset) for team in presets.teams.values()]
        rows += [{"id": name, "state": "broken"} for name in sorted(presets.broken)]
        show(rows, ("id", "state", "agents", "title"), as_json=as_json)
        return 1 if presets.broken else 0

    raise typer.Exit(finish(command))


@app.command()
def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders; default: everything the gateway would load."),
    ] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Check presets; each finding has its line, a cause and a cure. Exit 1 when there is one."""

    def command() -> int:
        from swarm_presets.problems import render, to_json

        for path in files or ():
            if not path.exists():
                raise OperatorError([Problem("there is no such file or folder", file=str(path))])
        presets = loaded(settings_for(config), *(files or ()))
        asked = _asked(files or [])
        found = [p for p in presets.problems if not files or p.file in asked]
        if as_json:
            rows = [
                {"id": f"{p['file']}:{p['line']}:{p['code']}", **p}
                for p in json.loads(to_json(found))
            ]
            show(rows, (), as_json=True)
        else:
            out(render(found) if found else f"fine: {', '.join(presets.teams)}")
        return 1 if found else 0

    raise typer.Exit(finish(command))


def _row(team: "Team", default: str) -> dict[str, object]:
    return {
        "id": team.name,
        "state": "default" if team.name == default else "ready",
        "agents": ", ".join(team.agents),
        "title": team.title,
        "description": team.description,
    }


def _asked(files: list[Path]) -> set[str]:
    """The names under which findings in these files and folders are told."""
    inside = (child for path in files if path.is_dir() for child in path.iterdir())
    return {path.name for path in (*files, *inside)}
