"""Alembic's entry: one transaction for each run, the models' metadata as the target."""

from alembic import context
from sqlalchemy import create_engine, pool
from sqlmodel import SQLModel

import agent_core.storage.tables_memory
import agent_core.storage.tables_orders
import agent_core.storage.tables_prices
import agent_core.storage.tables_recall  # noqa: F401 - these fill the metadata
import gateway.storage.tables
import gateway.storage.tables_console
import gateway.storage.tables_tasks  # noqa: F401
from gateway.storage.job_tables import is_foreign


def run() -> None:
    """Run migrations on the database of the configuration."""
    url = context.config.get_main_option("sqlalchemy.url") or ""
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=SQLModel.metadata,
            render_as_batch=connection.dialect.name == "sqlite",
            compare_type=True,
            include_name=lambda name, kind, _: not (kind == "table" and is_foreign(name)),
        )
        with context.begin_transaction():
            context.run_migrations()
    engine.dispose()


run()
