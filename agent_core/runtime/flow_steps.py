"""Each kind of step: the batch of calls that it needs next, or how it ended.

What has a result is never asked for again. Keys depend on the step alone, so that a restart finds them again.
"""

from collections.abc import Mapping, Sequence

from agent_core.runtime.flow import (
    Branch,
    Debate,
    Delegate,
    Parallel,
    Reply,
    Step,
    Vote,
    look,
    shown,
)
from agent_core.runtime.flow_again import again
from agent_core.runtime.flow_ground import Done, Ground, Planned, Result, value_at
from agent_core.runtime.flow_votes import tally
from agent_core.runtime.team import Status

MOST = 64  # delegations of one `for_each`; the rest is left out and told
_ARGUE = "Argue your side of this:"
_REPLY = "Answer what the other side says, and argue your side of this:"
_DECIDE = "Decide after what each side says ({sides}) on this:"

Carried = tuple[tuple[Planned, ...] | Result, list[Planned]]


def carried_out(step: Step, ground: Ground, results: Mapping[str, Result]) -> Carried:
    """The batch that a step needs next or how it ended, with all its calls so far."""
    match step.action:
        case Delegate():
            return _delegate(step.id, step.action, ground, results)
        case Parallel():
            return _parallel(step.id, step.action, ground)
        case Debate():
            return _debate(step.id, step.action, ground)
        case Vote():
            return _vote(step.id, step.action, ground)
        case Reply():
            raise AssertionError("an answer is no call")


def _delegate(
    name: str, action: Delegate, ground: Ground, results: Mapping[str, Result]
) -> Carried:
    branch = action.branch
    if not action.for_each:
        one = Planned(name, branch.agent, ground.task(branch.task))
        return (ground.open([one]) or _single(ground.end(one))), [one]
    items = value_at(action.for_each, ground, results)
    if not isinstance(items, list | tuple) or not items:
        return Result(Status.EMPTY, told=f"`{action.for_each}` has no items"), []
    calls = [
        Planned(
            f"{name}.{n}", branch.agent, ground.task(branch.task, shown(item)), item=shown(item)
        )
        for n, item in enumerate(items[:MOST], 1)
    ]
    if open_calls := ground.open(calls):
        return open_calls, calls
    ends = ground.ended(calls)
    told = f"{len(items) - MOST} items were left out" if len(items) > MOST else ""
    texts = [f"**{c.item}**\n\n{end.text}" for c, end in zip(calls, ends, strict=True) if end.text]
    missing = tuple(
        (f"{end.agent} ({c.item})", end.status)
        for c, end in zip(calls, ends, strict=True)
        if not end.ok
    )
    if missing and (more := again(calls, ground)):
        return more, calls
    whole = not missing and not told
    status = Status.COMPLETED if whole else _mixed(ends)
    return Result(status, [end.data for end in ends], "\n\n".join(texts), missing, told), calls


def _single(end: Done) -> Result:
    missing = () if end.ok else ((end.agent, end.status),)
    return Result(end.status, end.data, end.text, missing)


def _mixed(ends: Sequence[Done]) -> str:
    """The status of several of which not all did what they should."""
    if any(end.ok or end.usable for end in ends):
        return Status.PARTIAL
    return next((end.status for end in ends if not end.ok), Status.PARTIAL)


def _parallel(name: str, action: Parallel, ground: Ground) -> Carried:
    calls = [
        Planned(f"{name}.{n}", branch.agent, ground.task(branch.task))
        for n, branch in enumerate(action.branches, 1)
    ]
    if open_calls := ground.open(calls):
        return open_calls, calls

    def whole(ends: Sequence[Done]) -> bool:
        enough = sum(end.ok for end in ends) >= action.need
        return enough and _required_hold(action.branches, ends)

    if more := again(calls, ground, whole):
        return more, calls
    ends = ground.ended(calls)
    status = Status.COMPLETED if whole(ends) else _mixed(ends)
    data = {end.agent: end.data for end in ends}
    return Result(status, data, _sections(ends, ground), _lacking(ends)), calls


