"""How a source calls a vendor's blocking client: in a thread, with its failures told as a source's."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from agent_core.finance.sources.fetch import down
from agent_core.finance.sources.source import NoData

T = TypeVar("T")


async def in_thread(source: str, function: Callable[[], T]) -> T:
    """What `function` returns. NoData passes; anything else that it raises means that the source is down.

    A cancelled caller does not end the thread: `function` ends by the time-out of its own requests.
    """
    try:
        return await asyncio.to_thread(function)
    except NoData:
        raise
    except (
        Exception
    ) as error:  # vendors' clients raise whatever they like; none of it may end a turn
        why = f"{type(error).__name__}: {error}".replace("\n", " ")[:120]
        raise down(source, why) from error


@contextmanager
def brought_by(source: str, extra: str) -> Iterator[None]:
    """Around the import of a vendor's client: where it is missing, NoData with the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        cure = f"pip install 'swarmgate[{extra}]'"
        raise NoData(f"{source} needs the package {error.name}", source, cure) from error
