"""What was said in a topic before the bot was called, as far as Telegram lets it hear that (hermes#15201)."""

from channels.telegram.heard import CHARS, MESSAGES, Heard
from tests.unit.channels.telegram_rig import GROUP, PRIVATE, rig

G = int(GROUP.chat)


async def test_words_of_a_topic_are_remembered_until_the_bot_is_called() -> None:
    async with rig() as r:
        topic, other = r.twin.topic(G), r.twin.topic(G)
        r.twin.say(G, "elsewhere", user=8, thread=other)
        r.twin.say(G, "GOOG fell", user=7, thread=topic)
        r.twin.redeliver()
        r.twin.say(G, "@swarm_bot hi", user=7, thread=topic)
        called = r.twin.say(G, "@swarm_bot why?", user=8, thread=topic)
        r.twin.say(G, "later", user=7, thread=topic)
        got = await r.inbound(6)
        place = next(i.address for i in got if i.text == "why?")
        before = await r.channel.earlier(place, str(called), 10)
        assert [(i.author.id, i.text, i.addressed) for i in before] == [("7", "GOOG fell", False)]
        assert await r.channel.earlier(place, str(called), 0) == ()
        assert await r.channel.earlier(PRIVATE, str(called), 10) == []


async def test_what_a_person_replies_to_is_known_also_when_it_was_not_heard() -> None:
    """In privacy mode a bot hears only what is to it, with what that replies to."""
    async with rig() as r:
        topic = r.twin.topic(G)
        said = r.twin.say(G, "GOOG fell", user=7, thread=topic)
        r.twin.state.updates.pending.clear()
        called = r.twin.say(G, "@swarm_bot why?", user=8, thread=topic, reply_to=said)
        place = (await r.inbound())[-1].address
        (before,) = await r.channel.earlier(place, str(called), 10)
        assert (before.author.id, before.text, before.message_id) == ("7", "GOOG fell", str(said))


async def test_what_is_remembered_is_bounded() -> None:
    async with rig() as r:
        topic = r.twin.topic(G)
        heard = Heard()
        for n in range(MESSAGES + 5):
            r.twin.say(G, f"{n} {'x' * 2 * CHARS}"[:4000], user=7, thread=topic)
        for inbound in await r.inbound(MESSAGES + 5):
            heard.take(inbound)
        kept = heard.before(r.got[0].address, str(2**60), 1_000)
        assert [i.text.split()[0] for i in kept] == [str(n) for n in range(5, MESSAGES + 5)]
        assert all(len(i.text) == CHARS for i in kept)
        assert [i.text.split()[0] for i in heard.before(r.got[0].address, str(2**60), 1)] == ["34"]
