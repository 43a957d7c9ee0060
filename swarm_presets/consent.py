"""The preset's `approvals` as the rules that the runtime enforces, and what makes a rule impossible to satisfy."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent_core.approvals import Condition, Op, Rule
from agent_core.runtime.team import Team
from swarm_presets.part import Comparison
from swarm_presets.parts import each, number, words
from swarm_presets.positions import Leaf, Mapping
from swarm_presets.problems import Problem, problem
from swarm_presets.schema_rules import ApprovalPart

_BOUNDS: tuple[Op, ...] = ("lt", "lte", "gt", "gte")


def ruled(team: Team, parts: Sequence[ApprovalPart] | None) -> Team:
    """The team with the preset's rules, in the order of its parents and of the file; they bind each of its agents."""
    rules = tuple(_rule(part) for part in parts or ())
    return replace(
        team,
        supervisor=replace(team.supervisor, approvals=rules),
        agents={name: replace(agent, approvals=rules) for name, agent in team.agents.items()},
    )


def _rule(part: ApprovalPart) -> Rule:
    default = Rule(part.tool)
    return Rule(
        tool=part.tool,
        when=tuple(
            condition
            for field, wanted in (part.when or {}).items()
            for condition in _conditions(field, wanted)
        ),
        by=tuple(dict.fromkeys(part.by or default.by)),
        not_requester=bool(part.not_requester),
        quorum=part.quorum or default.quorum,
        expires=part.expires,
        remember=part.remember or default.remember,
        show=tuple(part.show or ()),
        editable=None if part.editable is None else tuple(part.editable),
        where=part.where or default.where,
    )


def _conditions(field: str, wanted: Any) -> Iterator[Condition]:
    if not isinstance(wanted, Comparison):
        yield Condition(field, "is", wanted)
        return
    for op in _BOUNDS:
        bound: float | None = getattr(wanted, op)
        if bound is not None:
            yield Condition(field, op, bound)
    if wanted.in_ is not None:
        yield Condition(field, "in", tuple(wanted.in_))
    if wanted.not_ is not None:
        yield Condition(field, "not", wanted.not_)


def consent_meaning(tree: Mapping) -> Iterator[Problem]:
    """SW102: a rule that nobody could ever satisfy would only look like a question."""
    for entry in each(tree, "approvals.*"):
        if isinstance(entry.node, Mapping):
            yield from _impossible(entry.node)


def _impossible(rule: Mapping) -> Iterator[Problem]:
    who = {leaf.text for leaf in words(rule, "by.*")} or set(Rule("").by)
    apart, quorum = rule.entries.get("not_requester"), rule.entries.get("quorum")
    if apart and isinstance(apart.node, Leaf) and apart.node.value is True and who == {"requester"}:
        message = "only the requester may approve, and `not_requester` leaves the requester out"
        yield problem("SW102", message, apart.key, "name somebody else under `by`")
    counted = all(name == "requester" or name.startswith("user:") for name in who)
    if quorum and counted and (number(quorum.node) or 1) > len(who):
        message = "`quorum` is more than the people who are named"
        yield problem("SW102", message, quorum.key, "name more people under `by`, or a role")
