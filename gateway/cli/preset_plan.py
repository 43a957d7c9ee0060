"""`presets plan`: the worst case of a run, with the prices and windows that the settings know."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.settings.settings import Settings

if TYPE_CHECKING:
    from swarm_presets.plan import Share
    from swarm_presets.positions import Mapping


def plan_rows(
    settings: Settings, tree: "Mapping", model: str = ""
) -> tuple[list[dict[str, object]], str]:
    """A row for each worker and one for the run, and a line about what the numbers rest on.

    `model` stands in for every model.
    """
    from agent_core.models.catalog import window_of
    from gateway.presets.team_house import dollars
    from swarm_presets.compile import compile_team
    from swarm_presets.plan import plan

    default = settings.models.default

    def real(name: str) -> str:
        name = model or name
        return default if name == "auto" else name

    def window(name: str) -> int:
        own = settings.models.facts().get(real(name), {}).get("context_window")
        return (
            own if isinstance(own, int) else window_of(real(name).partition("/")[2] or real(name))
        )

    def price(name: str) -> tuple[float, float] | None:
        return (0.0, 0.0) if real(name) == "demo" else dollars(settings, real(name))

    made = plan(compile_team(tree), tree, price, window)
    rows = [_row(share) for share in (*made.shares, made.total)]
    return rows, "; ".join(_notes(made.shares, made.capped_by, default))


def _row(share: "Share") -> dict[str, object]:
    return {
        "id": share.who,
        "model": share.model,
        "times": share.times,
        "attempts": share.attempts,
        "calls": share.calls,
        "input_tokens": share.input_tokens,
        "output_tokens": share.output_tokens,
        "usd": None if share.usd is None else round(share.usd, 4),
        "time": f"{share.time:g}s",
    }


def _notes(shares: "Sequence[Share]", capped: str, default: str) -> list[str]:
    notes = [f"capped by {capped}"] if capped else []
    if any(share.usd is None for share in shares):
        notes.append("usd is left open where a model has no known price")
    if default == "auto" and any(share.model == "auto" for share in shares):
        notes.append("`auto` is chosen at the start: set models.default to count it")
    return notes
