"""One message in is one turn and one visible reply, on every platform and whatever the platform does twice."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.storage.db import Database
from tests.contract.desk import ALL, HOOKS, PLATFORMS, desk, echo, paying, restart
from tests.contract.rigs.base import Rig
from tests.contract.rigs.hooks import SlackHttpRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rooms import room
from tests.harness import call
from tests.house import on_sqlite, until

pytestmark = [
    on_sqlite,
    pytest.mark.slow,
]  # the whole gateway behind every platform, many times over


@pytest.fixture(params=[*ALL, *HOOKS], ids=lambda kind: kind.__name__.removesuffix("Rig"))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A platform; its protocol must have been kept."""
    async with request.param() as made:
        yield made
    assert made.violations == []


def on(*kinds: type[Rig]) -> pytest.MarkDecorator:
    """Only at these platforms."""
    names = [kind.__name__.removesuffix("Rig") for kind in kinds]
    return pytest.mark.parametrize("rig", kinds, indirect=True, ids=names)


async def test_what_comes_again_is_answered_once(db: Database, rig: Rig) -> None:
    """hermes#68502, openclaw#83521, vercel/chat#666, CHN-5: at once, hours later, and after a restart."""
    async with desk(db, rig, echo) as it:
        await rig.say("hello")
        await rig.again()
        await rig.inbound(2)
        assert await it.shown() == ["re hello"]
        it.clock.seconds += 8 * 3600
        await rig.again()
        await rig.inbound(3)
        await it.settled()
        assert len(it.model.requests) == 1
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        it.clock.seconds += 9 * 3600
        await rig.again()
        await rig.inbound(4)
        await it.settled()
        assert it.texts() == ["re hello"]
        assert it.model.requests == []
        assert await it.one("select count(*) from inbox") == 1
        assert await it.one("select count(*) from turn") == 1


@on(*PLATFORMS)
async def test_a_press_that_comes_again_decides_once(db: Database, rig: Rig) -> None:
    """hermes#68502 for buttons: the payment runs once, however often the press is told."""
    script = [Answer(calls=(call("pay", "p1", to="bob", amount=3),)), "paid"]
    async with desk(db, rig, script, the_team=paying()) as it:
        await rig.say("pay bob")
        await until(lambda: any(m.buttons for m in rig.visible()), 10)
        await it.quiet()
        await rig.press("Approve")
        # Discord hands no press over twice; a person may press twice
        await (rig.press("Approve") if rig.name == "discord" else rig.again())
        await rig.inbound(3)
        await until(lambda: len(it.model.requests) == 2, 10)
        await it.settled()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.texts().count("paid") == 1


async def test_a_streamed_reply_is_one_visible_message(db: Database, rig: Rig) -> None:
    """nanobot#2235, openclaw#31514: the preview becomes the answer."""
    go_on = asyncio.Event()
    async with desk(db, rig, [Answer("half an answer and the rest", gap=1.0, chunk=14)]) as it:
        it.model.sleep = lambda _: go_on.wait()
        await rig.say("hello")
        await until(lambda: rig.preview() or rig.visible(), 10)
        go_on.set()
        await until(lambda: it.model.finished, 10)
        assert await it.shown() == ["half an answer and the rest"]
        assert rig.preview() == ""


async def test_words_before_a_tool_call_leave_one_message(db: Database, rig: Rig) -> None:
    """nanobot#2235: what was streamed before a tool call is no message of its own."""
    script = [Answer("Let me look.", calls=(call("slow", seconds=0.3),)), "It is 42."]
    async with desk(db, rig, script) as it:
        await rig.say("hello")
        await until(lambda: len(it.model.finished) == 2, 10)
        assert await it.shown() == ["It is 42."]
        await it.settled()


@on(*PLATFORMS)
async def test_a_streamed_reply_in_a_group_is_one_visible_message(db: Database, rig: Rig) -> None:
    """nanobot#2235, openclaw#31514: edits in a group, a native stream in Slack's thread, Discord's thread."""
    go_on = asyncio.Event()
    async with desk(db, rig, [Answer("half an answer and the rest", gap=1.0, chunk=14)]) as it:
        it.model.sleep = lambda _: go_on.wait()
        here = room(rig)
        here.say("hello")
        await until(here.texts, 10)
        go_on.set()
        await until(lambda: it.model.finished, 10)
        await it.settled()
        assert here.texts() == ["half an answer and the rest"]


def long_answer(parts: int) -> tuple[str, list[str]]:
    """Paragraphs, each with a word of its own."""
    words = [f"p{n:03}" for n in range(parts)]
    return "\n\n".join(f"{word} {'lorem ipsum ' * 15}end." for word in words), words


async def test_a_reply_that_streams_past_the_limit_is_split_once(db: Database, rig: Rig) -> None:
    """hermes#48648: continued in a new message, never sent again whole."""
    text, words = long_answer(80)  # about 15,000 characters: more than one message everywhere
    async with desk(db, rig, [Answer(text, gap=0.004, chunk=150)]) as it:
        await rig.say("tell me all")
        await until(lambda: it.model.finished, 20)
        await it.settled()
        await until(lambda: words[-1] in "".join(it.texts()), 10)
        shown = it.texts()
        found = [w for part in shown for w in part.split() if w in words]
        assert found == words
        assert rig.limit is None or len(shown) > 1
        assert rig.preview() == ""


