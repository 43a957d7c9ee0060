"""Bringing a backup back: checked as a whole first, put in place as a whole last.

SQLite gets a new file, which takes the old one's place when it is complete; PostgreSQL gets everything in one
transaction. The same archive fits both, so this is also how a gateway moves from one to the other. An archive of an
earlier schema is loaded as it is and then migrated.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, create_engine, inspect
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from gateway.backup import files
from gateway.backup.archive import BackupError, Manifest, Reader
from gateway.backup.tables import broken_links, clear, go_on_counting, is_empty, load, tables
from gateway.storage.db import connect
from gateway.storage.schema import HEAD, KNOWN, migrate, prepare, revision


@dataclass(frozen=True, slots=True)
class Place:
    """Where to. `url` is SQLAlchemy's."""

    url: str
    data_dir: Path

    @property
    def sqlite(self) -> Path | None:
        """The file of a SQLite database."""
        prefix = "sqlite:///"
        return Path(self.url.removeprefix(prefix)) if self.url.startswith(prefix) else None


def restore(place: Place, path: Path, *, yes: bool) -> Manifest:
    """Bring an archive back. Blocking. `yes`: what is there may go.

    Raises BackupError, and DatabaseError where a gateway runs or the database cannot be reached; what was there before
    is there still then, but for a PostgreSQL whose schema is not the archive's: its tables are made anew first.
    """
    with Reader(path) as archive:
        schema = archive.manifest.schema
        if schema not in KNOWN:
            cure = "update swarmgate, then restore it"
            message = f"was made by a newer swarmgate (schema {schema}, this one knows {HEAD})"
            raise BackupError(message, cure, str(path))
        archive.verify()
        place.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        return asyncio.run(_alone(place, archive, yes=yes))


async def _alone(place: Place, archive: Reader, *, yes: bool) -> Manifest:
    """With the engine role, so that no gateway runs meanwhile."""
    if place.sqlite is not None:
        place.sqlite.parent.mkdir(parents=True, exist_ok=True)
    database = connect(place.url)
    try:
        await database.lock_engine()
        return await asyncio.to_thread(_restore, place, archive, yes=yes)
    finally:
        await database.close()


def _restore(place: Place, archive: Reader, *, yes: bool) -> Manifest:
    if not yes and not _is_free(place):
        where = str(place.sqlite or "the database")
        raise BackupError("is not empty", "add --yes to replace everything that is there", where)
    try:
        with files.Stage(archive, place.data_dir) as stage:
            if place.sqlite is not None:
                _into_file(place.sqlite, archive)
            else:
                _into_server(place.url, archive)
            stage.put()
    except (IntegrityError, DataError, KeyError, ValueError) as e:
        raise archive.damaged() from e
    except SQLAlchemyError as e:
        said = str(getattr(e, "orig", e)).strip().split("\n")[0]
        raise BackupError(f"the database cannot be written: {said}", "check `database`") from e
    return archive.manifest


def _is_free(place: Place) -> bool:
    """Whether nothing would get lost: no rows, and no workspaces. Keys that a start makes do not count."""
    if any("/" in path for path, _ in files.kept(place.data_dir)):
        return False
    if place.sqlite is not None and not place.sqlite.exists():
        return True
    engine = create_engine(place.url)
    try:
        with engine.connect() as conn:
            return is_empty(conn)
    finally:
        engine.dispose()


def _into_file(file: Path, archive: Reader) -> None:
    """Fill a new file, then let it take the place of the old one."""
    new = file.with_name(f"{file.name}.part")
    _remove(new)
    url = f"sqlite:///{new}"
    try:
        _make_schema(url, archive.manifest.schema)
        engine = create_engine(url)
        try:
            with engine.begin() as conn:
                _fill(conn, archive)
                if broken_links(conn):
                    raise archive.damaged()
        finally:
            engine.dispose()
        _go_to_head(url, archive.manifest.schema)
        new.chmod(0o600)
        _remove(file)
        new.rename(file)
    finally:
        _remove(new)


def _remove(file: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + end).unlink(missing_ok=True)


def _into_server(url: str, archive: Reader) -> None:
    """Replace all rows in one transaction.

    Only where one of the two schemas is an earlier one are the tables made anew before that.
    """
    schema = archive.manifest.schema
    engine = create_engine(url, connect_args={"connect_timeout": 10})
    try:
        with engine.connect() as conn:
            found = revision(conn)
        if found is not None and found != schema:
            migrate(url, "base")
        if found != schema:
            _make_schema(url, schema)
        with engine.begin() as conn:
            clear(conn)
            go_on_counting(conn, _fill(conn, archive))
    finally:
        engine.dispose()
    _go_to_head(url, schema)


def _make_schema(url: str, schema: str) -> None:
    if schema != HEAD:
        migrate(url, schema)
        return
    engine: Engine = create_engine(url)
    try:
        with engine.connect() as conn:
            left_behind = revision(conn) is None and _has_version_table(conn)
        if left_behind:  # Alembic's own table stays when everything is taken back
            migrate(url, schema)
            return
        with engine.begin() as conn:
            prepare(conn)
    finally:
        engine.dispose()


def _has_version_table(conn: Connection) -> bool:
    return inspect(conn).has_table("alembic_version")


def _go_to_head(url: str, schema: str) -> None:
    if schema != HEAD:
        migrate(url)


def _fill(conn: Connection, archive: Reader) -> list[Table]:
    """Load every table of the archive; all tables that there are."""
    there = {table.name: table for table in tables(conn)}
    for name in archive.manifest.tables:
        columns, rows = archive.table(name)
        if load(conn, there[name], columns, rows) != archive.manifest.rows[name]:
            raise archive.damaged()
    return list(there.values())
