"""From the checked `flow` and `inputs` of a preset to what the runtime carries out."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_core.runtime.flow import (
    Action,
    Branch,
    Condition,
    Debate,
    Delegate,
    Input,
    Parallel,
    Reply,
    Step,
    Vote,
)
from swarm_presets.part import Comparison
from swarm_presets.schema_flow import StepPart
from swarm_presets.schema_rules import InputPart


def steps(parts: Sequence[StepPart] | None) -> tuple[Step, ...]:
    """The plan; a step without an id has its place as one."""
    taken = {part.id for part in parts or () if part.id}
    made: list[Step] = []
    for place, part in enumerate(parts or (), 1):
        name = part.id or f"step{place}"
        while part.id is None and name in taken:
            name += "x"
        taken.add(name)
        made.append(Step(name, _action(part), _conditions(part.when or {})))
    return tuple(made)


def _action(part: StepPart) -> Action:
    if part.delegate:
        return Delegate(Branch(part.delegate, part.task or ""), part.for_each or "")
    if part.parallel:
        # Beside `need` only what is marked as required is.
        default = part.need is None
        branches = tuple(
            Branch(b.delegate, b.task or "", default if b.required is None else b.required)
            for b in part.parallel
        )
        return Parallel(branches, part.need or 0)
    if part.debate:
        debate = part.debate
        return Debate(tuple(debate.sides), debate.rounds, debate.judge)
    if part.vote:
        vote = part.vote
        return Vote(tuple(vote.agents), vote.samples, vote.field, vote.method, vote.tie)
    return Reply()


def _conditions(when: Mapping[str, Any]) -> tuple[Condition, ...]:
    return tuple(_condition(path, bound) for path, bound in when.items())


def _condition(path: str, bound: Any) -> Condition:
    if not isinstance(bound, Comparison):
        return Condition(path, among=(bound,))
    return Condition(
        path,
        lt=bound.lt,
        lte=bound.lte,
        gt=bound.gt,
        gte=bound.gte,
        among=tuple(bound.in_ or ()),
        other_than=bound.not_,
    )


def inputs(parts: Mapping[str, InputPart | None] | None) -> tuple[Input, ...]:
    """The inputs in the order of the file."""
    return tuple(_input(name, part) for name, part in (parts or {}).items() if part is not None)


def _input(name: str, part: InputPart) -> Input:
    return Input(
        name,
        part.type,
        description=part.description or "",
        required=bool(part.required),
        default=part.default,
        choices=tuple(part.choices or ()),
        low=part.min,
        high=part.max,
        max_items=part.max_items,
    )
