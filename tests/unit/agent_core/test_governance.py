"""What runs, what is asked for first, and what is said of a call that was cut off (TGV, TPR-5, TPR-6, defects)."""

import asyncio
from dataclasses import replace

import pytest

from agent_core.events import ToolStarted
from agent_core.models.scripted import Answer
from agent_core.runtime.outcome import unanswered
from agent_core.runtime.run import Person
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool
from agent_core.types import RowKind, ToolResult, ToolUse
from gateway.storage.db import Database
from tests.harness import ALICE, Desk, Toolbox, agent, call, delegate, message, post, team
from tests.house import House, on_sqlite
from tests.unit.agent_core.transcript import Transcript

TOOLS = ("echo", "slow", "order", "fail", "hang", "pay", "write", "ask_user")


class Writing(Toolbox):
    """`write` takes a while, has its effect behind the wait, and may break after it."""

    def registry(self) -> Registry:
        return Registry([*super().registry(), self._write()])

    def _write(self) -> ToolSpec:
        @tool(
            title={"en": "Write", "zh": "写入"},
            timeout=0.05,
            concurrency_safe=False,
            idempotent=False,
            effect="write",
        )
        async def write(ctx: ToolContext, how: str = "hang") -> ToolOutput:
            """Write.

            Args:
                how: hang or break.
            """
            self.calls.append(("write", how))
            if how == "break":
                raise OSError("disk")
            await self.gate.wait()
            self.calls.append(("write", "late"))
            return ToolOutput("written")

        return write


def results(desk_rows: object) -> dict[str, ToolResult]:
    found = {}
    for row in desk_rows:  # type: ignore[attr-defined]
        if row.kind is RowKind.RESULT:
            for block in row.message.blocks:
                found[block.call_id] = block
    return found


@on_sqlite
@pytest.mark.parametrize("how", ["hang", "break"])
async def test_a_write_that_was_cut_off_has_an_unknown_outcome(db: Database, how: str) -> None:
    """SUB-15, defect 26: it is stopped where it can be, and never called a plain failure."""
    desk = Desk(db, [Answer(calls=(call("write", how=how),)), "I shall look"])
    desk.tools = Writing()
    await desk.ask("go", team(agent(tools=TOOLS)))
    result = results(await desk.rows())["c1"]
    assert result.is_error
    assert "Whether it took effect is unknown" in result.content
    desk.tools.gate.set()
    await asyncio.sleep(0)
    assert ("write", "late") not in desk.tools.calls  # no effect behind the time-out


@on_sqlite
async def test_a_reading_tool_that_was_cut_off_may_be_tried_again(db: Database) -> None:
    """C-21: a single tool's time-out is a tool error."""
    desk = Desk(db, [Answer(calls=(call("hang"),)), "ok"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    assert results(await desk.rows())["c1"].content == "hang timed out after 0.05 s."


@on_sqlite
@pytest.mark.parametrize(
    "broken",
    [
        ToolUse("b", "order", None, raw='{"n": 1'),
        ToolUse("b", "", {}),
        ToolUse("b", "", None, raw=""),
        ToolUse("b", "pay", None, raw="{"),
        ToolUse("b", "ask_user", None, raw="["),
    ],
)
async def test_an_incomplete_call_never_runs_with_other_arguments(
    db: Database, broken: ToolUse
) -> None:
    """TPR-6, defect 22: the round goes back to the model with an error; nothing runs with {}."""
    desk = Desk(db, [Answer(calls=(broken, call("echo"))), "again"])
    assert await desk.ask("go", team(agent(tools=TOOLS))) == "again"
    found = results(await desk.rows())
    assert found["b"].is_error
    assert not found["c1"].is_error
    assert [name for name, _ in desk.tools.calls] == ["echo"]
    assert not desk.model.violations


def test_every_unanswered_call_is_answered_before_a_turn_ends() -> None:
    """TPR-5, TGV-10: one that has not begun is said not to have run; of one that has, nobody knows."""
    made = Transcript()
    made.said("go")
    made.called("a", "b", "c")
    made.answered("a", "fine")
    made.add(RowKind.INTENT, made.rows[-1].message, "b")
    rows = unanswered(made.rows, 1, "the person stopped this turn")
    contents = {row.ref: row.message.blocks[0].content for row in rows}  # type: ignore[union-attr]
    assert contents == {
        "b": "Operation aborted: the person stopped this turn; the outcome of the call is unknown.",
        "c": "Operation aborted: the person stopped this turn; the call was not run.",
    }
    assert unanswered(made.rows, 2, "x") == []


@on_sqlite
async def test_a_stop_in_the_middle_of_calls_leaves_a_valid_conversation(db: Database) -> None:
    """TPR-5: also for a delegation, whose result object says cancelled (SUB-7)."""
    script = [Answer(calls=(call("slow", "s", seconds=30), delegate("worker"))), "next"]
    desk = Desk(db, script)
    lead = team(agent(tools=TOOLS), agent("worker"))
    await post(db, message("go"))
    started = asyncio.Event()
    turn = await desk.turn(lead, lambda e: isinstance(e, ToolStarted) and started.set())
    running = asyncio.create_task(turn.run())
    async with asyncio.timeout(30):
        await started.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    again = await desk.turn(lead)
    await again.stop()
    found = results(await desk.rows())
    assert found["s"].content.startswith("Operation aborted")
    assert '"status": "cancelled"' in found["d1"].content
    desk.model.script = ["x"] * len(desk.model.requests) + ["next"]
    assert await desk.ask("again", lead, key="m:1:2") == "next"
    assert not desk.model.violations


@on_sqlite
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (call("pay", to="bob"), "ask_user"),
        (call("ask_user", question="Which?"), "Nobody can be asked"),
    ],
)
async def test_where_nobody_can_be_asked_an_approval_tool_is_blocked(
    db: Database, asked: ToolUse, words: str
) -> None:
    """TGV-5, C-19: no consent is read out of the history; the model is told what to do."""
    desk = Desk(db, [Answer(calls=(asked,)), "I cannot"])
    await post(db, message("pay bob, yes, I allow it"))
    turn = await desk.turn(team(agent(tools=TOOLS)))
    turn._run = replace(turn._run, person=Person(ALICE, present=False))
    await turn.run()
    result = results(await desk.rows())["c1"]
    assert result.is_error
    assert words in result.content
    assert desk.tools.calls == []
    assert await desk.count("question") == 0


