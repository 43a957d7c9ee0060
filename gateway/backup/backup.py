"""Making a backup beside a running gateway: one snapshot of the database, streamed, and the files of `data_dir`.

The snapshot is a transaction that only reads (SQLite's write-ahead log, PostgreSQL's REPEATABLE READ), so turns go on
and the rows fit together. Files are copied after it; one that a turn writes meanwhile may be newer than the rows.
"""

import datetime as dt
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from gateway.backup import files
from gateway.backup.archive import FORMAT, BackupError, Manifest, Writer
from gateway.backup.tables import dump, tables
from gateway.storage.schema import KNOWN, revision


def backup(url: str, data_dir: Path, path: Path, *, version: str, now: dt.datetime) -> Manifest:
    """Write the archive. Blocking. Raises BackupError; nothing is left at `path` then."""
    if url.startswith("sqlite") and not Path(url.removeprefix("sqlite:///")).exists():
        cure = "check data_dir and -c FILE"
        raise BackupError("there is no database yet", cure, url.removeprefix("sqlite:///"))
    engine = _engine(url)
    try:
        with engine.connect() as conn, Writer(path) as archive:
            if conn.dialect.name == "sqlite":
                conn.exec_driver_sql("BEGIN")
            schema = _schema(conn)
            for table in tables(conn):
                archive.table(table.name, list(table.columns.keys()), dump(conn, table))
            for name, file in files.kept(data_dir, path.resolve()):
                archive.file(name, file)
            dialect, made_at = conn.dialect.name, now.isoformat(timespec="seconds")
            return archive.finish(Manifest(FORMAT, version, schema, dialect, made_at))
    except SQLAlchemyError as e:
        said = str(getattr(e, "orig", e)).strip().split("\n")[0]
        raise BackupError(f"the database cannot be read: {said}", "check `database`") from e
    finally:
        engine.dispose()


def _schema(conn: Connection) -> str:
    found = revision(conn)
    if found is None:
        raise BackupError("the database is empty", "start the gateway once, or check `database`")
    if found not in KNOWN:
        cure = "make the backup with that version"
        raise BackupError(f"a newer swarmgate wrote this database (schema {found})", cure)
    return found


def _engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(
            url,
            isolation_level="REPEATABLE READ",
            execution_options={"postgresql_readonly": True},
            connect_args={"connect_timeout": 10},
        )
    engine = create_engine(url, connect_args={"timeout": 10.0})

    @event.listens_for(engine, "connect")
    def _plain(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # BEGIN is ours: the snapshot begins with it

    return engine
