"""One model in front of several: another answers when the first cannot (FBK-1 … FBK-4)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from agent_core.errors import ModelError, ModelRateLimited
from agent_core.models.stream import closing
from agent_core.ports import (
    Chunk,
    Clock,
    Model,
    ModelInfo,
    ModelRequest,
    RestartChunk,
    TextChunk,
    ThinkingChunk,
)

FAILURES, WINDOW, PAUSE = 3, 60.0, 60.0  # FBK-4: 3 failures in 60 s, skipped for 60 s
BACKOFF = 1.0
LONGEST_WAIT = 20.0  # a provider that asks for more is given up, so that a person is told in time


@dataclass(slots=True)
class _Breaker:
    """Counts failures of one model; open means that the model is skipped."""

    failed: list[float] = field(default_factory=list)
    until: float = 0.0

    def note(self, now: float) -> None:
        self.failed = [t for t in self.failed if now - t < WINDOW] + [now]
        if len(self.failed) >= FAILURES:
            self.failed, self.until = [], now + PAUSE

    def clear(self) -> None:
        self.failed, self.until = [], 0.0


class FallbackModel:
    """A Model over others, in order of preference.

    A call goes to the first whose breaker is closed (to all in order when all are open: trying beats refusing). Rate
    limits, time-outs, lost connections, server errors and broken streams move it on to the next; a refused key, an
    unknown model and a bad request are raised at once, since another model would hide what the operator must mend. The
    last one left is tried once more, after its retry_after (at most 20 s, else it is given up) or after a second.

    Every new attempt is announced by a RestartChunk; `had_output` tells whether words must be taken back (FBK-3).
    May be shared by sessions; `info` is then that of the model used last.
    """

    def __init__(
        self,
        models: Sequence[Model],
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not models:
            raise ValueError("a fallback needs at least one model")
        self._models = tuple(models)
        self._breakers = tuple(_Breaker() for _ in models)
        self._active = 0
        self._clock = clock
        self._sleep = sleep

    @property
    def info(self) -> ModelInfo:
        """Facts about the active model: the one that answered, or was tried, last (FBK-2)."""
        return self._models[self._active].info

    @property
    def models(self) -> tuple[Model, ...]:
        """The models in order of preference."""
        return self._models

    @property
    def infos(self) -> tuple[ModelInfo, ...]:
        """Facts about every model that may answer, in order of preference."""
        return tuple(model.info for model in self._models)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream one answer, from whichever model can give it.

        Raises:
            ModelError: the last one, when no model could, or one that is no reason to switch.
        """
        plan = self._plan()
        while True:
            self._active, attempt = plan[0][0], plan[0][1]
            had_output = False
            try:
                async with closing(self._models[self._active].stream(request)) as chunks:
                    async for chunk in chunks:
                        had_output = had_output or isinstance(chunk, TextChunk | ThinkingChunk)
                        yield chunk
            except ModelError as error:
                wait = self._failed(error, plan, attempt)
                if wait is None:
                    raise
                coming = self._models[plan[0][0]].info.name
                yield RestartChunk(str(error), coming, had_output)
                if wait:
                    await self._sleep(wait)
            else:
                self._breakers[self._active].clear()
                return

    def _plan(self) -> list[tuple[int, int]]:
        """(model, attempt) pairs still to try, best first."""
        now = self._clock.monotonic()
        order = [i for i, b in enumerate(self._breakers) if b.until <= now]
        return [(i, 1) for i in order or range(len(self._models))]

    def _failed(self, error: ModelError, plan: list[tuple[int, int]], attempt: int) -> float | None:
        """Note a failure and change the plan; seconds to wait before its next entry, None to give up."""
        if not error.retryable:
            return None
        model, _ = plan.pop(0)
        self._breakers[model].note(self._clock.monotonic())
        if plan:
            return 0.0
        asked = error.retry_after if isinstance(error, ModelRateLimited) else None
        wait = BACKOFF if asked is None else asked
        if attempt > 1 or wait > LONGEST_WAIT:
            return None
        plan.append((model, 2))
        return wait

    async def close(self) -> None:
        """Close every model."""
        for model in self._models:
            await model.close()
