"""What a resolved preset comes to: its team, `explain`, `diff`, `plan`, forms of findings, and the time it takes."""

import gc
import json
from pathlib import Path

import pytest

from agent_core.runtime.expect import Require, Rule
from agent_core.runtime.team import Grounding, OutputContract, Status
from swarm_presets.compile import compile_team
from swarm_presets.explain import differences, explain, shown, values
from swarm_presets.formats import to_github, to_sarif
from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.plan import plan
from swarm_presets.positions import Source, plain
from swarm_presets.problems import render
from swarm_presets.starter import starter
from swarm_presets.syntax import parse
from swarm_presets.uncollected import uncollected
from tests.bench.presets import MIXES, fill
from tests.pace import cpu_seconds
from tests.unit.swarm_presets.catalogue import MODELS, TOOLS

BASE = """\
version: 1
name: base
abstract: true
models: {smart: {use: anthropic/any}}
supervisor:
  model: smart
  prompt: |
    Lead.
    Keep: the goal.
  tools: [chart, analyze_stock]
  limits: {time: 300s, tool_rounds: 3, output_tokens: 1k}
agents:
  a:
    role: A
    prompt: P.
    tools: []
    model: smart
    limits: {time: 60s, tool_rounds: 1, output_tokens: 1k}
    policy: {error: {next_action: use_partial, retryable: true, max_retries: 2, backoff: 2s}}
delegation: {max_delegations: 4}
"""
CHILD = "version: 1\nname: desk\nextends: base\nsupervisor: {tools: {remove: [chart]}}\n"


def load(folder: Path, child: str = CHILD, base: str = BASE) -> PresetSet:
    (folder / "base.yaml").write_text(base, "utf-8")
    (folder / "desk.yaml").write_text(child, "utf-8")
    loaded = load_folder(folder, tools=TOOLS, models=MODELS)
    assert render(loaded.problems) == ""
    return loaded


def test_require_becomes_the_loop_guards_rules_of_the_supervisor(tmp_path: Path) -> None:
    """LPG-1, C-18: the wider ways stay off unless the preset asks for them."""
    text = (
        "require:\n  contextual: true\n  follow_up: health\n  hints: [Review]\n  yes: [OK]\n"
        "  rules: [{name: health, tool: analyze_stock, args: {mode: x}, phrases: [How IS it]}]\n"
    )
    team = load(tmp_path, CHILD + text).teams["desk"]
    assert team.supervisor.require == Require(
        rules=(Rule("health", "analyze_stock", {"mode": "x"}, ("how is it",)),),
        contextual=True,
        follow_up="health",
        hints=("review",),
        yes=frozenset({"ok"}),
    )
    assert team.agents["a"].require == Require()


def test_without_require_the_guard_keeps_its_own_rules(tmp_path: Path) -> None:
    assert load(tmp_path).teams["desk"].supervisor.require == Require()


def test_an_agents_contract_and_context_are_compiled(tmp_path: Path) -> None:
    text = CHILD + (
        "agents:\n  a:\n    limits: {stall_timeout: 50s, idle_timeout: 7s}\n"
        "    grounding: {numbers: required, tolerance: 0.01}\n"
        "    output: {format: json, schema: {type: object}, render: '{{ x }}', max_repairs: 0}\n"
        "    fallback_model: demo\n"
        "  b: {role: B, prompt: P., tools: [],\n"
        "      context: {from_supervisor: full, from_agents: [a], on_overflow: refuse}}\n"
    )
    agents = load(tmp_path, text).teams["desk"].agents
    assert (agents["a"].limits.stall_timeout, agents["a"].limits.idle_timeout) == (50.0, 7.0)
    assert agents["a"].grounding == Grounding("required", 0.01)
    assert agents["a"].output == OutputContract("json", {"type": "object"}, "{{ x }}", 0)
    assert agents["a"].policy[Status.TIMEOUT].fallback_model == "demo"
    assert agents["a"].policy[Status.CANCELLED].fallback_model is None
    assert (agents["b"].context, agents["b"].from_agents) == ("full", ("a",))
    assert agents["b"].on_overflow == "refuse"


def test_explain_is_the_same_preset_again_with_a_place_for_each_value(tmp_path: Path) -> None:
    tree = load(tmp_path).trees["desk"]
    text = explain(tree)
    again, problems = parse(text, Source("x.yaml", tuple(text.split("\n"))))
    assert problems == []
    assert again is not None
    assert plain(again) == {k: v for k, v in plain(tree).items() if k != "extends"}
    lines = {line.split("#")[0].strip(): line.rpartition("# ")[2] for line in text.split("\n")}
    assert lines["time: 300s"] == "base.yaml:11"
    assert lines["tools: [analyze_stock]"] == "desk.yaml:4"
    found = {v.path: (v.value, v.file, v.line) for v in values(tree)}
    assert found["supervisor.limits.tool_rounds"] == ("3", "base.yaml", 11)


def test_explain_quotes_what_would_read_as_something_else(tmp_path: Path) -> None:
    child = CHILD + 'title: "12"\ndescription: "a: b, [c] # d"\n'
    tree = load(tmp_path, child).trees["desk"]
    again, _ = parse(explain(tree), Source("x.yaml", tuple(explain(tree).split("\n"))))
    assert again is not None
    assert (plain(again)["title"], plain(again)["description"]) == ("12", "a: b, [c] # d")


