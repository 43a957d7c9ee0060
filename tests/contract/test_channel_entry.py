"""Each channel is one more way in to the same agent: closed by default, one session a place, people's words only."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.people import access
from gateway.storage.db import Database
from tests.contract.desk import ALL, PLATFORMS, desk, echo, last_words, restart
from tests.contract.rigs.base import Rig
from tests.contract.rigs.discord import PERSON, DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.contract.rooms import GROUP, room, whisper
from tests.house import on_sqlite, until
from tests.twins.discord import BOT
from tests.twins.telegram import USERNAME
from tests.unit.channels.telegram_rig import CHAT

pytestmark = [on_sqlite, pytest.mark.slow]  # the whole gateway behind every platform
PAIRING: dict[str, Any] = {"access": {}}
DENY: dict[str, Any] = {"access": {"default": "deny"}}


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__.removesuffix("Rig"))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A platform; its protocol must have been kept."""
    async with request.param() as made:
        yield made
    assert made.violations == []


def on(*kinds: type[Rig]) -> pytest.MarkDecorator:
    """Only at these platforms."""
    names = [kind.__name__.removesuffix("Rig") for kind in kinds]
    return pytest.mark.parametrize("rig", kinds, indirect=True, ids=names)


# Who may come in -----------------------------------------------------------------------------------------------------


@on(*PLATFORMS)
async def test_nothing_configured_is_closed_and_shows_a_code_only(db: Database, rig: Rig) -> None:
    """CHN-1, hermes#37992: the code opens whom it names, and nobody else; only an operator can approve it (CHN-2)."""
    async with desk(db, rig, echo, values=PAIRING) as it:
        await rig.say("hello")
        (shown,) = await it.shown()
        assert it.model.requests == []
        person = f"{rig.name}:{rig.author}"
        code = await it.one(f"select code from pairing where person_id = '{person}'")
        assert code in shown
        await rig.say(f"!approve {code}")
        await it.shown(2)
        assert await it.one("select count(*) from person where access = 'allowed'") == 0
        await db.write(lambda conn: access.approve(conn, code, it.clock.now()))
        await rig.say("and now?")
        await until(lambda: "re and now?" in it.texts(), 10)
        whisper(rig, "me too?")
        await until(lambda: rig.visible(rig.elsewhere()), 10)
        await it.quiet()
        assert len(it.model.requests) == 1


@on(*PLATFORMS)
async def test_deny_answers_nothing_and_keeps_nothing_in_private_and_in_a_group(
    db: Database, rig: Rig
) -> None:
    """CHN-1: default deny."""
    async with desk(db, rig, echo, values=DENY) as it:
        await rig.say("hello")
        await rig.inbound(1)
        here = room(rig)
        here.say("hello")
        await rig.inbound(2)
        await it.quiet()
        assert it.texts() == here.texts() == []
        assert await it.one("select count(*) from inbox") == 0
        assert it.model.requests == []


@on(*(kind for kind in ALL if kind not in PLATFORMS))
async def test_whoever_is_on_this_machine_is_in(db: Database, rig: Rig) -> None:
    """CHN-1: the web chat asks for a log-in of its own, the terminal for this account."""
    async with desk(db, rig, echo, values=PAIRING) as it:
        await rig.say("hello")
        assert await it.shown() == ["re hello"]


# Sessions ------------------------------------------------------------------------------------------------------------


async def test_a_place_keeps_its_session_also_over_a_restart(db: Database, rig: Rig) -> None:
    """CHN-2: one session for each (channel, chat), persisted."""
    async with desk(db, rig, echo) as it:
        await rig.say("one")
        await it.shown()
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        await rig.say("two")
        await it.shown(2)
        said = [m.text.rpartition("\n")[2] for m in it.model.requests[-1].messages]
        assert said == ["one", "re one", "two"]
        assert await it.one("select count(*) from session") == 1
        assert await it.all("select address from conversation") == [(str(rig.address),)]


@pytest.mark.parametrize("command", ["!new", "!reset", "!newsession"])
async def test_a_new_session_begins_by_any_of_its_names(
    db: Database, rig: Rig, command: str
) -> None:
    """CHN-2."""
    async with desk(db, rig, echo) as it:
        await rig.say("one")
        await it.shown()
        await rig.say(command)
        await it.shown(2)
        await rig.say("two")
        assert (await it.shown(3))[-1] == "re two"
        assert [last_words(r) for r in it.model.requests] == ["one", "two"]
        assert len(it.model.requests[-1].messages) == 1
        await it.settled()


