"""Background tasks that wait, are looked at, cancelled, or too many; and where none are kept."""

import json
from dataclasses import replace
from typing import Any

from agent_core.approvals import Rule
from agent_core.models.scripted import Answer
from agent_core.types import ToolUse
from gateway.storage.db import Database
from gateway.tasks.desk import QUEUED, RUNNING
from tests.harness import Desk, agent, call, delegate, message, post, team
from tests.house import House, on_sqlite, until
from tests.unit.agent_core.flow_desk import ANSWER, COLLECT, SYMBOL, asked, by_agent, planned
from tests.unit.gateway.test_tasks import (
    REPORT,
    STUDY,
    TEAM,
    TOOLS,
    ended,
    house,
    notices,
    results,
    settled,
    state,
    task_id,
)


def studies(count: int, first: int = 0) -> Answer:
    numbers = range(first, first + count)
    return Answer(calls=tuple(call("study", f"s{n}", about=f"no {n}") for n in numbers))


def check(call_id: str, **args: Any) -> ToolUse:
    return call("check_background_tasks", call_id, **args)


def answers(it: House) -> dict[str, Any]:
    """What the tools answered, as the newest request shows it, by call."""
    return {r.call_id: json.loads(r.content) for r in results(it.model.requests[-1])}


async def test_three_run_and_the_fourth_waits_its_turn(db: Database) -> None:
    """BGT-5: the limit is a person's; another's tasks run beside them."""
    script = [studies(4), "They run.", Answer(calls=(call("study", "b1"),)), "Runs."]
    async with house(db, *script, "done", "done") as it:
        await it.ask("study them")
        found = answers(it)
        assert [found[f"s{n}"]["status"] for n in range(4)] == ["running"] * RUNNING + ["queued"]
        assert found["s3"]["position"] == 1
        await it.ask("study", author="2", chat="2")
        await until(lambda: len(it.tools.calls) == RUNNING + 1)
        assert answers(it)["b1"]["status"] == "running"
        it.tools.gate.set()
        await ended(it)
        assert len(it.tools.calls) == 5
        assert {s for (s,) in await it.all("select state from task")} == {"done"}


@on_sqlite
async def test_too_many_are_refused_with_the_cure(db: Database) -> None:
    limit = RUNNING + QUEUED
    async with house(db, studies(limit + 1), "Many.") as it:
        await it.ask("study them")
        assert await it.one("select count(*) from task") == limit
        refused = [r for r in results(it.model.requests[-1]) if r.is_error]
        assert len(refused) == 1
        assert "cancel one with check_background_tasks" in refused[0].content


@on_sqlite
async def test_tasks_can_be_listed_and_their_results_read_again(db: Database) -> None:
    async with house(db, STUDY, "Runs.", Answer(calls=(check("k1"),)), "At 40 %.", REPORT) as it:
        await it.ask("study AAPL")
        await until(lambda: it.tools.calls)
        await it.ask("how far?")
        [task] = answers(it)["k1"]["tasks"]
        assert (task["status"], task["stage"], task["progress"]) == ("running", "reading AAPL", 0.4)
        it.tools.gate.set()
        await ended(it)
        it.model.script.extend(  # type: ignore[union-attr]
            [Answer(calls=(check("k2", action="result", task_id=task["task_id"]),)), "Again."]
        )
        await it.ask("show it again")
        assert answers(it)["k2"]["result"] == {"found": "AAPL"}
        assert [f.name for f in it.channel.order[-1].files] == ["AAPL.png"]


@on_sqlite
async def test_looking_again_and_again_is_no_loop(db: Database) -> None:
    """DOM-3: the tool is not recorded at all."""
    look = [Answer(calls=(check(f"k{n}"),)) for n in range(6)]
    async with house(db, STUDY, "Runs.", *look, "Still running.") as it:
        await it.ask("study AAPL")
        assert (await it.ask("how far?"))[-1] == "Still running."
        assert all(not r.is_error for r in results(it.model.requests[-1]))


# Cancelling ---------------------------------------------------------------------------------------


