"""What commands print: rows as a table or as JSON, problems one a line; and how a command ends."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from gateway.problems import OperatorError, Problem

Rows = Sequence[Mapping[str, object]]

WRONG_USE = 2


def out(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")


def err(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(text + "\n")


def show(rows: Rows, columns: Sequence[str], *, as_json: bool, empty: str = "nothing") -> None:
    """Rows as a JSON list (all fields; each row has an `id`), or the named columns as a table."""
    if as_json:
        out(json.dumps(list(rows), ensure_ascii=False, indent=2, default=str))
    elif not rows:
        out(empty)
    else:
        for line in _table(rows, columns):
            out(line)


def show_one(row: Mapping[str, object], sentence: str, *, as_json: bool) -> None:
    """One result: the row as a JSON object, or the sentence."""
    out(json.dumps(row, ensure_ascii=False, indent=2, default=str) if as_json else sentence)


def say(problems: Iterable[Problem]) -> None:
    """Problems on stderr, one a line."""
    for problem in problems:
        err(f"swarmgate: {problem}")


def refusal(error: Exception) -> list[Problem] | None:
    """What a person can mend about this error, or None for a defect of ours."""
    from sqlalchemy.exc import DatabaseError as DriverError
    from sqlalchemy.exc import OperationalError

    from channels.errors import BadCredentials
    from gateway.http.app import CannotListen
    from gateway.people.access import UnknownCode
    from gateway.storage.db import DatabaseError

    if isinstance(error, OperatorError):
        return list(error.problems)
    if isinstance(error, DatabaseError | CannotListen | UnknownCode):
        return [Problem(str(error))]  # these say what, where and the cure by themselves
    if isinstance(error, BadCredentials):
        return [Problem(str(error) or "the platform refuses the token", "check channels.*.token")]
    if isinstance(error, OperationalError) or type(error) is DriverError:  # others are defects
        cure = "check `database` and `data_dir`, and that nothing else holds them"
        return [Problem(f"the database cannot be used: {said_by_driver(error)}", cure)]
    if isinstance(error, OSError) and error.filename:
        return [Problem((error.strerror or "fails").lower(), "check it", str(error.filename))]
    return None


def said_by_driver(error: Exception) -> str:
    """The first line of what the database's own client said; SQLAlchemy's additions help nobody here."""
    return str(getattr(error, "orig", error)).strip().split("\n")[0]


def finish(command: Callable[[], int], tell: Callable[[Iterable[Problem]], None] = say) -> int:
    """The exit code of a command. What a person must mend is told in a line each, without a traceback."""
    try:
        return command()
    except KeyboardInterrupt:
        return 130  # what shells report for SIGINT
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has gone: nothing more to say to it
        return 0
    except Exception as error:
        problems = refusal(error)
        if problems is None:
            raise
        tell(problems)
        return WRONG_USE


def _table(rows: Rows, columns: Sequence[str]) -> Iterable[str]:
    cells = [[name.upper().replace("_", " ") for name in columns]]
    cells += [[_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (
            text + " " * (width - _width(text)) for text, width in zip(line, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value).replace("\n", " ")


def _width(text: str) -> int:
    """Columns on a terminal: Han and other wide characters take two."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
