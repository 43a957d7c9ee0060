"""Administrative commands work on the database directly, beside a running gateway, in short transactions."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gateway.cli.output import said_by_driver
from gateway.settings.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")


def url_for(settings: Settings) -> str:
    """The SQLAlchemy URL of the settings' database."""
    from gateway.storage.db import url_of

    database = settings.database
    return url_of(database.get_secret_value() if database else None, settings.data_dir)


def look(url: str, work: "Callable[[Connection], T]") -> T:
    """Run `work` in a transaction that only reads. Raises DatabaseError when the database cannot be reached."""
    from sqlalchemy.exc import SQLAlchemyError

    from gateway.storage.db import DatabaseError, connect

    async def once() -> T:
        database = connect(url)
        try:
            return await database.read(work)
        except SQLAlchemyError as error:
            said = said_by_driver(error)
            raise DatabaseError(f"the database cannot be read: {said}; check `database`") from error
        finally:
            await database.close()

    return asyncio.run(once())


def transact(settings: Settings, work: "Callable[[Connection], T]") -> T:
    """Run `work` in one write transaction; makes a database where there is none. Raises DatabaseError."""
    from gateway import preflight
    from gateway.storage.schema import open_database

    preflight.require(settings.data_dir)
    settings.data_dir.mkdir(parents=True, exist_ok=True)

    async def once() -> T:
        database = await open_database(url_for(settings))
        try:
            return await database.write(work)
        finally:
            await database.close()

    return asyncio.run(once())
