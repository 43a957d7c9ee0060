"""The section `trading`: safe by default; live only where everything it needs is there."""

import pytest
from pydantic import ValidationError

from agent_core.finance.broker_paper import PaperBroker
from agent_core.finance.risk_limits import Limits
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from gateway.settings.trading import Trading
from gateway.trading.broker_house import brokers_of
from tests.house import Watch, settings

KEYS = {"key": "k", "secret": "s"}
LIVE_KEYS = KEYS | {"live_key": "k2", "live_secret": "s2"}


def test_by_default_there_is_play_money_alone_and_limits_hold() -> None:
    """TGV-11."""
    own = Trading()
    assert (own.broker, own.live, own.limits.rules()) == ("paper", False, Limits())
    made = brokers_of(own, Sources([BundledSource()]), Watch())
    assert {mode: type(broker) for mode, broker in made.items()} == {"paper": PaperBroker}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"live": True}, "live orders need a broker"),
        ({"broker": "alpaca"}, "alpaca needs its keys"),
        ({"broker": "alpaca", "live": True, "alpaca": KEYS}, "live orders need keys"),
        ({"limits": {"symbol_pct": 0}}, "greater than 0"),
        ({"limits": {"oder_usd": 5}}, "Extra inputs"),
        ({"paper": {"fee_bps": -1}}, "greater than or equal to 0"),
        ({"broker": "robinhood"}, "'paper', 'alpaca' or 'ib'"),
    ],
)
def test_what_could_not_work_is_refused(given: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Trading.model_validate(given)


@pytest.mark.parametrize(
    ("given", "modes"),
    [
        ({"broker": "alpaca", "alpaca": KEYS}, {"paper"}),
        ({"broker": "alpaca", "alpaca": LIVE_KEYS}, {"paper"}),  # keys alone switch nothing on
        ({"broker": "alpaca", "live": True, "alpaca": LIVE_KEYS}, {"paper", "live"}),
        ({"broker": "ib"}, {"paper"}),
        ({"broker": "ib", "live": True}, {"paper", "live"}),
    ],
)
def test_a_live_broker_is_made_only_where_the_settings_say_live(
    given: object, modes: set[str]
) -> None:
    """The first of the three switches."""
    made = brokers_of(Trading.model_validate(given), Sources([BundledSource()]), Watch())
    assert set(made) == modes


def test_cases_of_presets_are_run_with_play_money_whatever_the_settings_say() -> None:
    """In a case nobody approves: `inject: {approve: accept}` must never reach a broker."""
    live = Trading.model_validate({"broker": "alpaca", "live": True, "alpaca": LIVE_KEYS})
    made = brokers_of(live.rehearsed(), Sources([BundledSource()]), Watch())
    assert {mode: type(broker) for mode, broker in made.items()} == {"paper": PaperBroker}


def test_live_trading_is_remarked_upon_at_the_start() -> None:
    live = settings(trading={"broker": "ib", "live": True})
    assert any("the law of your place" in line for line in live.warnings)
    assert not any("law" in line for line in settings().warnings)
