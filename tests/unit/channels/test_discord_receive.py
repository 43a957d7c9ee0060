"""What people write: once, in order, at the right address, also after the connection was gone."""

import asyncio
from dataclasses import replace

import pytest

from channels.discord.check import findings
from channels.errors import BadCredentials, Refused, Unreachable
from channels.types import Address, Inbound
from tests.twins.discord import BOT, DiscordTwin
from tests.unit.channels.discord_rig import Remembered, Rig, rig


async def test_a_direct_message_arrives_once_and_is_addressed() -> None:
    async with rig() as r:
        said = r.twin.dm("5", "hello")
        (got,) = await r.inbound()
        assert (got.address, got.key, got.text) == (r.direct("5"), said, "hello")
        assert (got.author.id, got.author.name) == ("5", "User5")
        assert got.private
        assert got.addressed


async def test_a_message_told_twice_has_one_key() -> None:
    async with rig() as r:
        said = r.twin.dm("5", "hello")
        r.twin.redeliver()
        got = await r.inbound(2)
        assert [i.key for i in got] == [said, said]  # the gateway drops what it has by this key


async def test_bots_webhooks_notices_edits_and_its_own_messages_start_nothing() -> None:
    async with rig() as r:
        r.twin.world.person("9")["bot"] = True
        r.twin.dm("9", "I am a bot")
        r.twin.say(r.twin.general, "hook", webhook_id="12")
        r.twin.say(r.twin.general, "joined", type=7)
        said = r.twin.dm("5", "first")
        r.twin.edit(said, "second")
        last = r.twin.dm("5", "third")
        got = await r.inbound(2)
        assert [i.key for i in got] == [said, last]


async def test_messages_of_a_channel_arrive_in_order() -> None:
    async with rig() as r:
        said = [r.twin.dm("5", f"{i}") for i in range(30)]
        assert [i.key for i in await r.inbound(30)] == said


async def test_a_message_waits_until_it_is_durable_and_the_next_behind_it() -> None:
    async with rig() as r:
        store, fails = r.emit, [OSError("the database is away")]

        async def emit(inbound: Inbound) -> None:
            if fails:
                raise fails.pop()
            await store(inbound)

        r.channel._emit = emit
        said = [r.twin.dm("5", "one"), r.twin.dm("5", "two")]
        assert [i.key for i in await r.inbound(2)] == said


async def test_a_mention_in_a_channel_has_its_thread_as_address() -> None:
    async with rig() as r:
        said = r.twin.mention(r.twin.general, "how is AAPL?")
        (got,) = await r.inbound()
        assert (got.address, got.text) == (r.general(said), "how is AAPL?")
        assert got.addressed
        assert not got.private


async def test_five_mentions_at_once_have_five_threads() -> None:
    async with rig() as r:
        said = [r.twin.mention(r.twin.general, f"q{i}", user=str(i)) for i in range(1, 6)]
        got = await r.inbound(5)
        assert [i.address.thread for i in got] == said
        assert {i.address.chat for i in got} == {r.twin.general}


async def test_in_the_bots_own_thread_no_mention_is_needed_and_in_others_it_is() -> None:
    async with rig() as r:
        own = r.twin.new_thread(r.twin.general, user=BOT)
        theirs = r.twin.new_thread(r.twin.general, user="3")
        r.twin.say(own, "go on", user="2")
        r.twin.say(theirs, "not for you", user="3")
        r.twin.mention(theirs, "and you?", user="3")
        r.twin.say(r.twin.general, "chat", user="3")
        got = {i.text: i for i in await r.inbound(4)}
        assert got["go on"].address == r.general(own)
        assert {text for text, i in got.items() if i.addressed} == {"go on", "and you?"}
        assert got["and you?"].address == r.general(theirs)
        assert got["chat"].address == r.general()


async def test_a_thread_that_the_library_does_not_know_is_asked_for() -> None:
    async with rig() as r:
        thread = r.twin.new_thread(r.twin.general, user=BOT)
        r.twin.archive(thread)  # the library forgets threads that are put away
        r.twin.say(thread, "still there?")
        (got,) = await r.inbound()
        assert got.address == r.general(thread)
        assert got.addressed


@pytest.mark.parametrize(
    ("policy", "addressed"),
    [
        ("required", ["mention", "reply"]),
        ("reply", ["reply"]),
        ("always", ["mention", "reply", "plain"]),
        ("never", []),
    ],
)
async def test_the_mention_policy(policy: str, addressed: list[str]) -> None:
    async with rig(mention=policy) as r:
        r.twin.rest.new_message(
            r.twin.world.channels[r.twin.general], r.twin.world.bot, {"content": "hi"}, by_bot=True
        )
        (own,) = r.twin.replies(r.twin.general)
        r.twin.mention(r.twin.general, "mention")
        r.twin.say(r.twin.general, "reply", reply_to=own.id)
        r.twin.say(r.twin.general, "plain")
        got = await r.inbound(3)
        assert [i.text for i in got if i.addressed] == addressed