@on(*PLATFORMS)
async def test_chats_of_one_platform_do_not_mix(db: Database, rig: Rig) -> None:
    """CHN-2: a session for each chat, side by side."""
    async with desk(db, rig, echo) as it:
        await rig.say("mine")
        whisper(rig, "yours")
        here = room(rig)
        here.say("ours please")
        await until(lambda: rig.visible() and rig.visible(rig.elsewhere()) and here.texts(), 15)
        await it.settled()
        assert it.texts() == ["re mine"]
        assert [m.text for m in rig.visible(rig.elsewhere())] == ["re yours"]
        assert len(here.texts()) == 1
        assert await it.one("select count(*) from session") == 3
        heard = ["".join(m.text for m in r.messages) for r in it.model.requests]
        for words in ("mine", "yours", "ours please"):
            assert sum(words in text for text in heard) == 1


# What is carried over ------------------------------------------------------------------------------------------------


@on(TelegramRig)
async def test_in_a_group_a_reply_names_the_message_that_asked(
    db: Database, rig: TelegramRig
) -> None:
    """CHN-2; in Slack and Discord the thread does."""
    async with desk(db, rig, echo):
        here = room(rig)
        here.say("hello")
        await until(here.texts, 10)
        (reply,) = rig.twin.replies(GROUP)
        asked = rig.twin.chat(GROUP)[0]
        assert reply.body["reply_to_message"]["message_id"] == asked.id


@on(SlackRig, DiscordRig)
async def test_in_a_channel_a_reply_stands_in_the_thread_of_the_message_that_asked(
    db: Database, rig: SlackRig | DiscordRig
) -> None:
    """CHN-2."""
    async with desk(db, rig, echo) as it:
        if isinstance(rig, SlackRig):
            rig.twin.channel("C1")
            ts = rig.twin.mention("C1", "hello")
            await until(lambda: rig.twin.replies("C1", ts), 10)
            assert [p.thread for p in rig.twin.replies("C1")] == [ts]
        else:
            asked = rig.twin.mention(rig.twin.general, "hello", user=PERSON)
            await until(lambda: asked in rig.twin.world.channels, 10)
            await until(lambda: rig.twin.replies(asked), 10)
            assert rig.twin.replies(rig.twin.general) == []
        await it.settled()


# Whose words ---------------------------------------------------------------------------------------------------------


def edited(rig: Rig, text: str) -> None:
    """The person edits the first message of the private chat."""
    match rig:
        case TelegramRig():
            mine = [m for m in rig.twin.chat(CHAT) if not m.by_bot][-1]
            rig.twin.edit(CHAT, mine.id, text)
        case SlackRig():
            rig.twin.edit("D1", rig.twin.posts("D1")[0].ts, text)
        case DiscordRig():
            rig.twin.edit(rig.twin.chat(rig.address.chat)[0].id, text)


def beep(rig: Rig, text: str) -> None:
    """Another bot mentions ours in a group."""
    match rig:
        case TelegramRig():
            bot: dict[str, Any] = {"from": {"id": 9, "is_bot": True, "first_name": "Other"}}
            rig.twin.say(GROUP, f"@{USERNAME} {text}", user=9, **bot)
        case SlackRig():
            rig.twin.mention("C1", text, user="U9", bot_id="B9", subtype="bot_message")
        case DiscordRig():
            rig.twin.world.person("9")["bot"] = True
            rig.twin.say(rig.twin.general, f"<@{BOT}> {text}", user="9")


@on(*PLATFORMS)
async def test_edits_other_bots_and_the_bots_own_words_start_no_turn(
    db: Database, rig: Rig
) -> None:
    """CHN-5."""
    async with desk(db, rig, echo) as it:
        room(rig)
        await rig.say("hello")
        await it.shown()
        edited(rig, "hello there")
        beep(rig, "beep")
        await rig.echo("re hello")
        await rig.say("last")
        assert await it.shown(2) == ["re hello", "re last"]
        await it.settled()
        assert [last_words(r) for r in it.model.requests] == ["hello", "last"]
