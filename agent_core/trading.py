"""What is ordered, traded and kept as cash: the records of a broker's business, and the port behind which it is kept.

Every record belongs to one owner. Symbols are canonical ids (agent_core/symbols.py), times aware UTC, amounts in the
named currency. An order is one of shares for a price; `mode` says whether the money is play money (paper) or real.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

Side = Literal["buy", "sell"]
OrderKind = Literal["market", "limit", "stop"]
Mode = Literal["paper", "live"]
# sending: stored, and not known to be at the broker yet.
OrderStatus = Literal["sending", "open", "filled", "cancelled", "refused"]
TradeKind = Literal["buy", "sell", "dividend", "split", "deposit", "withdrawal", "correction"]
UNDONE: tuple[OrderStatus, ...] = ("sending", "open")
PAPER = "paper"  # the account of the paper broker
LIVE = "live"


@dataclass(frozen=True, slots=True)
class NewOrder:
    """What is to be ordered.

    `quantity` is above 0. A limit order has `limit_price`, a stop order `stop_price`; a market order none. `protect`:
    once this one is filled, a stop order the other way round is placed there, for as many shares (None: none).
    """

    symbol: str
    side: Side
    quantity: float
    kind: OrderKind = "market"
    limit_price: float | None = None
    stop_price: float | None = None
    protect: float | None = None
    account: str = PAPER
    mode: Mode = "paper"

    @property
    def level(self) -> float | None:
        """The price that the order itself names."""
        return self.limit_price if self.kind == "limit" else self.stop_price


@dataclass(frozen=True, slots=True)
class Quote:
    """The last known close: `price` in `currency` on `date`, and what one unit of the currency is in US dollars.

    `usd` is None where there is no rate. `live`: a newer bar can still come, as `date` is as late as can be expected.
    """

    symbol: str
    price: float
    date: dt.date
    currency: str
    source: str
    usd: float | None
    live: bool


@dataclass(frozen=True, slots=True)
class Order:
    """An order with what became of it.

    `key` makes it one, however often it is placed. `market_date` is the day of the last bar that was known when it was
    placed, `reference` that bar's close, `notional_usd` what the order was worth by it. `filled_on` is the day of the
    bar that filled it; `note` says how, or why not. `broker_ref` is the broker's own number. `turn_id` is the turn that
    asked (0: none), `parent` the order that this one protects (0: none). `split_on` is the day of the last split by
    which quantity and prices were changed since it was placed.
    """

    key: str
    symbol: str
    side: Side
    quantity: float
    kind: OrderKind
    account: str
    mode: Mode
    broker: str
    currency: str
    reference: float
    market_date: dt.date
    notional_usd: float
    placed_at: dt.datetime
    limit_price: float | None = None
    stop_price: float | None = None
    protect: float | None = None
    status: OrderStatus = "sending"
    fill_price: float | None = None
    filled_on: dt.date | None = None
    filled_at: dt.datetime | None = None
    fee: float = 0.0
    note: str = ""
    broker_ref: str = ""
    turn_id: int = 0
    parent: int = 0
    split_on: dt.date | None = None
    owner: str = ""
    id: int = 0

    @property
    def level(self) -> float | None:
        """The price that the order itself names."""
        return self.limit_price if self.kind == "limit" else self.stop_price


@dataclass(frozen=True, slots=True)
class Report:
    """What a broker says of an order. A filled one has a price, a day and a fee in the order's currency.

    `quantity` is what was filled where that is not the whole order, which is over then all the same (None: the whole).
    `ratio` shares stand for one of the order since the split of `split_on`: it is to be changed before anything else
    of the report counts, and all that is said is in the new shares.
    """

    status: OrderStatus
    price: float | None = None
    day: dt.date | None = None
    fee: float = 0.0
    note: str = ""
    ref: str = ""
    quantity: float | None = None
    ratio: float = 1.0
    split_on: dt.date | None = None


@dataclass(frozen=True, slots=True)
class Trade:
    """A line of the book's history. `amount` is what it did to the cash (negative: paid), fee included.

    `realised` is the gain of a sale over the average cost, fee included. `day` is the day of the market. A dividend of
    the market is for `quantity` shares at `price` each; a split has brought `quantity` shares (or taken), of which
    `price` stand for one of before.
    """

    kind: TradeKind
    account: str
    currency: str
    at: dt.datetime
    day: dt.date
    amount: float = 0.0
    symbol: str = ""
    quantity: float = 0.0
    price: float = 0.0
    fee: float = 0.0
    realised: float = 0.0
    source: str = ""
    order_id: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Cash:
    """Money in an account."""

    account: str
    currency: str
    amount: float