async def test_off_and_on_five_times_is_one_consumer_and_one_reply(db: Database, rig: Rig) -> None:
    """AstrBot#7259."""
    async with desk(db, rig, echo) as it:
        for _ in range(5):
            await rig.stop()
            await rig.start()
        await rig.say("hello")
        assert await it.shown() == ["re hello"]
        await asyncio.sleep(0.1)  # a second consumer would have heard it by now
        await it.settled()
        assert len(rig.got) == 1
        assert rig.consumers() == 1
        assert it.texts() == ["re hello"]


# Slack ---------------------------------------------------------------------------------------------------------------


@on(SlackHttpRig)
async def test_a_retry_of_slack_is_taken_if_the_first_was_not_stored(
    db: Database, rig: SlackHttpRig
) -> None:
    """vercel/chat#666: X-Slack-Retry-Num says nothing of whether the first try was stored."""
    async with desk(db, rig, echo) as it:
        accept, failures = it.intake.accept, [OSError("disk full"), OSError("disk full")]

        async def store(inbound: object) -> None:
            if failures:
                raise failures.pop()
            await accept(inbound)  # type: ignore[arg-type]

        rig.store = store
        await rig.say("hello")
        assert await it.shown() == ["re hello"]
        await rig.twin.settled()
        (delivery,) = rig.twin.deliveries
        assert delivery.statuses == [503, 503, 200]


@on(SlackHttpRig)
async def test_a_retry_of_slack_is_dropped_if_the_first_was_stored(
    db: Database, rig: SlackHttpRig
) -> None:
    """vercel/chat#666: our 200 came too late, so Slack tries again, and an hour later once more."""
    async with desk(db, rig, echo) as it:
        rig.twin.link.ack_within = 0.15
        accept, slow = it.intake.accept, asyncio.Event()

        async def store(inbound: object) -> None:
            await accept(inbound)  # type: ignore[arg-type]
            await slow.wait()

        rig.store = store
        await rig.say("hello")
        await until(lambda: len(rig.twin.deliveries[0].statuses) >= 2, 10)
        slow.set()
        await rig.twin.settled()
        assert await it.shown() == ["re hello"]
        it.clock.seconds += 3600
        rig.twin.link.ack_within = 3.0
        await rig.again()
        await rig.twin.settled()
        await it.settled()
        assert it.texts() == ["re hello"]
        assert len(it.model.requests) == 1


@on(SlackRig, SlackHttpRig)
async def test_a_post_that_arrives_as_message_and_as_mention_is_one_turn(
    db: Database, rig: SlackRig
) -> None:
    """CHN-5: one key for both events."""
    async with desk(db, rig, echo) as it:
        rig.twin.channel("C1")
        ts = rig.twin.mention("C1", "hello")
        await rig.twin.settled()
        assert len(rig.twin.deliveries) == 2
        await until(lambda: rig.twin.replies("C1", ts), 10)
        await it.settled()
        assert [p.shown for p in rig.twin.replies("C1", ts)] == ["re hello"]
        assert await it.one("select count(*) from turn") == 1


@on(SlackRig, SlackHttpRig)
async def test_a_thread_of_slack_seen_by_all_routes_is_one_session(
    db: Database, rig: SlackRig
) -> None:
    """openclaw#24417: a mention, a plain reply, a mention below, a button and a command of one thread."""
    restart(rig, db)  # with the gateway's knowledge of threads
    script = [
        "one",
        "two",
        Answer(calls=(call("ask_user", "a1", question="Which?", options=["A", "B"]),)),
        "chosen",
    ]
    async with desk(db, rig, script, the_team=paying()) as it:
        twin = rig.twin
        twin.channel("C1")
        root = twin.mention("C1", "hello")
        await until(lambda: len(it.model.finished) == 1, 10)
        await it.quiet()
        twin.say("C1", "without a mention", thread=root)
        await until(lambda: len(it.model.finished) == 2, 10)
        await it.quiet()
        twin.mention("C1", "ask me", thread=root)
        await until(lambda: any(p.buttons for p in twin.replies("C1", root)), 10)
        await it.quiet()
        asked = [p for p in twin.replies("C1", root) if p.buttons][-1]
        twin.press("C1", asked.ts, "1. A")
        await until(lambda: len(it.model.finished) == 4, 10)
        await it.quiet()
        count = len(twin.replies("C1", root))
        twin.say("C1", "!status", thread=root)
        await until(lambda: len(twin.replies("C1", root)) > count, 10)
        await it.settled()
        assert await it.all("select address from conversation") == [
            (f"slack:{rig.channel.account}:C1:{root}",)
        ]
        assert await it.one("select count(*) from session") == 1
        assert twin.posts("C1")[0].ts == root
        assert all(p.thread == root for p in twin.replies("C1"))


async def test_what_is_asked_twice_on_purpose_is_answered_twice(db: Database, rig: Rig) -> None:
    """Equal words are not equal messages."""

    async def script(request: ModelRequest) -> str:
        return f"{len(it.model.requests)} {echo(request)}"

    async with desk(db, rig, script) as it:
        for n in (1, 2):
            await rig.say("hello")
            await it.shown(n)
        assert it.texts() == ["1 re hello", "2 re hello"]
