"""How orders and trades of ib_async are mapped, and to which accounts. Its own objects; no TWS.

Not verified live here.
"""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from ib_async import CommissionReport, Contract, Execution, Fill, OrderStatus, Stock, Trade
from ib_async import Order as IbOrder

from agent_core.finance.broker import BrokerError
from agent_core.finance.broker_ib import InteractiveBroker, contract_of, report_of, request_of
from tests.unit.agent_core.test_broker_paper import an_order

AT = dt.datetime(2026, 1, 6, 15, 30, tzinfo=dt.UTC)


def trade(
    status: str, filled: float = 0.0, price: float = 0.0, *, total: float = 10, ref: str = "k"
) -> Trade:
    order = IbOrder(orderId=3, permId=77, orderRef=ref, totalQuantity=total)
    fills = []
    if filled:
        done = Execution(shares=filled, price=price)
        fills = [Fill(Contract(), done, CommissionReport(commission=1.25), AT)]
    state = OrderStatus(status=status, filled=filled, avgFillPrice=price)
    return Trade(Contract(), order, state, fills)


@pytest.mark.parametrize(
    ("given", "status", "price", "quantity"),
    [
        (trade("PendingSubmit"), "open", None, None),
        (trade("Submitted"), "open", None, None),
        (trade("Submitted", 4, 101.0), "open", None, None),
        (trade("Filled", 10, 101.0), "filled", 101.0, None),
        (trade("Cancelled"), "cancelled", None, None),
        (trade("Cancelled", 4, 101.0), "filled", 101.0, 4.0),
        (trade("Inactive"), "refused", None, None),
    ],
)
def test_each_state_is_told_as_it_is(
    given: Trade, status: str, price: float | None, quantity: float | None
) -> None:
    found = report_of(given)
    assert (found.status, found.price, found.quantity, found.ref) == (status, price, quantity, "77")
    if status == "filled":
        assert (found.day, found.fee) == (AT.date(), 1.25)


def test_orders_and_contracts_are_mapped_and_unknown_markets_are_not() -> None:
    orders = (an_order("buy"), an_order("sell", "limit", 99.0), an_order("sell", "stop", 90.0))
    made = [request_of(order) for order in orders]
    assert [(o.action, o.orderType, o.totalQuantity, o.orderRef, o.tif) for o in made] == [
        ("BUY", "MKT", 10, "k", "DAY"),
        ("SELL", "LMT", 10, "k", "GTC"),
        ("SELL", "STP", 10, "k", "GTC"),
    ]
    assert (made[1].lmtPrice, made[2].auxPrice) == (99.0, 90.0)
    wanted = {
        "AAPL": ("AAPL", "SMART", "USD"),
        "0700.HK": ("700", "SEHK", "HKD"),
        "BRK.B": ("BRK B", "SMART", "USD"),
    }
    for symbol, expected in wanted.items():
        found = contract_of(replace(an_order(), symbol=symbol))
        assert isinstance(found, Stock)
        assert (found.symbol, found.exchange, found.currency) == expected
    assert contract_of(replace(an_order(), symbol="600519.SH")) is None


class Desk:
    """What TWS would say: its accounts and its trades."""

    def __init__(self, *accounts: str, trades: tuple[Trade, ...] = ()) -> None:
        self.accounts, self.there = list(accounts), list(trades)
        self.placed: list[str] = []
        self.gone = False

    def isConnected(self) -> bool:  # noqa: N802 - the client's own name
        return not self.gone

    async def connectAsync(self, *args: Any, **more: Any) -> None:  # noqa: N802
        return None

    def managedAccounts(self) -> list[str]:  # noqa: N802
        return self.accounts

    def disconnect(self) -> None:
        self.gone = True

    def trades(self) -> list[Trade]:
        return []

    async def reqAllOpenOrdersAsync(self) -> list[Trade]:  # noqa: N802
        return self.there

    async def reqCompletedOrdersAsync(self, apiOnly: bool) -> list[Trade]:  # noqa: N802, N803
        return []

    async def qualifyContractsAsync(self, *contracts: Any) -> list[Any]:  # noqa: N802
        return list(contracts)

    def placeOrder(self, contract: Any, order: Any) -> Trade:  # noqa: N802
        self.placed.append(order.orderRef)
        return trade("PendingSubmit", ref=order.orderRef)


def broker(desk: Desk, *, live: bool = False) -> InteractiveBroker:
    return InteractiveBroker("127.0.0.1", 4002, 7, live=live, make=lambda: desk)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("accounts", "live", "said"),
    [
        (("U1234567",), False, "the paper port leads to a live account"),
        (("DU1234567", "U1234567"), False, "the paper port leads to a live account"),
        (("DU1234567",), True, "the live port leads to a paper account"),
        ((), False, "check the ports"),
    ],
)
async def test_a_port_that_leads_to_another_kind_of_account_is_refused(
    accounts: Any, live: bool, said: str
) -> None:
    """A paper order never reaches a live account, whatever port somebody wrote."""
    desk = Desk(*accounts)
    with pytest.raises(BrokerError, match=said):
        await broker(desk, live=live).submit(an_order())
    assert (desk.placed, desk.gone) == ([], True)


async def test_an_order_is_placed_once_by_its_key() -> None:
    desk = Desk("DU1")
    at = broker(desk)
    assert (await at.submit(an_order())).status == "open"
    desk.there = [trade("Filled", 10, 100.0)]
    assert (await at.submit(an_order())).status == "filled"
    assert (await at.look(replace(an_order(), key="other"))).status == "sending"
    assert desk.placed == ["k"]
    await at.close()
    assert desk.gone


async def test_no_tws_is_an_error_with_a_cure() -> None:
    class Away(Desk):
        async def connectAsync(self, *args: Any, **more: Any) -> None:  # noqa: N802
            raise ConnectionRefusedError

    with pytest.raises(BrokerError, match=r"answers at 127\.0\.0\.1:4002; start it"):
        await broker(Away()).look(an_order())
