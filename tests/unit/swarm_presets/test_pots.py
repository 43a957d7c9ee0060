"""Budgets of a preset: what the runtime is given of them, and what `presets plan` makes of it (guide "presets", 5)."""

from pathlib import Path

import pytest

from agent_core.budget.pots import NANO, OwnPots, Pot, Rules, Unpriced, tightened
from agent_core.runtime.team import Team
from swarm_presets.loader import load_folder
from swarm_presets.plan import plan
from swarm_presets.problems import render

HEAD = "version: 1\nname: desk\nsupervisor: {tools: [], limits: {time: 8m}}\n"


def desk(folder: Path, text: str, head: str = HEAD) -> Team:
    (folder / "desk.yaml").write_text(head + text)
    loaded = load_folder(folder, tools=frozenset({"chart"}))
    assert "desk" in loaded.teams, render(loaded.problems)
    return loaded.teams["desk"]


def test_each_pot_is_handed_over_with_what_follows(tmp_path: Path) -> None:
    text = """
models: {cheap: {use: demo}}
budgets:
  run:      {usd: 0.60, tokens: 250k, on_exceeded: ask_admin}
  user_day: {usd: 2.00, runs: 40, warn_at: 0.8, on_exceeded: fallback_model, fallback_model: cheap}
  day:      {usd: 25.00, on_exceeded: queue}
  reserve: true
  unpriced_models: refuse
"""
    assert desk(tmp_path, text).budget == OwnPots(
        pots=(
            Pot("run", 600_000_000, 250_000, on_exceeded="ask_admin"),
            Pot(
                "user_day",
                2 * NANO,
                runs=40,
                warn_at=0.8,
                on_exceeded="fallback_model",
                fallback_model="demo",
                of_preset=True,
            ),
            Pot("day", 25 * NANO, on_exceeded="queue", of_preset=True),
        ),
        reserve=True,
        unpriced="refuse",
    )


@pytest.mark.parametrize(("limit", "pot", "least"), [(0.2, 0.6, 0.2), (0.9, 0.6, 0.6)])
def test_of_the_supervisors_limit_and_the_runs_pot_the_smaller_one_counts(
    tmp_path: Path, limit: float, pot: float, least: float
) -> None:
    head = f"version: 1\nname: desk\nsupervisor: {{tools: [], limits: {{usd: {limit}}}}}\n"
    (run,) = desk(tmp_path, f"budgets: {{run: {{usd: {pot}}}}}\n", head).pots.pots
    assert run.usd == round(least * NANO)


def test_the_time_of_a_run_bounds_its_supervisor(tmp_path: Path) -> None:
    head = "version: 1\nname: desk\nsupervisor: {tools: []}\n"
    limits = desk(tmp_path, "budgets: {run: {time: 45s}}\n", head).supervisor.limits
    assert (limits.time, limits.tool_timeout, limits.idle_timeout) == (45, 45, 45)


def test_a_run_cannot_queue_for_a_pot_that_never_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(f"{HEAD}budgets: {{run: {{usd: 1, on_exceeded: queue}}}}\n")
    found = load_folder(tmp_path, tools=frozenset({"chart"})).problems
    assert [(p.code, p.line) for p in found if p.code == "SW102"] == [("SW102", 4)]


def test_the_plan_stays_within_the_pots_of_a_run(tmp_path: Path) -> None:
    """What `presets plan` promises is what the pots enforce."""
    text = "budgets: {run: {usd: 0.5, tokens: 100k, time: 8m}}\n"
    team = desk(tmp_path, text)
    loaded = load_folder(tmp_path, tools=frozenset())
    total = plan(team, loaded.trees["desk"], lambda _: (1.0, 2.0), lambda _: 200_000)
    made = total.total
    assert total.capped_by == "budgets.run.usd, budgets.run.tokens, budgets.run.time"
    assert (made.usd, made.time) == (0.5, 480)
    assert max(made.input_tokens, made.output_tokens) <= 100_000


@pytest.mark.parametrize(
    ("settings", "own", "wanted"),
    [
        ("warn", "allow", "warn"),
        ("warn", "refuse", "refuse"),
        ("refuse", "warn", "refuse"),
        ("warn", None, "warn"),
    ],
)
def test_a_preset_only_tightens_the_rules_of_the_settings(
    settings: Unpriced, own: Unpriced | None, wanted: Unpriced
) -> None:
    base = Rules((Pot("day", 5),), reserve=True, unpriced=settings)
    more = OwnPots((Pot("day", 9, of_preset=True), Pot("run", 3)), reserve=False, unpriced=own)
    made = tightened(base, more)
    assert made.pots == (Pot("run", 3), Pot("day", 5), Pot("day", 9, of_preset=True))
    assert (made.reserve, made.unpriced) == (True, wanted)


def test_where_the_settings_limit_nothing_the_presets_word_counts() -> None:
    own = OwnPots((Pot("run", 3),), reserve=False, unpriced="allow")
    made = tightened(Rules(), own)
    assert (made.reserve, made.unpriced) == (False, "allow")
