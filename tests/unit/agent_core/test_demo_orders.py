"""The demo planner sizes the signals that it is handed, and places the orders of a plan; it makes up neither."""

import json
from typing import Any

from agent_core.models.demo import DemoModel
from agent_core.ports import FinishedChunk, ModelRequest, ToolSchema
from agent_core.types import Message, ToolResult, ToolUse, assistant, user

SIGNAL = {
    "symbol": "GOOG",
    "direction": "long",
    "entry": 806.19,
    "stop": 774.38,
    "reasons": ["Up."],
}
ORDER = {"symbol": "GOOG", "side": "buy", "quantity": 12, "limit_price": 806.19, "stop": 774.38}
BOUNDS = "account = 100000; risk_pct = 1.5; max_position_pct = 10"


async def calls(*messages: Message, tools: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    offered = tuple(ToolSchema(name, name, {"type": "object"}) for name in tools)
    request = ModelRequest("", messages, offered)
    chunks = [chunk async for chunk in DemoModel(chunk_delay=0).stream(request)]
    assert isinstance(chunks[-1], FinishedChunk)
    return [(call.name, dict(call.args or {})) for call in chunks[-1].message.calls]


def task(*signals: dict[str, Any], words: str = BOUNDS) -> Message:
    handed = "\n".join(f"\n[research: completed]\n{json.dumps(signal)}" for signal in signals)
    return user(f"Plan the trades: {words}\n\nContext:\nResults of other agents:\n{handed}")


def after_plan(words: str, *orders: dict[str, Any]) -> tuple[Message, ...]:
    """What a supervisor sees once a fixed plan has delegated."""
    use = ToolUse("p1.plan", "delegate_to_trading", {"task": "Plan."})
    body = {
        "status": "completed",
        "result": "A plan.",
        "data": {"orders": list(orders), "risks": []},
    }
    results = Message("user", (ToolResult(use.id, use.name, json.dumps(body)),))
    return user(words), assistant("", use), results


async def test_a_signal_is_sized_with_the_bounds_of_the_task() -> None:
    [(name, args)] = await calls(task(SIGNAL), tools=("position_size",))
    assert name == "position_size"
    assert args == {
        "symbol": "GOOG",
        "entry": 806.19,
        "stop": 774.38,
        "account": 100_000.0,
        "risk_pct": 1.5,
        "max_position_pct": 10.0,
    }


async def test_without_an_account_or_a_direction_nothing_is_sized() -> None:
    assert await calls(task(SIGNAL, words="risk_pct = 1"), tools=("position_size",)) == []
    assert await calls(task(SIGNAL | {"direction": "none"}), tools=("position_size",)) == []
    assert await calls(task({"symbol": "GOOG", "entry": 806.19}), tools=("position_size",)) == []


async def test_each_order_of_the_plan_is_placed_as_it_stands() -> None:
    other = ORDER | {"symbol": "IBM", "quantity": 3}
    found = await calls(*after_plan("mode = paper", ORDER, other), tools=("place_order",))
    assert found == [
        ("place_order", ORDER | {"mode": "paper"}),
        ("place_order", other | {"mode": "paper"}),
    ]


async def test_where_orders_are_not_offered_or_not_planned_none_is_placed() -> None:
    assert await calls(*after_plan("mode = paper", ORDER), tools=("portfolio",)) == []
    assert await calls(*after_plan("mode = paper"), tools=("place_order",)) == []
    incomplete = {"symbol": "GOOG", "side": "buy"}
    assert await calls(*after_plan("mode = paper", incomplete), tools=("place_order",)) == []


async def test_an_order_that_was_refused_is_not_tried_again() -> None:
    use = ToolUse("d1", "place_order", ORDER | {"mode": "paper"})
    refused = Message("user", (ToolResult(use.id, use.name, "not placed: halted", is_error=True),))
    rows = (*after_plan("mode = paper", ORDER), assistant("", use), refused)
    assert await calls(*rows, tools=("place_order",)) == []
