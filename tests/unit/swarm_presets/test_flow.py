"""A plan and inputs as the runtime gets them from a file (guide "presets", 2 and 9.3)."""

from pathlib import Path

from agent_core.runtime.flow import (
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
from agent_core.runtime.team import Team
from swarm_presets.loader import load_folder
from swarm_presets.problems import render

DESK = """
version: 1
name: desk
supervisor: {tools: []}
delegation: {max_delegations: 16}
inputs:
  symbol:  {type: symbol, required: true, description: Which share}
  horizon: {type: choice, choices: [1m, 3m], default: 3m}
  risk:    {type: number, default: 1.0, min: 0.1, max: 5}
  symbols: {type: symbols, max_items: 3}
agents:
  a: {role: A, prompt: "On {{ inputs.symbol }}, {{ inputs.horizon }}, {{ inputs.risk }}.", tools: []}
  b: {role: B, prompt: P., tools: []}
  judge:
    role: J
    prompt: P.
    tools: []
    output: {format: json, schema: {type: object, properties: {rating: {type: string}, sure: {type: number}}}}
"""
FLOW = """
flow:
  - {id: collect, delegate: a, task: "Facts on {{ inputs.symbol }}"}
  - {for_each: inputs.symbols, delegate: b}
  - {id: argue, debate: {sides: [a, b], rounds: 2, judge: judge}}
  - {parallel: [{delegate: a}, {delegate: b, required: false}]}
  - {parallel: [{delegate: a}, {delegate: b, required: true}], need: 1}
  - id: settle
    when: {argue.sure: {lt: 0.6, not: 0}, inputs.horizon: 3m}
    vote: {agents: [judge], samples: 3, field: rating, method: plurality, tie: first}
  - {answer: true}
"""


def desk(tmp_path: Path, flow: str = FLOW) -> Team:
    (tmp_path / "desk.yaml").write_text(DESK + flow)
    loaded = load_folder(tmp_path, tools=frozenset(), shipped=False)
    assert not [p for p in loaded.problems if p.severity == "error"], render(loaded.problems)
    return loaded.teams["desk"]


def test_each_kind_of_step_comes_through(tmp_path: Path) -> None:
    when = (
        Condition("argue.sure", lt=0.6, other_than=0),
        Condition("inputs.horizon", among=("3m",)),
    )
    assert desk(tmp_path).flow == (
        Step("collect", Delegate(Branch("a", "Facts on {{ inputs.symbol }}"))),
        Step("step2", Delegate(Branch("b"), "inputs.symbols")),
        Step("argue", Debate(("a", "b"), 2, "judge")),
        Step("step4", Parallel((Branch("a"), Branch("b", required=False)))),
        Step("step5", Parallel((Branch("a", required=False), Branch("b")), 1)),
        Step("settle", Vote(("judge",), 3, "rating", "plurality", "first"), when),
        Step("step7", Reply()),
    )


def test_inputs_come_through_in_their_order(tmp_path: Path) -> None:
    assert desk(tmp_path).inputs == (
        Input("symbol", "symbol", "Which share", required=True),
        Input("horizon", "choice", default="3m", choices=("1m", "3m")),
        Input("risk", "number", default=1.0, low=0.1, high=5.0),
        Input("symbols", "symbols", max_items=3),
    )


def test_a_plan_is_part_of_what_a_running_turn_keeps(tmp_path: Path) -> None:
    one = desk(tmp_path)
    assert one.digest != desk(tmp_path, FLOW.replace("rounds: 2", "rounds: 1")).digest
