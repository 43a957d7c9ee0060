"""What an operator must mend: what is wrong, where, and the cure, one line each. Commands exit with 2."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend.

    `file` names the settings file, another file, or the source of the value ("environment"); `line` and `column`
    count from 1 and are None where a file has no such place; `key` is the dotted key, or empty.
    """

    message: str
    cure: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None
    key: str = ""

    @property
    def place(self) -> str:
        """`file:line:column`, as far as known."""
        numbers = (str(n) for n in (self.line, self.column) if n is not None)
        return ":".join((self.file, *numbers)) if self.file else ""

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.place, self.key) if part)
        said = f"{where}: {self.message}" if where else self.message
        return f"{said}; {self.cure}" if self.cure else said

    def as_dict(self) -> dict[str, object]:
        """For JSON: every part under its own name."""
        return {
            "message": self.message,
            "cure": self.cure,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "key": self.key,
        }


class OperatorError(Exception):
    """The command cannot go on until a person mends something. Never shown as a traceback; exit code 2.

    `problems` are in order of their place in the file.
    """

    exit_code = 2

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class SettingsError(OperatorError):
    """The settings cannot be used as they stand."""
