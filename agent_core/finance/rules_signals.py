"""What rules say of each bar: whether to enter and to leave, judged at its close from nothing later.

A comparison with a value that is not there yet (too few bars before it) does not hold, and neither does its `not`:
what is unknown moves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_core.finance import indicators
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import Values
from agent_core.finance.rules import Condition, Rules, Term
from agent_core.finance.rules_operand import PRICES, Operand

Verdict = bool | None  # None: not known
Verdicts = list[Verdict]


@dataclass(frozen=True, slots=True)
class Signals:
    """One entry a bar of the window; `undefined` names operands that have no value on any of its bars."""

    entry: list[bool]
    exit: list[bool]
    short_entry: list[bool]
    short_exit: list[bool]
    undefined: tuple[Operand, ...] = ()


@dataclass(slots=True)
class Judge:
    """Judges the bars of `history` from the index `start` on; those before it only feed the indicators."""

    history: Bars
    start: int
    _lines: dict[tuple[str, tuple[float, ...]], dict[str, Values]] = field(default_factory=dict)

    def signals(self, rules: Rules) -> Signals:
        """The signals of the window."""
        return Signals(
            entry=self._holds(rules.entry),
            exit=self._holds(rules.exit),
            short_entry=self._holds(rules.short_entry),
            short_exit=self._holds(rules.short_exit),
            undefined=tuple(
                operand
                for operand in rules.operands
                if all(value is None for value in self._values(operand)[self.start :])
            ),
        )

    def _holds(self, condition: Condition | None) -> list[bool]:
        if condition is None:
            return [False] * (len(self.history) - self.start)
        return [verdict is True for verdict in self._judge(condition)[self.start :]]

    def _judge(self, condition: Condition) -> Verdicts:
        parts = [self._judge(part) for part in condition.parts]
        if condition.negated:
            return [None if verdict is None else not verdict for verdict in parts[0]]
        if parts:
            join = _all if condition.every else _any
            return [join(verdicts) for verdicts in zip(*parts, strict=True)]
        return self._compare(condition)

    def _compare(self, condition: Condition) -> Verdicts:
        (left, right), test = condition.comparison
        a, b = self._values(left), self._values(right)
        if test in ("lt", "crosses_below"):
            a, b = b, a
        return _greater(a, b) if test in ("gt", "lt") else _crossing(a, b)

    def _values(self, term: Term) -> Values:
        if not isinstance(term, Operand):
            return [term] * len(self.history)
        key = (term.name, term.parameters)
        if key not in self._lines:
            self._lines[key] = lines(self.history, term)
        values = self._lines[key][term.line]
        return ([None] * term.ago + values)[: len(values)]


def lines(bars: Bars, operand: Operand) -> dict[str, Values]:
    """All lines of the operand's indicator over the bars, by name."""
    if operand.name in PRICES:
        return {"": list(getattr(bars, operand.name))}
    return _LINES[operand.name](bars, *operand.parameters)


def _sma(bars: Bars, period: float) -> dict[str, Values]:
    return {"": indicators.sma(bars.close, int(period))}


def _ema(bars: Bars, period: float) -> dict[str, Values]:
    return {"": indicators.ema(bars.close, int(period))}


def _rsi(bars: Bars, period: float) -> dict[str, Values]:
    return {"": indicators.rsi(bars.close, int(period))}


def _macd(bars: Bars, fast: float, slow: float, signal: float) -> dict[str, Values]:
    found = indicators.macd(bars.close, int(fast), int(slow), int(signal))
    return {"line": found.line, "signal": found.signal, "histogram": found.histogram}


def _boll(bars: Bars, period: float, width: float) -> dict[str, Values]:
    bands = indicators.bollinger(bars.close, int(period), width)
    middle = indicators.sma(bars.close, int(period))
    return {"middle": middle, "upper": bands.upper, "lower": bands.lower}


def _atr(bars: Bars, period: float) -> dict[str, Values]:
    return {"": indicators.atr(bars, int(period))}


def _donchian(bars: Bars, period: float) -> dict[str, Values]:
    bands = indicators.donchian(bars, int(period))
    middle = [
        None if high is None or low is None else (high + low) / 2
        for high, low in zip(bands.upper, bands.lower, strict=True)
    ]
    return {"middle": middle, "upper": bands.upper, "lower": bands.lower}


def _roc(bars: Bars, period: float) -> dict[str, Values]:
    from talipp.indicators import ROC

    return {"": list(ROC(int(period), list(bars.close)))}


def _stoch(bars: Bars, period: float, smoothing: float) -> dict[str, Values]:
    found = indicators.stochastic(bars, int(period), int(smoothing))
    return {"k": found.k, "d": found.d}


_LINES: dict[str, Callable[..., dict[str, Values]]] = {
    "sma": _sma,
    "ema": _ema,
    "rsi": _rsi,
    "macd": _macd,
    "boll": _boll,
    "atr": _atr,
    "donchian": _donchian,
    "roc": _roc,
    "stoch": _stoch,
}


def _greater(a: Values, b: Values) -> Verdicts:
    pairs = zip(a, b, strict=True)
    return [None if x is None or y is None else x > y for x, y in pairs]


def _crossing(a: Values, b: Values) -> Verdicts:
    """Whether `a` is above `b` now and was not at the bar before."""
    above = _greater(a, b)
    pairs = zip(above, [None, *above], strict=False)
    return [None if now is None or before is None else now and not before for now, before in pairs]


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    return False if False in verdicts else None if None in verdicts else True


def _any(verdicts: Sequence[Verdict]) -> Verdict:
    return True if True in verdicts else None if None in verdicts else False
