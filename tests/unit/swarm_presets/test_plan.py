"""The worst case of a preset with a fixed plan, and of tasks that are handed on (`presets plan`, guide 5)."""

from pathlib import Path

import pytest

from swarm_presets.loader import load_folder
from swarm_presets.plan import Plan, plan
from swarm_presets.problems import render

# A call reads a window of 10,000 tokens and writes 1,000: 2 cents; an agent makes two of them.
CALL, AGENT = 0.02, 0.04
LIMITS = "limits: {tool_rounds: 1, output_tokens: 1k}"


def made(folder: Path, text: str, *, more: str = "", output: str = "") -> Plan:
    """The plan of a desk with the agents a, b and judge."""
    (folder / "desk.yaml").write_text(
        f"""version: 1
name: desk
supervisor: {{tools: [], {LIMITS}}}
inputs: {{names: {{type: symbols, max_items: 5}}, many: {{type: symbols}}}}
agents:
  a: {{role: A, prompt: P., tools: [], {LIMITS}{output}}}
  b: {{role: B, prompt: P., tools: [], {LIMITS}}}
  judge: {{role: J, prompt: P., tools: [], {LIMITS}{more}}}
{text}
"""
    )
    loaded = load_folder(folder, tools=frozenset(), shipped=False)
    assert "desk" in loaded.teams, render(loaded.problems)
    tree = loaded.trees["desk"]
    return plan(loaded.teams["desk"], tree, lambda _: (1.0, 10.0), lambda _: 10_000)


def times(made: Plan) -> dict[str, int]:
    return {share.who: share.times for share in made.shares if share.who != "supervisor"}


@pytest.mark.parametrize(
    ("flow", "counted"),
    [
        ("{delegate: a}", (1, 0, 0)),
        ("{for_each: inputs.names, delegate: a}", (5, 0, 0)),
        ("{parallel: [{delegate: a}, {delegate: b}, {delegate: a}]}", (2, 1, 0)),
        ("{debate: {sides: [a, b], rounds: 3, judge: judge}}", (3, 3, 1)),
        ("{debate: {sides: [a, b], judge: judge}}", (1, 1, 1)),
        ("{vote: {agents: [a, judge], samples: 4, field: x}}", (4, 0, 4)),
        ("{delegate: a}, {when: {inputs.names: GOOG}, delegate: b}, {answer: true}", (1, 1, 0)),
    ],
)
def test_each_kind_of_step_counts_its_delegations(
    tmp_path: Path, flow: str, counted: tuple[int, int, int]
) -> None:
    """SW304, guide 5: what the plan may do at most, its conditions taken to hold."""
    schema = ", output: {format: json, max_repairs: 0, schema: {type: object, properties: {x: {type: string}}}}"
    found = made(tmp_path, f"flow: [{flow}]", more=schema, output=schema)
    assert times(found) == dict(zip(("a", "b", "judge"), counted, strict=True))
    lead = (
        2 * CALL if "answer" in flow else 0
    )  # without an answer step no model of the supervisor is called
    assert found.total.usd == pytest.approx(sum(counted) * AGENT + lead)
    assert found.total.input_tokens == 20_000 * (sum(counted) + bool(lead))


def test_items_without_a_bound_count_up_to_the_limit_of_delegations(tmp_path: Path) -> None:
    found = made(tmp_path, "flow: [{for_each: inputs.many, delegate: a}, {delegate: b}]")
    assert times(found) == {"a": 12, "b": 1, "judge": 0}
    assert found.total.usd == pytest.approx(12 * AGENT)


def test_a_list_of_an_earlier_output_counts_as_long_as_its_schema_lets_it(tmp_path: Path) -> None:
    output = (
        ", output: {format: json, max_repairs: 0, schema: {type: object, properties: {orders: "
        "{type: array, maxItems: 3, items: {type: string}}}}}"
    )
    flow = "flow: [{id: plan, delegate: a}, {for_each: plan.orders, delegate: b}]"
    assert times(made(tmp_path, flow, output=output)) == {"a": 1, "b": 3, "judge": 0}


def test_without_a_plan_as_many_as_may_be_go_to_the_dearest(tmp_path: Path) -> None:
    found = made(tmp_path, "delegation: {max_delegations: 3}", more=", fallback_model: demo")
    assert found.shares[3].attempts == 2
    assert found.total.usd == pytest.approx(2 * CALL + 3 * 2 * AGENT)


def test_a_task_that_is_handed_on_costs_both_agents(tmp_path: Path) -> None:
    policy = ", policy: {error: {next_action: delegate_to, delegate_to: b}}"
    found = made(tmp_path, "flow: [{delegate: judge}]", more=policy)
    assert times(found) == {"a": 0, "b": 0, "judge": 1}
    assert found.total.usd == pytest.approx(2 * AGENT)


def test_an_answer_that_is_sent_back_is_a_call_more(tmp_path: Path) -> None:
    held = ", grounding: {numbers: required, max_repairs: 2}"
    found = made(tmp_path, "flow: [{delegate: judge}]", more=held)
    assert found.shares[3].calls == 4


def test_what_a_step_in_part_has_made_again_is_counted(tmp_path: Path) -> None:
    """Each part may lack as often as its policy for `partial` has it made again, or handed on."""
    policy = ", policy: {partial: {next_action: delegate_to, delegate_to: b, retryable: true, max_retries: 2}}"
    found = made(tmp_path, "flow: [{parallel: [{delegate: a}, {delegate: b}]}]", output=policy)
    assert times(found) == {"a": 3, "b": 2, "judge": 0}
    assert found.total.usd == pytest.approx(5 * AGENT)
    alone = made(
        tmp_path,
        "flow: [{for_each: inputs.names, delegate: a}]\ndelegation: {max_delegations: 20}",
        output=policy.replace("max_retries: 2", "max_retries: 1, fallback_model: demo"),
    )
    assert times(alone) == {"a": 15, "b": 5, "judge": 0}
