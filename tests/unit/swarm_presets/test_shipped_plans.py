"""The shipped presets with fixed plans: bounded, in two languages, no warnings; and how orders wait for a yes."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from agent_core.approvals import Rule
from agent_core.models.replay import Cassette
from agent_core.runtime.flow import Condition, Delegate, Parallel, Reply
from agent_core.runtime.team import Status
from gateway.presets.evals import Runner
from gateway.presets.team_house import load_presets
from gateway.settings.settings import Settings
from gateway.toolbox import toolbox
from swarm_presets.evals import cases
from swarm_presets.loader import PresetSet
from swarm_presets.plan import plan
from swarm_presets.problems import render

PLANS = (
    "daily-brief", "earnings-note", "macro-fx", "portfolio-review", "risk-committee", "screen-and-rank", "trading-plan",
)  # fmt: skip
ALL = (*PLANS, "crypto-desk")
HAN = re.compile(r"[\u3400-\u9fff]")
OWN = {"presets_dir": "nowhere", "models": {"default": "demo"}}


@pytest.fixture(scope="module")
def presets() -> PresetSet:
    return load_presets(Settings.model_validate(OWN), toolbox())


def test_nothing_is_to_be_said_against_a_shipped_preset(presets: PresetSet) -> None:
    """No error, no warning, with the settings that nobody has changed."""
    assert render(presets.problems) == ""
    assert set(ALL) <= presets.teams.keys()


@pytest.mark.parametrize("name", ALL)
def test_each_has_three_cases_and_agents_with_names_in_both_languages(
    presets: PresetSet, name: str
) -> None:
    found = cases(presets.trees[name])
    assert len(found) >= 3
    assert all(case.model in {None, "demo"} for case in found)
    for agent in presets.teams[name].agents.values():
        assert HAN.search(agent.title.get("zh", "")), agent.id
        assert agent.role, agent.id


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_goes_on_without_a_part_and_leaves_the_last_word_to_the_supervisor(
    presets: PresetSet, name: str
) -> None:
    """Nobody could do a part in an agent's place, so no policy promises tools that would."""
    team = presets.teams[name]
    assert isinstance(team.flow[-1].action, Reply)
    assert any(isinstance(step.action, Delegate | Parallel) for step in team.flow)
    for agent in team.agents.values():
        for status in (Status.ERROR, Status.TIMEOUT, Status.EMPTY):
            policy = agent.policy[status]
            assert (policy.next_action, policy.fallback_tools) == ("use_partial", ()), agent.id
        assert agent.grounding.numbers == "required", agent.id


@pytest.mark.parametrize("name", ALL)
def test_the_worst_case_is_bounded(presets: PresetSet, name: str) -> None:
    """What `presets plan` shows: a dollar and a quarter of an hour at most, however the agents fare."""
    made = plan(presets.teams[name], presets.trees[name], lambda _: (3.0, 15.0), lambda _: 200_000)
    assert made.total.usd is not None
    assert 0 < made.total.usd <= 1.0
    assert made.total.time <= 15 * 60
    assert made.total.input_tokens <= 400_000


def test_orders_wait_for_the_risk_officer_and_for_a_person(presets: PresetSet) -> None:
    """Guide "presets" 9.4, TGV-9: what was rejected never reaches the one who places orders."""
    team = presets.teams["trading-plan"]
    assert [step.id for step in team.flow][:3] == ["signals", "plan", "check"]
    assert team.flow[-1].when == (Condition("check.verdict", among=("pass", "unclear")),)
    assert {"place_order", "cancel_order", "portfolio"} <= set(team.supervisor.tools)
    limits = team.agents["trading"].limits
    assert (limits.time, limits.tool_timeout, limits.tool_rounds) == (120.0, 45.0, 6)
    assert (limits.input_tokens, limits.output_chars) == (12_000, 1_600)


def rules_for(presets: PresetSet, **args: object) -> list[Rule]:
    rules = presets.teams["trading-plan"].supervisor.approvals
    return [rule for rule in rules if rule.tool == "place_order" and rule.matches(args)]


@pytest.mark.parametrize(
    ("args", "by", "quorum", "where"),
    [
        ({"mode": "paper", "notional_usd": 9_000}, ("requester",), 1, "here"),
        ({"mode": "live", "notional_usd": 900}, ("requester",), 1, "direct_message"),
        ({"mode": "live", "notional_usd": 1_001}, ("role:pm", "admin"), 2, "ops_channel"),
    ],
)
def test_who_must_say_yes_depends_on_the_money(
    presets: PresetSet, args: dict[str, object], by: tuple[str, ...], quorum: int, where: str
) -> None:
    (rule,) = rules_for(presets, **args)
    assert (rule.by, rule.quorum, rule.where) == (by, quorum, where)
    assert rule.not_requester is (quorum == 2)
    assert rule.remember == "never"


def test_a_live_order_of_unknown_worth_needs_the_strictest_yes(presets: PresetSet) -> None:
    assert {rule.quorum for rule in rules_for(presets, mode="live")} == {1, 2}


@pytest.mark.parametrize(
    "case", ["no order without a yes", "an approved paper order is booked once"]
)
async def test_an_order_is_placed_after_a_yes_and_once(presets: PresetSet, case: str) -> None:
    """TGV-9, MSC-3; the other cases run with all shipped ones."""
    [part] = [c for c in cases(presets.trees["trading-plan"]) if c.name == case]
    verdict = await Runner(Settings.model_validate(OWN), "trading-plan", Cassette()).run(part)
    assert verdict.shortfalls == ()


def test_the_schedule_that_the_brief_shows_can_be_taken_over(tmp_path: Path) -> None:
    text = (files("swarm_presets") / "presets" / "daily-brief.yaml").read_text("utf-8")
    shown = [line[2:] for line in text.splitlines() if line.startswith(("# schedule:", "#   - {"))]
    assert len(shown) == 2
    head = "version: 1\nname: my-brief\nextends: daily-brief\n"
    (tmp_path / "my-brief.yaml").write_text(head + "\n".join(shown) + "\n", "utf-8")
    found = load_presets(Settings.model_validate(OWN), toolbox(), tmp_path)
    assert render(found.found["my-brief"]) == ""
    assert "my-brief" in found.teams
