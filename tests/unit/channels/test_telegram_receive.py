"""Receiving: what becomes an Inbound, and when the platform is told that it arrived."""

import asyncio

import pytest

from channels.errors import BadCredentials, Refused
from channels.telegram.channel import TelegramChannel
from channels.telegram.config import TelegramConfig
from channels.types import Attachment, Inbound, Kind, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.telegram_rig import CHAT, GROUP, PRIVATE, rig

G = int(GROUP.chat)
ME = {"id": 777, "is_bot": True, "first_name": "Swarm", "username": "swarm_bot"}


async def test_a_private_message() -> None:
    async with rig() as r:
        message = r.twin.say(CHAT, " hello ")
        (got,) = await r.inbound()
        assert (got.address, got.text, got.key) == (PRIVATE, "hello", f"m:5:{message}")
        assert (got.author.id, got.author.language) == ("5", "en")
        assert got.private
        assert got.addressed
        assert r.channel.account == "777"


async def test_a_first_poll_is_short_and_ready_does_not_wait_for_a_message() -> None:
    async with rig() as r:
        await asyncio.wait_for(r.ready.wait(), 2)
        assert r.twin.calls[0].path.endswith(("getUpdates", "getMe"))
        assert not r.twin.matching("deleteWebhook|setMyCommands")


async def test_the_offset_is_confirmed_only_after_emit_returned() -> None:
    async with rig(receiving=False) as r:
        stored, began = asyncio.Event(), asyncio.Event()

        async def slow(_: Inbound) -> None:
            began.set()
            await stored.wait()

        update = r.twin.say(CHAT, "x") and r.twin.state.updates.next_id
        task = asyncio.create_task(r.channel.run(slow, lambda: None))
        await began.wait()
        assert r.twin.unconfirmed == [update]
        task.cancel()  # killed in the middle: it comes again
        await asyncio.gather(task, return_exceptions=True)
        assert r.twin.unconfirmed == [update]
        await r.start()
        assert [i.text for i in await r.inbound()] == ["x"]
        await r.twin.wait_for(lambda: r.twin.unconfirmed == [])


async def test_stopping_confirms_what_is_durable() -> None:
    async with rig() as r:
        r.twin.say(CHAT, "one")
        await r.inbound()
        await r.stop()
        assert r.twin.unconfirmed == []


async def test_an_update_that_could_not_be_stored_comes_again() -> None:
    async with rig(receiving=False) as r:
        failures = [OSError("disk full")]
        seen: list[str] = []
        done = asyncio.Event()

        async def emit(inbound: Inbound) -> None:
            if inbound.text == "two" and failures:
                raise failures.pop()
            seen.append(inbound.text)
            if len(seen) == 4:
                done.set()

        for text in ("one", "two", "three"):
            r.twin.say(CHAT, text)
        r.twin.say(6, "other chat")
        task = asyncio.create_task(r.channel.run(emit, lambda: None))
        await asyncio.wait_for(done.wait(), 5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert sorted(seen) == ["one", "other chat", "three", "two"]
        assert [s for s in seen if s != "other chat"] == ["one", "two", "three"]


async def test_a_redelivered_update_has_the_same_key() -> None:
    async with rig() as r:
        r.twin.say(CHAT, "x")
        await r.inbound()
        await r.twin.wait_for(lambda: r.twin.unconfirmed == [])
        r.twin.redeliver()
        first, second = await r.inbound(2)
        assert first.key == second.key


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 502, "body": "<html>"},
        {"drop": "before"},
        {"drop": "after"},
        {"status": 409, "body": {"ok": False, "description": "Conflict: terminated by other"}},
        {
            "status": 429,
            "body": {"ok": False, "description": "x", "parameters": {"retry_after": 1}},
        },
    ],
)
async def test_polling_survives_a_fault(fault: dict[str, object]) -> None:
    async with rig() as r:
        r.twin.fault("getUpdates", skip=1, **fault)
        await r.ready.wait()
        r.twin.say(CHAT, "x")
        assert [i.text for i in await r.inbound()] == ["x"]
        r.twin.say(CHAT, "y")
        assert [i.text for i in await r.inbound(2)] == ["x", "y"]


async def test_a_silent_poll_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.telegram.poll.GRACE", 0.3)
    async with rig(poll_timeout=1) as r:
        r.twin.fault("getUpdates", skip=1, hang=True)
        await r.ready.wait()
        r.twin.say(CHAT, "x")
        assert [i.text for i in await r.inbound()] == ["x"]


async def test_a_forgotten_webhook_is_deleted() -> None:
    async with rig(receiving=False) as r:
        r.twin.state.webhook = {"url": "https://example.org"}
        await r.start()
        r.twin.say(CHAT, "x")
        await r.inbound()
        assert len(r.twin.matching("deleteWebhook")) == 1


async def test_an_unreadable_update_is_skipped() -> None:
    async with rig() as r:
        await r.ready.wait()
        r.twin.state.updates.push("message", {"message_id": 1})
        r.twin.say(CHAT, "x")
        assert [i.text for i in await r.inbound()] == ["x"]
        await r.twin.wait_for(lambda: r.twin.unconfirmed == [])


async def test_a_refused_token_ends_the_channel() -> None:
    async with rig(receiving=False) as r:
        config = TelegramConfig("778:WRONG", r.twin.base_url, r.twin.base_file_url)
        with pytest.raises(BadCredentials):
            await TelegramChannel(config).run(r.emit, r.ready.set)
        with pytest.raises(BadCredentials):
            TelegramChannel(TelegramConfig("nonsense"))


