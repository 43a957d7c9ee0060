"""Alpaca's own client against a server on loopback that answers as its documents say. Not verified live here."""

import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent_core.finance.broker import BrokerError
from agent_core.finance.broker_alpaca import AlpacaBroker
from tests.unit.agent_core.test_broker_paper import an_order

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ID = "61e69015-8549-4bfd-b9c3-01e75843f47d"
AT = "2026-01-06T15:30:00Z"


def row(
    status: str = "accepted", filled: str = "0", price: str | None = None, **more: Any
) -> dict[str, Any]:
    """An order as the API writes it: numbers are texts."""
    return {
        "id": ID, "client_order_id": "k", "created_at": AT, "updated_at": AT, "submitted_at": AT,
        "filled_at": AT if price else None, "expired_at": None, "canceled_at": None, "failed_at": None,
        "replaced_at": None, "replaced_by": None, "replaces": None, "asset_id": ID, "symbol": "X",
        "asset_class": "us_equity", "notional": None, "qty": "10", "filled_qty": filled, "filled_avg_price": price,
        "order_class": "simple", "order_type": "market", "type": "market", "side": "buy", "time_in_force": "day",
        "limit_price": None, "stop_price": None, "status": status, "extended_hours": False, "legs": None,
        "trail_percent": None, "trail_price": None, "hwm": None,
    } | more  # fmt: skip


@dataclass
class Twin:
    """`answers` by (method, path's beginning), each used up in order, the last one again; `heard` is what came."""

    answers: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    heard: list[tuple[str, str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else dict(request.query)
        self.heard.append((request.method, request.path, body))
        self.keys.append(request.headers.get("APCA-API-KEY-ID", ""))
        found = next(
            v
            for (m, p), v in self.answers.items()
            if m == request.method and request.path.startswith(p)
        )
        answer = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, tuple):
            status, fields = answer
            return web.json_response(fields, status=status)
        return web.json_response(answer) if answer is not None else web.Response(status=204)


@pytest.fixture
async def twin() -> AsyncIterator[Twin]:
    twin = Twin()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", twin.handle)
    server = TestServer(app)
    await server.start_server()
    twin.url = str(server.make_url("")).rstrip("/")
    yield twin
    await server.close()


@pytest.fixture
async def broker(twin: Twin) -> AsyncIterator[AlpacaBroker]:
    made = AlpacaBroker("the-key", "the-secret", url=twin.url)
    yield made
    await made.close()


ORDERS, BY_KEY = ("POST", "/v2/orders"), ("GET", "/v2/orders:by_client_order_id")
MISSING = (404, {"code": 40410000, "message": "order not found for k"})


async def test_an_order_goes_out_with_its_key_and_comes_back_open(
    twin: Twin, broker: AlpacaBroker
) -> None:
    twin.answers = {ORDERS: [row("accepted")]}
    found = await broker.submit(an_order("buy", "limit", 99.5))
    assert (found.status, found.ref) == ("open", ID)
    [(_, path, body)] = twin.heard
    assert path == "/v2/orders"
    sent = {k: body[k] for k in ("symbol", "side", "type", "time_in_force", "client_order_id")}
    assert sent == {
        "symbol": "X",
        "side": "buy",
        "type": "limit",
        "time_in_force": "gtc",
        "client_order_id": "k",
    }
    assert (float(body["limit_price"]), float(body["qty"])) == (99.5, 10)
    assert twin.keys == ["the-key"]


@pytest.mark.parametrize(
    ("order", "fields"),
    [
        (an_order(), {"type": "market", "time_in_force": "day"}),
        (an_order("sell", "stop", 90.0), {"type": "stop", "side": "sell", "time_in_force": "gtc"}),
        (
            an_order("buy", "limit", 90.0, n=0.5),
            {"time_in_force": "day"},
        ),  # fractions are good for a day alone
    ],
)
async def test_kinds_of_orders_are_mapped(
    twin: Twin, broker: AlpacaBroker, order: Any, fields: Any
) -> None:
    twin.answers = {ORDERS: [row()]}
    await broker.submit(order)
    assert fields.items() <= twin.heard[0][2].items()


@pytest.mark.parametrize(
    ("answer", "status", "price", "quantity"),
    [
        (row("new"), "open", None, None),
        (row("partially_filled", "4", "101.5"), "open", None, None),
        (row("filled", "10", "101.5"), "filled", 101.5, None),
        (row("canceled"), "cancelled", None, None),
        (row("expired"), "cancelled", None, None),
        (row("rejected"), "refused", None, None),
        (row("canceled", "4", "101.5"), "filled", 101.5, 4.0),  # what was filled is filled
    ],
)
async def test_each_state_is_told_as_it_is(
    twin: Twin,
    broker: AlpacaBroker,
    answer: Any,
    status: str,
    price: float | None,
    quantity: float | None,
) -> None:
    twin.answers = {BY_KEY: [answer]}
    found = await broker.look(an_order())
    assert (found.status, found.price, found.quantity) == (status, price, quantity)
    if price:
        assert found.day == dt.date(2026, 1, 6)


async def test_what_alpaca_does_not_have_is_still_being_sent(
    twin: Twin, broker: AlpacaBroker
) -> None:
    twin.answers = {BY_KEY: [MISSING]}
    assert (await broker.look(an_order())).status == "sending"


async def test_the_same_key_again_finds_the_order_that_is_there(
    twin: Twin, broker: AlpacaBroker
) -> None:
    taken = (422, {"code": 40010001, "message": "client_order_id must be unique"})
    twin.answers = {ORDERS: [taken], BY_KEY: [row("filled", "10", "101.5")]}
    assert (await broker.submit(an_order())).status == "filled"


async def test_what_alpaca_does_not_want_is_refused_with_its_words(
    twin: Twin, broker: AlpacaBroker
) -> None:
    twin.answers = {ORDERS: [(403, {"code": 40310000, "message": "insufficient buying power"})]}
    found = await broker.submit(an_order())
    assert (found.status, found.note) == ("refused", "alpaca refuses it: insufficient buying power")


async def test_a_server_that_breaks_leaves_it_open_whether_the_order_is_there(
    twin: Twin, broker: AlpacaBroker
) -> None:
    twin.answers = {ORDERS: [(500, {"code": 50010000, "message": "internal"})]}
    with pytest.raises(BrokerError, match="alpaca answers 500: internal"):
        await broker.submit(an_order())


async def test_nobody_there_is_an_error_with_a_cure() -> None:
    broker = AlpacaBroker("k", "s", url="http://127.0.0.1:9")
    with pytest.raises(BrokerError, match="cannot be reached"):
        await broker.look(an_order())


async def test_a_cancellation_tells_how_the_order_really_ended(
    twin: Twin, broker: AlpacaBroker
) -> None:
    twin.answers = {("DELETE", f"/v2/orders/{ID}"): [None], BY_KEY: [row("new"), row("canceled")]}
    assert (await broker.cancel(an_order())).status == "cancelled"
    late = (422, {"code": 42210000, "message": "order is not cancelable"})
    twin.answers = {
        ("DELETE", f"/v2/orders/{ID}"): [late],
        BY_KEY: [row("new"), row("filled", "10", "99")],
    }
    assert (await broker.cancel(an_order())).status == "filled"


async def test_other_markets_and_other_days_are_not_asked_for(
    twin: Twin, broker: AlpacaBroker
) -> None:
    from dataclasses import replace

    assert (await broker.submit(replace(an_order(), symbol="600519.SH"))).status == "refused"
    assert (await broker.submit(an_order(), dt.date(2020, 1, 1))).status == "refused"
    assert twin.heard == []
