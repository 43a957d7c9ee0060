"""A process that dies at any commit of a turn: the next one goes on from the last row (DESIGN.md 4, TGV-10)."""

import asyncio
import itertools

import pytest
from sqlalchemy import text

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.types import RowKind, ToolResult
from gateway.storage.db import Database
from gateway.turns.last_tries import ATTEMPTS, LastTries
from tests.harness import Desk, agent, begin_next, call, delegate, message, post, team
from tests.house import House, on_sqlite, until
from tests.outages import DyingDatabase, Killed

CALLS = (
    call("echo", "e1", words="one"),
    call("echo", "e2", words="two"),
    call("order", "o1", n=1),
)
TEAM = team(agent(tools=("echo", "order")), agent("research", tools=("echo",)))


def results(request: ModelRequest) -> dict[str, str]:
    return {
        b.call_id: b.content
        for m in request.messages
        for b in m.blocks
        if isinstance(b, ToolResult)
    }


def script(request: ModelRequest) -> Answer | str:
    """Three calls, then a delegation, then the answer: read off the request, so any request may come again."""
    known = results(request)
    if "research" in request.system:
        return "found" if known else Answer(calls=(call("echo", "r1", words="inner"),))
    if "d1" in known:
        return f"done: {known['o1']}"
    if "o1" in known:
        return Answer(calls=(delegate("research", call_id="d1"),))
    return Answer(calls=CALLS)


def who(request: ModelRequest) -> tuple[str, int]:
    return request.system, len(results(request))


async def killed(db: Database, chat: int, at: int, *, after: bool) -> tuple[Desk, bool]:
    """A turn whose process dies at a commit; and whether it came that far."""
    dying = DyingDatabase(db, at, after=after)
    desk = Desk(dying, ScriptedModel(script), chat=chat)
    await post(db, message("go", key=f"k{chat}", chat=chat))
    died = False
    try:
        await (await desk.turn(TEAM)).run()
    except* Killed:  # in a group where parallel tools died with the process
        died = True
    return desk, died


@pytest.mark.parametrize("after", [False, True])
async def test_a_turn_that_died_at_any_commit_ends_with_one_answer(
    db: Database, after: bool
) -> None:
    for at in itertools.count():
        chat = at + 1
        desk, died = await killed(db, chat, at, after=after)
        if not died:
            break
        again = Desk(db, desk.model, chat=chat)
        again.tools.calls = desk.tools.calls
        if await again.count("inbox", f"key = 'k{chat}' and status < 2"):
            await (await again.turn(TEAM)).run()
            assert again.reply.startswith("done: ")
            _check_tools(again, died_at_order=desk.tools.calls.count(("order", "1")))
        paid = f"session_id in (select id from session where id in (select session_id from turn where id in (select turn_id from inbox where key = 'k{chat}')))"  # noqa: E501
        assert await again.count("usage", paid) == 3
        finished = [who(request) for request in desk.model.finished]
        # what was committed is never paid again; what was lost with the process is paid twice, once
        assert len(finished) - len(set(finished)) <= (0 if after else 1)
        assert desk.tools.calls.count(("order", "1")) <= 1
        assert not desk.model.violations
    assert at >= 10
    desk = Desk(db, [])
    assert await desk.count("outbox", "status = 1") == at + 1
    assert await desk.count("inbox", "status < 2") == 0
    assert await desk.count("turn", "status = 'done'") == at + 1


def _check_tools(again: Desk, *, died_at_order: int) -> None:
    orders = again.tools.calls.count(("order", "1"))
    told = again.reply.removeprefix("done: ")
    if orders == 0 or not told.startswith("ordered"):
        assert told.startswith("Outcome unknown")
    assert orders <= 1
    if died_at_order:
        assert orders == died_at_order  # never run again
    assert ("echo", "one") in again.tools.calls
    assert ("echo", "inner") in again.tools.calls


@on_sqlite
async def test_a_call_with_an_intent_and_no_result_is_run_again_only_if_that_is_safe(
    db: Database,
) -> None:
    """TGV-10: the first had begun, the second not; the process died before a result was stored."""
    model = ScriptedModel(
        lambda r: "ok" if results(r) else Answer(calls=(call("hang", "h1"), call("order", "o1")))
    )
    await post(db, message("go"))
    desk = Desk(DyingDatabase(db, 3, after=False), model)
    with pytest.raises(Killed):
        await (await desk.turn(team(agent(tools=("echo", "order", "hang"))))).run()
    kinds = await Desk(db, []).count("transcript", "kind = 'intent'")
    assert kinds == 1  # the next batch has not begun
    again = Desk(db, model)
    await (await again.turn(team(agent(tools=("echo", "order", "hang"))))).run()
    assert [n for n, _ in again.tools.calls] == ["order"]
    assert "timed out" in results(model.requests[-1])["h1"]


