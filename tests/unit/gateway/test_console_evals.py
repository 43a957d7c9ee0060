"""The cases of a preset in the console: what they may cost, a run with its results, and when there is none."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import Connection

from gateway.presets import eval_runs
from gateway.presets.eval_runs import Begin, Busy
from gateway.storage.db import Database
from tests.unit.gateway.console_house import ConsoleHouse, console_house

NOW = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(minutes=5)
PRESET = """\
version: 1
name: mine
extends: solo
evals:
  - name: it says hello
    say: hello
    expect: {status: completed}
  - name: it sings
    say: hello
    expect: {contains: [la la la]}
"""
PAID = PRESET.replace("name: mine", "name: paid") + "    model: auto\n"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[ConsoleHouse]:
    presets = tmp_path / "presets"
    presets.mkdir()
    (presets / "mine.yaml").write_text(PRESET, encoding="utf-8")
    (presets / "paid.yaml").write_text(PAID, encoding="utf-8")
    facts = {"some/model": {"input_per_mtok": 3.0, "output_per_mtok": 15.0}}
    provider = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "model"}
    models = {"default": "some/model", "providers": {"some": provider}, "overrides": facts}
    async with console_house(
        tmp_path, models=models, budgets={"day": {"usd": 0.01}, "user_day": {"usd": 0.01}}
    ) as house:
        yield house


async def api(house: ConsoleHouse, path: str, role: str = "operator") -> dict[str, Any]:
    async with house.program(role) as client, client.get(f"/api/v1/presets/{path}") as response:
        found: dict[str, Any] = await response.json()
        return found


async def post(
    house: ConsoleHouse, path: str, role: str = "operator", **body: str
) -> tuple[int, dict[str, Any]]:
    address = f"/api/v1/presets/{path}"
    async with house.program(role) as client, client.post(address, json=body) as response:
        return response.status, await response.json()


@pytest.mark.slow
async def test_the_most_that_the_cases_may_cost_is_known_before(house: ConsoleHouse) -> None:
    mine = {c["model"]: c["usd"] for c in (await api(house, "mine/evals"))["choices"]}
    assert mine[""] == mine["demo"] == mine["replay"] == 0.0
    assert mine["auto"] == mine["some/model"] > 0
    paid = {c["model"]: c["usd"] for c in (await api(house, "paid/evals"))["choices"]}
    assert paid[""] == pytest.approx(mine["auto"] / 2), "one of its two cases costs something"
    async with house.visit("operator") as visit:
        assert "at most $0.00" in await visit.see("/presets/mine/evals")
    async with house.visit("viewer") as visit:
        assert "at most" not in await visit.see("/presets/mine/evals")


async def test_cases_that_do_not_fit_the_pot_of_the_day_are_not_run(house: ConsoleHouse) -> None:
    """DESIGN.md 7: the worst case is set aside before anything is asked of a model."""
    assert (await post(house, "mine/evals", model="some/model"))[0] == 200
    found = await _over(house, "mine")
    assert (found["status"], found["done"]) == ("failed", 0)
    assert "budget" in found["note"].lower() or "day" in found["note"]
    overview = await _pots(house)
    assert overview == 0.0, "nothing is left set aside"


async def _pots(house: ConsoleHouse) -> float:
    async with house.program("viewer") as client, client.get("/api/v1/overview") as response:
        (pot,) = (await response.json())["pots"]
        return float(pot["usd"])


async def _over(house: ConsoleHouse, preset: str, seconds: float = 120.0) -> dict[str, Any]:
    """The newest run of a preset, when it has ended."""
    seen: list[dict[str, Any]] = []

    async def look() -> None:
        while not seen or seen[-1]["status"] == "running":
            seen.append((await api(house, f"{preset}/evals"))["runs"][0])

    await asyncio.wait_for(look(), seconds)
    return seen[-1]


@pytest.mark.slow
async def test_only_operators_run_cases_and_only_with_models_that_there_are(
    house: ConsoleHouse,
) -> None:
    assert (await post(house, "mine/evals", "viewer"))[0] == 403
    status, said = await post(house, "mine/evals", model="other/model")
    assert (status, said["error"]) == (409, "no_such_model")
    status, said = await post(house, "solo-2/evals")
    assert status == 404
    status, said = await post(house, "desk-base/evals")
    assert (status, said["error"]) == (409, "no_cases")
    assert (await post(house, "mine/evals/9/stop"))[0] == 404


@pytest.mark.slow
async def test_a_run_shows_which_cases_passed_and_why_others_did_not(house: ConsoleHouse) -> None:
    assert (await post(house, "mine/evals"))[0] == 200
    status, said = await post(house, "paid/evals", model="demo")
    assert (status, said["error"]) == (409, "busy")
    run = await _over(house, "mine")
    assert (run["status"], run["done"], run["passed"], run["usd"]) == ("done", 2, 1, 0.0)
    async with house.visit("viewer") as visit:
        page = await visit.see("/presets/mine/evals")
        assert "1 of 2 passed" in page
        assert "&#39;la la la&#39; is not in the answer" in page
        assert "token:bob" in page
        assert "1 / 2" in await visit.see("/presets")
        assert "it sings" in await visit.see(f"/presets/mine/evals/{run['id']}")
    async with house.program("admin") as client, client.get("/api/v1/access") as response:
        deed = (await response.json())["deeds"][0]
    assert (deed["by"], deed["action"], deed["target"]) == ("token:bob", "run_cases", "preset mine")


@pytest.mark.slow
async def test_a_stopped_run_is_over_at_once_and_leaves_room_for_the_next(
    house: ConsoleHouse,
) -> None:
    assert (await post(house, "mine/evals"))[0] == 200
    number = (await api(house, "mine/evals"))["runs"][0]["id"]
    assert (await post(house, f"mine/evals/{number}/stop"))[0] == 200
    assert (await api(house, "mine/evals"))["runs"][0]["status"] == "stopped"
    assert (await post(house, f"mine/evals/{number}/stop"))[0] == 409
    assert (await post(house, "paid/evals", model="demo"))[0] == 200


@pytest.mark.statements
async def test_one_run_goes_on_at_a_time_until_it_ends_or_its_process_is_dead(db: Database) -> None:
    what = Begin("token:bob", "mine", "d", "", 2)
    start = partial(eval_runs.begin, what=what, now=NOW, due=LATER)
    first = await db.write(start)
    with pytest.raises(Busy, match="mine"):
        await db.write(start)
    result = {"case": "it", "passed": True, "usd": 0.25}
    add = partial(eval_runs.add, number=first, result=result, now=NOW, due=LATER)
    assert await db.write(add)
    after = LATER + dt.timedelta(seconds=1)
    lost = await db.read(lambda conn: eval_runs.find(conn, "mine", first, after))
    assert lost
    assert (lost.status, lost.done, lost.passed, lost.usd) == ("failed", 1, 1, 0.25)
    assert await db.write(lambda conn: eval_runs.end_lost(conn, after)) == [first]
    assert not await db.write(add), "a zombie adds nothing"
    second = await db.write(start)
    assert await db.write(lambda conn: eval_runs.end(conn, second, "done", NOW)) == "mine"
    newest = await db.read(lambda conn: eval_runs.latest(conn, NOW))
    assert newest["mine"].id == second


@pytest.mark.statements
async def test_only_the_newest_runs_of_a_preset_are_kept(db: Database) -> None:
    def many(conn: Connection) -> list[int]:
        made = []
        for _ in range(eval_runs.KEPT + 5):
            what = Begin("token:bob", "mine", "d", "", 1)
            made.append(eval_runs.begin(conn, what, NOW, LATER))
            eval_runs.end(conn, made[-1], "done", NOW)
        return made

    made = await db.write(many)
    kept = await db.read(lambda conn: eval_runs.runs(conn, "mine", NOW))
    assert [run.id for run in kept] == made[::-1][: eval_runs.KEPT]
