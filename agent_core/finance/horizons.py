"""For how long, and in which way, one means to hold something: what a strategy decision is asked for."""

from typing import Literal

Horizon = Literal["short", "medium", "long"]
Style = Literal["trend", "reversion", "breakout"]
