"""Layer 4: the model asks for a compaction by a tool, and the loop carries it out."""

import json
from dataclasses import replace

import pytest

from agent_core.compaction.ladder import Asked
from agent_core.compaction.request import TOPIC_CHARS, asked_in, compact
from agent_core.events import Compacted
from agent_core.models.scripted import INFO, Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.types import Message, RowKind, ToolResult
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, team
from tests.unit.agent_core.transcript import Transcript

TEAM = team(agent(tools=("compact", "echo")))
LONG = "The close was 512.10 and the volume was high on that day. " * 30


def test_the_tool_never_joins_a_parallel_batch() -> None:
    """CMP-28."""
    assert not compact.concurrency_safe
    assert set(compact.parameters["properties"]) == {"focus_topic"}  # type: ignore[call-overload]


class Asking:
    """A model that talks at length, asks for a compaction once, and then answers."""

    def __init__(self, *topics: str) -> None:
        self.topics = topics
        self.summaries: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> Answer | str:
        if "Critical Context" in request.messages[-1].text:
            self.summaries.append(request)
            return "no summary of mine, but a text that is long enough to be one"
        last = request.messages[-1]
        if last.text == "please tidy up":
            calls = [call("compact", f"k{i}", focus_topic=t) for i, t in enumerate(self.topics)]
            return Answer(calls=(*calls, call("echo", "e1", words="still here")))
        return LONG


async def talked(db: Database, model: Asking) -> Desk:
    desk = Desk(db, ScriptedModel(model, info=replace(INFO, context_window=100_000)))
    for n in range(8):
        await desk.ask(f"question {n}", TEAM, key=f"m:1:{n}")
    await desk.ask("please tidy up", TEAM, key="m:1:99")
    return desk


@pytest.mark.parametrize("topics", [("prices",), ("prices", "prices and volumes")])
async def test_the_loop_compacts_after_the_round(db: Database, topics: tuple[str, ...]) -> None:
    """CMP-27, CMP-29, CMP-30: the other calls of the round are made, and two requests are one compaction."""
    model = Asking(*topics)
    desk = await talked(db, model)
    rows = await desk.rows()
    results = [r for r in rows if r.kind is RowKind.RESULT]
    contents = [b.content for r in results for b in r.message.blocks]  # type: ignore[union-attr]
    assert json.loads(contents[0]) == {"status": "ok", "message": "Compressing..."}
    assert "still here" in contents[-1]
    done = [e for e in desk.events if isinstance(e, Compacted)]
    assert [e.topic for e in done] == [topics[-1]]
    assert topics[-1] in model.summaries[0].messages[-1].text
    assert await desk.count("checkpoint", "kind = 'summary'") == 1


def test_only_the_newest_round_asks() -> None:
    """A request that was carried out is not carried out again by the next round."""
    made = Transcript()
    made.said("go")
    made.called("k1")
    answer = Message("user", (ToolResult("k1", "compact", "{}"),))
    made.add(RowKind.RESULT, answer, "k1", compact="prices")
    assert asked_in(made.rows, 1) == Asked("prices")
    assert asked_in(made.rows, 2) is None
    made.looked("e1", "ok")
    assert asked_in(made.rows, 1) is None


def test_a_topic_has_a_limit() -> None:
    assert TOPIC_CHARS == 200
