"""Paying for model calls: room in the pots before each, another model where there is none (DESIGN.md 7)."""

import math
from collections.abc import AsyncIterator

from agent_core.budget.prices import need_of
from agent_core.errors import BudgetExceeded, BudgetWaits, ModelError
from agent_core.events import Retrying
from agent_core.models.stream import closing
from agent_core.models.tokens import calibration, mixed
from agent_core.ports import Chunk, FinishedChunk, Model, ModelInfo, ModelRequest, Need
from agent_core.runtime.run import Run
from agent_core.types import Usage

CUSHION = 1.1  # estimates err: a request may have so many times the tokens that its estimate says


async def reserve(run: Run, estimate: int, max_tokens: int, spent: Usage) -> None:
    """Set aside what the next call may cost at most.

    `estimate` is of the request (`mixed`, uncalibrated), `spent` what the run has used so far. Raises BudgetExceeded
    and BudgetWaits.
    """
    need = _need(run, estimate, max_tokens)
    limit = run.agent.limits.usd
    own = (
        run.label is not None and limit is not None
    )  # the supervisor's limit is the pot of the whole run
    if own and limit is not None and need.usd is not None and (spent.usd or 0) + need.usd > limit:
        raise BudgetExceeded("run", "usd", limit, model=need.model)
    await run.journal.reserve(need)


def _need(run: Run, estimate: int, max_tokens: int) -> Need:
    rows = () if run.view is None else run.view.rows
    ratio = calibration(rows, run.model.info.name)
    return need_of(run.model, math.ceil(estimate * ratio * CUSHION), max_tokens)


def switch(run: Run, error: BudgetExceeded) -> bool:
    """Let the model that the pot's rules name answer for the rest of the run; False when there is none to change to."""
    if not error.fallback or run.model_for is None:
        return False
    model = run.model_for(error.fallback)
    if model.info.name == run.model.info.name:
        return False
    run.model = model
    run.switched.append(error)
    run.emit(Retrying(str(error), model.info.name, run.label))
    return True


class Payable:
    """The run's model for calls beside the conversation's own (summaries), which the pots must have room for as well.

    Where they have none, the call fails like any other: a summary is then made without a model.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._model: Model = run.model
        self._unsettled = Usage()  # of the calls so far: the caller settles them together

    @property
    def info(self) -> ModelInfo:
        """See Model."""
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """See Model. A pot without room is a ModelError."""
        estimate = mixed(request.system, request.messages, request.tools)
        need = _need(self._run, estimate, request.max_tokens)
        before = self._unsettled
        tokens = need.tokens + before.total_input + before.output_tokens
        usd = None if need.usd is None else need.usd + (before.usd or 0.0)
        try:
            await self._run.journal.reserve(Need(need.model, tokens, usd))
        except (BudgetExceeded, BudgetWaits) as e:
            raise ModelError("budget", str(e)) from e
        async with closing(self._model.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, FinishedChunk):
                    self._unsettled += chunk.usage
                yield chunk

    async def close(self) -> None:
        """See Model: the model belongs to others."""
