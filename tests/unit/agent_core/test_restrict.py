"""What may still be called is read off the rows of the turn alone."""

import datetime as dt
from typing import Any

import pytest

from agent_core.runtime.restrict import WHY, restriction, rounds
from agent_core.types import Message, Row, RowKind, assistant
from tests.harness import agent, call

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def asked(seq: int, turn: int = 1) -> Row:
    return Row(seq, turn, RowKind.ASSISTANT, assistant("", call("echo", f"c{seq}")), "m", NOW)


def result(seq: int, meta: dict[str, Any], turn: int = 1) -> Row:
    return Row(seq, turn, RowKind.RESULT, Message("user", ()), f"c{seq}", NOW, meta)


def delegated(seq: int, action: str, tools: list[str] | None = None, who: str = "a") -> Row:
    outcome = {
        "agent": who,
        "status": "error",
        "next_action": action,
        "fallback_tools": tools or [],
    }
    return result(seq, {"delegation": outcome})


def test_without_a_reason_everything_may_be_called() -> None:
    found = restriction([asked(1)], 1, agent())
    assert found.ended is None
    assert found.reason("echo") is None


def test_the_round_limit_counts_messages_with_calls_of_this_turn() -> None:
    rows = [asked(1), asked(2), asked(3, turn=2)]
    assert rounds(rows, 1) == 2
    limited = agent(limits={"tool_rounds": 2})
    assert restriction(rows, 1, limited).ended == "round_limit"
    assert restriction(rows, 2, limited).ended is None


def test_a_tripped_loop_ends_tools_for_this_turn_only() -> None:
    rows = [asked(1), result(2, {"guard": "doom_loop"})]
    assert restriction(rows, 1, agent()).reason("echo") == WHY["doom_loop"]
    assert restriction(rows, 2, agent()).reason("echo") is None


def test_stop_and_report_leaves_no_tool_and_no_delegation() -> None:
    found = restriction([delegated(1, "stop_and_report")], 1, agent())
    assert found.reason("echo") == WHY["stop_and_report"]
    assert found.reason("delegate_to_b") == WHY["stop_and_report"]


def test_a_fall_back_binds_to_its_tools_and_bars_the_failed_agent_alone() -> None:
    found = restriction([delegated(1, "fallback_to_direct_tools", ["echo"])], 1, agent())
    assert found.reason("echo") is None
    assert "only these direct tools" in (found.reason("slow") or "")
    assert "a ended with error" in (found.reason("delegate_to_a") or "")
    assert found.reason("delegate_to_b") is None


def test_two_fall_backs_leave_the_tools_of_both() -> None:
    rows = [
        delegated(1, "fallback_to_direct_tools", ["echo"]),
        delegated(2, "fallback_to_direct_tools", ["slow"], who="b"),
    ]
    found = restriction(rows, 1, agent())
    assert [found.reason(name) is None for name in ("echo", "slow", "order")] == [True, True, False]


def test_a_fall_back_that_names_no_tool_sets_no_bound() -> None:
    found = restriction([delegated(1, "fallback_to_direct_tools")], 1, agent())
    assert found.reason("order") is None
    assert found.reason("delegate_to_a") is not None


@pytest.mark.parametrize("action", ["use_result", "use_partial"])
def test_a_usable_result_binds_nothing(action: str) -> None:
    assert restriction([delegated(1, action)], 1, agent()).reason("delegate_to_a") is None
