"""Logs: structlog in front, the standard library's loggers behind it, every line redacted.

On a terminal a line is short and coloured; elsewhere each line, of both streams, is one JSON object with `event`,
`level` and `timestamp`. Logs go to stderr, announcements to stdout.
"""

import datetime as dt
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from types import TracebackType
from typing import Any, TextIO

from gateway.log_context import about
from gateway.redact import Redactor

Announce = Callable[[str], None]
Event = MutableMapping[str, Any]

LEVEL_VARIABLE = "SWARMGATE_LOG_LEVEL"
# What every record has; the rest came as `extra`.
RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_QUIET = {
    "httpx": logging.WARNING,  # logs every request with its address, which holds Telegram's token
    "httpx2": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpcore2": logging.WARNING,
    "anthropic": logging.WARNING,
    "openai": logging.WARNING,
    "telegram": logging.WARNING,
    "aiohttp.access": logging.WARNING,
    "asyncio": logging.WARNING,
    "matplotlib": logging.WARNING,
}


def _structlog() -> Any:
    """Import structlog without rich, which its development module would load for tracebacks in a box.

    Measured: 70 ms of CPU and 5 MB of memory at each start.
    """
    if "rich" in sys.modules or "structlog" in sys.modules:
        import structlog

        return structlog
    sys.modules["rich"] = None  # type: ignore[assignment]  # an import of it fails now, which structlog expects
    try:
        import structlog
    finally:
        del sys.modules["rich"]
    return structlog


class Telemetry:
    """The set-up of one process. `redactor.known` takes secrets that become known later."""

    def __init__(self, out: TextIO, err: TextIO, *, as_json: bool, level: int) -> None:
        self.redactor = Redactor()
        self.level = level
        self._out, self._err = out, err
        self._structlog = _structlog()
        self._render = self._json_line if as_json else self._console()
        self.as_json = as_json

    def announce(self, text: str) -> None:
        """Tell the person at the terminal, or the collector of stdout; not redacted, since it hands out login codes."""
        if self.as_json:
            text = self._json_line(None, "info", {"event": text, **_stamp("info")})
        print(text, file=self._out, flush=True)

    def line(self, level: str, event: Event) -> None:
        """Write one event that does not come through structlog."""
        for name, value in about().items():
            event.setdefault(name, value)
        event.update(_stamp(level))
        self._write(str(self._render(None, level, self.redactor(None, level, event))))

    def configure(self) -> None:
        """Make structlog, the standard library's logging, warnings and uncaught errors write through this object."""
        structlog = self._structlog
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                _add_ids,
                _add_stamp,
                _exception_text,
                self.redactor,
                self._render,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(self.level),
            logger_factory=structlog.PrintLoggerFactory(self._err),
            cache_logger_on_first_use=True,
        )
        root = logging.getLogger()
        root.handlers[:] = [_Bridge(self)]
        root.setLevel(self.level)
        for name, level in _QUIET.items():
            logging.getLogger(name).setLevel(max(level, self.level))
        logging.captureWarnings(capture=True)
        sys.excepthook = self._uncaught

    def _uncaught(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        self.line("critical", {"event": "uncaught error", "exception": text.rstrip()})

    def _write(self, line: str) -> None:
        self._err.write(line + "\n")
        self._err.flush()

    def _console(self) -> Callable[[object, str, Event], str]:
        renderer = self._structlog.dev.ConsoleRenderer(
            colors=self._err.isatty(), pad_event_to=0, pad_level=False
        )

        def render(logger: object, method: str, event: Event) -> str:
            event["timestamp"] = event["timestamp"][11:19]
            return str(renderer(logger, method, event))

        return render

    @staticmethod
    def _json_line(logger: object, method: str, event: Event) -> str:
        return json.dumps(event, ensure_ascii=False, default=str, separators=(",", ":"))


def start(env: Mapping[str, str] = os.environ, *, quiet: bool = False) -> Telemetry:
    """Set up logging for this process; call it once, before anything logs.

    JSON where stdout is no terminal. `quiet` is for commands whose stdout is their result: warnings and worse, as text.
    """
    out, err = sys.stdout, sys.stderr
    level = logging.getLevelNamesMapping().get(
        env.get(LEVEL_VARIABLE, "warning" if quiet else "info").upper(), logging.INFO
    )
    telemetry = Telemetry(out, err, as_json=not quiet and not out.isatty(), level=level)
    telemetry.configure()
    return telemetry


def _stamp(level: str) -> dict[str, str]:
    now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    return {"level": level, "timestamp": now.replace("+00:00", "Z")}


def _add_ids(logger: object, method: str, event: Event) -> Event:
    for name, value in about().items():
        event.setdefault(name, value)
    return event


def _add_stamp(logger: object, method: str, event: Event) -> Event:
    event.update(_stamp("error" if method == "exception" else method))
    return event


def _exception_text(logger: object, method: str, event: Event) -> Event:
    """`exc_info` as text under `exception`, so that it is redacted like all other text."""
    info = event.pop("exc_info", None)
    if not info:
        return event
    error = info if isinstance(info, BaseException) else None
    if error is None:
        error = info[1] if isinstance(info, tuple) else sys.exc_info()[1]
    if error is not None:
        event["exception"] = "".join(traceback.format_exception(error)).rstrip()
    return event


class _Bridge(logging.Handler):
    """Records of the standard library's loggers, in the same form as ours."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__()
        self._telemetry = telemetry

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event: Event = {"event": record.getMessage(), "logger": record.name}
            event.update((k, v) for k, v in vars(record).items() if k not in RECORD_FIELDS)
            if record.exc_info:
                event["exc_info"] = record.exc_info
            self._telemetry.line(
                record.levelname.lower(), _exception_text(None, record.levelname, event)
            )
        except Exception:  # noqa: BLE001 - a handler must never break the code that logs
            self.handleError(record)
