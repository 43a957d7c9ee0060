"""Pots as people meet them: refusals, other models, waiting, operators, warnings, /budget."""

from typing import Any

import pytest

from agent_core.budget.pots import nano
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelInfo, Price
from agent_core.types import Usage
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import TOOLS, House, on_sqlite, settings, until
from tests.loopback import Shown

# An answer of 4,096 tokens may cost 0.41 dollars, what the model reads next to nothing.
PRICED = ModelInfo("a/model", 200_000, 8_192, True, "none", Price(0.01, 100.0, 0.01, 0.01))
FULL = 0.42


def dear(*answers: Any, info: ModelInfo = PRICED) -> ScriptedModel:
    return ScriptedModel(list(answers), info=info)


def says(text: str, usd: float | None = 0.1) -> Answer:
    return Answer(text, usage=Usage(100, 10, usd=usd, usd_uncached=usd))


def calls(*made: Any, usd: float = 0.1) -> Answer:
    return Answer(calls=made, usage=Usage(100, 10, usd=usd, usd_uncached=usd))


def house(db: Database, model: ScriptedModel, budgets: dict[str, Any], **more: Any) -> House:
    return House(db, model, rules=settings(budgets=budgets), **more)


def last(home: House, chat: str) -> Shown:
    return [shown for shown in home.channel.order if shown.chat == chat][-1]


async def held(home: House) -> int:
    return await home.one(
        "select coalesce(sum(usd_held), 0) + coalesce(sum(tokens_held), 0) from budget_pot"
    )


async def test_an_answer_is_paid_from_every_pot_that_applies(db: Database) -> None:
    pots = {name: {"usd": 5} for name in ("user_day", "user_month", "channel_day", "day", "month")}
    async with house(db, dear(says("one"), says("two")), pots) as home:
        await home.ask("hello")
        assert await home.ask("again") == ["one", "two"]
        rows = await home.all("select kind, key, period, usd, runs from budget_pot order by id")
        assert [tuple(row) for row in rows] == [
            ("user_day", "telegram:1", "2026-01-05", 200_000_000, 2),
            ("user_month", "telegram:1", "2026-01", 200_000_000, 2),
            ("channel_day", "telegram:777:1", "2026-01-05", 200_000_000, 2),
            ("day", "", "2026-01-05", 200_000_000, 2),
            ("month", "", "2026-01", 200_000_000, 2),
        ]
        assert await held(home) == 0
        assert await home.one("select count(*) from budget_hold") == 0


async def test_a_call_that_does_not_fit_is_not_made(db: Database) -> None:
    """The notice names the pot, its size and when it begins anew."""
    model = dear(says("one", 0.5), says("never"))
    async with house(db, model, {"user_day": {"usd": 0.9, "warn_at": 1}}) as home:
        await home.ask("hello")
        assert (await home.ask("again"))[-1] == (
            "What is left of your budget for today ($0.90) does not cover the next step, so I stopped. "
            "It begins anew on 2026-01-06 00:00 (UTC)."
        )
        assert len(model.requests) == 1
        assert await held(home) == 0
        home.move(12 * 3_600)
        assert (await home.ask("and now?"))[-1] == "never"


async def test_the_notice_is_in_the_persons_language(db: Database) -> None:
    async with house(db, dear(), {"user_month": {"tokens": 5}}) as home:
        assert await home.ask("你好，在吗") == [
            "您本月的预算（5 token）余额不足以继续，已停止。将于 2026-02-01 00:00 (UTC) 重新计算。"
        ]


@on_sqlite
async def test_one_persons_pot_is_not_anothers(db: Database) -> None:
    async with house(db, dear(says("one", 0.5), says("two")), {"user_day": {"usd": 0.9}}) as home:
        await home.ask("hello")
        assert (await home.ask("hello", author="2", chat="2"))[-1] == "two"


@on_sqlite
async def test_a_fallback_model_answers_and_says_so(db: Database) -> None:
    demo = ScriptedModel([Answer("for nothing", usage=Usage(5, 5, usd=0.0))], info=FREE)
    budgets = {"user_day": {"usd": 0.3}, "on_exceeded": "fallback_model"}
    model = dear()
    async with house(db, model, budgets) as home:
        home.turns.services = home.turns.services.__class__(
            home.turns.services.registry,
            lambda name: demo if name == "demo" else model,
            home.clock,
        )
        (said,) = await home.ask("hello")
    assert said == (
        "for nothing\n\n_What is left of your budget for today ($0.30) does not cover `a/model`, so `demo` answered._"
    )
    assert not model.requests


