"""Routes of a preset as static system text: which words lead to which skill and tools, in which order."""

from collections.abc import Sequence

from agent_core.runtime.scenes import Scene
from swarm_presets.schema_rules import RoutePart, ScenePart

HEAD = "Where a request fits one of these, work in this order:"


def routed(prompt: str, routes: Sequence[RoutePart] | None) -> str:
    """A supervisor's prompt with the preset's routes; the same text for every message, so that it stays cached."""
    lines = [_line(route) for route in routes or () if route.skill or route.tools]
    return "\n".join((prompt, "", HEAD, *lines)).lstrip("\n") if lines else prompt


def _line(route: RoutePart) -> str:
    words = ", ".join(f"“{pattern}”" for pattern in route.match)
    steps = [f"the skill `{route.skill}`"] if route.skill else []
    steps += [f"`{name}`" for name in route.tools or ()]
    return f"- {words}: {', then '.join(steps)}"


def scenes(parts: Sequence[ScenePart] | None) -> tuple[Scene, ...]:
    """The scenes as the gateway looks for them."""
    return tuple(Scene(tuple(part.match), part.text.strip()) for part in parts or ())
