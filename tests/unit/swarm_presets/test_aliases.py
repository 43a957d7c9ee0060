"""`models` of a preset: prices that win, and fallbacks that answer (guide "presets", 2 and 5)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.errors import ModelUnreachable
from agent_core.models.fallback import FallbackModel
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import Model, ModelInfo, Price
from agent_core.runtime.aliases import aliased
from agent_core.runtime.loop import used
from agent_core.runtime.run import Person
from agent_core.runtime.session import Services, Turn
from agent_core.runtime.team import ModelUse, Team
from agent_core.types import Usage
from gateway.clock import SystemClock
from gateway.storage.db import Database
from swarm_presets.loader import load_folder
from swarm_presets.plan import plan
from swarm_presets.problems import render
from tests.harness import Desk, begin_next, delegate, message, post
from tests.house import on_sqlite

TABLE = Price(1.0, 2.0, 1.0, 1.0)


def compiled(folder: Path, text: str) -> Team:
    (folder / "desk.yaml").write_text(f"version: 1\nname: desk\n{text}")
    loaded = load_folder(folder, tools=frozenset({"chart"}))
    assert "desk" in loaded.teams, render(loaded.problems)
    return loaded.teams["desk"]


def scripted(name: str, *answers: Answer, price: Price | None = TABLE) -> ScriptedModel:
    return ScriptedModel(list(answers), info=ModelInfo(name, 200_000, 8_192, True, "none", price))


def at(desk: Desk, **models: ScriptedModel) -> Callable[[str], ScriptedModel]:
    """The desk's models by name: `a` stands for `p/a`."""
    found = {f"p/{name}": model for name, model in models.items()} | {"auto": models["auto"]}
    desk.models = found.__getitem__  # type: ignore[method-assign,assignment]
    return found.__getitem__


SMART = """
models:
  smart: {use: p/dear, price: {input: 10, output: 100}, fallback: [fast]}
  fast:  {use: p/cheap, fallback: [last]}
  last:  {use: auto}
"""


def test_an_alias_with_a_price_or_fallbacks_keeps_its_name(tmp_path: Path) -> None:
    team = compiled(tmp_path, f"{SMART}supervisor: {{model: smart, tools: []}}\n")
    assert team.supervisor.model == "@smart"
    price = Price(10, 100, 10, 12.5)
    assert team.models == {
        "@smart": (ModelUse("p/dear", price), ModelUse("p/cheap"), ModelUse("auto")),
        "@fast": (ModelUse("p/cheap"), ModelUse("auto")),
    }
    assert team.plain_models("@smart") == ("p/dear", "p/cheap", "auto")
    assert team.plain_models("p/x") == ("p/x",)


@on_sqlite
async def test_the_presets_own_price_is_what_an_answer_costs(db: Database, tmp_path: Path) -> None:
    team = compiled(tmp_path, f"{SMART}supervisor: {{model: smart, tools: []}}\n")
    dear = scripted("p/dear", Answer("hi", usage=Usage(1_000, 100, usd=0.5)))
    desk = Desk(db, [])
    at(desk, dear=dear, cheap=scripted("p/cheap"), auto=scripted("p/auto"))
    assert await desk.ask("hello", team) == "hi"
    rows = await desk.rows()
    assert used(rows, rows[-1].turn_id).usd == pytest.approx((1_000 * 10 + 100 * 100) / 1e6)


@on_sqlite
async def test_the_next_alias_answers_when_a_provider_fails(db: Database, tmp_path: Path) -> None:
    """At its own price, for the supervisor and for sub-agents alike."""
    team = compiled(
        tmp_path,
        f"""{SMART}
supervisor: {{model: smart, tools: []}}
agents: {{helper: {{role: Helper, prompt: Help., tools: [], model: smart}}}}
""",
    )
    lost = [Answer(error=ModelUnreachable("p/dear", "no route")) for _ in range(3)]
    cheap = scripted(
        "p/cheap",
        Answer(calls=(delegate("helper"),)),
        Answer("helped", usage=Usage(1_000, 100, usd=0.5)),
        Answer("done"),
    )
    desk = Desk(db, [])
    at(desk, dear=scripted("p/dear", *lost), cheap=cheap, auto=scripted("p/auto"))
    assert await desk.ask("hello", team) == "done"
    rows = await desk.rows("d1")
    assert used(rows, rows[-1].turn_id).usd == 0.5
    assert rows[-1].ref == "p/cheap"


def test_the_settings_own_fallbacks_come_after_the_presets() -> None:
    own, spare, other = (scripted(f"p/{name}") for name in ("own", "spare", "other"))
    base: dict[str, Model] = {"p/own": FallbackModel([own, other], SystemClock()), "p/spare": spare}
    uses = {"@x": (ModelUse("p/own"), ModelUse("p/spare")), "@y": (ModelUse("p/own", TABLE),)}
    get = aliased(uses, base.__getitem__, SystemClock())
    chain = get("@x")
    assert isinstance(chain, FallbackModel)
    assert [info.name for info in chain.infos] == ["p/own", "p/spare", "p/other"]
    assert get("@x") is chain
    assert get("p/spare") is spare


def test_a_model_is_its_own_fallback_no_second_time() -> None:
    model = scripted("p/own")
    uses = {"@x": (ModelUse("auto"), ModelUse("p/own"))}
    assert aliased(uses, lambda _: model, SystemClock())("@x") is model


def test_the_demo_planner_stays_free_of_charge() -> None:
    demo = scripted("demo", price=Price(0, 0, 0, 0))
    get = aliased({"@x": (ModelUse("auto", TABLE),)}, lambda _: demo, SystemClock())
    assert get("@x") is demo


@on_sqlite
async def test_what_the_person_chose_stands_for_auto_behind_an_alias(
    db: Database, tmp_path: Path
) -> None:
    team = compiled(
        tmp_path,
        """
models: {fast: {use: auto, fallback: [b]}, b: {use: p/b}}
supervisor: {tools: []}
agents: {helper: {role: Helper, prompt: Help., tools: [], model: fast}}
""",
    )
    chosen = scripted(
        "p/chosen", Answer(calls=(delegate("helper"),)), Answer("helped"), Answer("done")
    )
    desk = Desk(db, [])
    at(desk, auto=scripted("p/auto"), chosen=chosen, b=scripted("p/b"))
    await post(db, message("hello"))
    begun = await begin_next(db)
    assert begun is not None
    desk.journal = desk.journal_of(begun)
    services = Services(desk.tools.registry(), desk.models, SystemClock(), desk.nap)
    person = Person(begun.item.author)
    await Turn(services, team, desk.journal, person, desk.events.append, "p/chosen").run()
    assert desk.reply == "done"
    assert len(chosen.requests) == 3


def test_the_plan_counts_the_dearest_that_may_answer(tmp_path: Path) -> None:
    team = compiled(
        tmp_path, f"{SMART}supervisor: {{model: smart, tools: [], limits: {{tool_rounds: 1}}}}\n"
    )
    tree = load_folder(tmp_path, tools=frozenset({"chart"})).trees["desk"]
    prices = {"p/cheap": (20.0, 1.0), "auto": (1.0, 1.0)}
    made = plan(team, tree, prices.get, lambda _: 100_000)
    assert made.shares[0].model == "p/dear"
    assert made.total.usd == pytest.approx(2 * (100_000 * 20 + 8_000 * 100) / 1e6)
    assert plan(team, tree, lambda _: None, lambda _: 1).total.usd is None
