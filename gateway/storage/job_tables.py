"""The tables of procrastinate, the job engine that gateways on one PostgreSQL share. SQLite has none of them.

Its schema is its own: installed as the pinned version ships it, and removed by name. A version that changes it comes
with a revision of ours.
"""

from sqlalchemy import Connection, text

PREFIX = "procrastinate_"
_INSTALL_LOCK = 0x53776A62  # "Swjb", an arbitrary key of ours
_THERE = text("select to_regclass('procrastinate_jobs') is not null")
_CHURN = (
    "alter table {} set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500)"
)

# Rows come and go by the thousand; functions and types are found by their names.
_FUNCTIONS = text(
    "select p.oid::regprocedure::text from pg_proc p"
    " where p.pronamespace = current_schema()::regnamespace and p.proname like 'procrastinate\\_%'"
)
_TYPES = text(
    "select t.oid::regtype::text from pg_type t where t.typnamespace = current_schema()::regnamespace"
    " and t.typname like 'procrastinate\\_%' and t.typtype in ('e', 'c')"
    " and not exists (select 1 from pg_class c where c.oid = t.typrelid and c.relkind <> 'c')"
)
_TABLES = (
    "procrastinate_events",
    "procrastinate_periodic_defers",
    "procrastinate_jobs",
    "procrastinate_workers",
)


def install(conn: Connection) -> bool:
    """Create the tables where they are missing, in this transaction.

    False where there is nothing to install: on SQLite, or without procrastinate (the extra `postgres`).
    """
    if conn.dialect.name != "postgresql":
        return False
    try:
        from procrastinate.schema import SchemaManager
    except ModuleNotFoundError:
        return False
    conn.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _INSTALL_LOCK})
    if not conn.execute(_THERE).scalar():
        conn.exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))
        for table in ("procrastinate_jobs", "procrastinate_events"):
            conn.exec_driver_sql(_CHURN.format(table))
    return True


def remove(conn: Connection) -> None:
    """Drop all of it. Jobs only point to rows, so nothing of a conversation is lost."""
    if conn.dialect.name != "postgresql":
        return
    for table in _TABLES:
        conn.exec_driver_sql(f"drop table if exists {table} cascade")
    for name in conn.execute(_FUNCTIONS).scalars().all():
        conn.exec_driver_sql(f"drop function if exists {name} cascade")
    for name in conn.execute(_TYPES).scalars().all():
        conn.exec_driver_sql(f"drop type if exists {name} cascade")


def is_foreign(name: str | None) -> bool:
    """Whether a table is procrastinate's, which Alembic must not want to drop."""
    return name is not None and name.startswith(PREFIX)