def test_diff_names_paths_with_both_values(tmp_path: Path) -> None:
    loaded = load(tmp_path, CHILD + "agents: {a: {limits: {time: 30s}}}\n")
    found = differences(loaded.trees["base"], loaded.trees["desk"])
    assert [d.path for d in found] == ["name", "supervisor.tools", "agents.a.limits.time"]
    assert "  - 60s" in shown(found)
    assert "# desk.yaml:5" in shown(found)
    assert differences(loaded.trees["desk"], loaded.trees["desk"]) == []


def test_plan_is_the_worst_case_in_tokens_dollars_and_time(tmp_path: Path) -> None:
    tree = load(tmp_path).trees["desk"]
    made = plan(compile_team(tree), tree, lambda _: (1.0, 10.0), lambda _: 10_000)
    lead, agent = made.shares
    # A call reads a window of 10,000 tokens and writes 1,000: 2 cents.
    assert (lead.calls, agent.attempts, agent.calls) == (4, 3, 6)
    assert [lead.usd, agent.usd] == pytest.approx([0.08, 0.12])
    assert agent.time == 3 * 60 + 2 + 4  # three attempts and two pauses
    assert made.total.usd == pytest.approx(0.08 + 4 * 0.12)
    assert (made.total.calls, made.total.time) == (4 + 4 * 6, 300.0)


def test_an_unknown_price_leaves_the_dollars_open_and_a_pot_caps_them(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / "desk.yaml").write_text(CHILD + "budgets: {run: {usd: 0.5, time: 10m}}\n")
    loaded = load_folder(tmp_path, tools=TOOLS, schema_only=True)
    tree = loaded.trees["base"]
    assert plan(compile_team(tree), tree, lambda _: None, lambda _: 1).total.usd is None
    tree = loaded.trees["desk"]
    made = plan(compile_team(tree), tree, lambda _: None, lambda _: 1)
    assert (made.total.usd, made.capped_by) == (0.5, "budgets.run.usd")


def test_a_limit_in_dollars_bounds_an_agent_to_one_call_more(tmp_path: Path) -> None:
    base = BASE.replace("tool_rounds: 1,", "tool_rounds: 9, usd: 0.05,")
    tree = load(tmp_path, base=base).trees["desk"]
    made = plan(compile_team(tree), tree, lambda _: (1.0, 10.0), lambda _: 10_000)
    assert made.shares[1].usd == pytest.approx(3 * (0.05 + 0.02))


@pytest.mark.parametrize("parent", ["solo", "trading-desk"])
def test_a_new_preset_runs_as_it_is_and_with_its_hints_taken(tmp_path: Path, parent: str) -> None:
    tree = load_folder(tools=TOOLS).trees[parent]
    text = starter("my-desk", parent, tree)
    hints = "\n".join(
        line.removeprefix("# ") if line.startswith(("#  ", "# agents", "# supervisor")) else line
        for line in text.split("\n")
    )
    for version in (text, hints):
        (tmp_path / "my-desk.yaml").write_text(version)
        loaded = load_folder(tmp_path, tools=TOOLS)
        assert render(loaded.problems) == ""
        assert "my-desk" in loaded.teams


def test_sarif_and_github_name_the_file_and_the_place(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text("version: 1\nname: desk\nsupervisor: {tools: [chrat]}\n")
    found = load_folder(tmp_path, tools=TOOLS).problems
    run = json.loads(to_sarif(found, tmp_path))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["SW203"]
    result = run["results"][0]
    assert (result["ruleId"], result["level"]) == ("SW203", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "desk.yaml"
    assert place["region"] == {"startLine": 3, "startColumn": 22, "endColumn": 27}
    assert to_github(found, tmp_path) == (
        "::error file=desk.yaml,line=3,col=22,endColumn=27,title=SW203::"
        "no tool `chrat`: did you mean `chart`?"
    )


@pytest.mark.slow
@pytest.mark.parametrize("mix", MIXES)
def test_a_hundred_presets_take_less_than_a_second(tmp_path: Path, mix: str) -> None:
    """The bound is 1 s, whatever the mix; of CPU here, since others may be at work, and the best of five counts."""
    fill(tmp_path, 100, MIXES[mix])
    gc.collect()
    gc.freeze()  # what other tests have left is not this one's to walk through
    assert len(load_folder(tmp_path, tools=TOOLS).teams) >= 102
    taken = cpu_seconds(lambda: load_folder(tmp_path, tools=TOOLS))
    gc.unfreeze()
    assert taken < 1.0


def test_the_collector_is_as_it_was_after_presets_are_read(tmp_path: Path) -> None:
    """It rests while they are read, since walking through what they are made of takes half of the time."""
    (tmp_path / "desk.yaml").write_text("a: [")
    for on in (True, False):
        (gc.enable if on else gc.disable)()
        try:
            load_folder(tmp_path, tools=TOOLS, shipped=False)
            assert gc.isenabled() == on
            with uncollected(), uncollected():
                assert not gc.isenabled()
            assert gc.isenabled() == on
        finally:
            gc.enable()
