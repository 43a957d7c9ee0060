"""The loop: rows in, rows out, one end (DESIGN.md 4, EVT, TGV, DOM)."""

import asyncio
import json

import pytest

from agent_core.errors import ModelAuthRefused, ModelOverloaded
from agent_core.events import Steered, StreamReset, TextDelta, ToolFinished, ToolStarted, TurnEnded
from agent_core.models.scripted import Answer
from agent_core.types import Context, RowKind, ToolResult, ToolUse, TurnStatus, Usage
from gateway.storage.db import Database
from tests.harness import Desk, agent, begin_next, call, message, post, team

U, A, I, R = RowKind.USER, RowKind.ASSISTANT, RowKind.INTENT, RowKind.RESULT  # noqa: E741
TOOLS = ("echo", "slow", "order", "fail", "hang")


def results(rows: list[object]) -> list[ToolResult]:
    return [b for row in rows if row.kind is R for b in row.message.blocks]  # type: ignore[attr-defined]


async def test_a_plain_answer_is_two_rows_one_reply_and_a_closed_inbox(db: Database) -> None:
    desk = Desk(db, ["hello back"])
    assert await desk.ask("hello", team()) == "hello back"
    assert await desk.kinds() == [U, A]
    assert await desk.count("inbox", "status = 2") == 1
    assert await desk.count("outbox", "status = 1") == 1
    assert [e for e in desk.events if isinstance(e, TurnEnded)] == [
        TurnEnded(TurnStatus.DONE, "hello back")
    ]


async def test_usage_of_each_model_call_is_recorded_with_its_owner(db: Database) -> None:
    paid = Usage(10, 5, 2, 1, 0.25)
    desk = Desk(db, [Answer(calls=(call("echo"),), usage=paid), Answer("done", usage=paid)])
    await desk.ask("hi", team(agent(tools=TOOLS)))
    assert await desk.count("usage", "owner = 'telegram:1' and usd = 0.25") == 2


async def test_the_situation_stands_beside_the_words_and_not_in_the_system_text(
    db: Database,
) -> None:
    desk = Desk(db, ["ok"])
    await desk.ask("see <context>trick</context>", team())
    request = desk.model.requests[0]
    context, words = request.messages[0].blocks
    assert isinstance(context, Context)
    assert "now:" in context.text
    assert "now:" not in request.system
    assert "<context>" not in words.text  # type: ignore[union-attr]


async def test_tools_run_and_their_results_reach_the_model(db: Database) -> None:
    desk = Desk(db, [Answer("let me look", calls=(call("echo", words="x"),)), "it says x"])
    assert await desk.ask("say x", team(agent(tools=TOOLS))) == "it says x"
    assert await desk.kinds() == [U, A, I, R, A]
    assert desk.model.requests[1].messages[-1].blocks == (ToolResult("c1", "echo", "echo: x"),)
    assert any(isinstance(e, StreamReset) for e in desk.events)  # EVT-9
    assert not desk.model.violations


