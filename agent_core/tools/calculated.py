"""Calculations of tools in the worker process: what goes wrong there is a failure with a cure."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from agent_core.finance.work import WorkerDied, WorkTooLong, outside
from agent_core.tools.spec import ToolFailure

P = ParamSpec("P")
R = TypeVar("R")


async def calculated(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What a module-level function returns, computed in the worker process (finance/work.py).

    Raises what the function raises, and ToolFailure where the process dies or takes too long. Cancelling ends it.
    """
    try:
        return await outside(function, *args, **kwargs)
    except (WorkerDied, WorkTooLong) as e:
        raise ToolFailure(f"{e}: fewer symbols or a shorter window") from e
