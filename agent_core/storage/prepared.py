"""Statements on the path of each message, compiled once: what SQLAlchemy does at each execution costs more than SQLite.

A statement is written as any other, with the types of its columns. Its text and the conversions of its values are kept,
and the driver is called: SQLite's as it is, PostgreSQL's through the cursor with which SQLAlchemy waits for it. There a
small statement takes half the time of the usual way, the way to the server included.
"""

import asyncio
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, cast

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import Compiled, SQLCompiler
from sqlalchemy.sql.expression import ColumnCollection, Executable
from sqlalchemy.types import TypeEngine

Values = Mapping[str, Any]
_Convert = Callable[[Any], Any]
_Bind = tuple[str | None, _Convert | None, Any]  # a value's name and conversion, or the value


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

    __slots__ = ("_forms", "_statement")

    def __init__(self, statement: Executable | Callable[[str], Executable]) -> None:
        self._statement = statement
        self._forms: dict[str, _Form] = {}

    def execute(self, conn: Connection, values: Values | Sequence[Values]) -> Found:
        """Execute it. Raises SQLAlchemy's errors."""
        each = values if isinstance(values, list) else [cast("Values", values)]
        form = self._form(conn, each[0])
        if conn.dialect.name == "sqlite":
            return _on_sqlite(conn, form, each)
        return self._on_server(conn, form, form.text, [form.named(one) for one in each], each[0])

    def given(self, values: Values) -> "Change":
        """The statement with its values, to be executed beside others (`together`)."""
        return Change(self, values)

    def _form(self, conn: Connection, values: Values) -> "_Form":
        name = conn.dialect.name
        form = self._forms.get(name)
        if form is None:
            form = self._forms[name] = _Form(self._of(name), conn.dialect, list(values))
        if len(values) != form.given:
            raise TypeError(f"{form.given} values were expected, {len(values)} given: {form.text}")
        return form

    def _on_server(
        self, conn: Connection, form: "_Form", text: str, named: list[Values], values: Values
    ) -> Found:
        """Execute `text`, which may be more than this statement; `values` are this one's own."""
        dialect, raw = conn.dialect, conn.connection
        try:
            cursor = raw.cursor()
            if len(named) == 1:
                cursor.execute(text, named[0])
            else:
                cursor.executemany(text, named)
            found = cursor.fetchall() if form.returns and len(named) == 1 else []
            return Found(form.rows(found), cursor.rowcount)
        except dialect.loaded_dbapi.Error as e:
            if dialect.is_disconnect(e, raw, None):
                # SQLAlchemy finds that out as well, and forgets what else its pool has from before.
                conn.execute(self._of(dialect.name), values)
            raise DBAPIError.instance(
                text, None, e, dialect.loaded_dbapi.Error, dialect=dialect
            ) from e
        except asyncio.CancelledError:
            conn.invalidate()  # as SQLAlchemy does: nobody knows how far it came
            raise

    def _of(self, dialect: str) -> Executable:
        if callable(self._statement):
            return self._statement(dialect)
        return self._statement


class Change(NamedTuple):
    """A prepared statement that changes rows, with its values."""

    statement: Prepared
    values: Values


def together(conn: Connection, changes: Sequence[Change]) -> Found:
    """Execute changes of which none touches a row of another, in their order; what the last one brings.

    PostgreSQL gets them as one statement, so that there is one way to the server for all; there none sees what others
    have done. Raises SQLAlchemy's errors.
    """
    if conn.dialect.name == "sqlite":
        return [change.statement.execute(conn, change.values) for change in changes][-1]
    forms = [change.statement._form(conn, change.values) for change in changes]  # noqa: SLF001 - the class's other half
    named = {
        f"{at}_{name}": value
        for at, (form, change) in enumerate(zip(forms, changes, strict=True))
        for name, value in form.named(change.values).items()
    }
    text = _joined(tuple(form.text for form in forms))
    last = changes[-1]
    return last.statement._on_server(conn, forms[-1], text, [named], last.values)  # noqa: SLF001 - the same