@on_sqlite
async def test_without_a_yes_an_approval_tool_does_not_run(db: Database) -> None:
    """TGV-5, TGV-6: the turn waits, whatever was said before."""
    async with House(
        db, [Answer(calls=(call("pay", to="bob"),))], the_team=team(agent(tools=TOOLS))
    ) as house:
        await house.ask("yes, go ahead, I confirm, 可以")
        assert house.tools.calls == []
        assert await house.one("select count(*) from turn where status = 'waiting'") == 1


@on_sqlite
async def test_the_intent_is_stored_before_a_call_runs(db: Database) -> None:
    """TGV-10: as a row, and as an event of the trace."""
    seen: list[int] = []
    desk = Desk(db, [Answer(calls=(call("order"), call("order", "c2", n=1))), "done"])
    inner = desk.tools.registry().get("order")
    assert inner is not None

    async def spying(ctx: ToolContext, n: int = 0) -> ToolOutput:
        rows = [r for r in await desk.rows() if r.kind is RowKind.INTENT and r.ref == ctx.call_id]
        traced = await desk.count("trace", "event = 'tool_started'")
        seen.append(len(rows) * traced)
        return ToolOutput("ok")

    class Spying(Toolbox):
        def registry(self) -> Registry:
            assert inner is not None
            return Registry([replace(inner, run=spying)])

    desk.tools = Spying()
    await desk.ask("go", team(agent(tools=("order",))))
    assert seen == [1, 2]


@on_sqlite
async def test_a_loop_that_ends_without_words_ends_with_a_notice(db: Database) -> None:
    """DOM-5, defect 10: one round without tools, else a deterministic message; never an empty text."""
    same = [Answer(calls=(call("echo", f"c{n}"),)) for n in range(3)]
    desk = Desk(db, [*same, ""])
    assert "without anything new" in await desk.ask("go", team(agent(tools=TOOLS)))
    assert len(desk.tools.calls) == 2
    stubborn = Desk(db, [Answer(calls=(call("echo", f"c{n}"),)) for n in range(9)], chat=2)
    assert "without anything new" in await stubborn.ask("go", team(agent(tools=TOOLS)), key="k2")
    assert len(stubborn.model.requests) == 4


@on_sqlite
async def test_a_loop_aborts_the_rest_of_its_batch_with_a_result_each(db: Database) -> None:
    """DOM-4, TPR-5: also calls that are no part of the loop."""
    batch = (*(call("echo", f"e{n}") for n in range(3)), call("order", "o1"))
    desk = Desk(db, [Answer(calls=batch), "I stop"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    found = results(await desk.rows())
    assert [found[c.id].is_error for c in batch] == [False, False, True, True]
    assert desk.tools.calls == [("echo", "hi"), ("echo", "hi")]
    assert await desk.count("trace", "event = 'tool_result'") == 4


@on_sqlite
async def test_a_limit_is_kept_as_the_reason_of_the_end(db: Database) -> None:
    """Defect 12: a turn that ran into its limit is not told as completed, neither to people nor in the transcript."""
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(3)]
    desk = Desk(db, [*rounds, "so far"])
    text = await desk.ask("go", team(agent(tools=TOOLS, limits={"tool_rounds": 2})))
    assert "limit of tool rounds" in text
    assert (await desk.rows())[-1].meta["reason"] == "round_limit"
