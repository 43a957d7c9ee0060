"""The database: there, of this version, and ready to take what people write."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from gateway.cli.admin import url_for
from gateway.cli.output import said_by_driver
from gateway.doctor.findings import Finding, Mend, fail, ok, warn
from gateway.doctor.ground import Ground
from gateway.doctor.machine import standing
from gateway.problems import Problem
from gateway.storage.db import DatabaseError, connect
from gateway.storage.schema import HEAD, KNOWN, migrate, revision, usable

KEY = "database"
CONNECTIONS = 18  # of one gateway, at most
OLDEST_POSTGRES = 13  # of procrastinate
REMOTE = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "glusterfs", "ceph", "lustre", "afs")
_WRITE = "update alembic_version set version_num = version_num where 1 = 0"  # locks as a write does


@dataclass(frozen=True, slots=True)
class State:
    """What was seen. `schema` None: empty. `engine` is its name and version for people."""

    schema: str | None
    fits: bool
    engine: str
    journal: str = ""
    connections: int = 0
    major: int = 0


def reachable(ground: Ground) -> Iterator[Finding]:
    """Asks for the schema and the engine, and begins a write that changes nothing."""
    url = url_for(ground.settings)
    if url.startswith("sqlite") and not (ground.settings.data_dir / "swarmgate.db").exists():
        yield ok(KEY, "SQLite, made at the first start")
        return
    try:
        state = asyncio.run(_seen(url))
    except DatabaseError as error:
        yield fail(KEY, Problem(str(error)))
        return
    except SQLAlchemyError as error:
        cure = "check `database` and `data_dir`, and that nothing else holds them"
        yield fail(KEY, Problem(f"the database cannot be used: {said_by_driver(error)}", cure))
        return
    wrong = list(_wrong(url, state))
    yield from wrong
    if not wrong:
        empty = "empty, filled at the first start"
        schema = f"schema {state.schema}, writable" if state.schema else empty
        yield ok(KEY, f"{state.engine}, {schema}")


def _wrong(url: str, state: State) -> Iterator[Finding]:
    if not state.fits:
        older = state.schema in KNOWN
        message = f"has schema {state.schema}, this version needs {HEAD}"
        cure = "swarmgate migrate" if older else "update swarmgate, or restore a backup"
        mend = Mend(f"migrated to schema {HEAD}", lambda: migrate(url), asked=True)
        yield fail(
            "database.schema", Problem(message, cure, "the database"), mend if older else None
        )
    if state.journal not in {"", "wal"}:
        cure = "move data_dir to a local disk"
        message = f"SQLite cannot keep a write-ahead log here (its journal is {state.journal})"
        yield fail("database.journal", Problem(message, cure, key="data_dir"))
    if state.major and state.major < OLDEST_POSTGRES:
        cure = f"update it to PostgreSQL {OLDEST_POSTGRES} or newer"
        yield fail("database.version", Problem(f"{state.engine} is too old", cure, key=KEY))
    if state.connections and state.connections < CONNECTIONS:
        cure = f"raise max_connections: {CONNECTIONS} for each gateway"
        message = f"the server takes {state.connections} connections in all"
        yield warn("database.connections", Problem(message, cure, key=KEY))


def place(ground: Ground) -> Iterator[Finding]:
    """SQLite's locks do not hold on network file systems."""
    settings = ground.settings
    kind = ground.machine.file_system(standing(settings.data_dir))
    if settings.database is None and kind.startswith(REMOTE):
        message = f"SQLite lies on a network file system ({kind}), where its locks do not hold"
        cure = "move data_dir to a local disk, or use PostgreSQL"
        yield fail("database.place", Problem(message, cure, str(settings.data_dir), key="data_dir"))


async def _seen(url: str) -> State:
    database = connect(url)
    try:
        look = _sqlite if database.dialect == "sqlite" else _postgres
        state = await database.read(look)
        if state.schema is not None:
            await database.write(lambda conn: conn.execute(text(_WRITE)))
        return state
    finally:
        await database.close()


def _sqlite(conn: Connection) -> State:
    version = conn.execute(text("select sqlite_version()")).scalar_one()
    journal = conn.execute(text("pragma journal_mode")).scalar_one()
    return State(*_schema(conn), f"SQLite {version}", journal=journal)


def _postgres(conn: Connection) -> State:
    version = conn.execute(text("show server_version")).scalar_one()
    number = int(conn.execute(text("show server_version_num")).scalar_one())
    most = int(conn.execute(text("show max_connections")).scalar_one())
    name = f"PostgreSQL {version.split()[0]}"
    return State(*_schema(conn), name, connections=most, major=number // 10_000)


def _schema(conn: Connection) -> tuple[str | None, bool]:
    found = revision(conn)
    return found, found is None or usable(conn, found)
