"""`backup` and `restore`: everything in one file, and back, on either database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, show_one

if TYPE_CHECKING:
    from gateway.backup.archive import Manifest

File = Annotated[Path, typer.Argument(metavar="FILE", help="The archive.", dir_okay=False)]


def backup(file: File, as_json: Json = False, config: Config = None) -> None:
    """Write the database and the files of data_dir into one file, beside a running gateway."""

    def command() -> int:
        from importlib.metadata import version

        from gateway.backup.backup import backup as make
        from gateway.cli.admin import url_for
        from gateway.clock import SystemClock

        settings = settings_for(config)
        made = make(
            url_for(settings),
            settings.data_dir,
            file,
            version=version("swarmgate"),
            now=SystemClock().now(),
        )
        _tell(f"{file} holds", made, as_json=as_json, file=file)
        return 0

    raise typer.Exit(finish(command))


def restore(
    file: File,
    yes: Annotated[
        bool, typer.Option("--yes", help="Replace everything that is there now.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Bring a backup back into the settings' database, of either kind, and data_dir. Stop the gateway first."""

    def command() -> int:
        from gateway import preflight
        from gateway.backup.restore import Place
        from gateway.backup.restore import restore as bring_back
        from gateway.cli.admin import url_for

        settings = settings_for(config)
        preflight.require(settings.data_dir)
        found = bring_back(Place(url_for(settings), settings.data_dir), file, yes=yes)
        _tell("restored", found, as_json=as_json, file=file)
        return 0

    raise typer.Exit(finish(command))


def _tell(begin: str, manifest: "Manifest", *, as_json: bool, file: Path) -> None:
    rows, files = sum(manifest.rows.values()), len(manifest.files)
    row = {
        "id": str(file),
        "made_at": manifest.made_at,
        "version": manifest.version,
        "schema": manifest.schema,
        "database": manifest.dialect,
        "rows": rows,
        "files": files,
    }
    sentence = (
        f"{begin} {rows} rows and {files} files, schema {manifest.schema}, of {manifest.made_at}"
    )
    show_one(row, sentence, as_json=as_json)
