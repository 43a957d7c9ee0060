"""The presets that can be chosen now, compiled; and what is wrong with those that cannot."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.finance.sources import kinds
from agent_core.runtime.team import Team
from agent_core.tools.mcp_names import server_of
from agent_core.tools.registry import Registry
from gateway.recipes.skill_house import SkillHouse
from gateway.redact import Redactor
from swarm_presets.files import Reader
from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.problems import Problem

if TYPE_CHECKING:
    from gateway.settings.settings import Settings

log = logging.getLogger(__name__)
LITE = "lite"
# What a group that nobody vouches for may use: it reads public prices, and touches nobody's notes, files or money.
LITE_TOOLS = frozenset(
    {"search_stock_by_name", "analyze_stock", "get_market_overview", "get_market_history", "chart"}
)
# They speak with, or note for, the very person whose turn it is: nothing outside changes.
INSIDE = frozenset({"ask_user", "remember", "remind", "alert"})
KEPT = 64  # replaced teams that turns may still be working with


def acting(registry: Registry) -> frozenset[str]:
    """The tools that change something outside: a preset must say who is asked.

    Those that ask by themselves need no rule; one that places orders needs it wherever it is not the supervisor's.
    """
    return frozenset(
        spec.name
        for spec in registry
        if spec.effect != "none" and spec.name not in INSIDE
        if not spec.requires_approval or (spec.effect == "trade" and spec.lead_only)
    )


def load_presets(
    settings: "Settings",
    registry: Registry,
    *paths: Path,
    schema_only: bool = False,
    reader: Reader | None = None,
    skills: SkillHouse | None = None,
) -> PresetSet:
    """The shipped presets, those of the settings' folder, and further files; the last one wins by name.

    Reads files: use a thread where a loop runs. `reader` makes the next reading cheap. `skills` are those that
    there are; None: they are read as well.
    """
    from agent_core.models.catalog import PROVIDERS

    providers = {*settings.models.providers, *PROVIDERS}
    return load_folder(
        [settings.presets_dir, *paths],
        tools=registry.names,
        models=frozenset(f"{name}/*" for name in providers),
        acting=acting(registry),
        price=lambda model: dollars(settings, model),
        lead=frozenset(spec.name for spec in registry if spec.lead_only),
        redact=Redactor().text,
        sources={name: name in settings.data.sources for name in kinds.names()},
        skills=frozenset((skills or SkillHouse(settings.skills_dir)).shared),
        servers=_servers(settings, registry),
        schema_only=schema_only,
        reader=reader,
    )


def _servers(settings: "Settings", registry: Registry) -> dict[str, frozenset[str]]:
    """The MCP servers, each with those of its tools that are there; none for one that has not been heard, or is off."""
    return {
        name: frozenset(tool for tool in registry.names if server_of(tool) == name)
        for name in settings.mcp.servers
    }


def dollars(settings: "Settings", model: str) -> tuple[float, float] | None:
    """US dollars for a million tokens in and out of a model; None where they are not known. Slow at first."""
    from agent_core.models.catalog import info

    price = info(model, settings.models.facts(), "").price if "/" in model else None
    return None if price is None else (price.input, price.output)


@dataclass(frozen=True, slots=True)
class Swap:
    """What changed when presets were read again.

    `changed` names the teams that are new or work otherwise now, `gone` those that are no more, `kept` those whose
    file is wrong and of which the last good version goes on; `problems` are the errors that were not there before.
    """

    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone or self.problems)


class TeamHouse:
    """Presets by name. `default` is the settings' own."""

    def __init__(self, presets: PresetSet, default: str) -> None:
        self._presets = replace(presets, trees={})  # for commands, and large
        self._before: OrderedDict[str, Team] = OrderedDict()
        self.default = default

    def find(self, name: str) -> Team | None:
        """The team of a preset, the default for an empty name, or None."""
        return self._presets.teams.get(name or self.default)

    def by_digest(self, digest: str) -> Team | None:
        """The team of exactly this content, also one that was replaced since the start; None when it is forgotten."""
        now = (team for team in self._presets.teams.values() if team.digest == digest)
        return next(now, None) or self._before.get(digest)

    def digests(self) -> frozenset[str]:
        """What the presets that can be chosen now say."""
        return frozenset(team.digest for team in self._presets.teams.values())

    def keep(self, team: Team) -> None:
        """Remember a team that is none of the present ones, for turns that work with it."""
        self._before[team.digest] = team
        while len(self._before) > KEPT:
            self._before.popitem(last=False)

    def fallback(self) -> Team:
        """A team that always exists, to say something with."""
        return self._presets.teams.get(self.default) or next(iter(self._presets.teams.values()))

    def lite(self, registry: Registry, whole: Team | None = None) -> Team:
        """A team (else the preset `solo`, or the default) alone, with those of the lite tools that change nothing."""
        team = whole or self._presets.teams.get("solo") or self.fallback()

        def is_open(name: str) -> bool:
            spec = registry.get(name)
            return name in LITE_TOOLS and spec is not None and spec.effect == "none"

        lead = replace(team.supervisor, tools=tuple(filter(is_open, team.supervisor.tools)))
        return replace(team, name=LITE, supervisor=lead, agents={}, flow=(), inputs=())

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

    def swap(self, new: PresetSet) -> Swap:
        """Take a newly read set at once; each preset that is wrong in it keeps its last good version.

        Turns that run keep the team that they began with. The default preset is never taken away.
        """
        old = self._presets
        kept = {name: team for name, team in old.teams.items() if self._is_to_keep(name, new)}
        teams = dict(sorted({**new.teams, **kept}.items()))
        files = {**new.files, **{name: old.files[name] for name in kept if name in old.files}}
        self._presets = replace(new, teams=teams, files=files, trees={})
        for name, team in old.teams.items():
            if name not in teams or teams[name].digest != team.digest:
                self.keep(team)
        known = set(old.problems)
        return Swap(
            changed=tuple(n for n, t in teams.items() if _digest(old, n) != t.digest),
            gone=tuple(sorted(old.teams.keys() - teams.keys())),
            kept=tuple(sorted(kept)),
            problems=tuple(p for p in new.problems if p not in known and p.severity == "error"),
        )

    def _is_to_keep(self, name: str, new: PresetSet) -> bool:
        """Whether a good preset goes on because what replaces it is wrong, or nothing does and it is the default."""
        wrong = {new.files[broken] for broken in new.broken if broken in new.files}
        if name in new.broken or self._presets.files.get(name) in wrong:
            return True
        return name == self.default and name not in new.teams


def _digest(presets: PresetSet, name: str) -> str:
    team = presets.teams.get(name)
    return team.digest if team else ""


def chosen_presets(
    settings: "Settings", registry: Registry, reader: Reader, skills: SkillHouse
) -> "TeamHouse":
    """The presets for a start; what is wrong with one is logged. Raises SettingsError where the default is missing."""
    presets = load_presets(settings, registry, reader=reader, skills=skills)
    for problem in presets.problems:
        log.warning(
            "preset_problem",
            extra={
                "file": str(problem.file),
                "line": problem.line,
                "column": problem.column,
                "problem": problem.message,
            },
        )
    if settings.preset not in presets.teams:
        known = ", ".join(sorted(presets.teams))
        raise settings.refuse(
            "preset", f"there is no preset {settings.preset!r}", f"use one of {known}"
        )
    return TeamHouse(presets, settings.preset)