async def test_a_channels_own_mention_policy_holds_in_its_threads_too() -> None:
    """hermes#8019; slash commands and buttons are to the bot everywhere."""
    own: dict[str, str] = {}
    async with rig(overrides=own) as r:
        open_, shut = r.twin.new_channel("open"), r.twin.new_channel("shut")
        apart = r.twin.new_thread(shut)
        own |= {open_: "always", f"{BOT}:{shut}": "never", apart: "required"}
        r.twin.say(open_, "every word")
        r.twin.say(r.twin.new_thread(open_), "in its threads")
        r.twin.mention(shut, "quiet")
        r.twin.say(r.twin.new_thread(shut, user=BOT), "in the bot's own as well")
        r.twin.mention(apart, "its own rule")
        r.twin.mention(r.twin.general, "the general rule")
        await r.channel.menu([("status", "How it stands")], None)
        r.twin.slash(shut, "status")
        got = {i.text: i.addressed for i in await r.inbound(7)}
        assert got == {
            "every word": True,
            "in its threads": True,
            "quiet": False,
            "in the bot's own as well": False,
            "its own rule": True,
            "the general rule": True,
            "/status": True,
        }


async def test_names_stand_for_other_peoples_mentions() -> None:
    async with rig() as r:
        r.twin.world.person("42")
        r.twin.mention(r.twin.general, "ask <@42> about it")
        assert (await r.inbound())[0].text == "ask @User42 about it"


async def test_a_file_arrives_and_can_be_downloaded_also_after_its_address_ran_out() -> None:
    async with rig() as r:
        r.twin.dm("5", "look", files={"prices.csv": b"a,b\n1,2"})
        (got,) = await r.inbound()
        (file,) = got.attachments
        assert (file.name, file.media_type, file.size) == ("prices.csv", "text/csv", 7)
        assert await r.channel.download(file, 100) == b"a,b\n1,2"
        with pytest.raises(Refused, match="limit"):
            await r.channel.download(file, 3)
        (kept,) = r.twin.world.files.values()
        kept.gone = True
        place = r.twin.world.channels[r.twin.dm_channel("5")]
        from tests.twins.discord_state import File

        again = r.twin.rest.attachment(place, File("99", kept.name, "text/csv", kept.data))
        stored = r.twin.world.find(got.key)[1]
        stored.body["attachments"] = [{**stored.files[0], "url": again["url"]}]
        assert await r.channel.download(file, 100) == b"a,b\n1,2"
        r.twin.world.files["99"].gone = True
        with pytest.raises(Refused, match="gone"):
            await r.channel.download(file, 100)


async def test_a_lying_size_does_not_get_past_the_limit() -> None:
    async with rig() as r:
        r.twin.dm("5", "", files={"big.txt": b"x" * 5000})
        (file,) = (await r.inbound())[0].attachments
        small = file.__class__(file.name, file.media_type, ref=file.ref, size=10)
        with pytest.raises(Refused, match="larger"):
            await r.channel.download(small, 1000)


# Gaps ----------------------------------------------------------------------------------------------------------------


async def resumed(r: Rig, count: int = 1) -> None:
    await r.twin.wait_for(lambda: len(r.twin.gateway.resumed) >= count)


async def identified(r: Rig, count: int = 2) -> None:
    await r.twin.wait_for(lambda: len(r.twin.gateway.identified) >= count)


@pytest.mark.parametrize("code", [4000, None, 1001])
async def test_a_resume_replays_what_was_missed(code: int | None) -> None:
    async with rig() as r:
        r.twin.drop(code)
        said = [r.twin.dm("5", "one"), r.twin.dm("5", "two")]
        assert [i.key for i in await r.inbound(2)] == said
        assert len(r.twin.gateway.identified) == 1


async def test_reconnect_and_a_resumable_invalid_session_lose_nothing() -> None:
    async with rig() as r:
        r.twin.gateway.control(7)
        await resumed(r)
        r.twin.invalidate(resumable=True)
        await resumed(r, 2)
        said = r.twin.dm("5", "still here")
        assert [i.key for i in await r.inbound()] == [said]


async def test_after_a_new_identify_history_is_fetched_before_what_comes_now() -> None:
    async with rig() as r:
        r.twin.dm("5", "before")
        await r.inbound()
        r.twin.fault(r"GET .*/messages", delay=0.3)
        r.twin.lose_sessions()
        missed = [r.twin.dm("5", "missed 1"), r.twin.dm("5", "missed 2")]
        await identified(r)
        live = r.twin.dm("5", "live")
        got = await r.inbound(4)
        keys = list(dict.fromkeys(i.key for i in got[1:]))
        assert keys == [*missed, live]


