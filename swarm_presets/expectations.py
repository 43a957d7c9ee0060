"""The preset's `require` as the loop guard takes it; what is not written keeps its default."""

from agent_core.runtime.expect import Require, Rule
from swarm_presets.schema_rules import RequirePart, RequireRule


def require(part: RequirePart | None) -> Require:
    """What the supervisor is expected to do. Phrases are compared in lower case (LPG-2)."""
    if part is None:
        return Require()
    default = Require()
    return Require(
        rules=default.rules if part.rules is None else tuple(map(_rule, part.rules)),
        contextual=bool(part.contextual),
        affirmative=bool(part.affirmative),
        follow_up=part.follow_up or default.follow_up,
        markers=default.markers if part.markers is None else _low(part.markers),
        follow_ups=default.follow_ups if part.follow_ups is None else _low(part.follow_ups),
        hints=default.hints if part.hints is None else _low(part.hints),
        yes=default.yes if part.yes is None else frozenset(_low(part.yes)),
    )


def _rule(part: RequireRule) -> Rule:
    return Rule(part.name, part.tool, dict(part.args), _low(part.phrases))


def _low(words: list[str]) -> tuple[str, ...]:
    return tuple(word.lower().strip() for word in words)
