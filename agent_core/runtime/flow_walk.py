"""Where a plan stands: a pure function of how its calls have ended so far, so that a restart goes on where it was.

Failures do not end a plan, unless a policy says `stop_and_report` or a person says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core.runtime.flow import Condition, Halfway, Reply, Step
from agent_core.runtime.flow_ground import SKIPPED, Ground, Planned, Result, value_at
from agent_core.runtime.flow_steps import carried_out
from agent_core.runtime.team import Status

_CHOICE = {"en": ("Go on without it", "Stop"), "zh": ("不等它，继续", "停止")}
_STOP = frozenset(options[1] for options in _CHOICE.values())
_TOOLS = "fallback_to_direct_tools"
Halves = tuple[tuple[str, Halfway], ...]  # by agent


@dataclass(slots=True)
class Walk:
    """How far a plan is: the `batch` that comes next, of `step`; none where it is over.

    `reply`: the supervisor's model has the last word. `stopped`: the step that ended the plan early, "" for none.
    `says`: what the policies for `partial` want to be minded; `fallen`: the agents whose part the supervisor does
    itself after them, each with the tools for it; `enough`: the steps whose result they take as it is.
    """

    results: dict[str, Result] = field(default_factory=dict)
    batch: tuple[Planned, ...] = ()
    step: str = ""
    reply: bool = False
    stopped: str = ""
    says: tuple[str, ...] = ()
    fallen: dict[str, tuple[str, ...]] = field(default_factory=dict)
    enough: frozenset[str] = frozenset()

    @property
    def status(self) -> str:
        """The status of the whole (guide "presets", 4): `partial` where some steps failed and others did not."""
        ended = [r for r in self.results.values() if r.status != SKIPPED]
        if self.stopped:
            return self.results[self.stopped].status
        if all(r.status == Status.COMPLETED for r in ended):
            return Status.COMPLETED
        if any(r.status in {Status.COMPLETED, Status.PARTIAL} for r in ended):
            return Status.PARTIAL
        return ended[0].status


def walk(steps: Sequence[Step], ground: Ground) -> Walk:
    """Go through the steps as far as their results reach."""
    at = Walk()
    for step in steps:
        if not all(_holds(one, ground, at.results) for one in step.when):
            if not isinstance(step.action, Reply):
                at.results[step.id] = Result(SKIPPED)
            continue
        if isinstance(step.action, Reply):
            at.reply = True
            return at
        made, calls = carried_out(step, ground, at.results)
        halves = () if isinstance(made, tuple) else _halves(made, ground, calls)
        asked = () if isinstance(made, tuple) else _go_on(step, ground, calls, halves)
        batch = made if isinstance(made, tuple) else ground.open(asked)
        if isinstance(made, tuple) or batch:
            at.batch, at.step = batch, step.id
            return at
        at.results[step.id] = made
        _mind(at, step, halves)
        if _stops(ground, calls, asked, halves):
            at.stopped = step.id
            at.results[step.id] = _stopped(made, ground, calls, asked)
            break
    at.reply = bool(at.stopped) and any(isinstance(step.action, Reply) for step in steps)
    return at


def _mind(at: Walk, step: Step, halves: Halves) -> None:
    """Keep what the policies of a step that succeeded in part mean for the answer."""
    new = dict.fromkeys(half.say for _, half in halves if half.say not in at.says)
    at.says += tuple(filter(None, new))
    at.fallen |= {name: half.fallback_tools for name, half in halves if half.action == _TOOLS}
    if halves and all(half.action == "use_result" for _, half in halves):
        at.enough |= {step.id}


def _holds(condition: Condition, ground: Ground, results: Mapping[str, Result]) -> bool:
    return condition.holds(value_at(condition.path, ground, results))


def _halves(made: Result, ground: Ground, calls: Sequence[Planned]) -> Halves:
    """The policies for `partial` of those whose part a step lacks, where it brought others (guide "presets", 4)."""
    ends = ground.ended(calls)
    if made.status != Status.PARTIAL or len(ends) < 2:
        return ()  # a single delegation has followed its own policy already
    lacking = dict.fromkeys(end.agent for end in ends if not end.ok)
    return tuple((name, ground.halfway[name]) for name in lacking if name in ground.halfway)


def _go_on(
    step: Step, ground: Ground, calls: Sequence[Planned], halves: Halves
) -> tuple[Planned, ...]:
    """The question that a policy `ask_user` puts before the plan goes on."""
    failed = [end.agent for end in ground.ended(calls) if end.action == "ask_user"]
    failed += [name for name, half in halves if half.action == "ask_user"]
    if not failed:
        return ()
    names = ", ".join(dict.fromkeys(ground.name(name) for name in failed))
    words = f"{names}：没有完整结果。继续吗？" if ground.zh else f"{names}: no full result. Go on?"
    options = _CHOICE["zh" if ground.zh else "en"]
    return (Planned(f"{step.id}.go_on", question=words, options=options),)


def _stops(
    ground: Ground, calls: Sequence[Planned], asked: Sequence[Planned], halves: Halves
) -> bool:
    refused = any(end.answer in _STOP for end in ground.ended(asked))
    actions = {end.action for end in ground.ended(calls)} | {half.action for _, half in halves}
    return refused or "stop_and_report" in actions


def _stopped(
    made: Result, ground: Ground, calls: Sequence[Planned], asked: Sequence[Planned]
) -> Result:
    """The result with the status for which the plan ends here."""
    ends = ground.ended(calls)
    why = next((end.status for end in ends if end.action == "stop_and_report"), None)
    status = why or (Status.CANCELLED if asked else made.status)
    return replace(made, status=status)
