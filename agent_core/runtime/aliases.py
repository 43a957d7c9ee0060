"""Models by the names that a preset gives them: at its own price, with its own models to fall back to.

What a preset writes comes before what the settings say: its fallbacks answer first, those of the settings after them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from agent_core.budget.ledger import DEMO
from agent_core.models.fallback import FallbackModel
from agent_core.models.priced import PricedModel
from agent_core.ports import Clock, Model, Price
from agent_core.runtime.team import ModelUse

Models = Callable[[str], Model]


def aliased(
    uses: Mapping[str, tuple[ModelUse, ...]],
    base: Models,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Models:
    """Models by alias or by name. `base` gives those of plain names; `uses` are a team's (Team.models)."""
    if not uses:
        return base
    made: dict[str, Model] = {}

    def get(name: str) -> Model:
        if name not in uses:
            return base(name)
        if name not in made:
            made[name] = _chain(uses[name], base, clock, sleep)
        return made[name]

    return get


def _chain(
    uses: tuple[ModelUse, ...],
    base: Models,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]],
) -> Model:
    own = [_parts(base(use.name)) for use in uses]
    parts = [_priced(models[0], use.price) for use, models in zip(uses, own, strict=True)]
    rest = [model for models in own[:1] for model in models[1:]]
    chain: dict[str, Model] = {}
    for model in (*parts, *rest):
        chain.setdefault(model.info.name, model)
    models = tuple(chain.values())
    return models[0] if len(models) == 1 else FallbackModel(models, clock, sleep)


def _parts(model: Model) -> tuple[Model, ...]:
    return model.models if isinstance(model, FallbackModel) else (model,)


def _priced(model: Model, price: Price | None) -> Model:
    """The demo planner costs nothing, also where it stands in for a model with a price."""
    return model if price is None or model.info.name == DEMO else PricedModel(model, price)
