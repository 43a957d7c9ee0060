"""The backtest engine: rules over bars, one bar after the other, with one account for all symbols.

The order of things on a day:

1. A dividend is paid to who held the share before.
2. What was decided at the last close is filled at the open: first what is sold or bought back, then what is opened.
3. A stop or a take-profit that the bar touches is filled within the bar: at its price, or at the open where the bar
   opens beyond it. Where one bar touches both, the stop counts. The trailing stop knows the best price of the bars
   before.
4. Positions are valued at the close, and the signals of the close decide what is done at the next open. The first
   decision is at the first close of the window. An opposite entry turns a position. An entry does not count where its
   exit holds as well; a long and a short entry at once cancel each other. After a stop or a take-profit the entry of
   that side counts anew only once it has not held at a close: a stop ends what the entry meant.

A bar without volume fills nothing (unless the whole series has none): the order waits for the next bar. An account
that loses everything ends there.
"""

import datetime as dt
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.finance.backtest_account import Account, Position, Reason, Terms, Trade
from agent_core.finance.bars import Bars
from agent_core.finance.rules import Rules
from agent_core.finance.rules_signals import Signals


@dataclass(frozen=True, slots=True)
class Leg:
    """One symbol: the bars of the window, and the signals of each of them."""

    bars: Bars
    signals: Signals


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it. `equity` and `invested` (whether anything is held) are as of each day's close.

    `waited` counts the bars without volume on which an order could not be filled; `unfilled` the entries for which
    there was no cash; `stance` tells each symbol's side at the end: 1, 0 or −1.
    """

    dates: tuple[dt.date, ...]
    equity: list[float]
    invested: list[bool]
    trades: list[Trade]
    stance: dict[str, int]
    fills: int
    traded: float
    fees: float
    dividends: float
    waited: int
    unfilled: int
    ruined: dt.date | None


def simulate(legs: Sequence[Leg], rules: Rules, terms: Terms) -> Run:
    """Trade the legs' symbols by the rules. Each symbol once; at least one bar in all."""
    days = tuple(sorted({day for leg in legs for day in leg.bars.dates}))
    return _Simulation(legs, rules, terms).run(days)


@dataclass(slots=True)
class _Seat:
    """A symbol while it is traded: its columns, where it stands, and what waits for its next open.

    `stopped` is the side that a stop or a take-profit has ended, for as long as the entry of that side still holds.
    """

    leg: Leg
    symbol: str
    volumes: bool
    dividends: dict[int, float]
    at: int = -1
    wanted: int | None = None
    stopped: int = 0

    @property
    def when(self) -> tuple[dt.date, int]:
        return self.leg.bars.dates[self.at], self.at

    @property
    def tradable(self) -> bool:
        bars = self.leg.bars
        return bars.open[self.at] > 0 and (not self.volumes or bars.volume[self.at] > 0)