async def test_edits_and_other_bots_are_ignored() -> None:
    async with rig() as r:
        message = r.twin.say(CHAT, "a")
        await r.inbound()
        r.twin.edit(CHAT, message, "b")
        bot = {"id": 9, "is_bot": True, "first_name": "Other"}
        r.twin.say(G, "hi @swarm_bot", user=9, **{"from": bot})
        r.twin.say(CHAT, "c")
        assert [i.text for i in await r.inbound(2)] == ["a", "c"]


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("required", [False, True, True, True, False]),
        ("reply", [False, False, True, True, False]),
        ("always", [True, True, True, True, True]),
        ("never", [False, False, False, False, False]),
    ],
)
async def test_mention_policy_in_groups(policy: str, wanted: list[bool]) -> None:
    async with rig(mention=policy) as r:
        await r.channel.send(Outbound(GROUP, "I am here"), MemoryReceipt())
        mine = r.twin.replies(G)[0].id
        other = r.twin.say(G, "plain", user=7)
        r.twin.say(G, "hey @Swarm_Bot, look", user=7)
        r.twin.say(G, "yes", user=7, reply_to=mine)
        r.twin.say(G, "/stop@swarm_bot now", user=7)
        r.twin.say(G, "ok", user=7, reply_to=other)
        r.twin.say(G, "/stop@other_bot", user=7)
        r.twin.say(CHAT, "last")
        got = await r.inbound(6)
        group = [i for i in got if not i.private]
        assert [i.addressed for i in group] == wanted
        assert [i.text for i in group] == ["plain", "hey, look", "yes", "/stop now", "ok"]
        assert group[2].reply_to == str(mine)


async def test_a_groups_own_mention_policy_comes_before_the_general_one() -> None:
    """hermes#8019: the policy of one chat, its topics included."""
    async with rig(mention="never", overrides={str(G): "always"}) as r:
        r.twin.say(G, "plain", user=7)
        r.twin.group(G - 1)
        r.twin.say(G - 1, "elsewhere", user=7)
        got = await r.inbound(2)
        assert {i.text: i.addressed for i in got} == {"plain": True, "elsewhere": False}


async def test_a_topics_own_mention_policy_comes_before_its_groups() -> None:
    own = {str(G): "never"}
    async with rig(overrides=own) as r:
        topic = r.twin.topic(G)
        own[f"{G}:{topic}"] = "always"
        r.twin.say(G, "in the topic", user=7, thread=topic)
        r.twin.say(G, "elsewhere @swarm_bot", user=7)
        got = await r.inbound(2)
        assert [i.addressed for i in got] == [True, False]


async def test_text_mentions_and_offsets_in_utf16() -> None:
    async with rig() as r:
        entity = {"type": "text_mention", "offset": 3, "length": 5, "user": ME}
        r.twin.say(G, "🙂 Swarm, 你好", user=7, entities=[entity])
        (got,) = await r.inbound()
        assert got.addressed
        assert got.text == "🙂, 你好"


async def test_a_forum_topic_is_a_place_of_its_own() -> None:
    async with rig() as r:
        thread = r.twin.topic(G)
        r.twin.say(G, "@swarm_bot hi", user=7, thread=thread)
        (got,) = await r.inbound()
        assert got.address.thread == str(thread)
        assert got.text == "hi"


async def test_a_press_becomes_an_inbound() -> None:
    from channels.types import Button

    async with rig() as r:
        out = Outbound(
            PRIVATE, "Sure?", buttons=(Button("Approve", "q:1:yes"), Button("Deny", "q:1:no"))
        )
        await r.channel.send(out, MemoryReceipt())
        shown = r.twin.replies(CHAT)[0].id
        callback = r.twin.press(CHAT, shown, "Approve")
        (got,) = await r.inbound()
        assert (got.kind, got.text, got.callback) == (Kind.BUTTON, "q:1:yes", callback)
        assert (got.key, got.message_id) == (f"cb:{callback}", str(shown))
        await r.channel.answer(callback, "ok")
        await r.channel.answer(callback, "late")  # ignored
        assert r.twin.state.answers[callback] == {"text": "ok"}


async def test_files_come_in_and_are_fetched_within_the_limit() -> None:
    async with rig() as r:
        r.twin.document(CHAT, b"abc", "a.csv", "text/csv", caption="look")
        r.twin.photo(CHAT, b"\x89PNG1", "chart")
        r.twin.voice(CHAT)
        document, photo, voice = await r.inbound(3)
        assert document.text == "look"
        (file,) = document.attachments
        assert (file.name, file.media_type, file.size) == ("a.csv", "text/csv", 3)
        assert await r.channel.download(file, 100) == b"abc"
        assert await r.channel.download(photo.attachments[0], 100) == b"\x89PNG1"
        assert voice.attachments[0].media_type == "audio/ogg"
        with pytest.raises(Refused, match="limit"):
            await r.channel.download(file, 2)
        with pytest.raises(Refused, match="larger"):
            await r.channel.download(Attachment("a", "b", ref=file.ref), 2)
        with pytest.raises(Refused):
            await r.channel.download(Attachment("a", "b", ref="gone"), 2)


async def test_the_menu_gets_the_first_hundred_commands() -> None:
    async with rig(receiving=False) as r:
        await r.channel.menu([(f"c{i}", "does it") for i in range(120)], "zh-hans")
        await r.channel.menu([("new", "start")], None)
        assert len(r.twin.state.commands[("default", "zh")]) == 100
        assert len(r.twin.state.commands[("default", "")]) == 1
