"""Alpaca behind the broker's port, by its own client alpaca-py (extra `brokers`). Not verified live here.

The client is synchronous: each call runs in a thread, with a time-out of its own on the connection. An order's key is
its `client_order_id`, so an order that may have arrived is found again and never placed twice.
"""

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agent_core import symbols
from agent_core.finance.broker import BrokerError
from agent_core.trading import Order, Report

if TYPE_CHECKING:
    from alpaca.trading.client import TradingClient
    from alpaca.trading.models import Order as AlpacaOrder

TIMEOUT_S = 15.0
T = TypeVar("T")
_OVER = {"canceled": "cancelled", "expired": "cancelled", "rejected": "refused"}
_TAKEN = "client_order_id"  # stands in the error about a key that is there already
EXTRA = "Alpaca needs the extra `brokers`: pip install 'swarmgate[brokers]'"


class AlpacaBroker:
    """See agent_core.finance.broker.Broker. `url` None: Alpaca's own address for paper or live accounts."""

    name = "alpaca"

    def __init__(
        self, key: str, secret: str, *, live: bool = False, url: str | None = None
    ) -> None:
        self._key = key
        self._secret = secret
        self._live = live
        self._url = url
        self._made: TradingClient | None = None

    async def submit(self, order: Order, as_of: dt.date | None = None) -> Report:
        """See Broker."""
        if as_of is not None:
            return Report("refused", note="alpaca places no orders in the past")
        known = symbols.lookup(order.symbol)
        if known is not None and known.market != "US":
            return Report("refused", note=f"alpaca trades US symbols, not {order.symbol}")
        return await self._ask(lambda client: _submitted(client, order))

    async def look(self, order: Order) -> Report:
        """See Broker."""
        return await self._ask(lambda client: _found(client, order))

    async def cancel(self, order: Order) -> Report:
        """See Broker."""
        return await self._ask(lambda client: _cancelled(client, order))

    async def close(self) -> None:
        """See Broker."""
        client, self._made = self._made, None
        if client is not None:
            await asyncio.to_thread(client._session.close)  # noqa: SLF001 - the client has no close of its own

    async def _ask(self, work: "Callable[[TradingClient], T]") -> T:
        from requests.exceptions import RequestException

        try:
            return await asyncio.to_thread(lambda: work(self._client()))
        except RequestException as e:
            raise BrokerError(
                f"alpaca cannot be reached ({type(e).__name__}); it is asked again later"
            ) from e

    def _client(self) -> "TradingClient":
        if self._made is None:
            try:
                from alpaca.trading.client import TradingClient
            except ModuleNotFoundError as e:
                raise BrokerError(EXTRA) from e
            self._made = TradingClient(
                self._key, self._secret, paper=not self._live, url_override=self._url
            )
            session: Any = self._made._session  # noqa: SLF001 - the only way to give its calls a time-out
            for scheme in ("https://", "http://"):
                session.mount(scheme, _timed())
        return self._made


def _timed() -> Any:
    from requests.adapters import HTTPAdapter

    class Timed(HTTPAdapter):
        def send(self, request: Any, **more: Any) -> Any:  # type: ignore[override]
            given: Any = more | {"timeout": TIMEOUT_S}
            return super().send(request, **given)

    return Timed()


def _submitted(client: "TradingClient", order: Order) -> Report:
    from alpaca.common.exceptions import APIError

    try:
        return report_of(cast("AlpacaOrder", client.submit_order(_request(order))))
    except APIError as e:
        said, status = _said(e)
        if status == 422 and _TAKEN in said:
            return _found(client, order)
        if status is not None and 400 <= status < 500 and status != 429:
            return Report("refused", note=f"alpaca refuses it: {said}")
        raise BrokerError(f"alpaca answers {status}: {said}; it is asked again later") from e


def _request(order: Order) -> Any:
    from alpaca.trading import requests
    from alpaca.trading.enums import OrderSide, TimeInForce

    whole = order.quantity == int(order.quantity)
    fields: dict[str, Any] = {
        "symbol": order.symbol,
        "qty": order.quantity,
        "side": OrderSide(order.side),
        # Fractions and market orders are good for a day; the others until they are cancelled.
        "time_in_force": TimeInForce.GTC if whole and order.kind != "market" else TimeInForce.DAY,
        "client_order_id": order.key,
    }
    if order.kind == "limit":
        return requests.LimitOrderRequest(**fields, limit_price=order.limit_price)
    if order.kind == "stop":
        return requests.StopOrderRequest(**fields, stop_price=order.stop_price)
    return requests.MarketOrderRequest(**fields)


def _found(client: "TradingClient", order: Order) -> Report:
    from alpaca.common.exceptions import APIError

    try:
        return report_of(cast("AlpacaOrder", client.get_order_by_client_id(order.key)))
    except APIError as e:
        said, status = _said(e)
        if status == 404:
            return Report("sending")
        raise BrokerError(f"alpaca answers {status}: {said}; it is asked again later") from e


def _cancelled(client: "TradingClient", order: Order) -> Report:
    from alpaca.common.exceptions import APIError

    there = _found(client, order)
    if there.status != "open":
        return there
    try:
        client.cancel_order_by_id(there.ref)
    except APIError as e:
        said, status = _said(e)
        if status != 422:
            raise BrokerError(f"alpaca answers {status}: {said}; it is asked again later") from e
    return _found(client, order)


def report_of(order: "AlpacaOrder") -> Report:
    """Alpaca's order as a report. One that was filled in part and then ended is filled with that part."""
    status, ref = str(order.status.value), str(order.id)
    done = float(order.filled_qty or 0)
    price = float(order.filled_avg_price) if order.filled_avg_price is not None else None
    if status == "filled" or (status in _OVER and done > 0 and price is not None):
        day = order.filled_at.date() if order.filled_at else order.updated_at.date()
        part = None if status == "filled" else done
        note = (
            ""
            if part is None
            else f"{done:g} of {float(order.qty or 0):g} were filled, the rest is {status}"
        )
        return Report("filled", price, day, 0.0, note, ref, part)
    if status in _OVER:
        return Report(_OVER[status], note=f"{status} at alpaca", ref=ref)  # type: ignore[arg-type]
    return Report("open", note=f"{status} at alpaca", ref=ref)


def _said(error: Any) -> tuple[str, int | None]:
    """What Alpaca said, and with which HTTP status."""
    try:
        return str(error.message), error.status_code
    except (ValueError, KeyError):
        return str(error).strip()[:200] or "nothing", error.status_code
