"""The tools that exist: by name, in a stable order, with those of other packages (entry points `swarmgate.tools`)."""

from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points

from agent_core.tools.spec import ToolSpec

ALIASES = {"execute_skill": "load_skill"}  # C-33


class Registry:
    """Tools by name. Iteration is by name, so tool lists are byte-stable."""

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._tools: dict[str, ToolSpec] = {}
        for spec in tools:
            self.add(spec)

    def add(self, spec: ToolSpec) -> None:
        """Add one tool. Raises ValueError when its name is taken."""
        if spec.name in self._tools:
            raise ValueError(f"two tools are named {spec.name!r}")
        self._tools[spec.name] = spec

    def get(self, name: str) -> ToolSpec | None:
        """The tool of this name or alias, or None."""
        return self._tools.get(ALIASES.get(name, name))

    @property
    def names(self) -> frozenset[str]:
        """All names, without aliases."""
        return frozenset(self._tools)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(sorted(self._tools.values(), key=lambda spec: spec.name))


def foreign_tools() -> list[ToolSpec]:
    """Tools that installed packages offer through the entry-point group `swarmgate.tools`."""
    return [entry.load() for entry in entry_points(group="swarmgate.tools")]
