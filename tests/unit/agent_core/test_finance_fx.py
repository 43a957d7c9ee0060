"""Exchange rates from the installed ECB data, without a network."""

import datetime as dt

import pytest

from agent_core.finance.fx import NoRate, Rates

DAY = dt.date.fromisoformat


async def test_a_rate_carries_the_day_of_its_fixing() -> None:
    """Easter 2014: Friday the 18th to Monday the 21st had no fixing."""
    rates = Rates()
    friday = await rates.rate("EUR", "USD", DAY("2014-03-28"))
    assert friday.value == 1.3759  # the ECB's published fixing of that day
    assert friday.date == DAY("2014-03-28")
    assert (await rates.rate("eur", "usd", DAY("2014-04-20"))).date == DAY("2014-04-17")


async def test_cross_rates_go_through_the_euro() -> None:
    rates, day = Rates(), DAY("2012-12-31")
    dollar, yen = await rates.rate("EUR", "USD", day), await rates.rate("EUR", "JPY", day)
    cross = await rates.rate("USD", "JPY", day)
    assert cross.value == pytest.approx(yen.value / dollar.value)
    assert (await rates.rate("USD", "EUR", day)).value == pytest.approx(1 / dollar.value)
    assert (await rates.rate("USD", "USD", day)).value == 1


async def test_many_days_come_in_order() -> None:
    days = [DAY("2012-01-02"), DAY("2012-01-03")]
    assert [r.date for r in await Rates().series("USD", "CNY", days)] == days


@pytest.mark.parametrize(
    ("quote", "day", "words"),
    [
        ("XXX", "2012-01-03", "no exchange rates for XXX; there are AUD"),
        ("USD", "1990-01-01", "run from 1999-01-04"),
        ("USD", "2199-01-01", "the last one is of"),
    ],
)
async def test_a_missing_rate_is_never_filled_in(quote: str, day: str, words: str) -> None:
    with pytest.raises(NoRate, match=words):
        await Rates().rate("EUR", quote, DAY(day))
