"""What follows when a delegation has ended: a pure function of the agent's policy, the status and what was tried.

The order within one status never changes: retries with back-off, then the fallback model once, then
the next action (guide "presets", 4). The texts are for the supervising model; they restate what the
runtime enforces anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core.runtime.team import Agent, NextAction, Policy, Status

BACKOFF_CAP = (
    60.0  # seconds; a delegation that waits longer would outlive its supervisor's patience
)

DEFAULTS: dict[Status, Policy] = {
    Status.COMPLETED: Policy("use_result"),
    Status.PARTIAL: Policy("use_partial"),
    Status.EMPTY: Policy("fallback_to_direct_tools"),
    Status.INVALID_OUTPUT: Policy("use_partial"),
    Status.TIMEOUT: Policy("fallback_to_direct_tools", retryable=True),
    Status.ERROR: Policy("fallback_to_direct_tools", retryable=True),
    Status.OVER_BUDGET: Policy("use_partial"),
    Status.DENIED: Policy("stop_and_report"),
    Status.CANCELLED: Policy("stop_and_report"),
}  # SUB-10 and guide "presets", 10

# A finished result needs no second try; a person's "stop" is never overruled by one (guide "presets", 4).
FINAL = frozenset({Status.COMPLETED, Status.CANCELLED})

_TOOLS: NextAction = "fallback_to_direct_tools"

_HAPPENED = {
    Status.COMPLETED: "{role} finished.",
    Status.PARTIAL: "{role} finished only in part.",
    Status.EMPTY: "{role} brought no result.",
    Status.INVALID_OUTPUT: "{role} answered in a form that does not hold what was asked for.",
    Status.TIMEOUT: "{role} ran out of time.",
    Status.ERROR: "{role} failed.",
    Status.OVER_BUDGET: "{role} ran out of budget.",
    Status.DENIED: "A person or a rule refused what {role} wanted to do.",
    Status.CANCELLED: "The person stopped {role}.",
}

_THEN: dict[NextAction, str] = {
    "use_result": "Use its result.",
    "use_partial": "Use what there is and say what is missing.",
    "fallback_to_direct_tools": (
        "Do this part yourself with {tools} only, and say in one line that it was done without {role}."
    ),
    "stop_and_report": "Stop this part. Tell the person what happened and do not try another way.",
    "delegate_to": "The same task goes to `{target}`.",
    "ask_user": "Ask the person with `ask_user` how to go on; nothing else may be called before the answer.",
}


@dataclass(frozen=True, slots=True)
class Retry:
    """Run the delegation again after `backoff` seconds, with `model` (None: the agent's own)."""

    backoff: float
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """Hand the result to the supervisor.

    `fallback_tools` bounds the supervisor for this sub-task (empty: no bound); `retryable` says
    whether it may delegate the same task again; `retries_left` counts the automatic retries that
    were not needed.
    """

    action: NextAction
    instruction: str
    retryable: bool = False
    retries_left: int = 0
    fallback_tools: tuple[str, ...] = ()
    delegate_to: str | None = None


Decision = Retry | Next


def backoff(first: float, retry: int) -> float:
    """Seconds before a retry, from 1: twice as long each time, up to a cap."""
    return min(first * 2.0 ** (retry - 1), BACKOFF_CAP)


def policy_of(agent: Agent, status: Status) -> Policy:
    """The agent's policy for a status, or the default one."""
    return agent.policy.get(status) or DEFAULTS[status]


def decide(agent: Agent, status: Status, attempt: int, used_fallback_model: bool) -> Decision:
    """What follows when an attempt of a delegation ended with `status`.

    Args:
        agent: who ran.
        status: how the attempt ended.
        attempt: how many attempts have ended, this one included; from 1.
        used_fallback_model: whether this attempt, or one before it, ran on the fallback model.
    """
    policy = policy_of(agent, status)
    retries = policy.max_retries if policy.retryable and status not in FINAL else 0
    if attempt <= retries and not used_fallback_model:
        return Retry(backoff(policy.backoff, attempt))
    if _switches(agent, policy, status) and not used_fallback_model:
        return Retry(0.0, policy.fallback_model)
    return Next(
        action=policy.next_action,
        instruction=_instruction(agent, policy, status),
        retryable=policy.retryable and status not in FINAL,
        retries_left=max(0, retries - attempt + 1),
        fallback_tools=policy.fallback_tools if policy.next_action == _TOOLS else (),
        delegate_to=policy.delegate_to if policy.next_action == "delegate_to" else None,
    )


def in_part(agent: str, action: NextAction, tools: Sequence[str]) -> str:
    """What a supervisor is told of an agent's part that a step of a plan lacks."""
    named = ", ".join(f"`{name}`" for name in tools)
    then = _THEN[action].format(tools=named, role=f"`{agent}`", target="")
    return f"The part of `{agent}` is missing. {then}"


def nowhere(decision: Next) -> Next:
    """The decision to hand a task on when there is nobody who has not had it: what there is must do."""
    if decision.action != "delegate_to":
        return decision
    words = f"{decision.instruction} It has had it already. {_THEN['use_partial']}"
    return replace(decision, action="use_partial", delegate_to=None, instruction=words)


def _switches(agent: Agent, policy: Policy, status: Status) -> bool:
    """Whether another model is left to try; the one that just failed is not another."""
    return status not in FINAL and policy.fallback_model not in {None, agent.model}


def _instruction(agent: Agent, policy: Policy, status: Status) -> str:
    tools = ", ".join(f"`{name}`" for name in policy.fallback_tools) or "what you know"
    role = f"`{agent.id}`"
    then = _THEN[policy.next_action].format(tools=tools, role=role, target=policy.delegate_to)
    return " ".join(filter(None, (_HAPPENED[status].format(role=role), then, policy.say)))
