"""Interactive Brokers behind the broker's port, by ib_async (extra `brokers`) and a TWS or IB Gateway that runs nearby.

Not verified live here. An order's key is its `orderRef`. A paper account's number begins with D: a connection that
leads to another kind of account than the settings say is refused, whatever its port.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agent_core import symbols
from agent_core.finance.broker import BrokerError
from agent_core.trading import Order, Report

if TYPE_CHECKING:
    from ib_async import IB, Trade

CONNECT_S = 10.0
ANSWER_S = 10.0
PAPER_MARK = "D"
EXTRA = "Interactive Brokers needs the extra `brokers`: pip install 'swarmgate[brokers]'"
# Markets of symbols.csv with IB's exchange and currency; a symbol that is not listed there counts as a US one.
EXCHANGES = {"US": ("SMART", "USD"), "HK": ("SEHK", "HKD")}


class InteractiveBroker:
    """See agent_core.finance.broker.Broker. `make` gives a client; by default that of ib_async."""

    name = "ib"

    def __init__(
        self,
        host: str,
        port: int,
        client_id: int,
        *,
        live: bool = False,
        make: "Callable[[], IB] | None" = None,
    ) -> None:
        self._address = (host, port, client_id)
        self._live = live
        self._make = make or _client
        self._made: IB | None = None
        self._connecting = asyncio.Lock()

    async def submit(self, order: Order, as_of: dt.date | None = None) -> Report:
        """See Broker."""
        if as_of is not None:
            return Report("refused", note="ib places no orders in the past")
        contract = contract_of(order)
        if contract is None:
            return Report(
                "refused", note=f"ib is not asked for {order.symbol}: its market is not mapped"
            )
        client = await self._client()
        known = await self._trade(client, order)
        if known is not None:
            return report_of(known)
        found = await self._within(client.qualifyContractsAsync(contract))
        if not found or found[0] is None:
            return Report("refused", note=f"ib does not know {order.symbol}")
        trade = client.placeOrder(found[0], request_of(order))
        return report_of(trade)

    async def look(self, order: Order) -> Report:
        """See Broker."""
        trade = await self._trade(await self._client(), order)
        return Report("sending") if trade is None else report_of(trade)

    async def cancel(self, order: Order) -> Report:
        """See Broker. What was only asked to be cancelled is still open: the next look tells."""
        client = await self._client()
        trade = await self._trade(client, order)
        if trade is None:
            return Report("sending")
        if not trade.isDone():
            client.cancelOrder(trade.order)
        return report_of(trade)

    async def close(self) -> None:
        """See Broker."""
        client, self._made = self._made, None
        if client is not None:
            client.disconnect()

    async def _client(self) -> "IB":
        async with self._connecting:
            if self._made is not None and self._made.isConnected():
                return self._made
            client = self._make()
            host, port, client_id = self._address
            try:
                await client.connectAsync(host, port, clientId=client_id, timeout=CONNECT_S)
            except (OSError, TimeoutError) as e:
                raise BrokerError(
                    f"no TWS or IB Gateway answers at {host}:{port}; start it, or check trading.ib"
                ) from e
            self._hold_to_its_kind(client)
            self._made = client
            return client

    def _hold_to_its_kind(self, client: "IB") -> None:
        accounts = client.managedAccounts()
        live = [account for account in accounts if not account.startswith(PAPER_MARK)]
        if bool(live) is not self._live or not accounts:
            client.disconnect()
            kind, other = ("live", "paper") if self._live else ("paper", "live")
            raise BrokerError(
                f"trading.ib: the {kind} port leads to a {other} account; check the ports"
            )

    async def _trade(self, client: "IB", order: Order) -> "Trade | None":
        """The order at IB by its key: of this session, open of any, or completed."""
        if (mine := _by_key(client.trades(), order.key)) is not None:
            return mine
        opened = await self._within(client.reqAllOpenOrdersAsync())
        if (there := _by_key(opened, order.key)) is not None:
            return there
        return _by_key(await self._within(client.reqCompletedOrdersAsync(apiOnly=True)), order.key)

    async def _within(self, asked: Any) -> Any:
        try:
            async with asyncio.timeout(ANSWER_S):
                return await asked
        except (TimeoutError, ConnectionError) as e:
            raise BrokerError("ib gives no answer; it is asked again later") from e


def _client() -> "IB":
    try:
        from ib_async import IB
    except ModuleNotFoundError as e:
        raise BrokerError(EXTRA) from e
    return IB()


def _by_key(trades: "Sequence[Trade]", key: str) -> "Trade | None":
    return next((trade for trade in trades if trade.order.orderRef == key), None)


def contract_of(order: Order) -> Any:
    """The contract of an order's symbol; None where its market is not mapped."""
    from ib_async import Stock

    known = symbols.lookup(order.symbol)
    where = EXCHANGES.get(known.market if known else "US")
    if where is None:
        return None
    code = order.symbol.removesuffix(".HK").lstrip("0") if where[1] == "HKD" else order.symbol
    return Stock(code.replace(".", " "), *where)


def request_of(order: Order) -> Any:
    """IB's own order."""
    from ib_async import LimitOrder, MarketOrder, StopOrder

    action = order.side.upper()
    made: Any
    if order.kind == "limit":
        made = LimitOrder(action, order.quantity, order.limit_price or 0.0)
    elif order.kind == "stop":
        made = StopOrder(action, order.quantity, order.stop_price or 0.0)
    else:
        made = MarketOrder(action, order.quantity)
    made.orderRef = order.key
    made.tif = "DAY" if order.kind == "market" else "GTC"
    return made


def report_of(trade: "Trade") -> Report:
    """IB's trade as a report. One that was filled in part and then ended is filled with that part."""
    state, ref = trade.orderStatus, str(trade.order.permId or trade.order.orderId)
    done = float(state.filled or trade.filled())
    if state.status == "Filled" or (trade.isDone() and done > 0):
        fills = trade.fills
        price = (
            float(state.avgFillPrice)
            or sum(f.execution.price * f.execution.shares for f in fills) / done
        )
        day = fills[-1].time.date() if fills else dt.datetime.now(dt.UTC).date()
        fee = sum(fill.commissionReport.commission for fill in fills)
        part = None if state.status == "Filled" else done
        note = (
            ""
            if part is None
            else f"{done:g} of {trade.order.totalQuantity:g} were filled, the rest was cancelled"
        )
        return Report("filled", price, day, fee, note, ref, part)
    if state.status in {"Cancelled", "ApiCancelled"}:
        return Report("cancelled", note="cancelled at ib", ref=ref)
    if state.status == "Inactive":
        said = trade.log[-1].message if trade.log else ""
        return Report("refused", note=f"ib does not take it: {said or 'inactive'}", ref=ref)
    return Report("open", note=f"{state.status or 'sent'} at ib", ref=ref)