FREE = ModelInfo("demo", 200_000, 4_096, False, "none", Price(0, 0, 0, 0), summarises=False)


@on_sqlite
async def test_demo_skips_the_ledger(db: Database) -> None:
    demo = dear(Answer("hi", usage=Usage(5, 5, usd=0.0)), info=FREE)
    async with house(db, demo, {"user_day": {"usd": 0, "runs": 1}}) as home:
        assert await home.ask("hello") == ["hi"]
        assert await home.one("select count(*) from budget_pot") == 0


async def test_parallel_sub_agents_cannot_overspend(db: Database) -> None:
    """Three at once, room for two worst cases beside the supervisor's."""
    lead = agent(tools=TOOLS)
    helper = agent("helper", concurrency=3)
    work = [delegate("helper", f"task {n}", f"d{n}") for n in range(3)]
    script = iter([calls(*work, usd=0.0001)])

    def answer(request: Any) -> Answer:
        if "You are helper" in request.system:
            return says("done", 0.4)
        return next(script, says("all done", 0.0001))

    model = ScriptedModel(answer, info=PRICED)
    budgets = {"user_day": {"usd": 1.3, "warn_at": 1}}
    async with house(db, model, budgets, the_team=team(lead, helper)) as home:
        await home.ask("go")
        results = await home.all("select body from transcript where kind = 'result'")
        assert sum("over_budget" in row.body for row in results) >= 1
        assert await home.one("select usd from budget_pot") <= 1_300_000_000
        assert await held(home) == 0


async def test_a_preset_limits_its_run_with_its_sub_agents(db: Database) -> None:
    """Limits.usd of the supervisor is the pot of the run."""
    lead = agent(tools=TOOLS, limits={"usd": 0.6})
    model = dear(calls(call("echo"), usd=0.3), says("never"))
    async with house(db, model, {}, the_team=team(lead)) as home:
        (said,) = await home.ask("go")
        assert (
            said
            == "What is left of the budget of one answer ($0.60) does not cover the next step, so I stopped."
        )
        assert len(model.requests) == 1
        assert await held(home) == 0


async def test_a_queued_turn_waits_until_the_pot_begins_anew(db: Database) -> None:
    model = dear(says("one", 0.5), says("late"), says("later"))
    budgets = {"user_day": {"usd": 0.9, "warn_at": 1}, "on_exceeded": "queue"}
    async with house(db, model, budgets, still=True) as home:
        await home.ask("hello")
        shown = await home.ask("again")
        assert shown[-1] == (
            "What is left of your budget for today ($0.90) does not cover the next step. "
            "I go on when it begins anew on 2026-01-06 00:00 (UTC); /stop ends the wait."
        )
        assert await held(home) == 0
        assert await home.ask("still there?") == shown  # it waits behind, and nothing is said twice
        home.move(12 * 3_600)
        await until(lambda: home.channel.texts("1")[-1] != shown[-1])
        await home.quiet()
        assert home.channel.texts("1")[-2:] == ["late", "later"]


async def test_a_queued_turn_survives_a_restart(db: Database) -> None:
    budgets = {"user_day": {"usd": 0.9, "warn_at": 1}, "on_exceeded": "queue"}
    async with house(db, dear(says("one", 0.5)), budgets) as home:
        await home.ask("hello")
        await home.ask("again")
    for _ in range(4):  # a start that finds no room breaks nothing
        async with house(db, dear(), budgets) as home:
            await home.quiet()
            assert not home.channel.texts("1")
    clock = home.clock
    clock.seconds += 12 * 3_600
    async with house(db, dear(says("late")), budgets, clock=clock) as home:
        await home.quiet()
        assert home.channel.texts("1") == ["late"]


@on_sqlite
async def test_a_queued_turn_can_be_stopped(db: Database) -> None:
    budgets = {"user_day": {"usd": 0.1}, "on_exceeded": "queue"}
    async with house(db, dear(), budgets) as home:
        await home.ask("hello")
        assert (await home.ask("/stop"))[-1] == "Stopped."


ASKS = {"user_day": {"usd": 0.9, "warn_at": 1}, "on_exceeded": "ask_admin"}


async def asking(home: House) -> str:
    """An operator who talks to the bot, and a person whose pot is used up; the id of the pot."""
    await home.ask("/help", author="9", chat="9")
    await home.ask("hello")
    await home.ask("again")
    return str(await home.one("select id from budget_pot where key = 'telegram:1'"))


