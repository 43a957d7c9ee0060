"""Strategies by name, each with a few parameters; a name expands into rules, which is all that the engine knows."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from agent_core.finance.rules import Rules, RulesError, judged
from agent_core.finance.strategy_names import Name

Bars = Annotated[int, Field(ge=1, le=400)]
Written = dict[str, Any]


class _Sizing(BaseModel):
    """What every strategy takes besides its own parameters; see Rules."""

    model_config = ConfigDict(extra="forbid")

    fraction: float = 1.0
    stop_loss_pct: float | None = None
    take_profit_pct: float | None = None
    trailing_stop_pct: float | None = None

    def conditions(self) -> tuple[Written, Written | None]:
        """When to buy and when to sell."""
        raise NotImplementedError

    def shorts(self) -> tuple[Written, Written] | None:
        """When to sell short and when to buy back; None: never."""
        return None


class _Sided(_Sizing):
    """A strategy that may go short as well: short=true."""

    short: bool = False

    def shorts(self) -> tuple[Written, Written] | None:
        """The mirror of the long side."""
        entry, exit_ = self.conditions()
        return (exit_, entry) if self.short and exit_ is not None else None


class _Averages(_Sided):
    """Long while a faster average is above a slower one, from the first bar at which both exist."""

    fast: Bars = 20
    slow: Bars = 50

    def _of(self, average: str) -> tuple[Written, Written]:
        if self.fast >= self.slow:
            raise RulesError(f"params.fast: {self.fast} must be smaller than slow ({self.slow})")
        pair = [f"{average}({self.fast})", f"{average}({self.slow})"]
        return {"gt": pair}, {"lt": pair}


class SmaCross(_Averages):
    """Simple moving averages."""

    def conditions(self) -> tuple[Written, Written]:
        """Above and below."""
        return self._of("sma")


class EmaCross(_Averages):
    """Exponential moving averages."""

    def conditions(self) -> tuple[Written, Written]:
        """Above and below."""
        return self._of("ema")


class MacdCross(_Sided):
    """Long from where MACD crosses above its signal line to where it crosses below, as it was published.

    A window that begins above waits for the next crossing: that is the rule of TradingAgents' Table 1
    (arXiv 2412.20138), whose figures a level would change. For the level write rules: gt and lt of line and signal.
    """

    fast: Bars = 12
    slow: Bars = 26
    signal: Bars = 9

    def conditions(self) -> tuple[Written, Written]:
        """At the crossings."""
        if self.fast >= self.slow:
            raise RulesError(f"params.fast: {self.fast} must be smaller than slow ({self.slow})")
        macd = f"macd({self.fast},{self.slow},{self.signal})"
        pair = [f"{macd}.line", f"{macd}.signal"]
        return {"crosses_above": pair}, {"crosses_below": pair}


class RsiReversion(_Sided):
    """Buys where RSI is below `lower`, sells where it is above `upper`; short the other way round."""

    period: Bars = 14
    lower: float = Field(30, gt=0, lt=100)
    upper: float = Field(70, gt=0, lt=100)

    def conditions(self) -> tuple[Written, Written]:
        """Two levels, and what was decided at one holds until the other."""
        if self.lower >= self.upper:
            raise RulesError(f"params.lower: {self.lower:g} must be below upper ({self.upper:g})")
        rsi = f"rsi({self.period})"
        return {"lt": [rsi, self.lower]}, {"gt": [rsi, self.upper]}

    def shorts(self) -> tuple[Written, Written] | None:
        """The other way round."""
        rsi = f"rsi({self.period})"
        pair = {"gt": [rsi, self.upper]}, {"lt": [rsi, self.lower]}
        return pair if self.short else None


class Bollinger(_Sided):
    """Buys where the close is below the lower band, sells above the middle; short from the upper band."""

    period: Bars = 20
    width: float = Field(2.0, gt=0, le=10)

    def conditions(self) -> tuple[Written, Written]:
        """From the lower band to the middle."""
        boll = f"boll({self.period},{self.width!r})"
        return {"lt": ["close", f"{boll}.lower"]}, {"gt": ["close", f"{boll}.middle"]}

    def shorts(self) -> tuple[Written, Written] | None:
        """From the upper band to the middle."""
        boll = f"boll({self.period},{self.width!r})"
        pair = (
            {"gt": ["close", f"{boll}.upper"]},
            {"lt": ["close", f"{boll}.middle"]},
        )
        return pair if self.short else None


class DonchianBreakout(_Sided):
    """Buys a close above the highest high of `entry` bars before it, sells one below the lowest low of `exit` bars."""

    entry: Bars = 20
    exit: Bars = 10

    def conditions(self) -> tuple[Written, Written]:
        """Out of the channel of the bars before."""
        return (
            {"gt": ["close", f"donchian({self.entry}).upper[1]"]},
            {"lt": ["close", f"donchian({self.exit}).lower[1]"]},
        )

    def shorts(self) -> tuple[Written, Written] | None:
        """The other way round."""
        pair = (
            {"lt": ["close", f"donchian({self.entry}).lower[1]"]},
            {"gt": ["close", f"donchian({self.exit}).upper[1]"]},
        )
        return pair if self.short else None


class Momentum(_Sided):
    """Long while the close is more than `threshold` percent above that of `period` bars ago."""

    period: Bars = 126
    threshold: float = 0.0

    def conditions(self) -> tuple[Written, Written]:
        """By the rate of change."""
        roc = f"roc({self.period})"
        return {"gt": [roc, self.threshold]}, {"lt": [roc, self.threshold]}


class BuyAndHold(_Sizing):
    """Buys at the first open after the first close, and keeps."""

    def conditions(self) -> tuple[Written, None]:
        """At once."""
        return {"gt": ["close", 0]}, None


_MODELS: dict[str, type[_Sizing]] = {
    "sma_cross": SmaCross,
    "ema_cross": EmaCross,
    "macd": MacdCross,
    "rsi_reversion": RsiReversion,
    "bollinger": Bollinger,
    "donchian_breakout": DonchianBreakout,
    "momentum": Momentum,
    "buy_and_hold": BuyAndHold,
}


def expand(name: Name, parameters: Written) -> tuple[Rules, str]:
    """The rules of a strategy, and a short name with what is special to it, such as `macd(12,26,9)`.

    Raises RulesError for a parameter that the strategy does not have, or a value that does not fit.
    """
    strategy = judged(_MODELS[name], parameters, "params")
    entry, exit_ = strategy.conditions()
    written: Written = {"entry": entry} | ({"exit": exit_} if exit_ else {})
    shorts = strategy.shorts()
    if shorts:
        written["short_entry"], written["short_exit"] = shorts
    sizing = {field: getattr(strategy, field) for field in _Sizing.model_fields}
    return judged(Rules, written | sizing, "params"), label(name, strategy)


def label(name: str, strategy: _Sizing) -> str:
    """The name with its own parameters."""
    own = strategy.model_dump(exclude={*_Sizing.model_fields, "short"})
    inside = f"({','.join(f'{value:g}' for value in own.values())})" if own else ""
    return f"{name}{inside}" + (" long/short" if strategy.shorts() else "")
