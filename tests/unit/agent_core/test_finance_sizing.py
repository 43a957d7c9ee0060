"""Fixed fractional sizing against figures worked out by hand, and its bounds as a property."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.finance.sizing import Lots, Plan, size

ONE = Lots(1, 1)
A_SHARES = Lots(100, 100)
STAR = Lots(200, 1)


def test_the_stop_costs_the_share_of_the_account() -> None:
    """1 % of 100,000 is 1,000; a share risks 50 − 45 = 5: 200 shares."""
    found = size(Plan(account=100_000, risk=0.01, entry=50, stop=45), ONE)
    assert (found.units, found.value, found.loss_at_stop) == (200, 10_000, 1_000)
    assert found.limited_by == "risk"
    assert found.fees == 0


def test_fees_of_both_orders_are_part_of_the_loss() -> None:
    """A share risks 5 + 0.1 % of 50 and of 45 = 5.095; (1,000 − 10) / 5.095 = 194.3."""
    plan = Plan(100_000, 0.01, 50, 45, fee=0.001, fee_per_order=5)
    found = size(plan, ONE)
    assert found.units == 194
    assert found.fees == pytest.approx(194 * 0.095 + 10)
    assert found.loss_at_stop == pytest.approx(194 * 5.095 + 10)


def test_without_leverage_the_account_bounds_the_position() -> None:
    found = size(Plan(10_000, 0.01, 100, 99.5), ONE)
    assert (found.units, found.limited_by) == (100, "value")
    assert size(Plan(10_000, 0.01, 100, 99.5, most=0.25), ONE).units == 25
    assert size(Plan(10_000, 0.01, 100, 99.5, fee=0.001), ONE).units == 99  # the fee needs room


def test_a_stop_above_the_entry_guards_a_short_position() -> None:
    plan = Plan(100_000, 0.01, 45, 50)
    assert plan.side == "short"
    assert size(plan, ONE).units == 200


@pytest.mark.parametrize(
    ("lots", "account", "units"),
    [
        (A_SHARES, 100_000, 200),
        (A_SHARES, 98_000, 100),
        (A_SHARES, 49_000, 0),
        (STAR, 100_400, 200),
        (STAR, 101_500, 203),
        (STAR, 99_000, 0),
        (Lots(0.1, 0.1), 150, 0.3),
    ],
)
def test_units_come_in_whole_lots(lots: Lots, account: float, units: float) -> None:
    assert size(Plan(account, 0.01, 50, 45), lots).units == pytest.approx(units)


def test_no_lot_costs_nothing() -> None:
    found = size(Plan(1_000, 0.01, 50, 45, fee_per_order=1), A_SHARES)
    assert (found.units, found.value, found.loss_at_stop, found.fees) == (0, 0, 0, 0)


PRICES = st.floats(0.5, 5_000)


@settings(max_examples=80)
@given(
    account=st.floats(100, 1e8), risk=st.floats(0.001, 0.2), entry=PRICES, stop=PRICES,
    fee=st.floats(0, 0.02), most=st.floats(0.05, 1), lot=st.sampled_from([1.0, 100.0]),
)  # fmt: skip
def test_neither_bound_is_ever_passed(
    account: float, risk: float, entry: float, stop: float, fee: float, most: float, lot: float
) -> None:
    if entry == stop:
        return
    plan = Plan(account, risk, entry, stop, fee=fee, most=most)
    found = size(plan, Lots(lot, lot))
    assert found.units % lot == 0
    assert found.loss_at_stop <= account * risk * (1 + 1e-6)
    assert found.value <= account * most * (1 + 1e-6)
    more = found.units + lot  # and it is the largest
    assert more * plan.cost_of_one > account * risk * (1 - 1e-6) or (
        more * entry * (1 + fee) > account * most * (1 - 1e-6)
    )
