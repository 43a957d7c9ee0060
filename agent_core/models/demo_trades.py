"""Arguments of what changes something, from a person's words: orders, and notes of what was traded or is held."""

import re
from collections.abc import Callable
from typing import Any

from agent_core.models.demo_amounts import AMOUNT, COUNTED, amount, named
from agent_core.models.demo_ask import Args, Ask

_QUANTITY = re.compile(
    rf"\b(?:buy|sell|bought|sold|own|hold|have|add|enter)\b(?:\s+(?:me|about|exactly))?\s+({AMOUNT})(?!\s*%)|"
    rf"(?:买|卖|持有|有)[^\d一二两三四五六七八九十百]{{0,14}}({COUNTED})\s*股|({COUNTED})\s*股|"
    rf"({AMOUNT})\s+shares?\b",
    re.IGNORECASE,
)
_AT = r"\b(?:at|for|limit|price(?:\s+of)?)\b|@|限价|成本价?|均价|价格?|每股|以|按"
_STOP = r"\bstop(?:[\s-]?loss)?\b|止损价?"
_SELLS = re.compile(r"\b(?:sell|sold)\b|卖", re.IGNORECASE)

_TRADED = re.compile(r"\b(?:bought|sold|add)\b|[买卖加]", re.IGNORECASE)
_CASH = re.compile(
    rf"({AMOUNT})\s*(?:[A-Z]{{3}}|dollars?|美元|元|港元)?\s*(?:in|of)\s+cash|"
    rf"\bcash\b[^\d]{{0,20}}?({AMOUNT})|现金[^\d]{{0,8}}({AMOUNT})",
    re.IGNORECASE,
)
_REMOVES = re.compile(r"\b(?:remove|delete|drop)\b|删除|移除|去掉", re.IGNORECASE)
_CURRENCIES = (
    (re.compile(r"\b(USD|EUR|GBP|CNY|HKD|JPY|CHF)\b"), ""),
    (re.compile(r"港[元币]"), "HKD"),
    (re.compile(r"欧元"), "EUR"),
    (re.compile(r"人民币|元"), "CNY"),
    (re.compile(r"\bdollars?\b|美[元金]|\$"), "USD"),
)
_LIVE = re.compile(r"\b(?:live|real\s+money)\b|实盘|真实账户", re.IGNORECASE)


def quantity(text: str) -> int | float | None:
    """How many shares, None where nothing is said."""
    match = _QUANTITY.search(text)
    return amount(next(filter(None, match.groups()))) if match else None


def order(ask: Ask) -> Args | None:
    """place_order: one share, a side, how many; a limit or a stop where one is named."""
    count = quantity(ask.rest)
    if len(ask.symbols) != 1 or not count:
        return None
    side = "sell" if _SELLS.search(ask.rest) else "buy"
    made: dict[str, Any] = {"symbol": ask.symbols[0], "side": side, "quantity": count}
    stop = named(ask.rest, _STOP)
    limit = named(re.sub(_STOP, " ; ", ask.rest, flags=re.IGNORECASE), _AT)
    if limit is not None and limit != stop:
        made["limit_price"] = limit
    if stop is not None:
        made["stop"] = stop
    if _LIVE.search(ask.rest):
        made["mode"] = "live"
    return made


def record(ask: Ask) -> Args | None:
    """update_portfolio: what was traded, what is held, cash, or a position that goes."""
    makers: tuple[Callable[[Ask], dict[str, Any] | None], ...] = (_gone, _cash, _position)
    item = next((made for make in makers if (made := make(ask))), None)
    return {"items": [item]} if item else None


def _gone(ask: Ask) -> dict[str, Any] | None:
    if not _REMOVES.search(ask.rest) or len(ask.symbols) != 1:
        return None
    return {"action": "remove", "symbol": ask.symbols[0]}


def _cash(ask: Ask) -> dict[str, Any] | None:
    match = _CASH.search(ask.rest)
    if not match:
        return None
    value = amount(next(filter(None, match.groups())))
    return {"action": "set_cash", "amount": value, "currency": _currency(ask.rest)}


def _currency(text: str) -> str:
    for pattern, code in _CURRENCIES:
        if match := pattern.search(text):
            return code or match[1]
    return "USD"


def _position(ask: Ask) -> dict[str, Any] | None:
    count, price = quantity(ask.rest), named(ask.rest, _AT)
    if len(ask.symbols) != 1 or not count or price is None:
        return None
    traded = _TRADED.search(ask.rest)
    action = "sell" if _SELLS.search(ask.rest) else "buy" if traded else "set"
    return {"action": action, "symbol": ask.symbols[0], "quantity": count, "price": price}


def order_number(ask: Ask) -> Args | None:
    """cancel_order: its number."""
    found = re.search(r"#?(\d{1,9})", ask.rest)
    return {"order_id": int(found[1])} if found else None
