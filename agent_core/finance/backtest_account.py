"""The account of a backtest: cash, one position a symbol, and the fills that change them.

Signs tell sides: a quantity above 0 is long, below 0 short. Nothing is borrowed: what all positions are worth never
exceeds the equity when one is opened. Short sales earn no interest on their proceeds and pay none for the loan.
"""

import datetime as dt
import math
from dataclasses import dataclass, field
from typing import Literal

Reason = Literal["signal", "stop loss", "take profit", "trailing stop", "ruin", "open"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a backtest trades with.

    Attributes:
        cash: At the beginning, in the currency of the prices.
        commission_bps: Of each fill's value, in hundredths of a percent.
        commission_per_order: In the currency of the prices.
        slippage_bps: By which a fill is worse than the price of the bar, except at a take-profit limit.
        weighting: equal: each symbol may take its part of the equity; fixed: each may take `fraction` of it,
            as long as there is cash.
        whole_shares: Whether quantities are rounded down to whole shares.
    """

    cash: float = 100_000.0
    commission_bps: float = 0.0
    commission_per_order: float = 0.0
    slippage_bps: float = 0.0
    weighting: Literal["equal", "fixed"] = "equal"
    whole_shares: bool = False

    def fee(self, value: float) -> float:
        """The commission of a fill of this value."""
        return value * self.commission_bps / 10_000 + self.commission_per_order

    def slipped(self, price: float, side: int) -> float:
        """The price of a fill that buys (side 1) or sells (−1)."""
        return price * (1 + side * self.slippage_bps / 10_000)


@dataclass(frozen=True, slots=True)
class Trade:
    """A position from its entry to its exit; `profit` is after fees and with dividends.

    `bars`: how many of the symbol's bars it was held. A position that is open at the end has the last close as its
    exit price, and the reason "open".
    """

    symbol: str
    side: Literal["long", "short"]
    entered: dt.date
    entry_price: float
    left: dt.date
    exit_price: float
    quantity: float
    profit: float
    profit_pct: float
    bars: int
    reason: Reason


@dataclass(slots=True)
class Position:
    """One symbol's position while it is open. `best` is the best price since the entry, for a trailing stop."""

    quantity: float
    price: float
    day: dt.date
    index: int
    fees: float
    best: float
    paid: float = 0.0  # dividends received, or owed by a short

    @property
    def side(self) -> int:
        """1 long, −1 short."""
        return 1 if self.quantity > 0 else -1


@dataclass(slots=True)
class Account:
    """Cash, positions and what has been done. `last` holds the last known price of each symbol."""

    terms: Terms
    cash: float
    positions: dict[str, Position] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    trades: list[Trade] = field(default_factory=list)
    fills: int = 0
    traded: float = 0.0
    fees: float = 0.0
    dividends: float = 0.0
    unfilled: int = 0  # entries for which there was no cash

    @property
    def equity(self) -> float:
        """Cash and what the positions are worth at the last known prices."""
        held = self.positions.items()
        return self.cash + sum(p.quantity * self.last[symbol] for symbol, p in held)

    @property
    def _gross(self) -> float:
        held = self.positions.items()
        return sum(abs(p.quantity) * self.last[symbol] for symbol, p in held)

    def enter(
        self, symbol: str, side: int, share: float, price: float, when: tuple[dt.date, int]
    ) -> None:
        """Open a position of this share of the equity; smaller where there is less room, none where there is none."""
        equity = self.equity
        at = self.terms.slipped(price, side)
        room = (equity - self._gross - self.terms.commission_per_order) / (
            1 + self.terms.commission_bps / 10_000
        )
        quantity = min(equity * share, room) / at
        if self.terms.whole_shares:
            quantity = math.floor(quantity + 1e-9)
        if quantity <= 0:
            self.unfilled += 1
            return
        fee = self._fill(side * quantity, at)
        day, index = when
        self.positions[symbol] = Position(side * quantity, at, day, index, fee, at)

    def leave(
        self, symbol: str, price: float, when: tuple[dt.date, int], reason: Reason, *, slips: bool
    ) -> None:
        """Close the symbol's position at this price."""
        position = self.positions.pop(symbol)
        at = self.terms.slipped(price, -position.side) if slips else price
        position.fees += self._fill(-position.quantity, at)
        self.trades.append(_trade(symbol, position, at, when, reason))

    def pay(self, symbol: str, amount: float) -> None:
        """A dividend for each share that is held; a short owes it."""
        position = self.positions.get(symbol)
        if position is not None:
            paid = position.quantity * amount
            self.cash += paid
            self.dividends += paid
            position.paid += paid

    def open_trades(self, when: dict[str, tuple[dt.date, int]]) -> list[Trade]:
        """The open positions as trades, at their last known prices."""
        return [
            _trade(symbol, position, self.last[symbol], when[symbol], "open")
            for symbol, position in self.positions.items()
        ]

    def _fill(self, quantity: float, price: float) -> float:
        value = abs(quantity) * price
        fee = self.terms.fee(value)
        self.cash -= quantity * price + fee
        self.fees += fee
        self.traded += value
        self.fills += 1
        return fee


def _trade(
    symbol: str, position: Position, price: float, when: tuple[dt.date, int], reason: Reason
) -> Trade:
    day, index = when
    profit = position.quantity * (price - position.price) + position.paid - position.fees
    return Trade(
        symbol=symbol,
        side="long" if position.quantity > 0 else "short",
        entered=position.day,
        entry_price=position.price,
        left=day,
        exit_price=price,
        quantity=abs(position.quantity),
        profit=profit,
        profit_pct=profit / (abs(position.quantity) * position.price) * 100,
        bars=index - position.index,
        reason=reason,
    )
