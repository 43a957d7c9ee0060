"""Threads of the bot's own are put away with their conversation, and come back with a message."""

import logging

import pytest

from channels.base import CanArchive
from channels.types import Outbound
from tests.twins.discord import BOT
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.discord_rig import Rig, rig


async def opened(r: Rig) -> str:
    """A mention, and the answer in the thread that it opened."""
    asked = r.twin.mention(r.twin.general, "how is AAPL?")
    (got,) = await r.inbound()
    await r.channel.send(Outbound(got.address, "fine"), MemoryReceipt())
    assert got.address.thread == asked
    return asked


async def test_a_thread_that_the_bot_opened_is_put_away_and_comes_back_with_a_message() -> None:
    async with rig() as r:
        thread = await opened(r)
        address = r.general(thread)
        assert isinstance(r.channel, CanArchive)
        r.twin.say(thread, "thanks")
        await r.inbound(2)
        assert r.channel.archives(address)
        await r.channel.archive(address)
        await r.channel.archive(address)
        assert r.twin.world.channels[thread].archived
        r.twin.say(thread, "one more thing")
        again = (await r.inbound(3))[-1]
        assert (again.address, again.addressed) == (address, True)
        await r.channel.send(Outbound(address, "yes?"), MemoryReceipt())
        assert not r.twin.world.channels[thread].archived


async def test_an_answer_to_a_thread_that_was_put_away_takes_it_up_again() -> None:
    async with rig() as r:
        thread = await opened(r)
        await r.channel.archive(r.general(thread))
        await r.channel.send(Outbound(r.general(thread), "a reminder"), MemoryReceipt())
        assert r.twin.replies(thread)[-1].text == "a reminder"


async def test_other_peoples_threads_channels_and_direct_chats_are_left_alone() -> None:
    async with rig() as r:
        theirs = r.twin.new_thread(r.twin.general, user="7")
        r.twin.mention(theirs, "come in")
        await r.inbound()
        for address in (r.general(theirs), r.general(), r.direct(), r.general("404")):
            assert not r.channel.archives(address)
            await r.channel.archive(address)
        assert not r.twin.matching("PATCH .*/channels/")
        assert not r.twin.world.channels[theirs].archived


async def test_without_the_right_the_thread_stays_open_and_the_log_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with rig() as r:
        thread = r.twin.new_thread(r.twin.general, user=BOT)
        r.twin.say(thread, "hello")
        await r.inbound()
        r.twin.fault(
            f"PATCH .*/channels/{thread}$",
            status=403,
            body={"code": 50013, "message": "Missing Permissions"},
        )
        with caplog.at_level(logging.WARNING):
            await r.channel.archive(r.general(thread))
        assert "Manage Threads" in caplog.text
        assert not r.twin.world.channels[thread].archived
        await r.channel.send(Outbound(r.general(thread), "still here"), MemoryReceipt())
        assert r.twin.replies(thread)[-1].text == "still here"
