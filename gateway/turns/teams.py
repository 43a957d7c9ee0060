"""Which team works in a turn: the conversation's choice when it begins, and that very one until it has ended.

A turn's row has the digest of its preset. A preset that is edited meanwhile changes nothing for it, also after a
restart: what the preset said is stored with the first turn that begins with it, and made into a team again.
"""

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from agent_core.runtime.memories import NONE, MemoryRules
from agent_core.runtime.scenes import brought
from agent_core.runtime.team import Team
from agent_core.tools.registry import Registry
from agent_core.types import Context, Row
from gateway.engine.begun import Begun, Chosen
from gateway.inbound.conversation import Lane
from gateway.memory.recalled import scope_of
from gateway.people.identity import Language
from gateway.presets import versions as preset_versions
from gateway.presets.team_house import LITE, TeamHouse, acting
from gateway.recipes.recipes import Recipes
from gateway.settings.groups import Groups
from gateway.turns.found import Found
from swarm_presets.kept import restore
from swarm_presets.references import Known

log = logging.getLogger(__name__)


@dataclass(slots=True)
class TurnTeams:
    """Teams of turns. Its methods that take a connection run in transactions that others commit."""

    house: TeamHouse
    registry: Registry
    groups: Groups
    recipes: Recipes | None = None
    _stored: frozenset[str] = frozenset()  # digests whose text is known to be in the database
    _storing: dict[str, frozenset[str]] = field(default_factory=dict)

    def present(self, lane: Lane) -> Team | None:
        """Who would work in a turn that begins now in this conversation; None when its preset is gone."""
        if self._is_lite(lane):
            return self.house.lite(self.registry)
        return self.house.find(lane.preset)

    def choice(self, lane: Lane) -> Chosen:
        """The preset of a turn that begins now: its name and its digest."""
        team = self.present(lane)
        name = LITE if self._is_lite(lane) else self.house.name_for(lane.preset)
        return Chosen(name, team.digest if team else "")

    def scenes(self, lane: Lane, words: str) -> tuple[Context, ...]:
        """What the preset of a conversation adds to the context of a message with these words."""
        team = self.present(lane)
        return tuple(Context(text) for text in brought(team.scenes, words)) if team else ()

    def called(
        self,
        found: Found,
        lane: Lane,
        text: str,
        owner: str,
        language: Language,
        earlier: Sequence[Row],
    ) -> Found:
        """What was found for a message that begins a turn, with the skills of its session and what it calls."""
        team = None if self._is_lite(lane) else self.present(lane)
        if self.recipes is None or team is None:
            return found
        found = self.recipes.told(found, earlier, owner, private=lane.private)
        return self.recipes.beside(found, team, text, owner, language)

    def memory(self, lane: Lane) -> MemoryRules:
        """What the preset of a conversation lets its supervisor read and keep; in lite mode nothing."""
        team = None if self._is_lite(lane) else self.present(lane)
        return team.supervisor.memory if team else NONE

    def unlearnt(self, lane: Lane) -> bool:
        """Whether the preset of a conversation lets nothing of a turn be remembered."""
        return not self.memory(lane).writes(scope_of(lane))

    def where(self, lane: Lane) -> str:
        """Where what is said in a conversation counts, "" for groups in lite mode, of which nothing is kept."""
        return "" if self._is_lite(lane) else scope_of(lane)

    def staffed(self, conn: Connection, begun: Begun, now: dt.datetime) -> Begun:
        """The turn with its team, in the transaction that begins it or goes on with it."""
        team = self._team(conn, begun)
        if team is not None and team.source and team.digest not in self._stored:
            kept = preset_versions.keep(conn, team, self.house.digests(), now)
            self._storing[team.digest] = kept
        return replace(begun, team=team)

    def committed(self, begun: Begun) -> None:
        """What `staffed` did for this turn is committed."""
        if begun.team is not None and begun.team.digest in self._storing:
            self._stored = self._storing.pop(begun.team.digest)

    def _is_lite(self, lane: Lane) -> bool:
        return self.groups.is_lite(lane.address, private=lane.private)

    def _team(self, conn: Connection, begun: Begun) -> Team | None:
        team = self.present(begun.lane)
        if not begun.digest or (team is not None and team.digest == begun.digest):
            return team
        found = self.house.by_digest(begun.digest) or self._restored(conn, begun.digest)
        if found is None or not self._is_lite(begun.lane):
            return found
        return self.house.lite(self.registry, found)

    def _restored(self, conn: Connection, digest: str) -> Team | None:
        """The team of a preset that was edited while no process ran, or too often since. Some milliseconds of work."""
        source = preset_versions.source_of(conn, digest)
        lead = frozenset(spec.name for spec in self.registry if spec.lead_only)
        known = Known(self.registry.names, None, acting(self.registry), lead=lead)
        team = None if source is None else restore(source, digest, known)
        if team is None:
            log.warning("preset_version_lost", extra={"digest": digest})
            return None
        self.house.keep(team)
        return team


def models_of(team: Team, chosen: str) -> set[str]:
    """Every model that a turn of this team may need."""
    names = {chosen or team.supervisor.model, "auto"}
    for agent in team.agents.values():
        names.add(agent.model)
        names.update(p.fallback_model for p in agent.policy.values() if p.fallback_model)
    return {name for word in names for name in team.plain_models(word)}