async def test_an_operator_raises_a_pot_by_button(db: Database) -> None:
    async with house(db, dear(says("one", 0.5), says("two", 0.5), says("three")), ASKS) as home:
        pot = await asking(home)
        question = last(home, "9")
        assert question.text == (
            "An answer waits: what is left of budget user_day of `telegram:1` ($0.90) does not cover its next step. "
            "Raise it once by its own size until 2026-01-06 00:00 (UTC)?"
        )
        assert [b.data for b in question.buttons] == [f"raise:{pot}:yes", f"raise:{pot}:no"]
        assert "I have asked an operator" in home.channel.texts("1")[-1]
        shown = (await home.ask("/budget"))[-1]  # waits for nothing
        assert "You, today: $0.50 of $0.90" in shown
        assert "Running here: waits for room in a budget" in (await home.ask("/status"))[-1]
        await home.press(f"raise:{pot}:yes", author="2", chat="2")
        await home.quiet()
        assert await home.one("select max(raised) from budget_pot") == 0
        await home.press(f"raise:{pot}:yes", author="9", chat="9")
        await home.quiet()
        assert home.channel.texts("1")[-1] == "two"
        assert home.channel.texts("9")[-1].endswith("✅ Raised by name 9.")
        assert not last(home, "9").buttons
        await home.press(f"raise:{pot}:yes", author="9", chat="9")  # decided once
        await home.quiet()
        assert await home.one("select max(raised) from budget_pot") == 1


async def test_an_operators_no_stops_the_turn_that_waits(db: Database) -> None:
    async with house(db, dear(says("one", 0.5)), ASKS) as home:
        pot = await asking(home)
        await home.press(f"raise:{pot}:no", author="9", chat="9")
        await home.quiet()
        assert "so I stopped" in home.channel.texts("1")[-1]
        assert "so I stopped" in (await home.ask("once more"))[-1]
        assert len(home.channel.texts("9")) == 2


@on_sqlite
async def test_where_no_operator_can_be_asked_the_turn_stops(db: Database) -> None:
    async with house(db, dear(says("one", 0.5)), ASKS) as home:
        await home.ask("hello")
        assert "so I stopped" in (await home.ask("again"))[-1]


async def test_the_person_and_the_operators_are_warned_once(db: Database) -> None:
    answers = [says(str(n), 0.3) for n in range(4)]
    async with house(db, dear(*answers), {"user_day": {"usd": 2, "warn_at": 0.4}}) as home:
        await home.ask("/help", author="9", chat="9")
        for _ in range(4):
            await home.ask("hello")
        said = [t for t in home.channel.texts("1") if "used" in t]
        assert said == [
            "45 % of your budget for today is used. It begins anew on 2026-01-06 00:00 (UTC). /budget shows more."
        ]
        assert [t for t in home.channel.texts("9") if "Budget" in t] == [
            "Budget user_day of `telegram:1`: 45 % of $2.00 is used. It begins anew on 2026-01-06 00:00 (UTC)."
        ]


UNPRICED = ModelInfo("b/unknown", 200_000, 8_192, True, "none", None)


@pytest.mark.parametrize("rule", ["warn", "allow"])
async def test_an_unpriced_model_is_unknown_not_nothing(db: Database, rule: str) -> None:
    """MDL-3."""
    budgets = {"user_day": {"usd": 1}, "unpriced_models": rule}
    async with house(db, dear(says("one", None), info=UNPRICED), budgets) as home:
        await home.ask("hello")
        assert "and calls without a known price: 1" in (await home.ask("/budget"))[-1]


@on_sqlite
async def test_an_unpriced_model_may_be_refused(db: Database) -> None:
    budgets = {"user_day": {"usd": 1}, "unpriced_models": "refuse"}
    model = dear(says("one", None), info=UNPRICED)
    async with house(db, model, budgets) as home:
        assert await home.ask("hello") == [
            "The model b/unknown has no known price, and the budgets here allow no such model. "
            "Choose another with /model."
        ]
        assert not model.requests


