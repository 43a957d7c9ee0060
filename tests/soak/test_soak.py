"""A soak in small: bad weather and kills, and nothing of it is found afterwards. `make soak` is the long one."""

from pathlib import Path

import pytest

from tests.databases import create_database
from tests.soak.check import check
from tests.soak.run import Plan, soak

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_a_crowd_in_bad_weather_is_answered_once_each_and_in_order(tmp_path: Path) -> None:
    """Through kills, resets, duplicates, stalls and refusals of both sides."""
    plan = Plan(messages=80, sessions=20, kills=2, rate=0.02, window=32, seed=3, seconds=240.0)
    verdict = check(await soak(tmp_path, plan))
    assert verdict.findings == []
    assert verdict.figures["messages"] == 80
    assert verdict.figures["kills"] == 2


@pytest.mark.postgres
async def test_a_crowd_is_answered_by_three_gateways_of_which_any_may_be_killed(
    postgres_server: str, tmp_path: Path
) -> None:
    """One polls, all answer and send; whichever is killed, another goes on with what it had."""
    plan = Plan(
        messages=60,
        sessions=20,
        kills=3,
        rate=0.01,
        window=24,
        seed=5,
        seconds=240.0,
        database=create_database(postgres_server),
        replicas=3,
    )
    verdict = check(await soak(tmp_path, plan))
    assert verdict.findings == []
    assert verdict.figures["messages"] == 60
    assert verdict.figures["kills"] == 3
