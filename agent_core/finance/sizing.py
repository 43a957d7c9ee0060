"""How many units to buy or sell so that a stop costs a fixed share of an account (fixed fractional sizing).

    risk budget   = account × risk
    cost of one   = |entry − stop| + fee on the entry + fee on the exit at the stop
    units         = (risk budget − 2 × fee per order) / cost of one, rounded down to whole lots

and never more than `most` of the account's value may lie in the position, the fee on the entry included. All amounts
are in the price's currency.
"""

import math
from dataclasses import dataclass
from typing import Literal

Limit = Literal["risk", "value"]


@dataclass(frozen=True, slots=True)
class Lots:
    """How a market counts: at least `least` units, then steps of `step`. Both are above 0."""

    least: float
    step: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known before a trade. Shares are fractions: risk .01 is one percent of the account.

    `fee` is a share of each order's value, `fee_per_order` an amount; `most` is the largest share of the account that
    the position may be worth.
    """

    account: float
    risk: float
    entry: float
    stop: float
    fee: float = 0.0
    fee_per_order: float = 0.0
    most: float = 1.0

    @property
    def side(self) -> Literal["long", "short"]:
        """A stop below the entry guards a long position, one above it a short one."""
        return "long" if self.stop < self.entry else "short"

    @property
    def cost_of_one(self) -> float:
        """What one unit loses when the stop is hit, fees included."""
        return abs(self.entry - self.stop) + self.fee * (self.entry + self.stop)


@dataclass(frozen=True, slots=True)
class Size:
    """The answer. `limited_by` names what kept the position from being larger; `units` is 0 where no lot fits."""

    units: float
    limited_by: Limit
    value: float
    loss_at_stop: float
    fees: float


def size(plan: Plan, lots: Lots) -> Size:
    """The largest number of whole lots that keeps both bounds."""
    by_risk = (plan.account * plan.risk - 2 * plan.fee_per_order) / plan.cost_of_one
    room = plan.account * plan.most - plan.fee_per_order
    by_value = room / (plan.entry * (1 + plan.fee))
    units = _whole(min(by_risk, by_value), lots)
    fees = (units * plan.fee * (plan.entry + plan.stop) + 2 * plan.fee_per_order) if units else 0.0
    return Size(
        units=units,
        limited_by="risk" if by_risk <= by_value else "value",
        value=units * plan.entry,
        loss_at_stop=units * abs(plan.entry - plan.stop) + fees,
        fees=fees,
    )


def _whole(units: float, lots: Lots) -> float:
    if units < lots.least:
        return 0.0
    # A hair more, so that 0.3 / 0.1 counts as three steps.
    return lots.least + math.floor((units - lots.least) / lots.step + 1e-9) * lots.step
