"""Questions of sub-agents, and questions across restarts (SUB-5, TGV-10)."""

from typing import Any

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House
from tests.unit.gateway.asking import PAY, house, question, results, settled, status

# Sub-agents ---------------------------------------------------------------------------------------


HELPER = agent("helper", tools=("pay",))
DESK = team(agent(tools=("echo",)), HELPER)
SEND = Answer(calls=(delegate("helper", "pay bob"),))


async def test_a_sub_agents_approval_is_asked_in_the_roots_conversation(db: Database) -> None:
    """SUB-5: approvals still go to the human; the parent's call stays open meanwhile."""
    async with house(db, SEND, PAY, "helper paid", "lead done", the_team=DESK) as it:
        await it.say("go")
        await it.quiet()
        assert "asked by Helper" in question(it).text
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1").count("lead done") == 1
        assert len(it.model.requests) == 4
        await settled(it)


async def test_parallel_sub_agents_ask_side_by_side_and_nobody_is_paid_twice(db: Database) -> None:
    two = Answer(
        calls=(delegate("a", "one", "d1"), delegate("b", "two", "d2"), delegate("c", "three", "d3"))
    )

    def script(request: ModelRequest) -> Answer | str:
        who = request.system
        if "supervisor" in who:
            return "all done" if results(request) else two
        if results(request):
            return f"paid by {who}"
        if "You are c." in who:
            return "c needs nobody"
        return Answer(calls=(call("pay", "p", to="a" if "You are a." in who else "b"),))

    agents = [agent(name, tools=("pay",)) for name in "abc"]
    async with House(db, script, the_team=team(agent(tools=()), *agents)) as it:
        await it.say("go")
        await it.quiet()
        assert await it.one("select count(*) from question where status = 'open'") == 2
        before = len(it.model.requests)
        await it.press("ok:2")
        await it.quiet()
        await it.press("ok:1")
        await it.quiet()
        assert sorted(it.tools.calls) == [("pay", "a 1"), ("pay", "b 1")]
        assert it.channel.texts("1").count("all done") == 1
        assert len(it.model.requests) == before + 3
        await settled(it)


async def test_a_message_meanwhile_ends_the_delegation_and_a_later_yes_runs_the_helpers_tool(
    db: Database,
) -> None:
    async with house(db, SEND, PAY, "weather", "reported", the_team=DESK) as it:
        await it.say("go")
        await it.quiet()
        await it.say("weather?")
        await it.quiet()
        assert "Awaiting question 1" in results(it.model.requests[-1])[0]
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1")[-1] == "reported"
        await settled(it)


# Restarts -----------------------------------------------------------------------------------------


async def test_a_decision_after_a_restart_goes_on_from_the_rows(db: Database) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
    async with house(db, "paid") as it:
        await it.quiet()
        assert len(it.model.requests) == 0
        await it.press("ok:1", key="cb:new")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_a_decision_whose_wake_up_was_lost_is_carried_out_by_the_next_start(
    db: Database,
) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        await first.engine.stop(0.0)
        await first.press("ok:1")
    async with house(db, "paid") as it:
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_what_expired_while_nothing_ran_is_said_at_the_next_start(db: Database) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        clock = first.clock
    clock.seconds += 400
    async with house(db, "expired", clock=clock) as it:
        await it.later(0)
        assert await status(it) == "expired"
        assert it.channel.texts("1")[-1] == "expired"
        await settled(it)


async def test_questions_one_after_another_are_no_broken_starts(db: Database) -> None:
    """The quarantine counts starts that broke, not answers (hermes#7536)."""
    asks = [Answer(calls=(call("pay", f"p{n}", to=f"n{n}"),)) for n in range(6)]
    async with house(db, *asks, "all paid") as it:
        await it.say("pay all")
        await it.quiet()
        for n in range(1, 7):
            await it.press(f"ok:{n}")
            await it.quiet()
        assert len(it.tools.calls) == 6
        assert it.channel.texts("1").count("all paid") == 1
        await settled(it)


async def test_an_approved_call_that_a_crash_cut_off_is_never_run_again(db: Database) -> None:
    """TGV-10: from the second intent row on, the outcome is unknown."""
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        await first.engine.stop(0.0)
        await first.press("ok:1")
        await first.db.write(_begun_by_a_dead_process)
    async with house(db, "unknown") as it:
        await it.quiet()
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith("Outcome unknown")


def _begun_by_a_dead_process(conn: Any) -> None:
    conn.exec_driver_sql(
        "insert into transcript (session_id, seq, turn_id, kind, ref, body, meta, at)"
        " select session_id, seq + 1, turn_id, kind, ref, body, '{\"approved\": 1}', at"
        " from transcript where kind = 'intent' order by seq desc limit 1"
    )
