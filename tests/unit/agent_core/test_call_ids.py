"""Call ids are new in a session, whatever a server sends: some count from 0 in each answer."""

import pytest

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.types import RowKind, ToolResult
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, delegate, team

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def contents(desk: Desk) -> list[str]:
    return [
        block.content
        for message in desk.model.requests[-1].messages
        for block in message.blocks
        if isinstance(block, ToolResult)
    ]


async def test_a_repeated_id_in_a_later_round_is_a_call_of_its_own(db: Database) -> None:
    desk = Desk(db, [Answer(calls=(call("echo", "call_0", words=w),)) for w in "xy"] + ["done"])  # type: ignore[operator]
    await desk.ask("go", team(agent(tools=("echo",))))
    assert [words for _, words in desk.tools.calls] == ["x", "y"]
    assert contents(desk) == ["echo: x", "echo: y"]
    assert not desk.model.violations


async def test_a_repeated_id_in_a_later_turn_leaves_the_earlier_one_as_it_was(db: Database) -> None:
    script = [Answer(calls=(call("echo", "call_0", words="x"),)), "one"]
    desk = Desk(db, [*script, Answer(calls=(call("echo", "call_0", words="y"),)), "two"])
    the_team = team(agent(tools=("echo",)))
    await desk.ask("go", the_team)
    await desk.ask("again", the_team, key="m:1:2")
    assert contents(desk) == ["echo: x", "echo: y"]


async def test_equal_and_missing_ids_in_one_message_are_told_apart(db: Database) -> None:
    calls = (
        call("echo", "a", words="x"),
        call("echo", "a", words="y"),
        call("echo", "", words="z"),
    )
    desk = Desk(db, [Answer(calls=calls), "done"])
    await desk.ask("go", team(agent(tools=("echo",))))
    assert contents(desk) == ["echo: x", "echo: y", "echo: z"]
    refs = [row.ref for row in await desk.rows() if row.kind is RowKind.RESULT]
    assert sorted(refs) == ["a", "a-2", "call"]


async def test_equal_calls_under_one_id_still_trip_the_loop_guard(db: Database) -> None:
    """DOM-1."""
    same = [Answer(calls=(call("echo", "call_0", words="again"),)) for _ in range(3)]
    desk = Desk(db, [*same, "I give up"])
    await desk.ask("go", team(agent(tools=("echo",))))
    assert len(desk.tools.calls) == 2


async def test_a_second_delegation_under_one_id_has_a_session_of_its_own(db: Database) -> None:
    answers = {
        "supervisor": [
            Answer(calls=(delegate("research", "one", "call_0"),)),
            Answer(calls=(delegate("research", "two", "call_0"),)),
            "done",
        ],
        "research": ["first", "second"],
    }
    asked = dict.fromkeys(answers, 0)

    def script(request: object) -> Answer | str:
        who = request.system.removeprefix("You are ").rstrip(".")  # type: ignore[attr-defined]
        asked[who] += 1
        return answers[who][asked[who] - 1]

    desk = Desk(db, ScriptedModel(script))
    await desk.ask("go", team(agent(), agent("research")))
    assert await desk.count("session", "parent is not null") == 2
    assert ["first" in c or "second" in c for c in contents(desk)] == [True, True]
