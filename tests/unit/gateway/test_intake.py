"""From a channel's `emit` to a row, an answer, or nothing: access, redelivery, limits, commands, stopping."""

import asyncio

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from channels.types import Address, Author, Inbound
from gateway.inbound.intake import MAX_CHARS
from gateway.people import access
from gateway.people.access import approve, revoke
from gateway.storage.db import Database
from tests.harness import call
from tests.house import START, House, Watch, on_sqlite, settings, until


def open_house() -> object:
    return settings(access={"default": "allow"})


async def hang(_: ModelRequest) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_message_is_answered_once_however_often_it_is_delivered(db: Database) -> None:
    """hermes#68502: at once, later, and after a restart."""
    async with House(db, ["hello"]) as house:
        inbound = house.inbound("hi", key="m:1:9")
        await asyncio.gather(*(house.channel.say(inbound) for _ in range(5)))
        await house.quiet()
        await house.channel.say(inbound)
        await house.quiet()
    async with House(db, [], channel=house.channel) as again:
        await again.channel.say(inbound)
        await again.quiet()
        assert house.channel.texts("1") == ["hello"]
        assert await again.one("select count(*) from inbox") == 1


@on_sqlite
@pytest.mark.parametrize(("words", "author"), [("/help", "1"), ("hello", "5"), ("/nope", "1")])
async def test_a_redelivery_of_what_is_answered_at_once_says_nothing_twice(
    db: Database, words: str, author: str
) -> None:
    """A command, a pairing answer and an unknown command have keys like any message."""
    async with House(db, []) as house:
        inbound = house.inbound(words, author=author, key="k1")
        for _ in range(3):
            await house.channel.say(inbound)
        await house.quiet()
        assert len(house.channel.texts("1")) == 1


@on_sqlite
async def test_a_redelivery_does_not_use_up_the_allowance(db: Database) -> None:
    rules = settings(sessions={"rate_limit": {"messages_per_minute": 2}})
    async with House(db, ["one", "two"], rules=rules) as house:
        inbound = house.inbound("a", key="k1")
        for _ in range(5):
            await house.channel.say(inbound)
        await house.quiet()
        assert await house.ask("b") == ["one", "two"]


@on_sqlite
async def test_a_redelivery_wakes_a_row_whose_first_delivery_was_cut_off(db: Database) -> None:
    """The commit went through, then the connection broke before anybody was woken."""
    async with House(db, ["hello"]) as house:
        inbound = house.inbound("hi", key="k1")
        wake, house.intake._engine.wake = house.engine.wake, lambda *_: None  # type: ignore[method-assign]
        await house.channel.say(inbound)
        house.intake._engine.wake = wake  # type: ignore[method-assign]
        await house.channel.say(inbound)
        await house.quiet()
        assert house.channel.texts("1") == ["hello"]


@on_sqlite
async def test_without_an_allow_list_strangers_are_out(db: Database) -> None:
    """CHN-1, hermes#37992: nothing configured is closed, not open."""
    async with House(db, [], rules=settings(access={"default": "deny"})) as house:
        assert await house.ask("hello") == []
        assert await house.one("select count(*) from inbox") == 0


@on_sqlite
async def test_the_default_is_pairing_with_one_code(db: Database) -> None:
    async with House(db, ["hi"], rules=settings(access={})) as house:
        first, second = [await house.ask(words) for words in ("hello", "hello?")][-1]
        code = await house.one("select code from pairing")
        assert code in first
        assert code in second
        assert await house.one("select count(*) from pairing") == 1
        await db.write(lambda conn: approve(conn, code.lower(), house.clock.now()))
        assert (await house.ask("and now?"))[-1] == "hi"
        assert await house.one("select count(*) from person") == 1


async def test_strangers_who_write_at_once_get_one_code_each_and_nothing_breaks(
    db: Database,
) -> None:
    """On PostgreSQL these transactions overlap: same stranger twice, same new chat twice."""
    async with House(db, lambda _: "hi", rules=settings(access={})) as house:
        said = [
            house.say(f"hello {n}", author=str(n % 2), chat="5", private=False) for n in range(8)
        ]
        await asyncio.gather(*said)
        await house.quiet()
        assert await house.one("select count(*) from pairing") == 2
        assert await house.one("select count(*) from conversation") == 1
        assert await house.one("select count(*) from session") == 1
        assert len(house.channel.texts("5")) == 8


async def test_first_messages_of_a_new_group_that_meet_are_all_answered(db: Database) -> None:
    """goclaw#1476."""
    async with House(db, lambda _: "hi") as house:
        said = [
            house.say(f"q{n}", author=str(1 + n % 2), chat="5", private=False) for n in range(6)
        ]
        await asyncio.gather(*said)
        await house.quiet()
        assert await house.one("select count(*) from inbox where status = 2") == 6


