"""What may still be called is read off the rows of the turn alone."""

import datetime as dt
from typing import Any

import pytest

from agent_core.runtime.restrict import ASK_FIRST, WHY, restriction, rounds
from agent_core.types import Message, Row, RowKind, ToolResult, assistant
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


def asked_user(seq: int) -> Row:
    answered = Message("user", (ToolResult(f"c{seq}", "ask_user", "go on"),))
    return Row(seq, 1, RowKind.RESULT, answered, f"c{seq}", NOW, {})


def test_a_person_who_must_be_asked_is_asked_before_anything_else() -> None:
    """Guide "presets" 4, `ask_user`."""
    rows = [delegated(1, "ask_user")]
    found = restriction(rows, 1, agent())
    assert found.reason("ask_user") is None
    assert found.reason("echo") == ASK_FIRST
    assert found.reason("delegate_to_b") == ASK_FIRST
    assert restriction([*rows, asked_user(2)], 1, agent()).reason("echo") is None
    again = [*rows, asked_user(2), delegated(3, "ask_user")]
    assert restriction(again, 1, agent()).reason("echo") == ASK_FIRST


def test_calls_are_counted_in_a_turn_and_the_last_ones_are_too_many() -> None:
    """Guide "presets" 3, `limits.tool_calls`."""
    limited = agent(limits={"tool_calls": 3})
    found = restriction([asked(1)], 1, limited)
    batch = [call("echo", f"n{n}") for n in range(3)]
    assert list(found.refusals(batch).values()) == [None, None, WHY["call_limit"]]
    assert restriction([asked(n) for n in range(1, 4)], 1, limited).ended == "call_limit"
    assert restriction([asked(1, turn=2)], 1, limited).calls == 3
    assert restriction([asked(1)], 1, agent()).refusals(batch) == dict.fromkeys(("n0", "n1", "n2"))


def test_a_fall_back_bars_those_who_handed_the_task_on_as_well() -> None:
    outcome = {
        "agent": "b",
        "before": ["a"],
        "status": "error",
        "next_action": "fallback_to_direct_tools",
        "fallback_tools": ["echo"],
    }
    found = restriction([result(1, {"delegation": outcome})], 1, agent())
    assert found.reason("delegate_to_a") is not None
    assert found.reason("delegate_to_b") is not None
    assert found.reason("delegate_to_c") is None
