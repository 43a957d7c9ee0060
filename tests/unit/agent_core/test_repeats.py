"""Deterministic tools answer once in a turn (DOM-7)."""

from agent_core.compaction.archive import parse
from agent_core.events import ToolFinished, ToolStarted
from agent_core.models.scripted import Answer
from agent_core.runtime.repeats import key_of
from agent_core.types import ToolUse
from gateway.memory.archive import SessionArchive
from gateway.storage.db import Database
from tests.harness import ALICE, call
from tests.house import on_sqlite
from tests.unit.agent_core.guard_desk import GuardTools, guard_desk, guard_team

LOOK = {"word": "gold"}


@on_sqlite
async def test_the_same_call_gets_the_identical_result_and_does_not_run_again(
    db: Database,
) -> None:
    """DOM-7: arguments are equal when the tool takes them so; the reference to the whole text stays good."""
    again = call("lookup", "l2", word="gold", lang="en")  # the default, spelled out
    desk = guard_desk(
        db, [Answer(calls=(call("lookup", "l1", **LOOK),)), Answer(calls=(again,)), "ok"]
    )
    await desk.ask("go", guard_team())
    assert desk.tools.calls == [("lookup", "gold")]
    rows = {row.ref: row for row in await desk.rows() if row.kind == "result"}
    one, two = (rows[i].message.blocks[0].content for i in ("l1", "l2"))  # type: ignore[union-attr]
    assert one == two
    assert rows["l2"].meta["cached"] == rows["l1"].seq
    assert rows["l2"].meta["blob"] == rows["l1"].meta["blob"]
    assert len([e for e in desk.events if isinstance(e, ToolStarted | ToolFinished)]) == 4
    assert desk.journal is not None
    ref = parse(f"r{rows['l2'].seq}")
    assert ref is not None
    found = await SessionArchive(db).read(ALICE, desk.journal.session_id, f"r{rows['l2'].seq}")
    assert found is not None
    assert len(found.text) > 9_000


@on_sqlite
async def test_repeats_in_one_message_wait_for_the_first(db: Database) -> None:
    calls = (
        *(call("lookup", f"l{n}", word=word) for n, word in enumerate(["a", "b", "a"])),
        call("echo", "e1", words="x"),
    )
    desk = guard_desk(db, [Answer(calls=calls), "ok"])
    await desk.ask("go", guard_team())
    assert sorted(desk.tools.calls) == [("echo", "x"), ("lookup", "a"), ("lookup", "b")]
    contents = [b.content for b in desk.model.requests[1].messages[-1].blocks]  # type: ignore[union-attr]
    assert contents[0] == contents[2] != contents[1]


@on_sqlite
async def test_another_turn_a_failure_and_other_tools_run_again(db: Database) -> None:
    rounds = [
        Answer(calls=(call("lookup", "n1", word="none"), call("echo", "e1"))),
        Answer(calls=(call("lookup", "n2", word="none"), call("echo", "e2"))),
        Answer(calls=(call("lookup", "g1", word="gold"),)),
        "ok",
        Answer(calls=(call("lookup", "g2", word="gold"),)),
        "ok",
    ]
    desk = guard_desk(db, rounds)
    await desk.ask("go", guard_team())
    await desk.ask("again", guard_team(), key="m:1:2")
    ran = [name for name, _ in desk.tools.calls]
    assert ran.count("lookup") == 4
    assert ran.count("echo") == 2


@on_sqlite
async def test_a_third_equal_call_is_still_a_loop(db: Database) -> None:
    """DOM-1: a result that is served again is nothing new."""
    same = [Answer(calls=(call("lookup", f"l{n}", **LOOK),)) for n in range(3)]
    desk = guard_desk(db, [*same, "I stop"])
    assert await desk.ask("go", guard_team()) == "I stop"
    assert desk.tools.calls == [("lookup", "gold")]


def test_only_sound_arguments_of_deterministic_tools_have_a_key() -> None:
    tools = GuardTools().registry()
    lookup = tools.get("lookup")
    assert key_of(call("lookup", word="a"), lookup) == key_of(
        call("lookup", lang="en", word="a"), lookup
    )
    assert key_of(call("lookup", word="a"), lookup) != key_of(call("lookup", word="b"), lookup)
    assert key_of(call("lookup", wrong=1), lookup) is None
    assert key_of(ToolUse("c", "lookup", None, "{"), lookup) is None
    assert key_of(call("echo"), tools.get("echo")) is None
    assert key_of(call("gone"), None) is None
