"""Cases of presets, run through the real core: faults, decisions, statuses, recordings, report and exit code."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_core.models.replay import Cassette
from agent_core.ports import FinishedChunk, ModelRequest
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool
from agent_core.types import ToolResult, ToolUse, Usage, assistant
from gateway.presets.evals import Runner, Verdict, said
from gateway.settings.settings import Settings
from swarm_presets.schema_flow import CasePart
from tests.unit.gateway.test_cli import SHIPPED, Command

pytestmark = pytest.mark.slow  # each runs whole presets, or the command in a process

SAY = "How did GOOG do in 2012?"
DESK = """\
version: 1
name: desk
supervisor: {role: Head, prompt: Lead., tools: [get_market_overview, analyze_stock]}
agents:
  research:
    role: Researcher
    prompt: Look.
    tools: [get_market_history]
    policy:
      error: {next_action: use_partial, retryable: true, max_retries: 1}
"""
PAYER = "version: 1\nname: payer\nsupervisor: {role: Payer, prompt: Pay., tools: [pay]}\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "desk.yaml").write_text(DESK)
    own = {"presets_dir": folder, "data_dir": tmp_path / "data", "models": {"default": "demo"}}
    return Settings.model_validate(own)


async def run(
    settings: Settings, case: dict[str, Any], preset: str = "desk", **more: Any
) -> Verdict:
    runner = Runner(settings, preset, more.pop("cassette", Cassette()), **more)
    return await runner.run(CasePart.model_validate({"name": "it", "say": SAY, **case}))


@pytest.mark.parametrize(
    ("status", "action", "whole"),
    [
        ("partial", "use_partial", "partial"),
        ("empty", "fallback_to_direct_tools", "completed"),
        ("invalid_output", "use_partial", "partial"),
        ("timeout", "fallback_to_direct_tools", "completed"),
        ("error", "use_partial", "partial"),
        ("over_budget", "use_partial", "partial"),
        ("denied", "stop_and_report", "denied"),
        ("cancelled", "stop_and_report", "cancelled"),
    ],
)
async def test_each_status_can_be_staged_and_leads_where_the_policy_says(
    settings: Settings, status: str, action: str, whole: str
) -> None:
    """SUB-10, TGV-9: what is staged goes through the real policy, and the run says how it ended as a whole."""
    case = {
        "inject": [{"agent": "research", "status": status}],
        "expect": {
            "status": whole,
            "delegated": ["research"],
            "next_action": {"research": action},
            "not_tools": ["get_market_history"],
            "max_usd": 0,
        },
    }
    assert (await run(settings, case)).shortfalls == ()


async def test_a_fault_happens_as_often_as_it_says(settings: Settings) -> None:
    once = {"inject": [{"agent": "research", "status": "error", "times": 1}]}
    expect = {"status": "completed", "next_action": {"research": "use_result"}, "grounded": True}
    assert (await run(settings, once | {"expect": expect})).passed
    twice = {"inject": [{"agent": "research", "status": "error", "times": 2}]}
    assert (await run(settings, twice | {"expect": {"status": "partial"}})).passed


async def test_what_an_agent_brings_can_be_staged(settings: Settings) -> None:
    case = {
        "inject": [{"agent": "research", "status": "completed", "result": "It was a fine year."}],
        "expect": {"contains": ["It was a fine year."], "not_tools": ["get_market_history"]},
    }
    assert (await run(settings, case)).passed


async def test_a_tool_fails_or_answers_as_the_case_says(settings: Settings) -> None:
    fails = {"tool": "get_market_history", "error": "the source is away"}
    case = {"inject": [fails], "expect": {"tools": ["get_market_history"]}}
    assert "get_market_history is missing" in (await run(settings, case)).shortfalls[0]
    says = {"tool": "get_market_history", "result": '{"note": "nothing that day"}'}
    assert (await run(settings, case | {"inject": [says]})).passed


def test_inputs_are_said_as_people_may_write_them() -> None:
    given = {"symbols": ["GOOG", "AAPL"], "risk_pct": 1.5, "short": True}
    case = CasePart.model_validate({"name": "it", "say": "Plan.", "inputs": given, "expect": {}})
    assert said(case) == "Plan.\nsymbols = GOOG, AAPL\nrisk_pct = 1.5\nshort = true"


async def test_a_case_that_says_nothing_fails(settings: Settings) -> None:
    (line,) = (await run(settings, {"say": None, "expect": {}})).shortfalls
    assert "says nothing" in line


async def test_nothing_of_a_case_is_left_behind(settings: Settings) -> None:
    await run(settings, {"expect": {"status": "completed"}})
    assert not settings.data_dir.exists()


# Approvals ------------------------------------------------------------------------------------------


def pay_tool() -> ToolSpec:
    @tool(title={"en": "Pay"}, idempotent=False, requires_approval=True, effect="trade")
    async def pay(ctx: ToolContext, to: str) -> ToolOutput:
        """Pay somebody.

        Args:
            to: Whom.
        """
        return ToolOutput(f"paid {to}")

    return pay


@dataclass
class Payer(Cassette):
    """Answers any request: calls `pay` once, then says what came of it."""

    def find(self, request: ModelRequest) -> FinishedChunk | None:
        last = request.messages[-1].blocks[-1]
        if isinstance(last, ToolResult):
            message = assistant(f"It says: {last.content}")
            return FinishedChunk(message, "end", Usage(), "replay")
        message = assistant("", ToolUse("p1", "pay", {"to": "bob"}))
        return FinishedChunk(message, "tool_use", Usage(), "replay")


@pytest.mark.parametrize(
    ("decision", "expect"),
    [
        ("accept", {"status": "completed", "tools": ["pay"], "contains": ["paid bob"]}),
        ("deny", {"status": "denied", "not_tools": ["pay"]}),
        ("expire", {"status": "denied", "not_tools": ["pay"], "contains": ["expired"]}),
    ],
)
async def test_the_person_decides_as_the_case_says(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, decision: str, expect: dict[str, Any]
) -> None:
    """TGV-6, TGV-7: through the same durable question as in a chat."""
    monkeypatch.setattr("gateway.toolbox.foreign_tools", lambda: [pay_tool()])
    (settings.presets_dir / "payer.yaml").write_text(PAYER)
    case = {"inject": [{"tool": "pay", "approve": decision}], "expect": expect}
    verdict = await run(settings, case, "payer", cassette=Payer(), model="replay")
    assert verdict.shortfalls == ()


async def test_a_question_that_the_case_does_not_answer_fails_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.toolbox.foreign_tools", lambda: [pay_tool()])
    (settings.presets_dir / "payer.yaml").write_text(PAYER)
    case = {"expect": {"status": "completed"}}
    (line,) = (await run(settings, case, "payer", cassette=Payer(), model="replay")).shortfalls
    assert "nobody answers the question of pay" in line
    assert "approve: accept" in line


# Recordings -----------------------------------------------------------------------------------------


async def test_a_recording_passes_again_without_the_model(settings: Settings) -> None:
    cassette = Cassette()
    expect = {"status": "completed", "delegated": ["research"], "tools": ["get_market_history"]}
    case = {"expect": expect | {"grounded": True}}
    first = await run(settings, case, cassette=cassette, model="demo", record=True)
    again = await run(settings, case, cassette=cassette, model="replay")
    assert first.passed
    assert again.shortfalls == ()
    assert first.seen is not None
    assert again.seen is not None
    assert again.seen.text == first.seen.text
    stale = await run(
        settings, case | {"say": "And AAPL in 2012?"}, cassette=cassette, model="replay"
    )
    assert not stale.passed


async def test_the_models_of_the_settings_can_be_asked_and_an_unknown_one_is_told(
    settings: Settings,
) -> None:
    case = {"expect": {"status": "completed", "max_usd": 0}}
    assert (await run(settings, case, model="auto")).passed
    (line,) = (await run(settings, case, model="nobody/nothing")).shortfalls
    assert "there is no model 'nobody/nothing'" in line


# The command ----------------------------------------------------------------------------------------

CASES = f"""\
evals:
  - {{name: good, say: "{SAY}", expect: {{status: completed, max_usd: 0}}}}
