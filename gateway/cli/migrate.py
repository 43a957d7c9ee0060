"""`migrate`: the database's schema, brought to this version's."""

from pathlib import Path

from gateway.cli.config import settings_for
from gateway.cli.output import finish, show_one


def upgrade(config: Path | None, *, as_json: bool) -> int:
    """Create or upgrade the schema; tells what it was and what it is."""

    def command() -> int:
        from gateway import preflight
        from gateway.cli.admin import url_for
        from gateway.storage.schema import migrate

        settings = settings_for(config)
        preflight.require(settings.data_dir)
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        before, after = migrate(url_for(settings))
        row = {"id": after, "before": before, "after": after}
        same = f"the database is at schema {after} already"
        moved = f"the database went from schema {before or 'none'} to {after}"
        show_one(row, same if before == after else moved, as_json=as_json)
        return 0

    return finish(command)