@dataclass(slots=True)
class _Simulation:
    legs: Sequence[Leg]
    rules: Rules
    terms: Terms
    account: Account = field(init=False)
    seats: list[_Seat] = field(init=False)
    waited: int = 0

    def __post_init__(self) -> None:
        self.account = Account(self.terms, self.terms.cash)
        self.seats = [
            _Seat(leg, leg.bars.symbol, any(leg.bars.volume), _payments(leg.bars))
            for leg in self.legs
        ]

    def run(self, days: tuple[dt.date, ...]) -> Run:
        equity: list[float] = []
        invested: list[bool] = []
        ruined: dt.date | None = None
        for day in days:
            if ruined is None:
                self._day([seat for seat in self.seats if _moves(seat, day)])
                if self.account.equity <= 0:
                    ruined = day
                    self._give_up()
            equity.append(max(self.account.equity, 0.0))
            invested.append(bool(self.account.positions))
        return self._result(days, equity, invested, ruined)

    def _day(self, seats: list[_Seat]) -> None:
        account = self.account
        for seat in seats:
            account.last[seat.symbol] = seat.leg.bars.open[seat.at]
            if seat.at in seat.dividends:
                account.pay(seat.symbol, seat.dividends[seat.at])
        ready = [seat for seat in seats if self._ready(seat)]
        for seat in ready:
            self._close_at_open(seat)
        for seat in ready:
            self._open_at_open(seat)
        for seat in seats:
            if seat.symbol in account.positions and seat.tradable:
                self._stops(seat, account.positions[seat.symbol])
        for seat in seats:
            bars = seat.leg.bars
            account.last[seat.symbol] = bars.close[seat.at]
            position = account.positions.get(seat.symbol)
            if position is not None:
                best = bars.high[seat.at] if position.quantity > 0 else -bars.low[seat.at]
                position.best = max(position.best * position.side, best) * position.side
            held = position.side if position is not None else 0
            meant = held if seat.wanted is None else seat.wanted
            wanted = decide(meant, seat.leg.signals, seat.at, seat.stopped)
            seat.wanted = None if wanted == held else wanted
            if not enters(seat.leg.signals, seat.at, seat.stopped):
                seat.stopped = 0

    def _ready(self, seat: _Seat) -> bool:
        if seat.wanted is None:
            return False
        if not seat.tradable:
            self.waited += 1
        return seat.tradable

    def _close_at_open(self, seat: _Seat) -> None:
        if seat.symbol in self.account.positions:
            price = seat.leg.bars.open[seat.at]
            self.account.leave(seat.symbol, price, seat.when, "signal", slips=True)

    def _open_at_open(self, seat: _Seat) -> None:
        if seat.wanted:
            share = self.rules.fraction
            if self.terms.weighting == "equal":
                share /= len(self.seats)
            price = seat.leg.bars.open[seat.at]
            self.account.enter(seat.symbol, seat.wanted, share, price, seat.when)
        seat.wanted = None

    def _stops(self, seat: _Seat, position: Position) -> None:
        """Prices are times the side, so that a short is the mirror of a long: a fall is always a loss."""
        side, bars, i = position.side, seat.leg.bars, seat.at
        worst = bars.low[i] if side > 0 else -bars.high[i]
        best = bars.high[i] if side > 0 else -bars.low[i]
        begin = position.price if position.index == i else bars.open[i]
        stop = self._stop(position)
        if stop is not None and worst <= stop[0]:
            price = min(stop[0], begin * side) * side
            self.account.leave(seat.symbol, price, seat.when, stop[1], slips=True)
            seat.stopped = side
            return
        rise = self.rules.take_profit_pct
        if rise is not None:
            target = side * position.price * (1 + side * rise / 100)
            if best >= target:
                price = max(target, begin * side) * side
                self.account.leave(seat.symbol, price, seat.when, "take profit", slips=False)
                seat.stopped = side

    def _stop(self, position: Position) -> tuple[float, Reason] | None:
        """The nearest stop, times the side."""
        side, rules = position.side, self.rules
        stops: list[tuple[float, Reason]] = []
        if rules.stop_loss_pct is not None:
            level = position.price * (1 - side * rules.stop_loss_pct / 100)
            stops.append((side * level, "stop loss"))
        if rules.trailing_stop_pct is not None:
            level = position.best * (1 - side * rules.trailing_stop_pct / 100)
            stops.append((side * level, "trailing stop"))
        return max(stops, key=lambda stop: stop[0], default=None)

    def _give_up(self) -> None:
        """Close everything at the close of the day that ruined the account."""
        for seat in self.seats:
            if seat.symbol in self.account.positions:
                last = self.account.last[seat.symbol]
                self.account.leave(seat.symbol, last, seat.when, "ruin", slips=False)

    def _result(
        self,
        days: tuple[dt.date, ...],
        equity: list[float],
        invested: list[bool],
        ruined: dt.date | None,
    ) -> Run:
        account = self.account
        when = {seat.symbol: seat.when for seat in self.seats if seat.at >= 0}
        held = account.positions
        return Run(
            dates=days,
            equity=equity,
            invested=invested,
            trades=[*account.trades, *account.open_trades(when)],
            stance={s.symbol: held[s.symbol].side if s.symbol in held else 0 for s in self.seats},
            fills=account.fills,
            traded=account.traded,
            fees=account.fees,
            dividends=account.dividends,
            waited=self.waited,
            unfilled=account.unfilled,
            ruined=ruined,
        )


def decide(held: int, signals: Signals, i: int, stopped: int = 0) -> int:
    """The side that is wanted after the close of bar `i` by who holds the side `held`: 1 long, 0 flat, −1 short.

    An entry of the side `stopped` does not count.
    """
    leave = signals.exit[i] if held > 0 else held < 0 and signals.short_exit[i]
    long = stopped <= 0 and enters(signals, i, 1) and not signals.exit[i]
    short = stopped >= 0 and enters(signals, i, -1) and not signals.short_exit[i]
    if long != short:
        return 1 if long else -1
    return 0 if leave else held


def enters(signals: Signals, i: int, side: int) -> bool:
    """Whether the entry of this side holds at the close of bar `i`; no side has none."""
    return bool(side) and (signals.entry[i] if side > 0 else signals.short_entry[i])


def _moves(seat: _Seat, day: dt.date) -> bool:
    """Whether the symbol has a bar on this day; it is then the bar that the seat stands at."""
    dates = seat.leg.bars.dates
    if seat.at + 1 < len(dates) and dates[seat.at + 1] == day:
        seat.at += 1
        return True
    return False


def _payments(bars: Bars) -> dict[int, float]:
    """Dividends for each share, by the first bar on or after their day; what is paid before the window is not known."""
    payments: dict[int, float] = {}
    for paid in bars.dividends:
        at = bisect_left(bars.dates, paid.date)
        if 0 < at < len(bars):
            payments[at] = payments.get(at, 0.0) + paid.amount
    return payments
