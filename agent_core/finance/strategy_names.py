"""The strategies that have names; what each does is in strategies.py."""

from typing import Literal, get_args

Name = Literal[
    "sma_cross",
    "ema_cross",
    "macd",
    "rsi_reversion",
    "bollinger",
    "donchian_breakout",
    "momentum",
    "buy_and_hold",
]
NAMES: tuple[Name, ...] = get_args(Name)