"""


@pytest.fixture
def swarmgate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    (tmp_path / "presets").mkdir()
    return Command(tmp_path, monkeypatch)


def test_the_command_reports_and_ends_with_1_on_a_failure(swarmgate: Command) -> None:
    Path("presets/desk.yaml").write_text(DESK + CASES)
    said = swarmgate("presets", "eval", "desk")
    assert "1 of 1 cases passed (100%), cost $0.0000, median" in said
    bad = "  - {name: bad, say: hello, expect: {tools: [chart]}}\n"
    Path("presets/desk.yaml").write_text(DESK + CASES + bad)
    rows = swarmgate.json("presets", "eval", "desk", code=1)
    assert [(r["case"], r["passed"], r["status"]) for r in rows] == [
        ("good", True, "completed"),
        ("bad", False, "completed"),
    ]
    assert rows[1]["shortfalls"] == ["tools: chart is missing (seen: none)"]


def test_what_is_wrong_with_other_presets_is_told_once_and_not_for_each_case(
    swarmgate: Command,
) -> None:
    more = "  - {name: again, say: hello, expect: {status: completed}}\n"
    Path("presets").mkdir(exist_ok=True)
    Path("presets/desk.yaml").write_text(DESK + CASES + more)
    Path("presets/broken.yaml").write_text("version: 1\nname: broken\nsupervisr: {}\n")
    command = [sys.executable, "-m", "gateway", "presets", "eval", "desk"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert "2 of 2 cases passed" in run.stdout
    assert run.stderr.count("unknown key `supervisr`") == 1, run.stderr


def test_what_is_recorded_lies_beside_the_presets_and_is_replayed(swarmgate: Command) -> None:
    Path("presets/desk.yaml").write_text(DESK + CASES)
    swarmgate("presets", "eval", "desk", "--record", "--model", "demo")
    kept = json.loads(Path("presets/cassettes/desk.json").read_text("utf-8"))
    assert len(kept["answers"]) >= 4
    rows = swarmgate.json("presets", "eval", "desk", "--model", "replay")
    assert (rows[0]["model"], rows[0]["passed"]) == ("replay", True)


@pytest.mark.parametrize(
    ("name", "word"), [("nobody", "there is no preset 'nobody'"), ("desk", "has no cases")]
)
def test_a_preset_without_cases_is_told(swarmgate: Command, name: str, word: str) -> None:
    Path("presets/desk.yaml").write_text(DESK)
    assert word in swarmgate("presets", "eval", name, code=2)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning"
)  # exchange_calendars' own
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_case_passes_without_a_key(swarmgate: Command, name: str) -> None:
    rows = swarmgate.json("presets", "eval", name)
    assert {row["id"]: row["shortfalls"] for row in rows if not row["passed"]} == {}
    assert len(rows) >= 2