@on_sqlite
async def test_an_approved_code_opens_nobody_else(db: Database) -> None:
    async with House(db, ["hi"], rules=settings(access={})) as house:
        await house.ask("hello", author="5", chat="5")
        await house.ask("hello", author="6", chat="6")
        code = await house.one("select code from pairing where person_id = 'telegram:5'")
        await db.write(lambda conn: approve(conn, code, house.clock.now()))
        assert (await house.ask("me?", author="5", chat="5"))[-1] == "hi"
        assert "pairing code" in (await house.ask("me?", author="6", chat="6"))[-1]


@on_sqlite
async def test_a_revoked_person_stays_out_even_when_listed(db: Database) -> None:
    async with House(db, ["hi"]) as house:
        await house.ask("hello")
        await db.write(lambda conn: revoke(conn, "telegram:1"))
        assert await house.ask("again") == ["hi"]
        assert await house.one("select count(*) from inbox") == 1


@on_sqlite
async def test_a_private_chat_of_another_person_is_refused(db: Database) -> None:
    """A web session id is chosen by the browser: knowing it opens nothing."""
    async with House(db, ["hi"], rules=open_house()) as house:  # type: ignore[arg-type]
        await house.ask("mine", author="1", chat="abc")
        assert await house.ask("let me see", author="2", chat="abc") == ["hi"]
        assert await house.ask("/status", author="2", chat="abc") == ["hi"]
        assert await house.one("select count(*) from inbox") == 1


@on_sqlite
async def test_what_is_not_addressed_to_the_bot_is_not_stored(db: Database) -> None:
    async with House(db, []) as house:
        await house.ask("chatter", addressed=False, private=False)
        assert await house.one("select count(*) from inbox") == 0
        assert await house.one("select count(*) from conversation") == 0


@on_sqlite
async def test_over_the_rate_people_are_told_once_a_minute(db: Database) -> None:
    rules = settings(sessions={"rate_limit": {"messages_per_minute": 2}})
    async with House(db, lambda _: "ok", rules=rules) as house:
        for n in range(5):
            await house.ask(f"m{n}")
        assert sum("more than 2 messages" in t for t in house.channel.texts("1")) == 1
        assert await house.one("select count(*) from inbox") == 5  # none is dropped in silence
        house.clock.seconds += 61
        assert (await house.ask("later"))[-1] == "ok"


@on_sqlite
async def test_one_persons_rate_is_not_anothers(db: Database) -> None:
    rules = settings(sessions={"rate_limit": {"messages_per_minute": 1}})
    async with House(db, lambda _: "ok", rules=rules) as house:
        await house.ask("a", author="1", chat="1")
        assert await house.ask("b", author="2", chat="2") == ["ok"]


@on_sqlite
async def test_a_stranger_is_not_answered_without_end(db: Database) -> None:
    rules = settings(access={}, sessions={"rate_limit": {"messages_per_minute": 2}})
    async with House(db, [], rules=rules) as house:
        for n in range(9):
            await house.ask(f"m{n}", author="5")
        assert len(house.channel.texts("1")) == 3


@on_sqlite
async def test_a_message_that_is_too_long_is_answered_and_not_run(db: Database) -> None:
    async with House(db, []) as house:
        [answer] = await house.ask("x" * (MAX_CHARS + 1))
        assert "100001 characters" in answer


@on_sqlite
async def test_an_unknown_command_is_answered_in_the_persons_language(db: Database) -> None:
    async with House(db, []) as house:
        assert await house.ask("/frobnicate") == [
            "I do not know /frobnicate. /help lists the commands."
        ]
        inbound = Inbound(
            Address("telegram", "777", "3"), "z", Author("1", language="zh-hans"), "/nope", START
        )
        await house.channel.say(inbound)
        await house.quiet()
        assert "没有命令" in house.channel.texts("3")[0]


@on_sqlite
async def test_stop_bypasses_the_lane_and_the_next_message_runs(db: Database) -> None:
    """hermes PR#52084."""
    answers = iter([hang])

    async def script(request: ModelRequest) -> Answer | str:
        behaviour = next(answers, None)
        return await behaviour(request) if behaviour else "second answer"

    async with House(db, script) as house:
        await house.say("first")
        await until(lambda: house.model.requests)
        await house.say("/stop")
        await house.say("second")
        await house.quiet()
        first, second = house.channel.texts("1")
        assert "Stopped." in first
        assert second == "second answer"
        assert await house.all("select status from turn order by id") == [("stopped",), ("done",)]


@on_sqlite
async def test_a_stop_keeps_what_was_said_so_far(db: Database) -> None:
    async with House(db, [Answer("half an answer and the rest", gap=30.0, chunk=14)]) as house:
        house.model.sleep = lambda _: asyncio.Event().wait()
        await house.say("first")
        await until(lambda: any(p.text for s in house.channel.streams for p in s.previews))
        await house.ask("/stop")
        [text] = house.channel.texts("1")
        assert text.startswith("half an answer")
        assert "Stopped." in text


