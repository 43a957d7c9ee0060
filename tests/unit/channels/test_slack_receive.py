"""Receiving: what is for the bot, once, in order, and acknowledged only when it is durable."""

import asyncio

import pytest

from channels.types import Attachment, Inbound, Kind, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.slack_rig import ACCOUNT, DM, rig, thread

MODES = ("socket", "http")


@pytest.mark.parametrize("mode", MODES)
async def test_a_direct_message_arrives_whole(mode: str) -> None:
    async with rig(mode=mode) as r:
        assert r.channel.account == ACCOUNT
        r.twin.state.locales["U1"] = "zh-CN"
        text = "see &lt;b&gt; <https://x.example/a?b=1&amp;c|here> <@U7|bob> <#C9|general> <!here>"
        ts = r.twin.say("D1", text)
        (got,) = await r.inbound()
        assert got.text == "see <b> [here](https://x.example/a?b=1&c) @bob #general @here"
        assert (got.address, got.key, got.message_id) == (DM, f"m:D1:{ts}", ts)
        assert (got.author.id, got.author.name, got.author.language) == ("T1:U1", "user1", "zh-CN")
        assert got.private
        assert got.addressed
        (delivery,) = await r.twin.settled()
        assert delivery.acked
        assert delivery.attempts == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_post_that_arrives_as_message_and_as_mention_is_one(mode: str) -> None:
    async with rig(mode=mode) as r:
        ts = r.twin.mention("C1", "how is GOOG?")
        first, second = await r.inbound(2)
        assert first == second
        assert (first.text, first.address) == ("how is GOOG?", thread(ts))
        assert not first.private
        assert len(r.stored) == 1


async def test_an_app_that_hears_mentions_only_hears_them() -> None:
    async with rig() as r:
        r.twin.both = False
        r.twin.mention("C1", "hello")
        (got,) = await r.inbound()
        assert got.addressed


@pytest.mark.parametrize("mode", MODES)
async def test_an_event_is_acknowledged_only_when_it_is_stored(mode: str) -> None:
    async with rig(mode=mode) as r:
        gate = asyncio.Event()
        began = asyncio.Event()

        async def hold(_: Inbound) -> None:
            began.set()
            await gate.wait()

        r.before_store = hold
        r.twin.say("D1", "hello")
        await began.wait()
        (delivery,) = r.twin.deliveries
        assert not delivery.acked
        gate.set()
        await r.twin.settled()
        assert delivery.acked
        assert len(r.stored) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_what_could_not_be_stored_comes_again(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(mode=mode) as r:
        r.twin.link.ack_within = 0.2
        failures = iter([RuntimeError("the database is away")])

        async def fail(_: Inbound) -> None:
            for error in failures:
                raise error

        r.before_store = fail
        r.twin.say("D1", "hello")
        (delivery,) = await r.twin.settled()
        assert (delivery.acked, delivery.attempts) == (True, 2)
        assert [i.text for i in r.stored] == ["hello"]
        assert "could not be stored" in caplog.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_redelivered_event_has_the_same_key(mode: str) -> None:
    async with rig(mode=mode) as r:
        r.twin.say("D1", "hello")
        await r.twin.settled()
        r.twin.redeliver()
        one, again = await r.inbound(2)
        assert one == again
        assert len(r.stored) == 1


async def test_a_slow_store_gets_retries_of_one_key() -> None:
    async with rig() as r:
        r.twin.link.ack_within = 0.1

        async def slow(_: Inbound) -> None:
            await asyncio.sleep(0.15)

        r.before_store = slow
        r.twin.say("D1", "hello")
        await r.inbound(2)
        assert len(r.stored) == 1


async def test_rapid_messages_keep_their_order_and_chats_run_side_by_side() -> None:
    async with rig() as r:
        blocked = asyncio.Event()

        async def hold(inbound: Inbound) -> None:
            if inbound.address.chat == "D1":
                await blocked.wait()

        r.before_store = hold
        for n in range(10):
            r.twin.say("D1", f"one {n}")
            r.twin.say("D2", f"two {n}")
        await r.inbound(10)
        assert {i.address.chat for i in r.got} == {"D2"}
        blocked.set()
        await r.inbound(20)
        for chat, word in (("D1", "one"), ("D2", "two")):
            said = [i.text for i in r.got if i.address.chat == chat]
            assert said == [f"{word} {n}" for n in range(10)]


async def test_five_mentions_at_once_open_five_threads() -> None:
    async with rig() as r:
        stamps = [r.twin.mention("C1", f"question {n}") for n in range(5)]
        await r.inbound(10)
        assert [i.address for i in r.stored] == [thread(ts) for ts in stamps]


async def test_in_a_thread_of_the_bot_no_mention_is_needed() -> None:
    async with rig() as r:
        root = r.twin.mention("C1", "hello")
        await r.inbound(2)
        r.twin.say("C1", "and MSFT?", thread=root, user="U2")
        got = (await r.inbound(3))[-1]
        assert (got.text, got.address, got.addressed) == ("and MSFT?", thread(root), True)
        assert got.author.id == "T1:U2"


async def test_a_thread_is_known_after_a_restart_too() -> None:
    async with rig() as r:
        root = r.twin.say("C1", "an old question")
        r.known.add(thread(root))
        r.twin.say("C1", "and now?", thread=root)
        first, second = await r.inbound(2)
        assert (first.addressed, second.addressed) == (False, True)
        other = r.twin.say("C1", "a talk among people")
        r.twin.say("C1", "indeed", thread=other)
        assert [i.addressed for i in (await r.inbound(4))[2:]] == [False, False]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("required", [False, True, True]),
        ("reply", [False, False, True]),
        ("always", [True, True, True]),
        ("never", [False, False, False]),
    ],
)
async def test_the_mention_policy_holds(policy: str, expected: list[bool]) -> None:
    async with rig(mention=policy) as r:
        r.twin.both = False
        r.twin.say("C1", "plain")
        root = r.twin.mention("C1", "mentioned")
        r.known.add(thread(root))
        r.twin.say("C1", "in the thread", thread=root)
        assert [i.addressed for i in await r.inbound(3)] == expected


