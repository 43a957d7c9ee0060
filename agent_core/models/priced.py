"""A model at a price of its own: what a preset writes wins over the price table (guide "presets", 5)."""

from collections.abc import AsyncIterator
from dataclasses import replace

from agent_core.models.catalog import usage_of
from agent_core.models.stream import closing
from agent_core.ports import Chunk, FinishedChunk, Model, ModelInfo, ModelRequest, Price
from agent_core.types import Usage


class PricedModel:
    """Another model, which belongs to others: closing this one leaves it open."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self._price = price

    @property
    def info(self) -> ModelInfo:
        """See Model."""
        return replace(self._model.info, price=self._price)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """See Model. What the answer cost is counted anew."""
        async with closing(self._model.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, FinishedChunk):
                    yield replace(chunk, usage=self._counted(chunk.usage))
                else:
                    yield chunk

    def _counted(self, usage: Usage) -> Usage:
        return usage_of(
            self._price,
            fresh=usage.input_tokens,
            output=usage.output_tokens,
            read=usage.cache_read_tokens,
            write=usage.cache_write_tokens,
            long=usage.cache_write_1h_tokens,
        )

    async def close(self) -> None:
        """See Model."""
