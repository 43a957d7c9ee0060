"""Random faults of a twin: of each kind about as often as said, the same for the same seed, none while it is calm."""

import pytest
from multidict import CIMultiDict

from tests.twins.twin import Call
from tests.twins.weather import Weather

KINDS = [
    ("/poll$", {"502": {"status": 502}}),
    ("", {"before": {"drop": "before"}, "after": {"drop": "after"}}),
]


def call(path: str) -> Call:
    return Call(1, 0.0, "POST", path, CIMultiDict(), {}, {})


def fates(weather: Weather, path: str, count: int) -> list[str]:
    fates = []
    for _ in range(count):
        fault = weather.strikes(call(path))
        fates.append("" if fault is None else fault.drop or str(fault.status))
    return fates


def test_each_kind_strikes_about_as_often_as_its_rate():
    weather = Weather(1, 0.05, KINDS)
    fates(weather, "/send", 4_000)
    assert weather.counts["before"] == pytest.approx(200, rel=0.25)
    assert weather.counts["after"] == pytest.approx(200, rel=0.25)


def test_the_same_seed_brings_the_same_weather_whatever_happens_beside():
    first, second, other = Weather(1, 0.1, KINDS), Weather(1, 0.1, KINDS), Weather(2, 0.1, KINDS)
    fates(second, "/poll", 50)
    assert fates(first, "/send", 200) == fates(second, "/send", 200) != fates(other, "/send", 200)


def test_the_first_pattern_that_fits_decides():
    assert set(fates(Weather(1, 0.5, KINDS), "/poll", 100)) == {"", "502"}


def test_nothing_strikes_while_it_is_calm():
    weather = Weather(1, 1.0, KINDS)
    weather.calm = True
    assert set(fates(weather, "/send", 50)) == {""}


def test_who_is_told_learns_which_request_was_spoilt():
    told: list[tuple[str, str]] = []
    weather = Weather(1, 1.0, KINDS[:1], lambda struck, kind: told.append((struck.path, kind)))
    weather.strikes(call("/poll"))
    assert told == [("/poll", "502")]