@on_sqlite
async def test_budget_shows_what_is_used_and_set_aside(db: Database) -> None:
    budgets = {
        "user_day": {"usd": 2, "tokens": "1.5M"},
        "day": {"usd": 25, "runs": 40},
    }
    async with house(db, dear(says("one", 0.25)), budgets) as home:
        await home.ask("hello")
        await home.all("select 1")
        assert (await home.ask("/budget"))[-1] == (
            "Budgets (UTC):\n\n"
            "- You, today: $0.25 of $2.00 · 110 tokens of 1,500,000 tokens, begins anew on 2026-01-06 00:00 (UTC)\n"
            "- Everybody, today: $0.25 of $25.00 · 1 answers of 40 answers, begins anew on 2026-01-06 00:00 (UTC)"
        )
        await home.db.write(
            lambda c: c.exec_driver_sql("update budget_pot set usd_held = 100000000")
        )  # type: ignore[arg-type,return-value]
        assert ", $0.10 set aside for running answers" in (await home.ask("/budget"))[-1]
        await home.ask("/language zh")
        assert "- 您今天：已用 $0.25 / $2.00" in (await home.ask("/budget"))[-1]
        group = await home.ask("/budget", chat="-5", private=False)
        assert group[-1].endswith("您的个人预算请在私聊中查看。")
        assert "您今天" not in group[-1]


@on_sqlite
async def test_without_budgets_nothing_is_written(db: Database) -> None:
    async with house(db, dear(says("one")), {"user_day": None, "day": None}) as home:
        await home.ask("hello")
        assert (await home.ask("/budget"))[-1] == "There is no budget here: nothing is limited."
        assert await home.one("select count(*) from budget_pot") == 0


async def test_a_second_message_needs_no_transaction_of_its_own(db: Database) -> None:
    """What the first call of a turn needs was set aside when the turn began."""
    made = 0
    async with house(
        db, dear(says("one"), calls(call("echo")), says("two")), {"day": {"usd": 9}}
    ) as home:
        await home.ask("hello")
        write = db.write

        async def counted(work: Any) -> Any:
            nonlocal made
            made += getattr(work, "__qualname__", "").endswith("reserve.<locals>.work")
            return await write(work)

        home.turns.db.write = counted  # type: ignore[method-assign]
        try:
            assert (await home.ask("again"))[-1] == "two"
        finally:
            home.turns.db.write = write  # type: ignore[method-assign]
    assert made == 0


async def test_what_a_death_left_set_aside_is_settled_by_the_turn_that_goes_on(
    db: Database,
) -> None:
    budgets = {"user_day": {"usd": 0.9}}
    async with house(db, dear(Answer("never", delay=3_600)), budgets) as home:
        await home.say("hello")
        await until(lambda: home.model.requests)
        assert await held(home) > 400_000_000
    async with house(db, dear(says("again", 0.2)), budgets) as home:
        await home.quiet()
        assert home.channel.texts("1")[-1] == "again"
        assert await held(home) == 0
        row = (await home.all("select usd, runs from budget_pot"))[0]
        assert tuple(row) == (200_000_000, 1)


@on_sqlite
async def test_a_question_frees_what_is_set_aside_while_it_waits(db: Database) -> None:
    model = dear(calls(call("pay", to="bob")), says("paid"))
    the_team = team(agent(tools=("pay",)))
    async with house(db, model, {"user_day": {"usd": 2}}, the_team=the_team) as home:
        await home.ask("pay bob")
        assert await held(home) == 0
        number = await home.one("select id from question")
        await home.press(f"ok:{number}")
        await home.quiet()
        row = (await home.all("select usd, usd_held, runs from budget_pot"))[0]
        assert tuple(row) == (200_000_000, 0, 1)


def test_sizes_of_settings_are_read_as_people_write_them() -> None:
    own = settings(
        budgets={
            "user_day": {"usd": 0.5, "tokens": "1.5M"},
            "day": {"tokens": "250k", "warn_at": 0.5},
        }
    )
    person, everybody = own.budgets.rules("UTC").pots
    assert (person.usd, person.tokens, person.warn_at) == (500_000_000, 1_500_000, 0.8)
    assert (everybody.usd, everybody.tokens, everybody.warn_at) == (None, 250_000, 0.5)


def test_a_budget_that_cannot_work_is_refused_or_told() -> None:
    with pytest.raises(ValueError, match="no provider of nowhere/model"):
        settings(budgets={"fallback_model": "nowhere/model"})
    lonely = settings(
        budgets={"day": {"usd": 1, "on_exceeded": "ask_admin"}}, access={"default": "allow"}
    )
    assert lonely.warnings == ("budgets: ask_admin asks nobody; name somebody in access.operators",)


def test_bills_are_bounded_from_the_start() -> None:
    """DESIGN.md 9: two dollars a person and twenty-five in all, each day, until the settings say otherwise."""
    pots = {pot.kind: pot.usd for pot in settings().budgets.rules("UTC").pots}
    assert pots == {"user_day": nano(2.0), "day": nano(25.0)}
