"""What follows a delegation: every status, attempt by attempt (SUB-10, guide "presets" 4)."""

import pytest

from agent_core.runtime.policy import BACKOFF_CAP, DEFAULTS, Next, Retry, decide, policy_of
from agent_core.runtime.team import Agent, Policy, Status

FALLBACK = "fallback_to_direct_tools"


def agent(status: Status | None = None, policy: Policy | None = None, model: str = "auto") -> Agent:
    policies = {status: policy} if status and policy else {}
    return Agent("research", "Researcher", "Look.", (), model=model, policy=policies)


@pytest.mark.parametrize(
    ("status", "action", "retryable"),
    [
        (Status.COMPLETED, "use_result", False),
        (Status.PARTIAL, "use_partial", False),
        (Status.EMPTY, FALLBACK, False),
        (Status.INVALID_OUTPUT, "use_partial", False),
        (Status.TIMEOUT, FALLBACK, True),
        (Status.ERROR, FALLBACK, True),
        (Status.OVER_BUDGET, "use_partial", False),
        (Status.DENIED, "stop_and_report", False),
        (Status.CANCELLED, "stop_and_report", False),
    ],
)
@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_default_policy_of_each_status_never_retries_by_itself(
    status: Status, action: str, retryable: bool, attempt: int
) -> None:
    decision = decide(agent(), status, attempt, used_fallback_model=False)
    assert isinstance(decision, Next)
    assert (decision.action, decision.retryable, decision.retries_left) == (action, retryable, 0)
    assert "`research`" in decision.instruction


R = Retry
RICH = Policy(
    FALLBACK,
    retryable=True,
    max_retries=2,
    backoff=2.0,
    fallback_model="demo",
    fallback_tools=("chart",),
)
FINAL = {Status.COMPLETED, Status.CANCELLED}


@pytest.mark.parametrize("status", sorted(set(Status) - FINAL))
@pytest.mark.parametrize(
    ("attempt", "used", "wanted"),
    [
        (1, False, Retry(2.0)),
        (2, False, Retry(4.0)),
        (3, False, Retry(0.0, "demo")),
        (4, True, None),
        (1, True, None),
    ],
)
def test_retries_come_first_then_the_fallback_model_once_then_the_next_action(
    status: Status, attempt: int, used: bool, wanted: Retry | None
) -> None:
    decision = decide(agent(status, RICH), status, attempt, used_fallback_model=used)
    if wanted is not None:
        assert decision == wanted
    else:
        assert isinstance(decision, Next)
        assert decision.fallback_tools == ("chart",)
        assert "`chart` only" in decision.instruction


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_finished_or_stopped_run_is_never_retried_whatever_the_policy_says(
    status: Status,
) -> None:
    decision = decide(agent(status, RICH), status, 1, used_fallback_model=False)
    assert isinstance(decision, Next)
    assert not decision.retryable
    assert decision.retries_left == 0


def test_retries_need_the_policy_to_be_retryable() -> None:
    policy = Policy("use_partial", retryable=False, max_retries=3)
    assert isinstance(decide(agent(Status.ERROR, policy), Status.ERROR, 1, False), Next)


def test_backoff_doubles_up_to_its_cap() -> None:
    policy = Policy("use_partial", retryable=True, max_retries=10, backoff=20.0)
    waits = [decide(agent(Status.ERROR, policy), Status.ERROR, n, False) for n in range(1, 6)]
    assert waits == [R(20.0), R(40.0), R(BACKOFF_CAP), R(BACKOFF_CAP), R(BACKOFF_CAP)]


def test_the_model_that_just_failed_is_not_its_own_fallback() -> None:
    policy = Policy("use_partial", fallback_model="demo")
    same = agent(Status.ERROR, policy, model="demo")
    assert isinstance(decide(same, Status.ERROR, 1, False), Next)


def test_retries_that_were_not_needed_are_told() -> None:
    policy = Policy("use_partial", retryable=True, max_retries=3)
    decision = decide(agent(Status.ERROR, policy), Status.ERROR, 1, used_fallback_model=True)
    assert isinstance(decision, Next)
    assert decision.retries_left == 3


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy("use_result"), "Use its result."),
        (Policy("use_partial", say="Name the limit."), "Name the limit."),
        (Policy("delegate_to", delegate_to="analysis"), "goes to `analysis`"),
        (Policy("ask_user"), "with `ask_user`"),
        (Policy("stop_and_report"), "do not try another way"),
        (Policy(FALLBACK, fallback_tools=("chart", "analyze_stock")), "`chart`, `analyze_stock`"),
    ],
)
def test_the_instruction_says_what_the_next_action_is(policy: Policy, words: str) -> None:
    decision = decide(agent(Status.ERROR, policy), Status.ERROR, 1, used_fallback_model=False)
    assert isinstance(decision, Next)
    assert words in decision.instruction


def test_fallback_tools_bind_only_when_they_are_the_next_action() -> None:
    policy = Policy("use_partial", fallback_tools=("chart",), delegate_to="analysis")
    decision = decide(agent(Status.ERROR, policy), Status.ERROR, 1, used_fallback_model=False)
    assert isinstance(decision, Next)
    assert decision.fallback_tools == ()
    assert decision.delegate_to is None


def test_each_status_has_a_default_policy() -> None:
    assert set(DEFAULTS) == set(Status)
    assert policy_of(agent(Status.ERROR, RICH), Status.ERROR) is RICH
    assert policy_of(agent(), Status.ERROR) is DEFAULTS[Status.ERROR]
