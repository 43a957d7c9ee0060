"""`presets`: which teams there are, what is wrong with a file, what a preset comes to, and a start for a new one."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway import telemetry
from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, out, show
from gateway.problems import OperatorError, Problem
from gateway.settings.settings import Settings

if TYPE_CHECKING:
    from agent_core.runtime.team import Team
    from swarm_presets.loader import PresetSet
    from swarm_presets.positions import Mapping
    from swarm_presets.problems import Problem as Finding

app = typer.Typer(
    help="Swarm presets: list, validate, explain, compare, plan, test, begin.", no_args_is_help=True
)
Form = Literal["text", "json", "sarif", "github"]
Name = Annotated[str, typer.Argument(help="Name of a preset.")]


def loaded(settings: Settings, *paths: Path, schema_only: bool = False) -> "PresetSet":
    """The shipped presets, those of the settings' folder, and further files; the last one wins by name."""
    from gateway.mcp.house import join_known
    from gateway.presets.team_house import load_presets
    from gateway.toolbox import toolbox

    tools = join_known(settings, toolbox())
    return load_presets(settings, tools, *paths, schema_only=schema_only)


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """The presets that can be chosen, those to be extended, and those that are broken."""

    def command() -> int:
        settings = settings_for(config)
        presets = loaded(settings)
        rows = [_row(team, settings.preset) for team in presets.teams.values()]
        rows += [{"id": name, "state": "abstract"} for name in sorted(presets.abstract)]
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
    form: Annotated[Form, typer.Option("--format", help="How findings are printed.")] = "text",
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Check presets; each finding has its line, a cause and a cure. Exit 1 when there is an error."""

    def command() -> int:
        for path in files or ():
            if not path.exists():
                raise OperatorError([Problem("there is no such file or folder", file=str(path))])
        presets = loaded(settings_for(config), *(files or ()))
        asked = _asked(files or [])
        found = [p for p in presets.problems if not files or p.path in asked]
        fine = [
            name
            for name in _names(presets, abstract=bool(files))
            if not files or presets.files[name] in asked
        ]
        if files and not found and not fine:
            cure = "name a file of YAML, or a folder with some"
            raise OperatorError([Problem("there is no preset in it", cure, file=str(files[0]))])
        _print(found, "json" if as_json else form, ", ".join(fine))
        return 1 if any(p.severity == "error" for p in found) else 0

    raise typer.Exit(finish(command))


def _print(found: "list[Finding]", form: Form, names: str) -> None:
    from swarm_presets.formats import to_github, to_sarif
    from swarm_presets.problems import render, to_json

    match form:
        case "json":
            rows = [
                {"id": f"{p['file']}:{p['line']}:{p['code']}", **p}
                for p in json.loads(to_json(found))
            ]
            show(rows, (), as_json=True)
        case "sarif":
            out(to_sarif(found, Path.cwd()))
        case "github":
            if found:
                out(to_github(found, Path.cwd()))
        case "text":
            if found:
                out(render(found))
            if all(p.severity == "warning" for p in found):
                out(f"fine: {names}")


def _names(presets: "PresetSet", *, abstract: bool = False) -> list[str]:
    return [name for name in presets.trees if abstract or name not in presets.abstract]


@app.command()
def explain(name: Name, as_json: Json = False, config: Config = None) -> None:
    """A preset with all that it inherits, and the file and line that each value came from."""

    def command() -> int:
        from swarm_presets import explain as explained

        tree = _tree(loaded(settings_for(config), schema_only=True), name)
        if as_json:
            rows = [{"id": v.path, **asdict(v)} for v in explained.values(tree)]
            show(rows, (), as_json=True)
        else:
            out(explained.explain(tree))
        return 0

    raise typer.Exit(finish(command))


@app.command()
def diff(
    left: Annotated[str, typer.Argument(help="Name of a preset.")],
    right: Annotated[str, typer.Argument(help="Name of another one.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Where two presets differ once everything is inherited. Exit 1 when they do."""

    def command() -> int:
        from swarm_presets.explain import differences, shown

        presets = loaded(settings_for(config), schema_only=True)
        found = differences(_tree(presets, left), _tree(presets, right))
        if not as_json:
            out(shown(found) or "no difference")
            return 1 if found else 0
        rows = [
            {
                "id": d.path,
                left: d.left.value if d.left else None,
                right: d.right.value if d.right else None,
                "where": ", ".join(f"{v.file}:{v.line}" for v in (d.left, d.right) if v),
            }
            for d in found
        ]
        show(rows, (), as_json=True)
        return 1 if found else 0

    raise typer.Exit(finish(command))