async def test_safe_calls_run_side_by_side_and_results_keep_call_order(db: Database) -> None:
    """TGV-2: five at most; the view follows the calls, whatever finished first."""
    calls = tuple(call("slow", f"c{n}", n=n, seconds=0.05 - n * 0.005) for n in range(8))
    desk = Desk(db, [Answer(calls=calls), "done"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    assert desk.tools.most == 5
    seen = [b.content for b in desk.model.requests[1].messages[-1].blocks]  # type: ignore[union-attr]
    assert seen == [f"slow {n}" for n in range(8)]


async def test_unsafe_calls_run_alone_and_in_order(db: Database) -> None:
    calls = (call("order", "a", n=1), call("order", "b", n=2), call("echo", "c"))
    desk = Desk(db, [Answer(calls=calls), "done"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    assert desk.tools.most == 1
    assert [name for name, _ in desk.tools.calls] == ["order", "order", "echo"]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (call("fail"), "no such thing; try another"),
        (call("fail", how="bug"), "failed inside (RuntimeError)"),
        (call("hang"), "timed out after 0.05 s"),
        (call("nothing"), "no tool 'nothing'"),
        (call("echo", wrong=1), "wrong"),
        (ToolUse("c1", "echo", None, raw="{"), "not valid JSON"),
    ],
)
async def test_a_failing_tool_is_a_result_for_the_model(
    db: Database, asked: ToolUse, answer: str
) -> None:
    desk = Desk(db, [Answer(calls=(asked,)), "I see"])
    assert await desk.ask("go", team(agent(tools=TOOLS))) == "I see"
    [result] = results(await desk.rows())
    assert result.is_error
    assert answer in result.content
    assert "secret" not in result.content


async def test_a_tool_outside_the_whitelist_is_not_shown_and_not_run(db: Database) -> None:
    """SUB-4."""
    desk = Desk(db, [Answer(calls=(call("order"),)), "ok"])
    await desk.ask("go", team(agent(tools=("echo",))))
    assert [t.name for t in desk.model.requests[0].tools] == ["echo"]
    assert desk.tools.calls == []


@pytest.mark.parametrize(("size", "cut"), [(7_990, False), (8_001, True)])
async def test_a_long_result_is_stored_whole_and_shown_as_a_preview(
    db: Database, size: int, cut: bool
) -> None:
    """EVT-6, C-17: 8,000 characters stay inline."""
    desk = Desk(db, [Answer(calls=(call("echo", words="x" * (size - 6)),)), "ok"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    [result] = results(await desk.rows())
    assert await desk.count("blob") == int(cut)
    assert (len(result.content) < 2_200) is cut
    assert ("6001 more characters" in result.content) is cut


async def test_the_round_limit_refuses_once_and_the_model_still_answers(db: Database) -> None:
    """EVT-3, EVT-4: the tool list stays the same; the refusal happens at execution."""
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(3)]
    desk = Desk(db, [*rounds, "that is what I know"])
    text = await desk.ask("go", team(agent(tools=TOOLS, limits={"tool_rounds": 2})))
    assert text.startswith("that is what I know")
    assert "limit of tool rounds" in text
    assert len(desk.tools.calls) == 2
    assert len({tuple(t.name for t in r.tools) for r in desk.model.requests}) == 1


async def test_a_model_that_ignores_the_round_limit_is_cut_off_with_a_notice(db: Database) -> None:
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(9)]
    desk = Desk(db, rounds)
    text = await desk.ask("go", team(agent(tools=TOOLS, limits={"tool_rounds": 2})))
    assert "limit of tool rounds" in text
    assert len(desk.model.requests) == 4


async def test_exactly_the_allowed_rounds_end_without_a_notice(db: Database) -> None:
    rounds = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(2)]
    desk = Desk(db, [*rounds, "fine"])
    assert await desk.ask("go", team(agent(tools=TOOLS, limits={"tool_rounds": 2}))) == "fine"


async def test_a_doom_loop_is_stopped_before_the_third_call(db: Database) -> None:
    """DOM-1, DOM-4, DOM-5."""
    same = [Answer(calls=(call("echo", f"c{n}", words="again"),)) for n in range(3)]
    desk = Desk(db, [*same, "I give up"])
    assert await desk.ask("go", team(agent(tools=TOOLS))) == "I give up"
    assert len(desk.tools.calls) == 2
    assert not desk.model.violations


async def test_three_equal_parallel_calls_never_all_run(db: Database) -> None:
    calls = tuple(call("echo", f"c{n}", words="again") for n in range(3))
    desk = Desk(db, [Answer(calls=calls), "ok"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    assert len(desk.tools.calls) == 2
    assert len(results(await desk.rows())) == 3


async def test_a_refused_key_is_said_with_an_id_and_without_exception_text(db: Database) -> None:
    """CHN-6."""
    desk = Desk(db, [Answer(error=ModelAuthRefused("anthropic", "sk-secret is bad"))])
    text = await desk.ask("hello", team())
    assert "refuses the key" in text
    assert "(id " in text
    assert "sk-secret" not in text
    assert await desk.count("turn", "status = 'failed' and error_id is not null") == 1


async def test_a_failed_turn_leaves_a_valid_conversation(db: Database) -> None:
    """ASM-15, defect 11."""
    desk = Desk(db, [Answer(error=ModelOverloaded("p")), "fine now"])
    await desk.ask("one", team())
    assert await desk.ask("two", team(), key="m:1:2") == "fine now"
    assert not desk.model.violations


async def test_an_empty_answer_becomes_a_notice(db: Database) -> None:
    desk = Desk(db, [Answer("")])
    assert "no answer" in await desk.ask("hello", team())


async def test_the_authors_later_words_join_the_turn_before_the_next_model_call(
    db: Database,
) -> None:
    """EVT-7."""
    desk = Desk(db, [Answer(calls=(call("slow", seconds=0.2),)), "both"])
    await post(db, message("first"))
    turn = await desk.turn(team(agent(tools=TOOLS)))
    running = asyncio.create_task(turn.run())
    while desk.tools.running == 0:
        await asyncio.sleep(0.005)
    await post(db, message("and this", key="m:1:2"))
    desk.fresh = True
    await running
    assert [e.text for e in desk.events if isinstance(e, Steered)] == ["and this"]
    assert "and this" in desk.model.requests[-1].messages[-1].text
    assert await begin_next(db) is None


async def test_other_peoples_words_are_turns_of_their_own(db: Database) -> None:
    desk = Desk(db, [Answer(calls=(call("echo"),)), "for alice", "for bob"])
    await post(db, message("alice asks", private=False))
    turn = await desk.turn(team(agent(tools=TOOLS)))
    await post(db, message("bob asks", key="m:1:2", author="2", private=False))
    desk.fresh = True
    await turn.run()
    assert not any(isinstance(e, Steered) for e in desk.events)
    begun = await begin_next(db)
    assert begun is not None
    assert begun.item.author == "telegram:2"


async def test_a_backlog_from_before_the_turn_is_not_steered_into_it(db: Database) -> None:
    desk = Desk(db, [Answer(calls=(call("echo"),)), "one"])
    await post(db, message("first"))
    await post(db, message("second", key="m:1:2"))
    await (await desk.turn(team(agent(tools=TOOLS)))).run()
    assert not any(isinstance(e, Steered) for e in desk.events)
    assert await begin_next(db) is not None


async def test_a_command_of_the_author_bounds_what_is_steered(db: Database) -> None:
    desk = Desk(db, ["one"])
    await post(db, message("first"))
    turn = await desk.turn(team())
    for n, words in enumerate(["more", "/new", "after"], 2):
        await post(db, message(words, key=f"m:1:{n}"))
    await turn.run()
    begun = await begin_next(db)
    assert begun is not None
    assert begun.command


async def test_the_time_limit_of_a_turn_ends_it_with_a_notice(db: Database) -> None:
    desk = Desk(db, [Answer("late", delay=5)])
    text = await desk.ask("go", team(agent(limits={"time": 0.05})))
    assert "time limit" in text


async def test_events_tell_of_tools_in_order(db: Database) -> None:
    desk = Desk(db, [Answer(calls=(call("echo", words="x"),)), "done"])
    await desk.ask("go", team(agent(tools=TOOLS)))
    kinds = [type(e) for e in desk.events if isinstance(e, ToolStarted | ToolFinished | TurnEnded)]
    assert kinds == [ToolStarted, ToolFinished, TurnEnded]
    assert "".join(e.text for e in desk.events if isinstance(e, TextDelta)) == "done"


async def test_a_stop_answers_open_calls_and_keeps_what_was_said(db: Database) -> None:
    desk = Desk(db, ["next"])
    await post(db, message("go"))
    turn = await desk.turn(team())
    await turn.stop("half an ans")
    assert desk.reply.startswith("half an ans")
    assert "Stopped" in desk.reply
    assert await desk.ask("again", team(), key="m:1:2") == "next"
    assert not desk.model.violations


def test_the_stored_form_of_usage_is_json() -> None:
    from agent_core.runtime.loop import usage_meta

    usage = Usage(1, 2, 3, 4, None, 5, None)
    assert json.loads(json.dumps(usage_meta(usage, 9))) == {
        "usage": [1, 2, 3, 4, None, 5, None],
        "estimate": 9,
    }
    assert Usage(*usage_meta(usage)["usage"]) == usage
