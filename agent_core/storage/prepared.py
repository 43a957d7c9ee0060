"""Statements on the path of each message, compiled once: what SQLAlchemy does at each execution costs more than SQLite.

A statement is written as any other, with the types of its columns. On SQLite, where a call into the database takes a
few microseconds, its text and the conversions of its values are kept, and the driver is called. On PostgreSQL, where
the way to the server costs the most, it goes the usual way.
"""

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import Compiled, SQLCompiler
from sqlalchemy.sql.expression import ColumnCollection, Executable
from sqlalchemy.types import TypeEngine

Values = Mapping[str, Any]
_Convert = Callable[[Any], Any]


class Found:
    """What an execution brought: all its rows, and how many it has changed (below 0 where that is not known)."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: Sequence[Any], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def first(self) -> Any:
        """The first row, or None. Its columns are attributes."""
        return self._rows[0] if self._rows else None

    def one(self) -> Any:
        """The only row. Raises LookupError where there is none or another."""
        if len(self._rows) != 1:
            raise LookupError(f"one row was expected, {len(self._rows)} were found")
        return self._rows[0]

    def scalar(self) -> Any:
        """The first column of the first row, or None."""
        return self._rows[0][0] if self._rows else None

    def scalars(self) -> list[Any]:
        """The first column of each row."""
        return [row[0] for row in self._rows]


class _Statement(Protocol):
    """What all statements on rows can do."""

    @property
    def exported_columns(self) -> ColumnCollection[str, Any]: ...

    def compile(self, *, dialect: Dialect, column_keys: list[str]) -> Compiled: ...


class Prepared:
    """One statement, or one for each dialect. Its values are bound by name; a list of values executes it for each.

    An INSERT names the columns of the first values that it gets; later ones name the same, or are refused. There are no
    lists of values in it (`in_` of a bound parameter).
    """

    __slots__ = ("_form", "_statement")

    def __init__(self, statement: Executable | Callable[[str], Executable]) -> None:
        self._statement = statement
        self._form: _Form | None = None

    def execute(self, conn: Connection, values: Values | Sequence[Values]) -> Found:
        """Execute it. Raises SQLAlchemy's errors."""
        if conn.dialect.name != "sqlite":
            made = conn.execute(self._of(conn.dialect.name), values)
            return Found(made.all() if made.returns_rows else (), made.rowcount)
        each = values if isinstance(values, list) else [cast("Values", values)]
        form = self._form
        if form is None:
            form = self._form = _Form(self._of("sqlite"), conn.dialect, list(each[0]))
        if len(each[0]) != form.given:
            raise TypeError(f"{form.given} values were expected, {len(each[0])} given: {form.text}")
        raw = cast("sqlite3.Connection", conn.connection.driver_connection)
        try:
            if len(each) == 1:
                cursor = raw.execute(form.text, form.bound(each[0]))
            else:
                cursor = raw.executemany(form.text, [form.bound(one) for one in each])
            return Found(form.rows(cursor.fetchall()), cursor.rowcount)
        except sqlite3.Error as e:
            raise DBAPIError.instance(
                form.text, None, e, sqlite3.Error, dialect=conn.dialect
            ) from e

    def _of(self, dialect: str) -> Executable:
        if callable(self._statement):
            return self._statement(dialect)
        return self._statement


class _Form:
    """A statement as SQLite's driver takes it."""

    __slots__ = ("_binds", "_converts", "_row", "given", "text")

    def __init__(self, statement: Executable, dialect: Dialect, given: list[str]) -> None:
        known = cast("_Statement", statement)
        made = known.compile(dialect=dialect, column_keys=given)
        assert isinstance(made, SQLCompiler)  # noqa: S101 - statements on rows have no other
        assert not made.post_compile_params  # noqa: S101 - see Prepared
        self.text, self.given = made.string, len(given)
        self._binds = [_bind(made, name, given, dialect) for name in made.positiontup or ()]
        columns = list(known.exported_columns)
        converts = [_type(c.type, dialect).result_processor(dialect, None) for c in columns]
        self._converts = [(at, convert) for at, convert in enumerate(converts) if convert]
        names = [c.key or "" for c in columns]
        row: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc] # they are the statement's
        self._row: Callable[[Sequence[Any]], Any] = row._make

    def bound(self, values: Values) -> list[Any]:
        """The values in the order of the text."""
        return [
            fixed if name is None else convert(values[name]) if convert else values[name]
            for name, convert, fixed in self._binds
        ]

    def rows(self, found: list[tuple[Any, ...]]) -> list[Any]:
        """What the driver found, with the types of the columns."""
        if not self._converts:
            return [self._row(row) for row in found]
        made = []
        for row in found:
            fields = list(row)
            for at, convert in self._converts:
                fields[at] = convert(fields[at])
            made.append(self._row(fields))
        return made


def _bind(
    made: SQLCompiler, name: str, given: list[str], dialect: Dialect
) -> tuple[str | None, _Convert | None, Any]:
    """The name of a value that executions bring and its conversion; of one that is the statement's own, the value."""
    convert = _type(made.binds[name].type, dialect).bind_processor(dialect)
    if name in given:
        return name, convert, None
    value = made.params[name]
    return None, None, convert(value) if convert else value


def _type(of: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    return of.dialect_impl(dialect)