@on_sqlite
async def test_the_model_cancels_a_task_and_no_notification_follows(db: Database) -> None:
    """BGT-5: the running tool is ended, not only marked."""
    async with house(db, STUDY, "Runs.") as it:
        await it.ask("study AAPL")
        await until(lambda: it.tools.calls)
        end = Answer(calls=(check("k1", action="cancel", task_id=await task_id(it)),))
        it.model.script.extend([end, "Cancelled."])  # type: ignore[union-attr]
        assert (await it.ask("stop it"))[-1] == "Cancelled."
        assert answers(it)["k1"]["status"] == "cancelled"
        await until(lambda: not it.tasks.busy)
        it.tools.gate.set()
        await ended(it)
        assert await state(it) == "cancelled"
        assert await it.one("select count(*) from turn") == 2
        assert await it.one("select count(*) from blob") == 0
        await settled(it)


async def test_status_shows_tasks_with_a_button_that_cancels(db: Database) -> None:
    """BGT-2: the panel, in the person's language."""
    async with house(db, studies(4), "They run.") as it:
        await it.ask("study them")
        await until(lambda: len(it.tools.calls) == RUNNING)
        await it.ask("/status")
        panel = it.channel.order[-1]
        assert panel.text.startswith("Background tasks:")
        assert panel.text.count("Study · 40% · reading no") == RUNNING
        assert panel.text.count("Study · queued") == 1
        queued = await task_id(it, "s3")
        [button] = [b for b in panel.buttons if queued in b.label]
        await it.press(button.data)
        assert it.channel.answers[-1][1] == "Cancelled."
        assert await state(it, "s3") == "cancelled"
        await it.press(button.data)
        assert it.channel.answers[-1][1] == "This task has ended."


@on_sqlite
async def test_stop_ends_the_turn_and_no_task(db: Database) -> None:
    slow = Answer("never", delay=30.0)
    async with house(db, STUDY, slow, REPORT) as it:
        await it.say("study AAPL")
        await until(lambda: len(it.model.requests) == 2)
        await it.ask("/stop")
        assert await state(it) == "running"
        it.tools.gate.set()
        await ended(it)
        assert it.channel.texts("1")[-1] == REPORT


@on_sqlite
async def test_a_task_that_takes_too_long_fails_as_timed_out(db: Database) -> None:
    """BGT-5."""
    async with house(db, STUDY, "Runs.", "Too slow.") as it:
        spec = it.tasks._registry.get("study")
        assert spec is not None
        it.tasks._registry._tools["study"] = replace(spec, timeout=0.01)
        await it.ask("study AAPL")
        await ended(it)
        [note] = notices(it.model.requests[-1])
        assert "<status>failed</status>" in note
        assert "<error>TimeoutError</error>" in note


@on_sqlite
async def test_a_tool_that_cancels_itself_has_failed_and_is_not_run_again(db: Database) -> None:
    """Nobody has cancelled it, so there is an end to tell of."""
    cut = Answer(calls=(call("study", "s1", about="AAPL", how="cancelled"),))
    async with house(db, cut, "It runs.", "It failed.") as it:
        await it.ask("study AAPL")
        it.tools.gate.set()
        await ended(it)
        assert "<error>CancelledError</error>" in notices(it.model.requests[-1])[0]
        assert it.tools.calls == [("study", "AAPL")]


# What leads to a task -----------------------------------------------------------------------------


@on_sqlite
async def test_a_task_that_needs_a_yes_begins_after_it(db: Database) -> None:
    """TGV-5: the tool asks first, as always."""
    lead = agent(tools=TOOLS, approvals=(Rule("ship"),))
    ship = Answer(calls=(call("ship", "p1", what="books"),))
    async with house(db, ship, "It ships.", REPORT, the_team=team(lead)) as it:
        await it.ask("ship books")
        assert await it.one("select count(*) from task") == 0
        await it.press("ok:1")
        await it.quiet()
        assert await state(it, "p1") == "running"
        it.tools.gate.set()
        await ended(it)
        assert it.tools.calls == [("ship", "books")]
        await settled(it)