def _required_hold(branches: Sequence[Branch], ends: Sequence[Done]) -> bool:
    return all(end.ok for one, end in zip(branches, ends, strict=True) if one.required)


def _lacking(ends: Sequence[Done]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys((end.agent, str(end.status)) for end in ends if not end.ok))


def _sections(ends: Sequence[Done], ground: Ground) -> str:
    return "\n\n".join(f"**{ground.name(end.agent)}**\n\n{end.text}" for end in ends if end.text)


def _debate(name: str, action: Debate, ground: Ground) -> Carried:
    """Round by round; who failed in one is not asked in the next. A judge decides as long as one side has spoken."""
    calls: list[Planned] = []
    last: dict[str, Done] = {}
    sides = list(action.sides)
    for turn in range(1, action.rounds + 1):
        heard = dict(last)
        round_calls = [
            Planned(
                f"{name}.{turn}.{side}",
                side,
                f"{_ARGUE if turn == 1 else _REPLY}\n\n{ground.task('')}",
                _arguments(side, heard, ground),
            )
            for side in sides
        ]
        calls += round_calls
        if open_calls := ground.open(round_calls):
            return open_calls, calls
        if more := again(calls, ground):  # before the others go on, and before the judge
            return more, calls
        said = {c.agent: end for c in round_calls if (end := ground.end(c)).usable}
        last |= said
        sides = list(said)
    ends = ground.ended(calls)
    if not last or any(end.action == "stop_and_report" for end in ends):
        return Result(_mixed(ends), missing=_lacking(ends)), calls
    judge = Planned(
        f"{name}.judge",
        action.judge,
        f"{_DECIDE.format(sides=', '.join(last))}\n\n{ground.task('')}",
        _arguments(action.judge, last, ground),
    )
    calls.append(judge)
    if open_calls := ground.open([judge]) or again(calls, ground):
        return open_calls, calls
    verdict = ground.end(judge)
    ends = ground.ended(calls)
    status = Status.COMPLETED if all(end.ok for end in ends) else _mixed(ends)
    return Result(status, verdict.data, verdict.text, _lacking(ends)), calls


def _arguments(reader: str, heard: Mapping[str, Done], ground: Ground) -> str:
    """What the others said last, without what the reader is given by its `from_agents` anyway."""
    parts = [
        f"[{side}]\n{end.text}"
        for side, end in heard.items()
        if side != reader and side not in ground.handed.get(reader, ())
    ]
    return "\n\n".join(parts)


def _vote(name: str, action: Vote, ground: Ground) -> Carried:
    calls = [
        Planned(f"{name}.{n}.{agent}", agent, ground.task(""))
        for agent in action.agents
        for n in range(1, action.samples + 1)
    ]
    if open_calls := ground.open(calls) or again(calls, ground):
        return open_calls, calls
    ends = ground.ended(calls)
    count = tally(action, [look(end.data, action.field) if end.ok else None for end in ends])
    value, told = count.value, f"{action.field}: {count.words or '-'}"
    if count.tied and action.tie == "ask_user":
        options = {shown(one): one for one in count.tied[:10]}
        words = f"{action.field}: {count.words}?"
        ask = Planned(f"{name}.tie", question=words, options=tuple(options))
        if ask.key not in ground.done:
            return (ask,), calls
        value = options.get(ground.done[ask.key].answer or "")
    text = f"{action.field}: {shown(value) if value is not None else '-'} ({told})"
    data = {} if value is None else {action.field: value}
    if not count.counted:
        return Result(_voteless(ends), data, "", _lacking(ends), "no vote counts"), calls
    status = Status.COMPLETED if count.counted == count.asked else Status.PARTIAL
    return Result(status, data, text, _lacking(ends), text), calls


def _voteless(ends: Sequence[Done]) -> str:
    return next((end.status for end in ends if not end.ok), Status.INVALID_OUTPUT)