@on_sqlite
async def test_a_stop_cancels_a_running_tool(db: Database) -> None:
    """hermes#8697."""
    async with House(db, [Answer(calls=(call("slow", seconds=60.0),))]) as house:
        await house.say("first")
        await until(lambda: house.tools.running)
        assert "Stopped." in (await house.ask("/stop"))[-1]
        assert house.tools.calls == []
        assert await house.one("select count(*) from transcript where kind = 'result'") == 1


@on_sqlite
async def test_only_the_asker_or_an_operator_may_stop(db: Database) -> None:
    async with House(db, hang) as house:
        await house.say("first", private=False)
        await until(lambda: house.model.requests)
        await house.say("/stop", author="2", private=False)
        await until(lambda: house.channel.texts("1")[1:])
        assert "Only the person who asked" in house.channel.texts("1")[-1]
        assert house.engine.busy() == 1
        await house.ask("/stop", author="9", private=False)
        assert house.engine.busy() == 0


@on_sqlite
async def test_a_stop_with_nothing_running_says_so(db: Database) -> None:
    async with House(db, []) as house:
        assert await house.ask("/stop") == ["Nothing is running."]


@on_sqlite
async def test_a_stop_works_for_somebody_who_wrote_too_much(db: Database) -> None:
    rules = settings(sessions={"rate_limit": {"messages_per_minute": 1}})
    async with House(db, hang, rules=rules) as house:
        await house.say("first")
        await until(lambda: house.model.requests)
        await house.ask("/stop")
        assert "Stopped." in house.channel.texts("1")[-1]


@on_sqlite
async def test_the_stop_button_of_an_old_turn_stops_nothing(db: Database) -> None:
    answers = iter(["done"])

    async def script(request: ModelRequest) -> Answer | str:
        return next(answers, None) or await hang(request)

    async with House(db, script) as house:
        await house.ask("first")
        old = await house.one("select max(id) from turn")
        await house.say("second")
        await until(lambda: len(house.model.requests) == 2)
        await house.press(f"stop:{old}")
        assert house.channel.answers[-1][1] == "Nothing is running."
        assert house.engine.busy() == 1
        now = await house.one("select max(id) from turn")
        await house.press(f"stop:{now}")
        await house.quiet()
        assert house.channel.answers[-1][1] == "Stopping…"
        assert await house.one(f"select status from turn where id = {now}") == "stopped"


@on_sqlite
@pytest.mark.parametrize("data", ["stop:", "stop:²", "stop:99999999999999999999", "nonsense", ""])
async def test_a_strange_button_is_answered_and_does_nothing(db: Database, data: str) -> None:
    async with House(db, []) as house:
        await house.press(data)
        assert len(house.channel.answers) == 1
        assert house.channel.texts("1") == []


@on_sqlite
async def test_a_turn_that_began_while_the_stop_was_on_its_way_is_not_stopped(db: Database) -> None:
    """The mark is on the turn that was meant; the next one goes on."""
    async with House(db, ["first", Answer("second", delay=30.0), "second"]) as house:
        house.model.sleep = lambda _: asyncio.Event().wait()
        await house.ask("one")
        await house.say("two")
        await until(lambda: len(house.model.requests) == 2)
        await house.engine.cancel("telegram:777:1")  # meant for the turn that has just ended
        await house.quiet()
        assert house.channel.texts("1") == ["first", "second"]


@on_sqlite
async def test_the_next_answer_does_not_appear_before_the_one_before(db: Database) -> None:
    """Its preview waits for letters that are still on their way, as after a flood limit."""
    async with House(db, ["the answer"]) as house:
        gate = house.channel.hold("1")
        await house.say("/help")
        await until(house.senders.pending)
        await house.say("a question")
        await until(lambda: house.model.requests)
        await asyncio.sleep(0.02)
        gate.set()
        await house.quiet()
        commands, answer = house.channel.texts("1")
        assert commands.startswith("Commands")
        assert answer == "the answer"


@on_sqlite
async def test_emit_returns_only_after_the_commit(db: Database) -> None:
    """openclaw#42157: the platform is told when it is durable, and told nothing when it is not."""
    async with House(db, ["hi"]) as house:

        def broken(*_: object) -> None:
            raise OSError("disk full")

        take, house.intake._take = house.intake._take, broken  # type: ignore[method-assign,assignment]
        with pytest.raises(OSError, match="disk full"):
            await house.say("hello", key="k1")
        house.intake._take = take  # type: ignore[method-assign]
        assert await house.ask("hello", key="k1") == ["hi"]


@on_sqlite
async def test_the_pairing_code_expires(db: Database) -> None:
    async with House(db, [], rules=settings(access={}), clock=Watch()) as house:
        await house.ask("hello")
        old = await house.one("select code from pairing")
        house.clock.seconds += access.PAIRING_HOURS * 3600 + 1
        await house.ask("hello")
        assert await house.one("select code from pairing") != old
