"""The watchdog, and the one terminal event of a turn (EVT-8)."""

import asyncio

import pytest

from agent_core.errors import ModelOverloaded
from agent_core.events import TextDelta, ToolProgress, TurnEnded
from agent_core.models.scripted import Answer
from agent_core.runtime.notices import code_of
from agent_core.runtime.team import Limits
from agent_core.runtime.watchdog import MARGIN, Stalled
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool
from agent_core.types import RowKind, TurnStatus
from gateway.storage.db import Database
from tests.harness import Desk, Toolbox, agent, call, delegate, message, post, team
from tests.house import on_sqlite

SHORT = 0.2  # seconds; the margin makes the limit of a run longer, so tests take it away


@pytest.fixture
def no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.runtime.watchdog.MARGIN", 0.0)


def hasty(name: str = "supervisor", **more: object) -> object:
    return agent(
        name,
        tools=("echo", "busy"),
        limits={"stall_timeout": SHORT, "tool_timeout": SHORT / 4, "time": 30.0},
        **more,
    )


class Busy(Toolbox):
    """`busy` reports progress for ever, in no time of its own."""

    def registry(self) -> Registry:
        return Registry([*super().registry(), self._busy()])

    def _busy(self) -> ToolSpec:
        @tool(title={"en": "Busy", "zh": "忙"}, timeout=float("inf"))
        async def busy(ctx: ToolContext) -> ToolOutput:
            """Keep busy."""
            while True:
                ctx.progress("still here")
                await asyncio.sleep(0.01)

        return busy


def test_the_defaults_leave_room_for_one_stream_and_one_fallback() -> None:
    """EVT-8, C-22: the total time of a stream is 300 s, of its first token 120 s."""
    assert Limits().stall_timeout == 420.0
    assert MARGIN == 60.0
    assert code_of(Stalled(420)) == "stalled"
    assert "420 s" in str(Stalled(420))


@on_sqlite
@pytest.mark.usefixtures("no_margin")
async def test_words_that_never_end_are_no_sign_of_life(db: Database) -> None:
    """EVT-8: what streams is none, only a finished answer is."""
    desk = Desk(db, [Answer("x" * 100_000, chunk=1, gap=0.005)])
    text = await desk.ask("go", team(hasty()))  # type: ignore[arg-type]
    assert "Nothing moved for too long" in text
    assert any(isinstance(e, TextDelta) for e in desk.events)
    assert [e.status for e in desk.events if isinstance(e, TurnEnded)] == [TurnStatus.FAILED]


@on_sqlite
@pytest.mark.usefixtures("no_margin")
async def test_progress_of_a_tool_is_a_heartbeat_and_no_result(db: Database) -> None:
    """EVT-8, TPR-5: the open call gets its result before the turn ends."""
    desk = Desk(db, [Answer(calls=(call("busy"),)), "next"])
    desk.tools = Busy()
    text = await desk.ask("go", team(hasty()))  # type: ignore[arg-type]
    assert "Nothing moved for too long" in text
    assert any(isinstance(e, ToolProgress) for e in desk.events)
    [result] = [r for r in await desk.rows() if r.kind is RowKind.RESULT]
    [block] = result.message.blocks
    assert block.content.startswith("Operation aborted:")  # type: ignore[union-attr]
    assert await desk.ask("again", team(), key="m:1:2") == "next"
    assert not desk.model.violations


@on_sqlite
@pytest.mark.usefixtures("no_margin")
async def test_finished_rounds_keep_a_turn_alive_that_is_longer_than_the_limit(
    db: Database,
) -> None:
    rounds = [
        Answer(calls=(call("echo", f"c{n}", words=str(n)),), delay=SHORT / 3) for n in range(6)
    ]
    desk = Desk(db, [*rounds, "done"])
    lead = agent(tools=("echo",), limits={"stall_timeout": 2.0, "tool_timeout": 1.0})
    assert await desk.ask("go", team(lead)) == "done"


@on_sqlite
@pytest.mark.usefixtures("no_margin")
async def test_a_stalled_sub_agent_is_a_time_out_for_its_supervisor(db: Database) -> None:
    """EVT-8, SUB-9."""

    script = [Answer(calls=(delegate("worker"),)), Answer("late", delay=30), "it timed out"]
    desk = Desk(db, script)
    text = await desk.ask("go", team(agent(), hasty("worker")))  # type: ignore[arg-type]
    assert text == "it timed out\n\n_Not complete: Worker ran out of time._"
    [result] = [r for r in await desk.rows() if r.kind is RowKind.RESULT]
    assert '"status": "timeout"' in result.message.blocks[0].content  # type: ignore[union-attr]


@on_sqlite
@pytest.mark.usefixtures("no_margin")
async def test_what_a_sub_agent_finishes_keeps_its_supervisor_alive(db: Database) -> None:
    """A delegation is one call of the supervisor; the work inside counts."""
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),), delay=0.15) for n in range(6)]
    desk = Desk(db, [Answer(calls=(delegate("worker"),)), *rounds, "found", "done"])
    lead = agent(limits={"stall_timeout": 0.6, "tool_timeout": 0.1})
    worker = agent("worker", tools=("echo",), limits={"tool_rounds": 15})
    assert await desk.ask("go", team(lead, worker)) == "done"


ENDS = {
    "an answer": ["fine"],
    "nothing": [""],
    "an error": [Answer(error=ModelOverloaded("p"))],
    "a bug of a tool": [Answer(calls=(call("fail", how="bug"),)), "so what"],
    "a limit": [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(5)],
    "a loop": [Answer(calls=(call("echo", f"c{n}"),)) for n in range(5)],
    "time": [Answer("late", delay=30)],
}


@on_sqlite
@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS.keys())
async def test_a_turn_ends_with_exactly_one_terminal_event(
    db: Database, script: list[Answer | str]
) -> None:
    """EVT-8, EVT-1: whatever the end is."""
    time = 0.3 if script == ENDS["time"] else 30.0
    desk = Desk(db, script)
    lead = agent(tools=("echo", "fail"), limits={"tool_rounds": 2, "time": time})
    assert await desk.ask("go", team(lead))
    assert sum(isinstance(e, TurnEnded) for e in desk.events) == 1
    assert isinstance(desk.events[-1], TurnEnded)


@on_sqlite
async def test_a_stop_is_a_terminal_event_too(db: Database) -> None:
    desk = Desk(db, ["never"])
    await post(db, message("go"))
    turn = await desk.turn(team())
    await turn.stop()
    assert [e.status for e in desk.events if isinstance(e, TurnEnded)] == [TurnStatus.STOPPED]
