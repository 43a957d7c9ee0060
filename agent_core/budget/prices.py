"""What a model call may cost at most, before it is made."""

from collections.abc import Sequence

from agent_core.models.fallback import FallbackModel
from agent_core.ports import Model, ModelInfo, Need, Price


def need_of(model: Model, tokens: int, max_tokens: int) -> Need:
    """The worst case of one call.

    Args:
        model: who is asked; where others may stand in for it, the dearest of them counts, and one whose price is
            unknown makes the whole unknown (MDL-3).
        tokens: of the request, as its model counts them.
        max_tokens: that the request lets the model write.
    """
    infos = model.infos if isinstance(model, FallbackModel) else (model.info,)
    output = max(min(max_tokens, info.max_output_tokens) for info in infos)
    return Need(
        model=infos[0].name if len(infos) == 1 else _unpriced(infos) or model.info.name,
        tokens=tokens + output,
        usd=_dearest(infos, tokens, max_tokens),
    )


def _unpriced(infos: Sequence[ModelInfo]) -> str:
    return next((info.name for info in infos if info.price is None), "")


def _dearest(infos: Sequence[ModelInfo], tokens: int, max_tokens: int) -> float | None:
    most = 0.0
    for info in infos:
        if info.price is None:
            return None
        written = min(max_tokens, info.max_output_tokens) * info.price.output
        most = max(most, (tokens * _input(info, info.price) + written) / 1_000_000)
    return most


def _input(info: ModelInfo, price: Price) -> float:
    """The dearest way to read a token: writing it to a cache for an hour costs twice the input (see catalog.cost)."""
    hour = 2 * price.input if info.cache == "breakpoint" else 0.0
    return max(price.input, price.cache_write, price.cache_read, hour)