@pytest.mark.parametrize("moments", range(0, 60, 5))
@on_sqlite
async def test_a_turn_that_is_cancelled_at_any_moment_goes_on_in_the_next_run(
    db: Database, moments: int
) -> None:
    """As a drain does it: the task is cancelled, commits in flight are finished."""
    desk = Desk(db, ScriptedModel(script))
    await post(db, message("go"))
    running = asyncio.create_task((await desk.turn(TEAM)).run())
    await asyncio.sleep(moments * 0.0004)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    again = Desk(db, desk.model)
    again.tools.calls = desk.tools.calls
    if await again.count("inbox", "status < 2"):
        await (await again.turn(TEAM)).run()
    assert await again.count("outbox", "status = 1") == 1
    assert await again.count("usage") == 5
    assert await again.count("turn", "status = 'done'") == 1
    assert again.tools.calls.count(("order", "1")) <= 1


@on_sqlite
async def test_messages_sent_while_it_was_down_are_turns_after_the_start(db: Database) -> None:
    """hermes#87040: six messages, six turns, in order."""
    for n in range(6):
        await post(db, message(f"q{n}", key=f"k{n}"))
    async with House(db, lambda r: f"to {r.messages[-1].text}") as house:
        await house.quiet()
        assert [t.split()[-1] for t in house.channel.texts("1")] == [f"q{n}" for n in range(6)]


@on_sqlite
async def test_a_drained_turn_goes_on_at_the_next_start_and_is_answered_once(db: Database) -> None:
    async def slow(request: ModelRequest) -> Answer | str:
        if len(model.requests) < 3:
            return Answer(calls=(call("echo", f"c{len(model.requests)}"),))
        if len(model.requests) == 3:
            await asyncio.Event().wait()
        return "done"

    model = ScriptedModel(slow)
    async with House(db, model) as house:
        await house.say("go")
        await until(lambda: len(model.requests) == 3)
    async with House(db, model, channel=house.channel) as again:
        await again.quiet()
        assert house.channel.texts("1") == ["done"]
        assert len(model.requests) == 4
        assert await again.one("select count(*) from turn") == 1


@on_sqlite
async def test_a_stop_that_the_old_process_did_not_live_to_see_is_carried_out(db: Database) -> None:
    async def hang(_: ModelRequest) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async with House(db, hang) as house:
        await house.say("go")
        await until(lambda: house.model.requests)

        async def nothing(_: str) -> bool:
            return True

        house.intake._engine.cancel = nothing  # type: ignore[method-assign]
        await house.say("/stop")
    async with House(db, hang, channel=house.channel) as again:
        await again.quiet()
        assert not again.model.requests
        assert "Stopped." in house.channel.texts("1")[-1]


@on_sqlite
async def test_a_turn_that_ends_the_process_three_times_is_set_aside_with_a_notice(
    db: Database,
) -> None:
    """hermes#7536: and the next message is answered."""
    await post(db, message("poison"))
    await post(db, message("fine", key="k2"))

    async def script(request: ModelRequest) -> Answer | str:
        if request.messages[-1].text.endswith("poison"):
            await asyncio.Event().wait()
        return "good"

    for _ in range(ATTEMPTS):
        await begin_next(db)  # and then the process is gone
    async with House(db, script) as house:
        await house.quiet()
        first, second = house.channel.texts("1")
    assert "set it aside" in first
    assert second == "good"


@on_sqlite
async def test_a_turn_that_two_starts_broke_is_tried_once_more(db: Database) -> None:
    await post(db, message("unlucky"))
    for _ in range(ATTEMPTS - 1):
        await begin_next(db)
    async with House(db, ["good"]) as house:
        await house.quiet()
        assert house.channel.texts("1") == ["good"]


async def broken_twice(db: Database, *chats: int) -> None:
    """Turns that ran when a process died, and again when the next one did."""
    for chat in chats:
        await post(db, message(f"from {chat}", key=f"k{chat}", chat=chat))
    for _ in range(ATTEMPTS - 1):
        for chat in chats:
            await begin_next(db, chat)


