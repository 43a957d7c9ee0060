"""What the demo planner makes of a plan of trades: sizes of handed-over signals, and orders of a plan that is there.

Both follow from results alone, never from words: a signal is an entry and a stop that an agent handed over, an order is
an entry of `orders` in an agent's result. Bounds stand in the words as `name = value`.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from agent_core.models.demo_turn import Call, Turn, fields_of

SIZE, PLACE = "position_size", "place_order"
BOUNDS = ("account", "risk_pct", "max_position_pct")
ORDER = ("symbol", "side", "quantity", "limit_price", "stop")
_GIVEN = re.compile(r"\b(account|risk_pct|max_position_pct|mode)\s*=\s*([\w.]+)")
Fields = Mapping[str, Any]


def trades(turn: Turn) -> Iterator[Call]:
    """The sizes of the signals that were handed over, or the orders of the plan that was made in this turn."""
    given = _given(turn)
    bounds = {name: float(given[name]) for name in BOUNDS if _is_number(given.get(name))}
    if "account" in bounds:
        for signal in _signals(turn):
            levels = {name: float(signal[name]) for name in ("entry", "stop")}
            yield Call(SIZE, {"symbol": str(signal["symbol"]), **levels, **bounds})
    mode = {"mode": given["mode"]} if given.get("mode") in {"paper", "live"} else {}
    for order in _orders(turn):
        yield Call(PLACE, {**order, **mode})


def _given(turn: Turn) -> dict[str, str]:
    words = "\n".join(turn.texts[-turn.own :] if turn.own else ())
    return {match[1]: match[2].rstrip(".") for match in _GIVEN.finditer(words)}


def _signals(turn: Turn) -> Iterator[Fields]:
    """Signals that carry a trade; one that says `none` carries none."""
    for row in turn.background.splitlines():
        if row.lstrip().startswith("{"):
            found = fields_of(row)
            levels = (found.get("entry"), found.get("stop"))
            trades_on = found.get("direction", "long") in {"long", "short"}
            if found.get("symbol") and trades_on and all(isinstance(p, Decimal) for p in levels):
                yield found


def _orders(turn: Turn) -> Iterator[dict[str, Any]]:
    for outcome in turn.outcomes:
        data = outcome.data.get("data") if outcome.call.agent else None
        listed = data.get("orders") if isinstance(data, Mapping) else None
        for order in listed if isinstance(listed, list) else ():
            if isinstance(order, Mapping) and all(order.get(name) for name in ORDER[:3]):
                yield {name: _plain(order[name]) for name in ORDER if order.get(name)}


def _plain(value: object) -> object:
    if not isinstance(value, Decimal):
        return value
    return int(value) if value == value.to_integral_value() else float(value)


def _is_number(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"\d+(\.\d+)?", text) is not None