async def test_a_channels_own_mention_policy_holds_in_its_threads_too() -> None:
    """hermes#8019."""
    overrides = {"C1": "never", f"{ACCOUNT}:C3": "always"}
    async with rig(overrides=overrides) as r:
        for room in ("C2", "C3"):
            r.twin.channel(room)
        r.twin.both = False
        root = r.twin.mention("C1", "quiet here")
        r.known.add(thread(root))
        r.twin.mention("C1", "and here", thread=root)
        r.twin.mention("C2", "the general rule")
        other = r.twin.say("C3", "every word")
        r.twin.say("C3", "and in its threads", thread=other)
        got = {i.text: i.addressed for i in await r.inbound(5)}
        assert got == {
            "quiet here": False,
            "and here": False,
            "the general rule": True,
            "every word": True,
            "and in its threads": True,
        }


async def test_a_threads_own_mention_policy_comes_before_its_channels() -> None:
    own = {"C1": "never"}
    async with rig(overrides=own) as r:
        r.twin.both = False
        root = r.twin.mention("C1", "a talk")
        await r.inbound()
        own[f"C1:{root}"] = "always"
        r.twin.say("C1", "in the thread", thread=root)
        r.twin.mention("C1", "elsewhere")
        got = {i.text: i.addressed for i in await r.inbound(3)}
        assert got == {"a talk": False, "in the thread": True, "elsewhere": False}


async def test_edits_joins_bots_and_own_messages_start_nothing() -> None:
    async with rig() as r:
        ts = r.twin.say("D1", "hello")
        r.twin.edit("D1", ts, "hello!")
        r.twin.delete("D1", ts)
        r.twin.join("C1", "U5")
        r.twin.say("C1", "beep", bot_id="B7", subtype="bot_message")
        r.twin.say("C1", "beep", bot_id="B7")
        r.twin.say("D1", "own", user="U0BOT", bot_id="B0BOT")
        await r.twin.settled()
        assert all(d.acked for d in r.twin.deliveries)
        assert [i.text for i in r.got] == ["hello"]