async def test_after_a_new_identify_a_first_mention_elsewhere_is_found_too() -> None:
    async with rig() as r:
        other = r.twin.new_channel("other")
        r.twin.lose_sessions()
        said = r.twin.mention(other, "anybody?")
        (got,) = await r.inbound()
        assert (got.key, got.address.chat, got.address.thread) == (said, other, said)


async def test_a_first_direct_message_that_nobody_heard_is_found_with_the_next_one() -> None:
    """Discord does not say which direct chats there are, so the next message leads there."""
    async with DiscordTwin() as twin:
        lost = [twin.dm("5", "is anybody here?"), twin.dm("5", "hello?")]
        r = Rig(twin)
        try:
            await r.start()
            assert r.got == []
            heard = [twin.dm("5", "hm"), twin.dm("5", "and now?")]
            got = await r.inbound(4)
            assert [i.key for i in got] == [*lost, *heard]
            assert len(twin.matching("GET .*/messages$")) == 1
        finally:
            await r.stop()
        assert twin.violations == []


async def test_what_the_bot_answered_before_is_not_taken_up_again_by_an_empty_database() -> None:
    async with DiscordTwin() as twin:
        twin.dm("5", "old question")
        place = twin.world.channels[twin.dm_channel("5")]
        twin.rest.new_message(place, twin.world.bot, {"content": "old answer"}, by_bot=True)
        missed = twin.dm("5", "missed")
        r = Rig(twin)
        try:
            await r.start()
            heard = twin.dm("5", "heard")
            assert [i.key for i in await r.inbound(2)] == [missed, heard]
        finally:
            await r.stop()


async def test_a_history_that_cannot_be_read_keeps_no_first_message_back() -> None:
    async with rig() as r:
        r.twin.fault("GET .*/messages", times=-1, status=403, body={"code": 50001, "message": "no"})
        said = r.twin.dm("5", "hello")
        assert [i.key for i in await r.inbound()] == [said]


async def test_six_messages_sent_while_it_was_down_arrive_at_a_cold_start() -> None:
    async with DiscordTwin() as twin:
        dm, general = twin.dm_channel("5"), twin.general
        thread = twin.new_thread(general, user=BOT)
        first = [twin.dm("5", "old"), twin.say(thread, "old"), twin.mention(general, "old")]
        places = [
            (Address("discord", BOT, dm), first[0]),
            (Address("discord", BOT, general, thread), first[1]),
            (Address("discord", BOT, general, first[2]), first[2]),
            (Address("discord", BOT, "404404"), "1"),
        ]
        missed = [
            twin.dm("5", "1"),
            twin.dm("5", "2"),
            twin.say(thread, "3"),
            twin.say(thread, "4"),
        ]
        missed += [twin.mention(general, "5"), twin.mention(general, "6")]
        r = Rig(twin, {"seen": Remembered(places)})
        try:
            await r.start()
            await twin.wait_for(lambda: set(missed) <= {i.key for i in r.got})
            new = [i.key for i in r.got if i.key not in first]
            assert sorted(new) == sorted(missed)
            for chat in (dm, general):
                of_chat = [i.key for i in r.got if i.address.chat == chat and i.key in missed]
                assert [k for k in of_chat if r.twin.world.find(k)[0].id == chat] == sorted(
                    k for k in of_chat if r.twin.world.find(k)[0].id == chat
                )
        finally:
            await r.stop()


async def test_history_that_is_refused_or_fails_holds_nothing_up() -> None:
    async with rig() as r:
        r.twin.dm("5", "before")
        r.twin.dm("6", "before")
        await r.inbound(2)
        r.twin.fault(rf"GET .*/channels/{r.twin.dm_channel('5')}/messages", drop="before")
        r.twin.remove(r.twin.dm_channel("6"))
        r.twin.lose_sessions()
        missed = r.twin.dm("5", "missed")
        await r.twin.wait_for(lambda: missed in {i.key for i in r.got})
        live = r.twin.dm("7", "live")
        await r.twin.wait_for(lambda: live in {i.key for i in r.got})


# Logging in ----------------------------------------------------------------------------------------------------------


async def run_alone(twin: DiscordTwin, token: str | None = None) -> None:
    r = Rig(twin)
    if token is not None:
        twin.token, r.twin.token = token, token
        r = Rig(twin)
    try:
        async with asyncio.timeout(10):
            await r.channel.run(r.emit, lambda: None)
    finally:
        await r.channel.close()


