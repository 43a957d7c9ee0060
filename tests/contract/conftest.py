"""Shared engines on a PostgreSQL of their own."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.engines import Make, shared_rigs
from tests.databases import PreparedPostgres, for_sqlalchemy


@pytest.fixture
def address(prepared_postgres: PreparedPostgres) -> Iterator[str]:
    """A database with the schema. Taken before a loop runs, since that may have to prepare it."""
    address = prepared_postgres.take()
    yield for_sqlalchemy(address)
    prepared_postgres.give_back(address)


@pytest.fixture
async def make(address: str) -> AsyncIterator[Make]:
    """Makes shared engines on it."""
    async with shared_rigs(address) as made:
        yield made