@on_sqlite
async def test_a_sub_agent_does_not_wait_and_the_main_agent_gets_the_ids(db: Database) -> None:
    """SUB-9, SUB-13: the notification goes to the session of the main agent, naming the agent."""
    the_team = team(agent(tools=TOOLS), agent("research", tools=("study",)))
    script = [Answer(calls=(delegate("research"),)), STUDY, "It runs.", "Research runs.", REPORT]
    async with house(db, *script, the_team=the_team) as it:
        assert await it.ask("research AAPL") == ["Research runs."]
        assert answers(it)["d1"]["background_task_ids"] == [await task_id(it)]
        it.tools.gate.set()
        await ended(it)
        assert "<agent>research</agent>" in notices(it.model.requests[-1])[0]
        shown = it.channel.order[-1]
        assert (shown.text, [f.name for f in shown.files]) == (REPORT, ["AAPL.png"])
        await settled(it)


@on_sqlite
async def test_the_news_of_a_task_runs_no_fixed_plan_again(db: Database) -> None:
    """Nobody has asked anything: no step is made again, and no input is asked for."""
    the_team = planned(COLLECT, ANSWER, inputs=(SYMBOL,), agents=(agent("facts"),))
    lead = replace(the_team.supervisor, tools=("study",))
    model = by_agent(facts=["Facts."], supervisor=[STUDY, "It runs.", REPORT])
    async with House(db, model, the_team=replace(the_team, supervisor=lead)) as it:
        assert await it.ask("GOOG?") == ["It runs."]
        it.tools.gate.set()
        await ended(it)
        assert it.channel.texts("1") == ["It runs.", REPORT]
        assert asked(model) == ["facts", "supervisor", "supervisor", "supervisor"]
        await settled(it)


@on_sqlite
async def test_an_agent_of_a_fixed_plan_has_the_result_at_once(db: Database) -> None:
    """The next step needs it, and the news of a task would come after the answer."""
    facts = agent("facts", tools=("study",))
    the_team = planned(COLLECT, ANSWER, inputs=(SYMBOL,), agents=(facts,))
    model = by_agent(facts=[STUDY, "Found."], supervisor=["Read."])
    async with House(db, model, the_team=the_team) as it:
        it.tools.gate.set()
        assert await it.ask("GOOG?") == ["Read."]
        (found,) = results(model.requests[1])
        assert found.content == '{"found": "AAPL"}'
        assert await it.one("select count(*) from task") == 0


@on_sqlite
async def test_a_person_is_told_in_their_language(db: Database) -> None:
    async with house(db, STUDY, "运行中。") as it:
        await it.ask("研究 AAPL")
        await until(lambda: it.tools.calls)
        await it.ask("/language zh")
        await it.ask("/status")
        panel = it.channel.order[-1]
        assert panel.text.startswith("后台任务：")
        assert "研究 · 40% · reading AAPL" in panel.text
        assert panel.buttons[0].label.startswith("取消 t")
        await it.ask("/new")
        it.tools.gate.set()
        await ended(it)
        assert "（研究）已完成。found AAPL" in it.channel.order[-1].text


@on_sqlite
async def test_without_a_place_for_tasks_the_tool_runs_within_the_turn(db: Database) -> None:
    """BGT-1."""
    desk = Desk(db, [STUDY, Answer(calls=(check("k1"),)), "Read."])
    desk.tools.gate.set()
    await post(db, message("study AAPL"))
    await (await desk.turn(TEAM)).run()
    inline, none = results(desk.model.requests[-1])
    assert inline.content == '{"found": "AAPL"}'
    assert none.is_error
    assert "every tool answers at once" in none.content


@on_sqlite
async def test_what_has_ended_is_kept_for_a_day(db: Database) -> None:
    """BGT-5: completed results are evicted after 24 hours; what is not told yet stays."""
    async with house(db, STUDY, "Runs.", REPORT) as it:
        await it.ask("study AAPL")
        it.tools.gate.set()
        await ended(it)
        await it.later(23 * 3_600)
        assert await it.one("select count(*) from task") == 1
        await it.later(2 * 3_600)
        await until(lambda: not it.tasks.busy)
        assert await it.one("select count(*) from task") == 0
