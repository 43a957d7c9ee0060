"""What every model stream needs: time-outs, and text that is never cut inside a surrogate pair.

Three clocks bound a stream (STM-1, STM-2, C-22): until the first token, between tokens, and in all. Connecting counts
toward the first. What is no life sign (a ping, an empty head) passes through and moves no clock.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from agent_core.errors import ModelError, ModelTimeout

T = TypeVar("T")
Phase = Literal["first_token", "idle", "total"]

DRAIN_SECONDS = 0.2
FIRST_TOKEN = 1.0  # below that no answer begins

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Seconds."""

    first_token: float = 120.0
    idle: float = 60.0
    total: float = 300.0

    def within(self, idle: float | None) -> "StreamLimits":
        """These, but with no more than `idle` seconds of silence (an agent's `limits.idle_timeout`) if it is less."""
        if idle is None:
            return self
        first_token = min(self.first_token, max(idle, FIRST_TOKEN))
        return StreamLimits(first_token, min(self.idle, idle), self.total)


def _always(_: object) -> bool:
    return True


@asynccontextmanager
async def closing(source: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """The iterator, closed at the end of the block where it can be closed."""
    try:
        yield source
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


async def watch(
    source: AsyncIterator[T],
    limits: StreamLimits,
    provider: str,
    life: Callable[[T], bool] = _always,
) -> AsyncIterator[T]:
    """Pass `source` on, within `limits`; `source` is closed at the end, whatever the end is.

    Time that the reader takes counts toward the total alone. No task is made, so none is left behind.

    Args:
        source: any async iterator of events.
        limits: the three time-outs.
        provider: for the error.
        life: whether an event is a sign of life (reasoning is one, a ping is none).

    Raises:
        ModelTimeout: with the phase whose time is over.
    """
    now = asyncio.get_running_loop().time
    began = now()
    phase: Phase = "first_token"
    span = limits.first_token
    due = began + span
    async with closing(source) as items:
        while True:
            until, over = min((due, phase), (began + limits.total, "total"))
            clock = asyncio.timeout_at(until)
            try:
                async with clock:
                    item = await anext(items)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if not clock.expired():
                    raise
                raise ModelTimeout(
                    provider, over, limits.total if over == "total" else span
                ) from None
            alive, paused = life(item), now()
            if alive:
                phase, span = "idle", limits.idle
            yield item
            due = now() + span if alive else due + now() - paused


async def drain(source: AsyncIterator[object]) -> None:
    """Read what follows the last event, so that the connection can be used again; at most for DRAIN_SECONDS.

    The answer is whole by then: an error here changes nothing.
    """
    with suppress(TimeoutError, ModelError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in source:
                pass


def mend(text: str) -> str:
    """The text with surrogate halves joined; a half without its other half becomes U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mended(value: Any) -> Any:
    """JSON values with every text mended."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict):
        return {mend(k): mended(v) for k, v in value.items()}
    return [mended(v) for v in value] if isinstance(value, list) else value


class Joiner:
    """Joins surrogate halves that a provider split between two chunks (STM-3)."""

    def __init__(self) -> None:
        self._half = ""

    def push(self, text: str) -> str:
        """What may be sent of `text` now; a first half at its end waits for the next call."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return mend(text)

    def flush(self) -> str:
        """What still waits, at the end of the stream."""
        half, self._half = self._half, ""
        return mend(half)
