"""Where a plan stands: a pure function of how its calls have ended so far, so that a restart goes on where it was.

Failures do not end a plan, unless a policy says `stop_and_report` or a person says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core.runtime.flow import Condition, Reply, Step
from agent_core.runtime.flow_ground import SKIPPED, Ground, Planned, Result, value_at
from agent_core.runtime.flow_steps import carried_out
from agent_core.runtime.team import Status

_CHOICE = {"en": ("Go on without it", "Stop"), "zh": ("不等它，继续", "停止")}
_STOP = frozenset(options[1] for options in _CHOICE.values())


@dataclass(slots=True)
class Walk:
    """How far a plan is: the `batch` that comes next, of `step`; none where it is over.

    `reply`: the supervisor's model has the last word. `stopped`: the step that ended the plan early, "" for none.
    """

    results: dict[str, Result] = field(default_factory=dict)
    batch: tuple[Planned, ...] = ()
    step: str = ""
    reply: bool = False
    stopped: str = ""

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
        asked = () if isinstance(made, tuple) else _go_on(step, ground, calls)
        batch = made if isinstance(made, tuple) else ground.open(asked)
        if isinstance(made, tuple) or batch:
            at.batch, at.step = batch, step.id
            return at
        at.results[step.id] = made
        if _stops(ground, calls, asked):
            at.stopped = step.id
            at.results[step.id] = _stopped(made, ground, calls, asked)
            break
    at.reply = bool(at.stopped) and any(isinstance(step.action, Reply) for step in steps)
    return at


def _holds(condition: Condition, ground: Ground, results: Mapping[str, Result]) -> bool:
    return condition.holds(value_at(condition.path, ground, results))


def _go_on(step: Step, ground: Ground, calls: Sequence[Planned]) -> tuple[Planned, ...]:
    """The question that a policy `ask_user` puts before the plan goes on."""
    failed = [end for end in ground.ended(calls) if end.action == "ask_user"]
    if not failed:
        return ()
    names = ", ".join(dict.fromkeys(ground.name(end.agent) for end in failed))
    words = f"{names}：没有完整结果。继续吗？" if ground.zh else f"{names}: no full result. Go on?"
    options = _CHOICE["zh" if ground.zh else "en"]
    return (Planned(f"{step.id}.go_on", question=words, options=options),)


def _stops(ground: Ground, calls: Sequence[Planned], asked: Sequence[Planned]) -> bool:
    refused = any(end.answer in _STOP for end in ground.ended(asked))
    return refused or any(end.action == "stop_and_report" for end in ground.ended(calls))


def _stopped(
    made: Result, ground: Ground, calls: Sequence[Planned], asked: Sequence[Planned]
) -> Result:
    """The result with the status for which the plan ends here."""
    ends = ground.ended(calls)
    why = next((end.status for end in ends if end.action == "stop_and_report"), None)
    status = why or (Status.CANCELLED if asked else made.status)
    return replace(made, status=status)
