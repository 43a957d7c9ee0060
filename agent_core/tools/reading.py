"""Files and pages of strangers are read in a process of their own, with little memory and little time.

A file that is made to be costly ends that process and nothing else: neither the gateway nor the calculations of others.
"""

import atexit
import resource
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from agent_core.finance.work import Worker, WorkerDied, WorkTooLong
from agent_core.tools.spec import ToolFailure

P = ParamSpec("P")
R = TypeVar("R")
SECONDS = 20.0  # for one file
MEMORY = 2 * 2**30  # bytes of address space, of which libraries take the larger part

_reader = Worker(SECONDS)
atexit.register(_reader.stop)


async def read_apart(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What a module-level function makes of a file, in the reading process. Cancelling ends the reading.

    Raises what the function raises, and ToolFailure when the file takes too much time or memory.
    """
    try:
        return await _reader.outside(_bounded, function, args, kwargs)
    except WorkTooLong:
        message = f"Reading it took longer than {SECONDS:g} s and was ended. Send a smaller or simpler file."
    except (WorkerDied, MemoryError):
        message = "Reading it takes too much memory. Send a smaller or simpler file."
    raise ToolFailure(message)


def _bounded(function: Callable[..., R], args: tuple[object, ...], kwargs: dict[str, object]) -> R:
    """In the reading process: with a bound of memory, which holds for the rest of its life."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return function(*args, **kwargs)