async def test_only_the_turn_that_broke_its_last_try_is_set_aside(db: Database) -> None:
    """Of several that ran when a process died twice, each has its last try alone; the others have not broken it."""
    await broken_twice(db, 1, 2, 3)

    async def hang(_: ModelRequest) -> str:
        return await asyncio.Event().wait() and ""

    async with House(db, hang) as house:
        await until(lambda: house.model.requests)
        await until(lambda: len(house.runner.last_tries._waiting) == 2)
        tries = "select conversation_id, attempts from inbox order by attempts desc, id"
        (guilty, last), *others = await house.all(tries)
        assert (last, [attempts for _, attempts in others]) == (2, [1, 1])
        await house.say("and then", chat="9")  # whose turn has broken nothing waits for nobody
        await until(lambda: len(house.model.requests) == 2)
        left = f"update inbox set attempts = 2 where conversation_id = '{guilty}'"
    await db.write(lambda conn: conn.execute(text(left)) and None)  # as if it had died there

    async with House(db, ["good"] * 3, channel=house.channel) as house:
        await house.quiet()
        shown = {chat: house.channel.texts(chat) for chat in ("1", "2", "3", "9")}
    aside = [chat for chat, texts in shown.items() if "set it aside" in texts[0]]
    assert aside == [guilty.rpartition(":")[2]]
    assert [texts for chat, texts in shown.items() if chat not in aside] == [["good"]] * 3


@on_sqlite
async def test_a_last_try_that_lives_for_a_while_lets_the_next_one_go(db: Database) -> None:
    await broken_twice(db, 1, 2)

    async def hang(_: ModelRequest) -> str:
        return await asyncio.Event().wait() and ""

    house = House(db, hang)
    house.runner.last_tries = LastTries(alone_s=0.05)
    async with house:
        await until(lambda: len(house.model.requests) == 2)


@on_sqlite
async def test_restarts_in_good_order_are_no_fault_of_a_turn(db: Database) -> None:
    """A long turn outlives any number of drains and lost answers."""

    async def script(request: ModelRequest) -> Answer | str:
        if len(model.requests) < 6:
            await asyncio.Event().wait()
        return "good"

    model = ScriptedModel(script)
    await post(db, message("long"))
    for n in range(1, 6):
        async with House(db, model):
            await until(lambda n=n: len(model.requests) == n)  # type: ignore[misc]
    async with House(db, model) as house:
        await house.quiet()
        assert house.channel.texts("1") == ["good"]


@on_sqlite
async def test_a_model_that_cannot_be_made_is_said_and_blocks_nothing(db: Database) -> None:
    """A session is released after any failure (openclaw#70334)."""
    async with House(db, ["fine"]) as house:
        await house.ask("hello")
        prepare = house.models.prepare
        broken = True

        async def fail(names: set[str]) -> None:
            if broken and names != ["demo"]:
                raise ImportError("no such library")
            await prepare(names)

        house.models.prepare = fail  # type: ignore[method-assign,assignment]
        house.model.script = ["fine", "again"]
        assert "not available any more" in (await house.ask("hello?"))[-1]
        broken = False
        assert (await house.ask("and now?"))[-1] == "again"


@on_sqlite
async def test_a_resumed_reply_goes_on_in_the_message_that_is_there(db: Database) -> None:
    """openclaw#31514, nanobot#2235: one visible message, before and after a restart."""

    async def script(request: ModelRequest) -> Answer | str:
        if len(model.requests) == 1:
            return Answer("the answer is long and then", gap=60.0, chunk=13)
        return "the answer is 42"

    model = ScriptedModel(script)
    async with House(db, model) as house:
        model.sleep = lambda _: asyncio.Event().wait()
        await house.say("go")
        await until(lambda: house.channel.texts("1") and "answer" in house.channel.texts("1")[0])
        await until(lambda: house.channel.streams[0].receipt.ids)
        await asyncio.sleep(0.02)
    async with House(db, model, channel=house.channel) as again:
        await again.quiet()
        assert house.channel.texts("1") == ["the answer is 42"]
        assert house.channel.messages["1"].edits == 1


async def test_the_transcript_of_a_resumed_turn_is_valid_for_a_provider(db: Database) -> None:
    """openclaw#4728: after a crash in a tool the next request is valid."""
    for chat, at in enumerate(range(1, 7), 1):
        desk, _ = await killed(db, chat, at, after=True)
        again = Desk(db, desk.model, chat=chat)
        await (await again.turn(TEAM)).run()
        kinds = [row.kind for row in await again.rows()]
        assert kinds.count(RowKind.INTENT) >= kinds.count(RowKind.RESULT) - 1
        assert not desk.model.violations
