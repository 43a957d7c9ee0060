"""Random plans with random failures: each call at most once, steps in order, and any kill goes on where it was."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.runtime.flow import (
    Action,
    Branch,
    Condition,
    Debate,
    Delegate,
    Halfway,
    Parallel,
    Reply,
    Step,
    Vote,
)
from agent_core.runtime.flow_ground import Done, Ground, Planned
from agent_core.runtime.flow_walk import Walk, walk
from agent_core.runtime.planned import call_id

AGENTS = ("a", "b", "c")
VALUES = {"symbols": ["GOOG", "AAPL"], "mode": "paper"}
names = st.sampled_from(AGENTS)
branches = st.lists(st.builds(Branch, names, required=st.booleans()), min_size=1, max_size=3)
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(Delegate, st.builds(Branch, names), st.sampled_from(["", "inputs.symbols"])),
    st.builds(Parallel, branches.map(tuple), st.integers(0, 1)),
    st.builds(Debate, st.just(("a", "b")), st.integers(1, 3), names),
    st.builds(
        Vote,
        st.lists(names, min_size=1, max_size=2, unique=True).map(tuple),
        st.integers(1, 3),
        st.just("x"),
        st.sampled_from(["majority", "plurality", "unanimous", "median", "mean"]),
        st.sampled_from(["abstain", "first", "ask_user"]),
    ),
)
whens = st.sampled_from(
    [
        (),
        (Condition("mode", among=("paper",)),),
        (Condition("mode", among=("live",)),),
        (Condition("s0.x", lt=2),),
    ]
)
plans = st.lists(st.tuples(actions, whens), min_size=1, max_size=5)
STATUSES = {
    "completed": "use_result",
    "partial": "use_partial",
    "error": "fallback_to_direct_tools",
    "timeout": "ask_user",
    "denied": "stop_and_report",
}
ends = st.sampled_from(["completed"] * 6 + ["partial", "error", "error", "timeout", "denied"])


def made(plan: list[tuple[Action, tuple[Condition, ...]]]) -> tuple[Step, ...]:
    steps = [Step(f"s{n}", action, when) for n, (action, when) in enumerate(plan)]
    return (*steps, Step("end", Reply()))


def end_of(call: Planned, status: str, x: int) -> Done:
    if not call.agent:
        return Done(answer=call.options[x % len(call.options)] if call.options else "yes")
    data = {"x": x} if status == "completed" else None
    return Done(call.agent, status, STATUSES[status], "" if status == "error" else "words", data)


halves = st.dictionaries(
    names,
    st.builds(
        Halfway,
        st.sampled_from(["use_partial", "use_result", "delegate_to", "ask_user"]),
        retries=st.integers(0, 2),
        fallback_model=st.sampled_from(["", "other"]),
        delegate_to=names,
    ),
)


def at(
    steps: tuple[Step, ...], done: Mapping[str, Done], half: Mapping[str, Halfway] | None = None
) -> Walk:
    return walk(steps, Ground(VALUES, "words", done, halfway=half or {}))


@settings(max_examples=300, deadline=None)
@given(plans, halves, st.data())
def test_every_call_is_made_once_in_the_order_of_the_steps(
    plan: list[tuple[Action, tuple[Condition, ...]]],
    half: dict[str, Halfway],
    data: st.DataObject,
) -> None:
    """Also what is made again of a step in part: so often as its policy says, and not more."""
    steps = made(plan)
    again: Counter[str] = Counter()
    done: dict[str, Done] = {}
    asked: list[str] = []
    order: list[int] = []
    while (now := at(steps, done, half)).batch:
        assert now == at(
            steps, dict(reversed(done.items())), half
        )  # nothing but the results counts
        for call in now.batch:
            assert call.key not in asked
            asked.append(call.key)
            again[call.of] += bool(call.of)
            order.append(int(now.step.removeprefix("s")))
            # A kill in the middle of a batch: what has a result is not asked for again.
            left = {c.key for c in at(steps, done, half).batch}
            assert call.key in left
            done[call.key] = end_of(call, data.draw(ends), data.draw(st.integers(0, 2)))
    assert order == sorted(order)
    assert all(count <= 4 for count in again.values())  # two retries, a model, an agent
    assert half or not +again
    assert len({call_id(3, key) for key in asked}) == len(asked)
    assert now.status in {
        "completed",
        "partial",
        "error",
        "timeout",
        "denied",
        "cancelled",
        "empty",
        "invalid_output",
    }
    if now.stopped:
        assert list(now.results)[-1] == now.stopped
    else:
        assert list(now.results) == [step.id for step in steps[:-1]]
        failed = {r.status for r in now.results.values()} - {"completed", "skipped"}
        assert (now.status == "completed") == (not failed)
    assert now.reply


def test_what_is_made_again_together_is_judged_together_also_after_a_kill() -> None:
    """One stand-in that was refused takes nothing from the others of its round, whichever of them ended before."""
    half = dict.fromkeys(("a", "b"), Halfway("use_partial", fallback_model="other"))
    both = Step("both", Parallel((Branch("a"), Branch("b"), Branch("c")), need=3))
    failed = Done(status="error", action="use_partial")
    done = {
        "both.1": replace(failed, agent="a"),
        "both.2": replace(failed, agent="b"),
        "both.3": Done("c", text="words"),
    }

    def next_calls(*ended: tuple[str, Done]) -> list[str]:
        ground = Ground({}, "words", done | dict(ended), halfway=half)
        return [one.key for one in walk((both, Step("end", Reply())), ground).batch]

    refused = ("both.1.again1", Done("a", "denied", "stop_and_report"))
    assert next_calls() == ["both.1.again1", "both.2.again1"]
    assert next_calls(refused) == ["both.2.again1"]
    assert next_calls(refused, ("both.2.again1", Done("b", text="words"))) == []
