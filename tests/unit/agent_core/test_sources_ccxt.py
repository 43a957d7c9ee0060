"""ccxt's own client against an exchange on loopback, in an environment of its own: `make test-crypto`.

It brings aiodns, which changes how every client of aiohttp looks up names; so it is not among the other packages.
"""

from typing import Any

import pytest

from agent_core.finance.sources.ccxt_source import CcxtSource
from agent_core.finance.sources.source import NoData, SourceDown
from tests.vendors import DAY, Vendor, Watch, html, limit

pytest.importorskip("ccxt", reason="ccxt has an environment of its own: make test-crypto")
pytestmark = pytest.mark.slow
MIDNIGHT = 1_709_769_600  # 2024-03-07 00:00 UTC
DAY_S = 86_400
OHLC = "/v2/ohlc/btcusd/"


def pages(ohlc: Any) -> dict[str, Any]:
    """Bitstamp: v2/markets lists pairs, v2/ohlc/btcusd gives days."""
    market = {
        "name": "BTC/USD", "market_symbol": "btcusd", "base_currency": "BTC", "base_decimals": 8,
        "counter_currency": "USD", "counter_decimals": 0, "minimum_order_value": "10", "trading": "Enabled",
        "market_type": "SPOT", "instant_order_counter_decimals": 2, "instant_and_market_orders": "Enabled",
        "description": "Bitcoin / U.S. dollar",
    }  # fmt: skip
    return {"/v2/markets/": [market], "/v2/currencies/": [], OHLC: ohlc}


def days(query: dict[str, str]) -> dict[str, Any]:
    """At most 1,000 days from `start` on, up to 7 March 2024; 2 January 2021 is the first that there is."""
    first = max(int(query["start"]), MIDNIGHT - 1_160 * DAY_S)
    stamps = range(first, MIDNIGHT + 1, DAY_S)[: int(query["limit"])]
    ohlc = [
        {"timestamp": str(at), "open": "66000", "high": "68000", "low": "65500", "close": str(at // DAY_S),
         "volume": "1800.5"}
        for at in stamps
    ]  # fmt: skip
    return {"data": {"pair": "BTC/USD", "ohlc": ohlc}}


async def test_an_exchange_is_asked_for_daily_prices_and_lists_its_coins() -> None:
    async with Vendor(pages(days)) as vendor:
        source = CcxtSource(Watch(), base_url=vendor.url)
        bars = await source.bars("BTC-USD", DAY("2024-03-06"), DAY("2024-03-07"))
        listed = await source.listing()
    assert list(bars.close) == [MIDNIGHT // DAY_S - 1, MIDNIGHT // DAY_S]
    assert (bars.currency, bars.dates) == ("USD", (DAY("2024-03-06"), DAY("2024-03-07")))
    assert [s.id for s in listed] == ["BTC-USD"]


async def test_a_long_window_is_asked_for_page_by_page_without_a_gap_or_a_repeat() -> None:
    async with Vendor(pages(days)) as vendor:
        source = CcxtSource(Watch(), base_url=vendor.url)
        bars = await source.bars("BTC-USD", DAY("2021-01-02"), DAY("2024-03-07"))
        asked = [query for path, query, _ in vendor.asked if path == OHLC]
    assert (len(bars), bars.first, bars.as_of) == (1_161, DAY("2021-01-02"), DAY("2024-03-07"))
    assert [int(b) - int(a) for a, b in zip(bars.close, bars.close[1:], strict=False)] == [
        1
    ] * 1_160
    assert len(asked) == 2


async def test_what_an_exchange_refuses_is_a_reason() -> None:
    async with Vendor(pages(limit(7))) as vendor:
        source = CcxtSource(Watch(), base_url=vendor.url)
        with pytest.raises(NoData, match="name another exchange"):
            await source.bars("ETH-USD", None, None)
        with pytest.raises(SourceDown) as limited:
            await source.bars("BTC-USD", DAY("2024-03-06"), None)
        vendor.pages[OHLC] = html()
        with pytest.raises(SourceDown, match="no JSON"):
            await source.bars("BTC-USD", DAY("2024-03-06"), None)
    assert "limit" in str(limited.value)
    with pytest.raises(NoData, match="there is no exchange 'nowhere'"):
        await CcxtSource(Watch(), exchange="nowhere").bars("BTC-USD", None, None)