@cache
def _joined(texts: tuple[str, ...]) -> str:
    """Statements as one: all but the last stand before it, each with the names of its values made its own."""
    own = [text.replace("%(", f"%({at}_") for at, text in enumerate(texts)]
    before = ", ".join(f"change_{at} AS ({text})" for at, text in enumerate(own[:-1]))
    return f"WITH {before} {own[-1]}" if before else own[-1]


def _on_sqlite(conn: Connection, form: "_Form", each: Sequence[Values]) -> Found:
    raw = cast("sqlite3.Connection", conn.connection.driver_connection)
    try:
        if len(each) == 1:
            cursor = raw.execute(form.text, form.bound(each[0]))
        else:
            cursor = raw.executemany(form.text, [form.bound(one) for one in each])
        return Found(form.rows(cursor.fetchall()), cursor.rowcount)
    except sqlite3.Error as e:
        raise DBAPIError.instance(form.text, None, e, sqlite3.Error, dialect=conn.dialect) from e


class _Form:
    """A statement as a driver takes it; `returns`: it brings rows that are asked for."""

    __slots__ = ("_binds", "_converts", "_names", "_row", "given", "returns", "text")

    def __init__(self, statement: Executable, dialect: Dialect, given: list[str]) -> None:
        known = cast("_Statement", statement)
        made = known.compile(dialect=dialect, column_keys=given)
        assert isinstance(made, SQLCompiler)  # noqa: S101 - statements on rows have no other
        assert not made.post_compile_params  # noqa: S101 - see Prepared
        self.given = len(given)
        self._names = list(made.positiontup or made.bind_names.values())
        binds = [_bind(made, name, given, dialect) for name in self._names]
        if made.positiontup is not None:
            self.text, self._binds = _with_numbers(made.string, binds)
        else:
            self.text, self._names, self._binds = _with_numbers_named(made, self._names, binds)
        columns = list(known.exported_columns)
        self.returns = bool(columns)
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

    def named(self, values: Values) -> dict[str, Any]:
        """The values by their names in the text."""
        return dict(zip(self._names, self.bound(values), strict=True))

    def rows(self, found: Sequence[Any]) -> list[Any]:
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


def _bind(made: SQLCompiler, name: str, given: list[str], dialect: Dialect) -> _Bind:
    """The name of a value that executions bring and its conversion; of one that is the statement's own, the value."""
    convert = _type(made.binds[name].type, dialect).bind_processor(dialect)
    if name in given:
        return name, convert, None
    value = made.params[name]
    return None, None, convert(value) if convert else value


def _with_numbers(text: str, binds: list[_Bind]) -> tuple[str, list[_Bind]]:
    """The text with its own numbers written out, and what is still to be bound.

    A bound number in the condition of a partial index lets SQLite plan the statement anew at each execution, for
    several times what it then takes to run.
    """
    pieces = text.split("?")
    if len(pieces) != len(binds) + 1:  # a question mark of its own
        return text, binds
    written, left = [pieces[0]], []
    for bind, piece in zip(binds, pieces[1:], strict=True):
        is_number = bind[0] is None and isinstance(bind[2], int)
        written += [str(int(bind[2])) if is_number else "?", piece]
        left += [] if is_number else [bind]
    return "".join(written), left


def _with_numbers_named(
    made: SQLCompiler, names: list[str], binds: list[_Bind]
) -> tuple[str, list[str], list[_Bind]]:
    """The same for PostgreSQL, which makes no lasting plan with a partial index of which it knows no number."""
    text, left = made.string, []
    for name, bind in zip(names, binds, strict=True):
        if bind[0] is None and type(bind[2]) is int:
            text = text.replace(f"%({name})s", str(bind[2]))
        else:
            left.append((name, bind))
    return text, [name for name, _ in left], [bind for _, bind in left]


def _type(of: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    return of.dialect_impl(dialect)
