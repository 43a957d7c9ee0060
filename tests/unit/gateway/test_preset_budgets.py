"""A preset's own pots, beside those of the settings: they tighten, and never loosen (DESIGN.md 7)."""

from dataclasses import replace
from typing import Any

from agent_core.budget.pots import OwnPots, Pot, nano
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelInfo, Price
from agent_core.runtime.team import Team
from agent_core.types import Usage
from gateway.storage.db import Database
from tests.harness import agent, call, team
from tests.house import TOOLS, House, on_sqlite, settings

# An answer of 4,096 tokens may cost 0.41 dollars, what the model reads next to nothing.
PRICED = ModelInfo("a/model", 200_000, 8_192, True, "none", Price(0.01, 100.0, 0.01, 0.01))
UNPRICED = ModelInfo("b/unknown", 200_000, 8_192, True, "none", None)


def dear(*answers: Any, info: ModelInfo = PRICED) -> ScriptedModel:
    return ScriptedModel(list(answers), info=info)


def says(text: str, usd: float | None = 0.1) -> Answer:
    return Answer(text, usage=Usage(100, 10, usd=usd, usd_uncached=usd))


def calls(*made: Any, usd: float = 0.1) -> Answer:
    return Answer(calls=made, usage=Usage(100, 10, usd=usd, usd_uncached=usd))


def desk(*pots: Pot, **more: Any) -> Team:
    return replace(team(agent(tools=TOOLS)), budget=OwnPots(pots, **more))


def a_day(usd: float, **more: Any) -> Pot:
    return Pot("user_day", nano(usd), of_preset=True, **more)


def house(db: Database, model: Any, the_team: Team, budgets: dict[str, Any] | None = None) -> House:
    return House(db, model, rules=settings(budgets=budgets or {}), the_team=the_team)


async def test_the_smaller_pot_decides_and_both_are_booked(db: Database) -> None:
    pots = {"user_day": {"usd": 5}}
    model = dear(says("one", 0.5), says("never"))
    async with house(db, model, desk(a_day(0.9)), pots) as home:
        await home.ask("hello")
        assert "budget for today ($0.90)" in (await home.ask("again"))[-1]
        rows = await home.all(
            "select key, usd, usd_held from budget_pot where key <> '' order by id"
        )
        assert [tuple(row) for row in rows] == [
            ("telegram:1", 500_000_000, 0),
            ("telegram:1+presets", 500_000_000, 0),
        ]


@on_sqlite
async def test_a_larger_pot_of_a_preset_loosens_nothing(db: Database) -> None:
    async with house(db, dear(), desk(a_day(50)), {"user_day": {"usd": 0.3}}) as home:
        assert "budget for today ($0.30)" in (await home.ask("hello"))[-1]


@on_sqlite
async def test_other_presets_are_not_bound_by_it(db: Database) -> None:
    model = dear(says("one", 0.5), says("two"))
    async with house(db, model, desk(a_day(0.9))) as home:
        await home.ask("hello")
        await home.ask("/preset other")
        assert (await home.ask("again"))[-1] == "two"


async def test_the_pot_of_a_run_ends_it(db: Database) -> None:
    model = dear(calls(call("echo"), usd=0.3), says("never"), says("next", 0.1))
    async with house(db, model, desk(Pot("run", nano(0.6)))) as home:
        assert "the budget of one answer ($0.60)" in (await home.ask("go"))[-1]
        assert (
            await home.one("select count(*) from budget_pot where kind = 'run'") == 0
        )  # it ends with its run


@on_sqlite
async def test_an_operator_raises_the_presets_pot_and_not_the_settings(db: Database) -> None:
    model = dear(says("one", 0.5), says("late", 0.3))
    pots = {"user_day": {"usd": 5, "warn_at": 1}}
    async with house(db, model, desk(a_day(0.9, on_exceeded="ask_admin")), pots) as home:
        await home.ask("/help", author="9", chat="9")
        await home.ask("hello")
        await home.ask("again")
        asked = home.channel.texts("9")[-1]
        assert "budget user_day of `telegram:1` (presets) ($0.90) does not cover" in asked
        number = await home.one("select id from budget_pot where asked > 0")
        await home.press(f"raise:{number}:yes", author="9", chat="9")
        await home.quiet()
        assert home.channel.texts("1")[-1] == "late"
        rows = await home.all("select key, raised from budget_pot where key <> '' order by id")
        assert [tuple(row) for row in rows] == [("telegram:1", 0), ("telegram:1+presets", 1)]


@on_sqlite
async def test_an_operator_raises_the_pot_of_a_run(db: Database) -> None:
    model = dear(calls(call("echo"), usd=0.3), says("done", 0.3))
    async with house(db, model, desk(Pot("run", nano(0.6), on_exceeded="ask_admin"))) as home:
        await home.ask("/help", author="9", chat="9")
        await home.ask("go")
        assert "go on when the pot is raised; /stop" in home.channel.texts("1")[-1]
        number = await home.one("select id from budget_pot where asked > 0")
        await home.press(f"raise:{number}:yes", author="9", chat="9")
        await home.quiet()
        assert "done" in home.channel.texts("1")


@on_sqlite
async def test_a_queued_turn_goes_on_the_next_day(db: Database) -> None:
    model = dear(says("one", 0.5), says("late"))
    async with house(db, model, desk(a_day(0.9, on_exceeded="queue"))) as home:
        await home.ask("hello")
        await home.ask("again")
        await home.later(12 * 3_600)
        assert home.channel.texts("1")[-1] == "late"


@on_sqlite
async def test_the_pots_own_fallback_model_answers(db: Database) -> None:
    free = ModelInfo("demo", 200_000, 4_096, False, "none", Price(0, 0, 0, 0), summarises=False)
    demo = ScriptedModel([Answer("for nothing", usage=Usage(5, 5, usd=0.0))], info=free)
    pot = a_day(0.3, on_exceeded="fallback_model", fallback_model="demo")
    model = dear()
    async with house(db, model, desk(pot)) as home:
        home.turns.services = replace(
            home.turns.services, model=lambda name: demo if name == "demo" else model
        )
        (said,) = await home.ask("hello")
        assert said.startswith("for nothing\n\n_What is left of your budget for today ($0.30)")
        assert not model.requests


@on_sqlite
async def test_a_preset_may_refuse_models_without_a_price(db: Database) -> None:
    model = dear(says("one", None), info=UNPRICED)
    async with house(db, model, desk(a_day(1), unpriced="refuse")) as home:
        (said,) = await home.ask("hello")
        assert said.startswith("The model b/unknown has no known price")


@on_sqlite
async def test_people_are_told_once_that_it_goes_to_its_end(db: Database) -> None:
    model = dear(says("one", 0.5), says("two", 0.2), says("three", 0.1))
    async with house(db, model, desk(a_day(1.5, warn_at=0.3))) as home:
        await home.ask("hello")
        await home.ask("again")
        shown = await home.ask("and again")
        assert sum("% of your budget for today is used" in text for text in shown) == 1


@on_sqlite
async def test_budget_shows_the_presets_pots(db: Database) -> None:
    the_team = desk(Pot("run", nano(0.6), 250_000), a_day(2.0))
    async with house(db, dear(says("one", 0.25)), the_team, {"user_day": {"usd": 5}}) as home:
        await home.ask("hello")
        shown = (await home.ask("/budget"))[-1]
        assert "- One answer: at most $0.60 · 250,000 tokens" in shown
        assert "- You, today: $0.25 of $5.00" in shown
        assert "- You, today (presets): $0.25 of $2.00" in shown
