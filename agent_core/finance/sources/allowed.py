"""Which data sources the running tool call may see: a preset's `data.sources`, in its order.

It is a context variable, set for each call (tools/spec.py), because whatever holds a source obeys it, also tools that
never heard of it. Tasks and threads that a call starts inherit it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

_NAMES: ContextVar[tuple[str, ...] | None] = ContextVar("allowed_sources", default=None)


class Named(Protocol):
    """Anything with a source's name."""

    @property
    def name(self) -> str:
        """The source's name."""
        ...


N = TypeVar("N", bound=Named)


@contextmanager
def only(names: tuple[str, ...] | None) -> Iterator[None]:
    """Within it only these sources are seen, in this order; None: as around it."""
    if names is None:
        yield
        return
    before = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(before)


def allowed(sources: Sequence[N]) -> tuple[N, ...]:
    """Those of the sources that the running call may see, in its order."""
    names = _NAMES.get()
    if names is None:
        return tuple(sources)
    by_name = {source.name: source for source in sources}
    return tuple(by_name[name] for name in names if name in by_name)
