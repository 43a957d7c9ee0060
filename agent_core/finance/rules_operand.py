"""What a rule compares: a number, a price, or a line of an indicator, as it stood some bars ago.

Written as text, because that is what people and models write: `close`, `sma(20)`, `macd(12,26,9).signal`,
`boll(20,2).upper`, `donchian(20).upper[1]`. Parameters left out have the usual values; `[1]` is the bar before.
"""

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches

PRICES = ("open", "high", "low", "close", "volume")
LONGEST = 400  # bars; so many are loaded before a window (indicators.WARM_UP)
_FORM = re.compile(
    r"([a-z]+)(?:\(([^()]*)\))?(?:\.([a-z]+))?(?:\[(\d{1,3})\])?", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, slots=True)
class Kind:
    """An indicator: its parameters with their usual values, and its lines, the first of which is meant by default."""

    parameters: tuple[tuple[str, float], ...]
    lines: tuple[str, ...] = ("",)

    @property
    def usual(self) -> tuple[float, ...]:
        """The usual values."""
        return tuple(float(value) for _, value in self.parameters)


INDICATORS = {
    "sma": Kind((("period", 20),)),
    "ema": Kind((("period", 20),)),
    "rsi": Kind((("period", 14),)),
    "macd": Kind((("fast", 12), ("slow", 26), ("signal", 9)), ("line", "signal", "histogram")),
    "boll": Kind((("period", 20), ("width", 2)), ("middle", "upper", "lower")),
    "atr": Kind((("period", 14),)),
    "donchian": Kind((("period", 20),), ("middle", "upper", "lower")),
    "roc": Kind((("period", 10),)),
    "stoch": Kind((("period", 14), ("smoothing", 3)), ("k", "d")),
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A price or a line of an indicator. `ago` is in bars: 0 is the bar that is judged."""

    name: str
    parameters: tuple[float, ...] = ()
    line: str = ""
    ago: int = 0

    def __str__(self) -> str:
        inside = f"({','.join(f'{p:g}' for p in self.parameters)})" if self.parameters else ""
        line = f".{self.line}" if self.line else ""
        return f"{self.name}{inside}{line}" + (f"[{self.ago}]" if self.ago else "")


def read_operand(written: object) -> Operand | float:
    """The operand that is written. Raises ValueError with what is wrong and what would be right."""
    if isinstance(written, Operand):
        return written
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        raise ValueError(  # noqa: TRY004 - pydantic makes a complaint of a ValueError alone
            "write a number, or a text such as 'close', 'sma(20)' or 'macd.signal'"
        )
    if not isinstance(written, str):
        if not math.isfinite(written):
            raise ValueError(f"{written} is no number to compare with")
        return float(written)
    match = _FORM.fullmatch("".join(written.split()))
    if match is None:
        raise ValueError(
            f"{written!r} is not understood; write 'close', 'sma(20)', 'macd(12,26,9).signal' or "
            "'donchian(20).upper[1]' ([1]: one bar ago)"
        )
    name, inside, line, ago = match.groups()
    return _operand(name.lower(), inside, (line or "").lower(), int(ago or 0))


def _operand(name: str, inside: str | None, line: str, ago: int) -> Operand:
    if name in PRICES:
        if inside is not None or line:
            raise ValueError(f"{name} is a price: it has no parameters and no lines")
        return Operand(name, ago=ago)
    kind = INDICATORS.get(name)
    if kind is None:
        known = (*INDICATORS, *PRICES)
        near = get_close_matches(name, known, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"there is no indicator {name!r}; {guess}use one of {', '.join(known)}")
    if line and line not in kind.lines:
        lines = ", ".join(filter(None, kind.lines)) or "no lines"
        raise ValueError(f"{name} has no line {line!r}; it has {lines}")
    return Operand(name, _parameters(name, kind, inside), line or kind.lines[0], ago)


def _parameters(name: str, kind: Kind, inside: str | None) -> tuple[float, ...]:
    given = [part for part in (inside or "").split(",") if part]
    names = ", ".join(parameter for parameter, _ in kind.parameters)
    if len(given) > len(kind.parameters):
        raise ValueError(f"{name} takes {names}, not {len(given)} parameters")
    try:
        values = tuple(float(part) for part in given)
    except ValueError:
        raise ValueError(f"the parameters of {name} ({names}) are numbers") from None
    values += kind.usual[len(values) :]
    for (parameter, _), value in zip(kind.parameters, values, strict=True):
        _check(name, parameter, value)
    if name == "macd" and values[0] >= values[1]:
        raise ValueError(f"macd: fast ({values[0]:g}) must be smaller than slow ({values[1]:g})")
    return values


def _check(name: str, parameter: str, value: float) -> None:
    if parameter == "width":
        if not 0 < value <= 10:
            raise ValueError(f"{name}: {parameter} must be above 0 and at most 10, not {value:g}")
    elif not (value.is_integer() and 1 <= value <= LONGEST):
        raise ValueError(
            f"{name}: {parameter} must be a whole number of 1 to {LONGEST} bars, not {value:g}"
        )
