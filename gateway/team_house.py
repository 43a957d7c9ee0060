"""The presets that can be chosen now, compiled; and what is wrong with those that cannot."""

from collections.abc import Sequence
from dataclasses import replace

from agent_core.runtime.team import Team
from agent_core.tools.registry import Registry
from swarm_presets.loader import PresetSet

LITE = "lite"
# What a group that nobody vouches for may use: it reads public prices, and touches nobody's notes, files or money.
LITE_TOOLS = frozenset(
    {"search_stock_by_name", "analyze_stock", "get_market_overview", "get_market_history", "chart"}
)


class TeamHouse:
    """Presets by name. `default` is the settings' own."""

    def __init__(self, presets: PresetSet, default: str) -> None:
        self._presets = presets
        self.default = default

    def find(self, name: str) -> Team | None:
        """The team of a preset, the default for an empty name, or None."""
        return self._presets.teams.get(name or self.default)

    def fallback(self) -> Team:
        """A team that always exists, to say something with."""
        return self._presets.teams.get(self.default) or next(iter(self._presets.teams.values()))

    def lite(self, registry: Registry) -> Team:
        """The preset `solo` (or the default) without sub-agents, with those of the lite tools that change nothing."""
        team = self._presets.teams.get("solo") or self.fallback()

        def is_open(name: str) -> bool:
            spec = registry.get(name)
            return name in LITE_TOOLS and spec is not None and spec.effect == "none"

        lead = replace(team.supervisor, tools=tuple(filter(is_open, team.supervisor.tools)))
        return replace(team, name=LITE, supervisor=lead, agents={})

    def name_for(self, chosen: str) -> str:
        """The preset that a chat with this choice uses."""
        return chosen or self.default

    def all(self) -> Sequence[Team]:
        """Every preset that can be chosen, by name."""
        return sorted(self._presets.teams.values(), key=lambda team: team.name)

    def first_problems(self) -> list[str]:
        """The first error of each broken file, one line each."""
        seen: dict[str, str] = {}
        for problem in self._presets.problems:
            if problem.severity == "error":
                line = f"{problem.file}:{problem.line}:{problem.column} {problem.message}"
                seen.setdefault(str(problem.file), line)
        return list(seen.values())
