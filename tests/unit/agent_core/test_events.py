"""The one stream of events, and what each round does in which order (EVT-1 … EVT-5, EVT-9)."""

from dataclasses import replace
from itertools import pairwise
from typing import get_args

from agent_core import events
from agent_core.errors import ModelOverloaded
from agent_core.events import (
    Compacted,
    Event,
    ModelStarted,
    Retrying,
    Steered,
    StreamReset,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    Used,
)
from agent_core.models.fallback import FallbackModel
from agent_core.models.scripted import INFO, Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.types import RowKind
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, delegate, message, post, team
from tests.house import Watch, on_sqlite
from tests.unit.agent_core.test_workspace import SUMMARY, texts

LONG = "the quick brown fox jumps over a lazy dog " * 90
# The names of the source design, and where each is told (EVT-1).
NAMES = {
    "text_delta": "TextDelta",
    "thinking_delta": "ThinkingDelta",
    "tool_calls": "ToolStarted",
    "tool_start": "ToolStarted",
    "tool_result": "ToolFinished",
    "tool_error": "ToolFinished",
    "model_start": "ModelStarted",
    "compaction": "Compacted",
    "retry": "Retrying",
    "usage": "Used",
    "done": "TurnEnded",
    "context_overflow": "ContextOverflow",
    "steered": "Steered",
    "turn_cancelled": "TurnEnded",
    "turn_failed": "TurnEnded",
}


def test_every_event_of_the_source_design_is_one_of_the_union() -> None:
    """EVT-1. Continuations do not exist here: what they were for is the round limit (C-20)."""
    union = {kind.__name__ for kind in get_args(Event)}
    assert set(NAMES.values()) <= union
    assert all(hasattr(events, name) for name in union)


@on_sqlite
async def test_one_stream_tells_all_of_a_turn(db: Database) -> None:
    """EVT-1, EVT-9: sub-agents speak on the same stream under their own name."""

    def script(request: ModelRequest) -> Answer | str:
        if "Critical Context" in request.messages[-1].text:
            return SUMMARY
        if "worker" in request.system:
            return "found"
        if any("State of the work" in t for t in texts(request)):
            return "done"
        rounds = sum(len(m.calls) for m in request.messages)
        if rounds == 0:
            return Answer(
                "let me see", thinking="hm", calls=(call("fail", "f"), delegate("worker"))
            )
        return Answer(calls=(call("echo", f"c{rounds}", words=f"{rounds} {LONG}"),))

    small = replace(INFO, context_window=16_000)
    down = ScriptedModel([Answer(error=ModelOverloaded("p"))] * 99, info=small)
    model = FallbackModel([down, ScriptedModel(script, info=small)], Watch())
    desk = Desk(db, ScriptedModel([]))
    desk.model = model  # type: ignore[assignment]
    await post(db, message("go"))
    lead = agent(tools=("echo", "fail"), limits={"tool_rounds": 30})
    turn = await desk.turn(team(lead, agent("worker")))

    await turn.run()
    kinds = {type(e) for e in desk.events}
    wanted = {TextDelta, ThinkingDelta, ToolStarted, ToolFinished, ModelStarted, Compacted}
    assert wanted | {Used, TurnEnded, Retrying, StreamReset} <= kinds
    assert {e.agent for e in desk.events if isinstance(e, ModelStarted)} == {None, "worker"}
    assert {e.ok for e in desk.events if isinstance(e, ToolFinished)} == {True, False}


@on_sqlite
async def test_a_round_takes_in_what_was_said_then_compacts_then_asks(db: Database) -> None:
    """EVT-2: later words first, so that the look at the size sees them; before every model call."""
    order: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Steered | Compacted | ModelStarted):
            order.append(type(event).__name__)

    def script(request: ModelRequest) -> Answer | str:
        if "Critical Context" in request.messages[-1].text:
            return SUMMARY
        if any("State of the work" in t for t in texts(request)):
            return "done"
        rounds = sum(len(m.calls) for m in request.messages)
        return Answer(calls=(call("echo", f"c{rounds}", words=f"{rounds} {LONG}"),))

    model = ScriptedModel(script, info=replace(INFO, context_window=16_000))
    desk = Desk(db, model)
    await post(db, message("go"))
    turn = await desk.turn(team(agent(tools=("echo",), limits={"tool_rounds": 30})), watch)
    await post(db, message("and this", key="m:1:2"))
    desk.fresh = True
    await turn.run()
    assert order[:2] == ["Steered", "ModelStarted"]
    assert "Compacted" in order
    assert order[order.index("Compacted") + 1] == "ModelStarted"


@on_sqlite
async def test_observations_are_only_added(db: Database) -> None:
    """EVT-5: a request of a turn begins with the whole request before it."""
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(5)]
    desk = Desk(db, [*rounds, "done"])
    await desk.ask("go", team(agent(tools=("echo",), limits={"tool_rounds": 30})))
    sent = [request.messages for request in desk.model.requests]
    assert all(later[: len(one)] == one for one, later in pairwise(sent))


@on_sqlite
async def test_the_model_is_told_before_its_last_round(db: Database) -> None:
    """EVT-4: once, and the words are gone in the next turn; a limit of a few rounds needs none."""
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(4)]
    desk = Desk(db, [*rounds, "done", "bye"])
    lead = agent(tools=("echo",), limits={"tool_rounds": 4})
    assert await desk.ask("go", team(lead)) == "done"
    told = ["One more round" in r.messages[-1].text for r in desk.model.requests]
    assert told == [False, False, False, True, False]
    await desk.ask("thanks", team(lead), key="m:1:2")
    assert not any("One more round" in m.text for m in desk.model.requests[-1].messages)
    assert [r.kind for r in await desk.rows()].count(RowKind.NOTE) == 1
    assert not desk.model.violations


@on_sqlite
async def test_a_sub_agent_has_its_own_hard_limit_and_is_told_too(db: Database) -> None:
    """EVT-3, EVT-4, C-20: no continuation, and the limit is reported as what it is (defects 12, 13)."""
    inner = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(5)]
    desk = Desk(db, [Answer(calls=(delegate("worker"),)), *inner, "some of it", "reported"])
    worker = agent("worker", tools=("echo",), limits={"tool_rounds": 4})
    told = "reported\n\n_Not complete: Worker failed._"
    assert await desk.ask("go", team(agent(), worker)) == told
    assert len(desk.tools.calls) == 4
    [result] = [r for r in await desk.rows() if r.kind is RowKind.RESULT]
    content = result.message.blocks[0].content  # type: ignore[union-attr]
    assert '"status": "error"' in content
    assert "round_limit" in content
    assert "some of it" in content
