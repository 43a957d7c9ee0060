"""What a resolved preset is held against: references, then meaning, then what this version enforces.

Codes SW104, SW2xx, SW3xx, and SW4xx (warnings). What an earlier stage found wrong is unknown here: nothing is
concluded from it. The last stage counts for running alone, and speaks once nothing else is wrong.
"""

from collections.abc import Iterator

from swarm_presets.cautions import cautions
from swarm_presets.consent import consent_meaning
from swarm_presets.meaning import meaning
from swarm_presets.meaning_flow import flow_meaning
from swarm_presets.meaning_halves import half_meaning
from swarm_presets.meaning_inputs import input_meaning
from swarm_presets.meaning_memory import memory_meaning
from swarm_presets.meaning_money import idle_pots, money_meaning
from swarm_presets.meaning_schedule import schedule_meaning
from swarm_presets.meaning_skills import skill_meaning, unknown_skills
from swarm_presets.meaning_words import word_meaning
from swarm_presets.positions import Leaf, Mapping, at
from swarm_presets.problems import Problem
from swarm_presets.references import (
    Known,
    unknown_agents,
    unknown_inputs,
    unknown_models,
    unknown_sources,
    unknown_tools,
)
from swarm_presets.servers import unknown_servers


def check(tree: Mapping, known: Known, *, complete: bool) -> Iterator[Problem]:
    """All findings about a resolved preset. `complete` is False when its parents are not all known."""
    unknown = [*unknown_tools(tree, known), *unknown_sources(tree, known)]
    yield from unknown_servers(tree, known.servers)
    unknown += unknown_skills(tree, known)
    yield from unknown
    yield from unknown_inputs(tree)
    if not complete:
        return
    yield from unknown_agents(tree)
    yield from money_meaning(tree, known)
    yield from unknown_models(tree, known)
    yield from input_meaning(tree)
    yield from consent_meaning(tree)
    yield from flow_meaning(tree)
    if not is_abstract(tree):
        places = {(p.file, p.line, p.column) for p in unknown}
        yield from memory_meaning(tree)
        yield from schedule_meaning(tree)
        yield from idle_pots(tree)
        yield from half_meaning(tree)
        yield from (p for p in meaning(tree) if (p.file, p.line, p.column) not in places)
        later = (*word_meaning(tree), *skill_meaning(tree))
        yield from (p for p in later if (p.file, p.line, p.column) not in places)


def last_stage(tree: Mapping, known: Known) -> Iterator[Problem]:
    """About a preset without any error: cautions."""
    if not is_abstract(tree):
        yield from cautions(tree, known)


def is_abstract(tree: Mapping) -> bool:
    """Whether a preset exists only to be extended."""
    abstract = at(tree, "abstract")
    return isinstance(abstract, Leaf) and abstract.value is True