@app.command()
def plan(name: Name, as_json: Json = False, config: Config = None) -> None:
    """The most that one run may use: tokens, dollars, time; per worker and as a whole."""

    def command() -> int:
        from gateway.cli.preset_plan import plan_rows

        settings = settings_for(config)
        tree = _tree(loaded(settings, schema_only=True), name)
        rows, note = plan_rows(settings, tree)
        columns = ("id", "model", "times", "calls", "input_tokens", "output_tokens", "usd", "time")
        show(rows, columns, as_json=as_json)
        if note and not as_json:
            out(note)
        return 0

    raise typer.Exit(finish(command))


@app.command("eval")
def evaluate(
    name: Annotated[
        str | None, typer.Argument(help="Name of a preset; default: all that have cases.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="demo, replay, auto or PROVIDER/MODEL in place of every model; default: the case's own, else demo."
        ),
    ] = "",
    record: Annotated[
        bool, typer.Option("--record", help="Keep what models say, for `--model replay`.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Run the cases of presets, each on a database that is thrown away. Exit 1 when one fails."""
    logs = telemetry.start(quiet=True)

    def command() -> int:
        from gateway.cli.preset_eval import run_evals

        settings = settings_for(config)
        logs.redactor.known(settings.secrets())
        return run_evals(
            settings, loaded(settings), name, model=model, record=record, as_json=as_json
        )

    raise typer.Exit(finish(command))


@app.command()
def new(
    name: Name,
    parent: Annotated[str, typer.Option("--from", help="The preset to extend.")] = "solo",
    config: Config = None,
) -> None:
    """Begin a preset that extends another one; it runs as it is. Nothing that exists is overwritten."""

    def command() -> int:
        from gateway.cli.preset_new import write_new

        settings = settings_for(config)
        tree = _tree(loaded(settings, schema_only=True), parent)
        file = write_new(settings.presets_dir, name, parent, tree)
        out(f"wrote {file}")
        out(f"next: edit it, then swarmgate presets validate {file}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def schema(
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it there; default: print it.")
    ] = None,
) -> None:
    """The JSON Schema of preset files, for editors."""

    def command() -> int:
        from swarm_presets.schema import schema_text

        if file is None:
            out(schema_text().rstrip("\n"))
        else:
            file.write_text(schema_text(), encoding="utf-8")
            out(f"wrote {file}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def migrate(config: Config = None) -> None:
    """Bring preset files to the newest version of their schema. There is one version: nothing changes."""

    def command() -> int:
        presets = loaded(settings_for(config), schema_only=True)
        old = [
            p for p in presets.problems if p.code in {"SW102", "SW104"} and "version" in p.message
        ]
        if old:
            out("\n".join(f"{p.file}:{p.line}: {p.message}: {p.cure}" for p in old))
            return 1
        out("nothing to do: every preset has version 1")
        return 0

    raise typer.Exit(finish(command))


def _tree(presets: "PresetSet", name: str) -> "Mapping":
    """A preset without errors, resolved. Raises OperatorError with what is wrong with it."""
    if name in presets.trees:
        return presets.trees[name]
    found = [p for p in presets.found.get(name, ()) if p.severity == "error"]
    if found:
        raise OperatorError([Problem(p.message, p.cure, p.file, p.line, p.column) for p in found])
    cure = f"use one of: {', '.join(presets.trees)}"
    raise OperatorError([Problem(f"there is no preset {name!r}", cure)])


def _row(team: "Team", default: str) -> dict[str, object]:
    return {
        "id": team.name,
        "state": "default" if team.name == default else "ready",
        "agents": ", ".join(team.agents),
        "title": team.title,
        "description": team.description,
    }


def _asked(files: list[Path]) -> set[str]:
    """The paths of these files and of those in these folders."""
    inside = (child for path in files if path.is_dir() for child in path.iterdir())
    return {str(path) for path in (*files, *inside)}
