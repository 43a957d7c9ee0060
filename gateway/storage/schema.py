"""The database's schema: created for an empty database, checked at each start, moved by `swarmgate migrate`.

`alembic_version` holds the revision. A start reads one row and imports no Alembic; only `migrate` does.

Migrations expand first and contract later: what a version adds, the versions before it do not look at, and what is
taken away is taken a version later. So the schema moves first and the gateways after it, one by one, and a version can
be taken back without taking the schema back. `schema_floor` says how far.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, create_engine, inspect, text
from sqlmodel import SQLModel

import agent_core.storage.tables_budget
import agent_core.storage.tables_memory
import agent_core.storage.tables_orders
import agent_core.storage.tables_prices
import agent_core.storage.tables_recall  # noqa: F401 - these fill the metadata
import gateway.storage.tables
import gateway.storage.tables_console
import gateway.storage.tables_evals
import gateway.storage.tables_tasks
import gateway.storage.tables_web  # noqa: F401
from gateway.storage.db import Database, DatabaseError, connect
from gateway.storage.job_tables import install

if TYPE_CHECKING:
    from alembic.config import Config

log = logging.getLogger(__name__)
SCHEMA_LOCK = 0x53777363  # "Swsc", an arbitrary key of ours
HEAD = "0019"
# Every revision, oldest first; a test holds this to the migrations.
KNOWN = tuple(f"{number:04}" for number in range(1, 20))
FLOOR = "0014"  # of a schema that is created: the oldest code that may run on it
MIGRATIONS = Path(__file__).parents[1] / "migrations"


def revision(conn: Connection) -> str | None:
    """The database's revision; None when it is empty."""
    if not inspect(conn).has_table("alembic_version"):
        return None
    return conn.execute(text("select version_num from alembic_version")).scalar()


def prepare(conn: Connection) -> None:
    """Create the schema in an empty database; refuse an older or a newer one with the cure."""
    found = revision(conn)
    if found is None:
        _one_at_a_time(conn)  # two gateways may start on an empty database at once
        found = revision(conn)
    if found is None:
        _create(conn)
        return
    if found == HEAD:
        return
    if found in KNOWN:
        raise DatabaseError(
            f"the database has schema {found}, this version needs {HEAD}; run: swarmgate migrate"
        )
    if not usable(conn, found):
        raise DatabaseError(
            f"the database has schema {found}, which a newer swarmgate wrote; update swarmgate, or restore a backup"
        )
    log.warning("schema_is_newer", extra={"schema": found, "own": HEAD})


def usable(conn: Connection, found: str) -> bool:
    """Whether this version's code may run on a schema: its own, or a later one that has only added to it."""
    if found == HEAD:
        return True
    if found in KNOWN or not inspect(conn).has_table("schema_floor"):
        return False
    floor = conn.execute(text("select min(oldest) from schema_floor")).scalar()
    return floor is not None and floor <= HEAD


def _one_at_a_time(conn: Connection) -> None:
    """Until the end of the transaction. SQLite's writers are one at a time anyway."""
    if conn.dialect.name == "postgresql":
        conn.execute(text("select pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})


def _create(conn: Connection) -> None:
    strangers = set(inspect(conn).get_table_names()) & set(SQLModel.metadata.tables)
    if strangers:
        raise DatabaseError(
            f"the database has tables of ours ({min(strangers)}) but no revision; use an empty database or a backup"
        )
    SQLModel.metadata.create_all(conn)
    install(conn)
    conn.execute(
        text(
            "create table alembic_version (version_num varchar(32) not null,"
            " constraint alembic_version_pkc primary key (version_num))"
        )
    )
    conn.execute(text("insert into alembic_version (version_num) values (:v)"), {"v": HEAD})
    conn.execute(text("insert into schema_floor (oldest) values (:v)"), {"v": FLOOR})


async def open_database(url: str) -> Database:
    """A database that is ready to use: schema created or found equal."""
    database = connect(url)
    try:
        await database.write(prepare)
    except BaseException:
        await database.close()
        raise
    return database


def alembic_config(url: str) -> "Config":
    """Alembic's configuration for the shipped migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def migrate(url: str, target: str = "head") -> tuple[str | None, str]:
    """Move the database to a revision.

    Returns (before, after). Blocking; not for the event loop. Of several callers on one PostgreSQL one moves it, the
    others find it done. A later schema that this version can run on is left as it is.
    """
    from alembic import command

    engine = create_engine(url)
    try:
        with engine.connect() as conn:
            _one_at_a_time(conn)  # open until the end; the migration has a transaction of its own
            before = revision(conn)
            later = before is not None and before not in KNOWN
            if before is not None and later and target == "head" and usable(conn, before):
                return before, before
            if later:
                raise DatabaseError(
                    f"the database has schema {before}, which a newer swarmgate wrote; update swarmgate first"
                )
            if conn.dialect.name == "sqlite":
                conn.rollback()  # its readers would hold up what changes tables
            if target == "base" or (target != "head" and before is not None and target < before):
                command.downgrade(alembic_config(url), target)
            else:
                command.upgrade(alembic_config(url), target)
        with engine.connect() as conn:
            return before, revision(conn) or ""
    finally:
        engine.dispose()