async def test_a_refused_token_is_said_with_where_to_click() -> None:
    async with DiscordTwin() as twin:
        with pytest.raises(BadCredentials, match="Reset Token"):
            await run_alone(twin, "abc.def.ghi")


async def test_the_missing_intent_is_said_with_where_to_click() -> None:
    async with DiscordTwin() as twin:
        twin.world.content_intent = False
        with pytest.raises(BadCredentials, match="Message Content Intent"):
            await run_alone(twin)


async def test_check_names_what_is_missing_and_where_to_click() -> None:
    async with DiscordTwin() as twin:
        config = Rig(twin).config
        assert [found.level for found in await findings(config)] == ["ok"]
        twin.world.content_intent = False
        assert "Message Content Intent" in str((await findings(config))[1])
        assert "Reset Token" in str((await findings(replace(config, token="a.b.c")))[0])
        with pytest.raises(Unreachable):
            await findings(replace(config, api_url="http://127.0.0.1:9/api/v10"))


async def test_a_gateway_that_is_away_for_a_while_is_resumed() -> None:
    async with rig() as r:
        r.twin.gateway.down = True
        r.twin.drop(None)
        said = r.twin.dm("5", "hello")
        await r.twin.wait_call("GET /gateway", after=len(r.twin.calls))
        r.twin.gateway.down = False
        assert (await r.inbound())[0].key == said


async def test_an_outage_at_the_start_is_survived() -> None:
    async with DiscordTwin() as twin:
        twin.fault("GET .*/users/@me", status=503, body="<html>")
        twin.fault("GET .*/gateway/bot", status=503, body="<html>")
        r = Rig(twin)
        try:
            await r.start()
            said = twin.dm("5", "hello")
            assert (await r.inbound())[0].key == said
        finally:
            await r.stop()
        assert twin.violations == []


async def test_two_bots_keep_their_addresses_apart() -> None:
    async with rig() as one, rig() as two:
        one.twin.dm("5", "to one")
        two.twin.dm("5", "to two")
        assert [i.text for i in await one.inbound()] == ["to one"]
        assert [i.text for i in await two.inbound()] == ["to two"]


async def test_a_channel_switched_off_and_on_five_times_is_one_consumer() -> None:
    async with rig() as r:
        for _ in range(5):
            await r.stop()
            r.ready.clear()
            await r.start()
        r.twin.dm("5", "once")
        await r.inbound()
        await asyncio.sleep(0.1)
        assert len(r.got) == 1
        assert len(r.twin.gateway.connections) == 1


async def test_shards_share_the_work() -> None:
    async with DiscordTwin() as twin:
        twin.rest.shards = 2
        for name in ("b", "c"):
            twin.new_channel("talk", twin.new_guild(name))
        channels = [c.id for c in twin.world.channels.values() if c.guild]
        r = Rig(twin)
        try:
            await r.start()
            assert {s.shard for s in twin.gateway.sessions.values()} == {(0, 2), (1, 2)}
            said = [twin.mention(channel, "hello") for channel in channels]
            said.append(twin.dm("5", "hello"))
            assert sorted(i.key for i in await r.inbound(len(said))) == sorted(said)
        finally:
            await r.stop()


async def test_one_shard_that_identifies_anew_finds_mentions_elsewhere() -> None:
    async with DiscordTwin() as twin:
        twin.rest.shards = 2
        r = Rig(twin)
        try:
            await r.start()
            mine = (int(twin.guild) >> 22) % 2
            session = next(s for s in twin.gateway.sessions.values() if s.shard[0] == mine)
            twin.gateway.sessions.pop(session.id)
            assert session.connection is not None
            session.connection.queue.put_nowait({"close": 4000})
            session.connection.session = None
            await twin.wait_for(lambda: len(twin.gateway.connections) == 1)
            said = twin.mention(twin.new_channel("other"), "anybody?")
            assert (await r.inbound())[0].key == said
        finally:
            await r.stop()


async def test_the_account_is_known_from_the_token() -> None:
    async with rig(receiving=False) as r:
        assert r.channel.account == BOT


async def test_a_mention_in_a_running_thread_can_read_what_was_said_before() -> None:
    """hermes#15201."""
    async with rig() as r:
        thread = r.twin.new_thread(r.twin.general, user="3")
        for words in ("GOOG is cheap", "no"):
            r.twin.say(thread, words, user="3")
        r.twin.say(thread, f"<@{BOT}> who is right?")
        got = await r.inbound(1)
        asked = next(i for i in got if i.addressed)
        assert asked.message_id is not None
        before = await r.channel.earlier(asked.address, asked.message_id, 10)
        assert [i.text for i in before] == ["GOOG is cheap", "no"]
        assert {i.author.id for i in before} == {"3"}
        assert await r.channel.earlier(r.general(), asked.message_id, 10) == ()
