"""What a log line is about: ids of the conversation, the session and the turn, bound for as long as work goes on.

Tasks that begin meanwhile inherit them. structlog keeps them in context variables; the bridge of telemetry.py puts them
on the lines of the standard library's loggers as well.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ABOUT: ContextVar[dict[str, object]] = ContextVar("about", default={})  # noqa: B039 - never changed in place


def about() -> dict[str, object]:
    """The ids that are bound here. Not to be changed."""
    return _ABOUT.get()


@contextmanager
def bound(**ids: object) -> Iterator[None]:
    """Bind ids until the block ends; those that are bound already stay, or are replaced by name."""
    token = _ABOUT.set({**_ABOUT.get(), **ids})
    try:
        yield
    finally:
        _ABOUT.reset(token)