async def test_a_mention_alone_calls_the_bot_and_an_empty_message_does_not() -> None:
    async with rig() as r:
        r.twin.mention("C1", "")
        r.twin.say("D1", "  ")
        await r.twin.settled()
        assert [(i.text, i.address.chat) for i in r.stored] == [("", "C1")]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("stop", "/stop"),
        ("Stop.", "/stop"),
        ("approve 12", "/approve 12"),
        ("help me with GOOG", "help me with GOOG"),
        ("status of GOOG?", "status of GOOG?"),
        ("!stop", "!stop"),
    ],
)
async def test_a_command_behind_a_mention_is_one(said: str, text: str) -> None:
    async with rig() as r:
        root = r.twin.say("C1", "a thread")
        r.twin.mention("C1", said, thread=root)
        assert (await r.inbound(3))[-1].text == text


async def test_commands_in_threads_are_text() -> None:
    async with rig() as r:
        root = r.twin.mention("C1", "!stop")
        (got, _) = await r.inbound(2)
        assert (got.text, got.address) == ("!stop", thread(root))


async def test_an_assistant_thread_is_a_place_with_prompts_and_a_title() -> None:
    async with rig() as r:
        root = r.twin.assistant()
        state = r.twin.state.threads["D1", root]
        prompts = await r.twin.wait_for(lambda: state.get("prompts"))
        assert len(prompts) == 4
        r.twin.say("D1", "How did GOOG do?", thread=root)
        (got,) = await r.inbound()
        assert (got.address, got.private) == (thread(root, "D1"), True)
        assert await r.twin.wait_for(lambda: state.get("title")) == "How did GOOG do?"
        r.twin.say("D1", "And MSFT?", thread=root)
        await r.inbound(2)
        await r.twin.settled()
        assert state["title"] == "How did GOOG do?"


async def test_a_file_arrives_and_is_fetched_with_the_token() -> None:
    async with rig() as r:
        r.twin.upload("D1", b"a,b\n1,2", "data.csv", "text/csv", "what is this?")
        (got,) = await r.inbound()
        (file,) = got.attachments
        assert (got.text, file.name, file.media_type, file.size) == (
            "what is this?",
            "data.csv",
            "text/csv",
            7,
        )
        assert await r.channel.download(file, 100) == b"a,b\n1,2"
        by_id = Attachment("x", "text/csv", ref=next(iter(r.twin.state.files)))
        assert await r.channel.download(by_id, 100) == b"a,b\n1,2"


async def test_opening_the_home_page_is_told() -> None:
    async with rig() as r:
        r.twin.open_home(tab="messages")
        r.twin.open_home()
        (got,) = await r.inbound()
        assert (got.kind, got.author.id, got.address) == (Kind.HOME, "T1:U1", DM)


async def test_what_cannot_be_used_is_acknowledged_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with rig() as r:
        r.twin._event({"type": "message", "user": "U1", "text": "no channel"})
        r.twin._event({"type": "message", "user": "U1", "channel": "D1", "ts": "noon"})
        r.twin._deliver("events_api", {"type": "event_callback"})
        r.twin._deliver("interactive", {"type": "block_actions"})
        r.twin._deliver("slash_commands", {"command": "/swarm"})
        r.twin._deliver("something_new", {})
        await r.twin.settled()
        assert all(d.acked for d in r.twin.deliveries)
        assert r.got == []
        assert caplog.text.count("slack_unusable") == 5


async def test_a_person_without_a_profile_is_still_somebody() -> None:
    async with rig() as r:
        r.twin.api.missing.add("users:read")
        r.twin.say("D1", "hello")
        (got,) = await r.inbound()
        assert (got.author.id, got.author.name) == ("T1:U1", "")


async def test_a_mention_in_a_running_thread_can_read_what_was_said_before() -> None:
    async with rig() as r:
        root = r.twin.say("C1", "GOOG fell &amp; fell", user="U2")
        r.twin.say("C1", "why?", thread=root, user="U3")
        await r.channel.send(Outbound(thread(root), "own words"), MemoryReceipt())
        called = r.twin.mention("C1", "what do you think?", thread=root)
        await r.inbound(4)
        before = await r.channel.earlier(thread(root), called, 10)
        assert [(i.author.name, i.text) for i in before] == [
            ("user2", "GOOG fell & fell"),
            ("user3", "why?"),
        ]
        assert [i.text for i in await r.channel.earlier(thread(root), called, 1)] == ["why?"]
        assert await r.channel.earlier(DM, called, 10) == ()
        r.twin.kick("C1")
        assert await r.channel.earlier(thread(root), called, 10) == []
