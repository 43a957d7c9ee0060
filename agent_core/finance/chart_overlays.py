"""Lines over the prices of a chart: averages, bands, channel, VWAP; named as readings.py names them."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.finance import indicators, readings
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import Values
from agent_core.finance.readings import Asked

NAMES = ("sma", "ema", "boll", "donchian", "vwap")
MOST = 4
DEFAULT = (Asked("sma", 20), Asked("sma", 50))


@dataclass(frozen=True, slots=True)
class Overlay:
    """One line, or with `lower` the two edges of a band; as many values as bars are shown."""

    label: str
    line: Values
    lower: Values | None = None


def parse(names: Sequence[str]) -> tuple[Asked, ...]:
    """The overlays that are meant. Raises ValueError with those that there are."""
    if len(names) > MOST:
        raise ValueError(f"{len(names)} overlays are too many; at most {MOST} are told apart")
    asked = tuple(dict.fromkeys(readings.parse(name) for name in names))
    for one in asked:
        if one.name not in NAMES:
            raise ValueError(f"{one.label} is not drawn over prices; there are {', '.join(NAMES)}")
    return asked


def overlays(asked: Sequence[Asked], bars: Bars, shown: int) -> list[Overlay]:
    """The lines over the last `shown` bars; those before them warm averages up. VWAP begins with what is shown."""
    return [_overlay(one, bars, shown) for one in asked]


def _overlay(asked: Asked, bars: Bars, shown: int) -> Overlay:
    period = asked.period or 0
    label = f"{asked.name.upper()}{asked.period or ''}"
    if asked.name == "vwap":
        return Overlay(label, indicators.vwap(bars.rows(len(bars) - shown, len(bars))))
    if asked.name in {"sma", "ema"}:
        average = indicators.sma if asked.name == "sma" else indicators.ema
        return Overlay(label, average(bars.close, period)[-shown:])
    boll = asked.name == "boll"
    band = indicators.bollinger(bars.close, period) if boll else indicators.donchian(bars, period)
    return Overlay(label, band.upper[-shown:], band.lower[-shown:])
