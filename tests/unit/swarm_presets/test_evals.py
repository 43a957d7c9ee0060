"""What a case of a preset expects, held against what was seen (guide "presets", 9)."""

from pathlib import Path
from typing import Any

import pytest

from swarm_presets.evals import Seen, cases, shortfalls
from swarm_presets.loader import load_folder
from swarm_presets.schema_flow import ExpectPart
from tests.unit.swarm_presets.catalogue import TOOLS

RATING = {"rating": "hold", "confidence": 0.4, "orders": [{"a/b": 1}]}
SEEN = Seen(
    status="completed",
    text="GOOG rose: 6.31 %. Research timed out.",
    delegated=("research", "analysis"),
    tools=frozenset({"get_market_history"}),
    next_actions={"research": "fallback_to_direct_tools"},
    data=RATING,
    ungrounded=(),
    usd=0.02,
    tokens=900,
    seconds=4.0,
)


def lacks(seen: Seen = SEEN, **expect: Any) -> list[str]:
    return shortfalls(ExpectPart.model_validate(expect), seen)


@pytest.mark.parametrize(
    "expect",
    [
        {"status": "completed"},
        {"delegated": ["research"], "not_delegated": ["trading"]},
        {"tools": ["get_market_history"], "not_tools": ["place_order"]},
        {"next_action": {"research": "fallback_to_direct_tools"}},
        {"contains": ["timed out", "goog"], "not_contains": ["AAPL"]},
        {"grounded": True},
        {"output": {"/rating": {"in": ["buy", "hold"]}, "/confidence": {"gte": 0, "lt": 0.5}}},
        {"output": {"/orders/0/a~1b": 1, "/rating": {"not": "sell"}}},
        {"max_usd": 0.02, "max_tokens": 900, "max_time": "4s"},
    ],
)
def test_what_holds_is_no_shortfall(expect: dict[str, Any]) -> None:
    assert lacks(**expect) == []


@pytest.mark.parametrize(
    ("expect", "word"),
    [
        ({"status": "partial"}, "status is completed, not partial"),
        ({"delegated": ["trading"]}, "trading is missing"),
        ({"not_delegated": ["research"]}, "research is there"),
        ({"tools": ["chart"]}, "chart is missing (seen: get_market_history)"),
        ({"not_tools": ["get_market_history"]}, "get_market_history is there"),
        ({"next_action": {"research": "use_result"}}, "not use_result"),
        ({"next_action": {"trading": "use_result"}}, "it was given no task"),
        ({"contains": ["AAPL"]}, "'AAPL' is not in the answer"),
        ({"not_contains": ["goog"]}, "'goog' is in the answer"),
        ({"grounded": False}, "every number was returned"),
        ({"output": {"/none": 1}}, "nothing at /none"),
        ({"output": {"/confidence": {"gte": 0.6}}}, "wanted gte 0.6"),
        ({"output": {"/rating": {"lt": 1}}}, "/rating is 'hold'"),
        ({"output": {"/orders/0/a~1b": True}}, "wanted True"),
        ({"max_usd": 0.01}, "$0.0200 was spent"),
        ({"max_tokens": 899}, "900 were used"),
        ({"max_time": "3s"}, "it took 4.0s"),
    ],
)
def test_what_does_not_hold_is_told_in_one_line(expect: dict[str, Any], word: str) -> None:
    (line,) = lacks(**expect)
    assert word in line
    assert "\n" not in line


def test_invented_numbers_and_unknown_prices_fail() -> None:
    """An unpriced model is unknown, never 0 (MDL-3)."""
    assert lacks(Seen("completed", ungrounded=("999.99",)), grounded=True) == [
        "grounded: no tool returned 999.99"
    ]
    assert "unknown" in lacks(Seen("completed", usd=None), max_usd=100)[0]


MINE = "version: 1\nname: mine\nextends: trading-desk\n"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{agent: research, approve: accept}", "`approve` means nothing for an agent"),
        ("{tool: chart, status: error}", "`status` means nothing for a tool"),
        ("{tool: chart}", "this fault does nothing"),
        ("{agent: research}", "this fault does nothing"),
        ("{error: no}", "a fault is of an agent or of a tool"),
    ],
)
def test_a_fault_without_effect_is_refused(tmp_path: Path, fault: str, message: str) -> None:
    case = f"evals: [{{name: it, say: hello, inject: [{fault}], expect: {{status: completed}}}}]\n"
    (tmp_path / "mine.yaml").write_text(MINE + case)
    found = load_folder(tmp_path, tools=TOOLS).found["mine"]
    assert [p.message for p in found if p.severity == "error"] == [message]


def test_cases_are_inherited_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MINE)
    trees = load_folder(tmp_path, tools=TOOLS).trees
    assert cases(trees["mine"]) == cases(trees["trading-desk"])
    (tmp_path / "mine.yaml").write_text(MINE + "evals: null\n")
    assert cases(load_folder(tmp_path, tools=TOOLS).trees["mine"]) == []
