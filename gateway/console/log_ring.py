"""The newest log lines, kept in memory to be searched in the console. What leaves here is redacted."""

import datetime as dt
import logging
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gateway.log_context import about
from gateway.redact import Redactor
from gateway.telemetry import RECORD_FIELDS

KEPT = 500  # lines: half a megabyte at most
LINE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Line:
    """One log line. `fields` is what came with it, as text."""

    at: dt.datetime
    level: str
    logger: str
    event: str
    fields: dict[str, str] = field(default_factory=dict)


class LogRing(logging.Handler):
    """A handler of the root logger. `stop` takes it off again."""

    def __init__(self, redactor: Redactor, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._redactor = redactor
        self._lines: deque[Line] = deque(maxlen=KEPT)

    def start(self) -> None:
        """Begin to keep lines."""
        logging.getLogger().addHandler(self)

    def stop(self) -> None:
        """Keep no more. May be called twice."""
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line; nothing of the record itself, which holds frames alive."""
        try:
            self._lines.append(self._line(record))
        except Exception:  # noqa: BLE001 - a handler must never break the code that logs
            self.handleError(record)

    def _line(self, record: logging.LogRecord) -> Line:
        own = {k: v for k, v in vars(record).items() if k not in RECORD_FIELDS}
        extra: dict[str, Any] = {**about(), **own}
        if record.exc_info:
            extra["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        at = dt.datetime.fromtimestamp(record.created, dt.UTC)
        fields = {
            key: str(self._redactor.field(key, value))[:LINE_CHARS] for key, value in extra.items()
        }
        event = self._redactor.text(record.getMessage())[:LINE_CHARS]
        return Line(at, record.levelname.lower(), record.name, event, fields)

    def search(
        self,
        words: str,
        level: str,
        limit: int,
        *,
        about: Mapping[str, str] = MappingProxyType({}),
        since: dt.datetime | None = None,
    ) -> list[Line]:
        """The newest lines first, of at least this level and age, that hold all words and these fields."""
        least = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
        wanted = words.casefold().split()
        found = (
            line
            for line in reversed(self._lines)
            if logging.getLevelNamesMapping().get(line.level.upper(), 0) >= least
            and (since is None or line.at >= since)
            and all(line.fields.get(key) == value for key, value in about.items())
            and all(word in _text(line) for word in wanted)
        )
        return [line for _, line in zip(range(limit), found, strict=False)]


def _text(line: Line) -> str:
    pairs = " ".join(f"{key}={value}" for key, value in line.fields.items())
    return f"{line.event} {line.logger} {pairs}".casefold()
