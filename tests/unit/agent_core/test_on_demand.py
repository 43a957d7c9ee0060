"""Tools that a session is shown when it needs them: a short list for small talk, the whole one for work."""

import datetime as dt
from typing import Any

import pytest

from agent_core.models.scripted import Answer
from agent_core.runtime.on_demand import is_open, load_tools, shown
from agent_core.tools.registry import LOAD_TOOLS, Registry
from agent_core.tools.spec import ToolSpec
from agent_core.types import Checkpoint, Message, Row, RowKind, ToolUse, assistant, user
from gateway.storage.db import Database
from tests.harness import Desk, Toolbox, agent, call, team

LEAD = agent(tools=("echo", "order"), on_demand=("order", "slow"))


def row(said: str | Message, kind: RowKind = RowKind.USER, **meta: Any) -> Row:
    message = user(said) if isinstance(said, str) else said
    return Row(1, 1, kind, message, "", dt.datetime(2026, 1, 5, tzinfo=dt.UTC), meta)


def names(desk: Desk) -> list[list[str]]:
    """The tools that each request showed."""
    return [[schema.name for schema in request.tools] for request in desk.model.requests]


@pytest.mark.parametrize(
    "words",
    [
        *("How did GOOG do?", "draw it", "Backtest the cross of two averages", "what's the price?"),
        *(
            "600519 怎么样",
            "茅台最近走势如何",
            "帮我回测一下",
            "https://example.com/a",
            "in 2012",
            "x" * 500,
        ),
    ],
)
def test_words_about_such_work_open_the_list(words: str) -> None:
    assert is_open([row(words), row(assistant("ok"), RowKind.ASSISTANT)], ())


@pytest.mark.parametrize(
    "words", ["hello", "hi there", "Thanks, good night!", "你好", "谢谢", "hello #m12345678-1#"]
)
def test_small_talk_does_not(words: str) -> None:
    assert not is_open([row(words), row(assistant("price"), RowKind.ASSISTANT)], ())


def test_a_call_a_skill_or_a_compaction_opens_it() -> None:
    hello = row("hello")
    made = row(Message("assistant", (ToolUse("c1", "echo", {}),)), RowKind.ASSISTANT)
    assert is_open([hello, made, hello], ())
    assert is_open([row("hello", skill="checkup")], ())
    assert is_open([hello], [Checkpoint("summary", 0, 1)])
    assert not is_open([hello], [Checkpoint("undo", 0, 1)])


async def test_a_greeting_is_answered_with_the_short_list(db: Database) -> None:
    desk = Desk(db, ["hi", "again"])
    await desk.ask("hello", team(LEAD))
    await desk.ask("hello", team(LEAD), key="m:1:2")
    assert names(desk) == [["echo", LOAD_TOOLS]] * 2
    assert "order" in desk.model.requests[0].tools[1].description


async def test_words_of_work_cost_no_round_and_the_list_stays(db: Database) -> None:
    desk = Desk(db, ["bought", "you are welcome"])
    await desk.ask("buy one", team(LEAD))
    await desk.ask("thanks", team(LEAD), key="m:1:2")
    assert names(desk) == [["echo", "order"]] * 2


async def test_the_model_gets_the_rest_in_one_round(db: Database) -> None:
    answers = [Answer(calls=(call(LOAD_TOOLS),)), Answer(calls=(call("order", "c2"),)), "done"]
    desk = Desk(db, answers)
    assert await desk.ask("the usual, please", team(LEAD)) == "done"
    assert names(desk) == [["echo", LOAD_TOOLS], ["echo", "order"], ["echo", "order"]]
    assert [name for name, _ in desk.tools.calls] == ["order"]
    assert not desk.model.violations


async def test_what_is_not_shown_may_be_called(db: Database) -> None:
    """A model that knows the name needs no round for it."""
    desk = Desk(db, [Answer(calls=(call("order"),)), "done"])
    assert await desk.ask("the usual, please", team(LEAD)) == "done"
    assert [name for name, _ in desk.tools.calls] == ["order"]


async def test_an_agent_of_which_nothing_waits_has_one_list(db: Database) -> None:
    desk = Desk(db, ["hi"])
    await desk.ask("hello", team(agent(tools=("echo", "order"))))
    assert names(desk) == [["echo", "order"]]


def test_nobody_else_makes_a_tool_of_this_name() -> None:
    spec = load_tools([])
    with pytest.raises(ValueError, match="no name for a tool"):
        Registry([spec])


def test_the_small_tool_says_what_each_is_for() -> None:
    tools: dict[str, ToolSpec] = {spec.name: spec for spec in Toolbox().registry()}
    spec = load_tools([tools["pay"], tools["compact"]])
    assert "pay: Pay somebody; compact: Condense the older part" in spec.description
    assert spec.arguments.model_json_schema().get("properties") == {}
    assert shown({LOAD_TOOLS: spec}, ()) == ()


def test_the_tool_for_the_rest_is_made_once_for_the_same_tools() -> None:
    """Its schema costs a good part of a short turn."""
    waiting = list(Toolbox().registry())[:2]
    assert load_tools(waiting) is load_tools(waiting)
    assert load_tools(waiting[:1]) is not load_tools(waiting)
