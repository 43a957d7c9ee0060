"""Previews: typing, then one message that is edited and becomes the answer."""

import asyncio

import pytest

from channels.base import PreviewStream
from channels.discord.render import preview_body, shown_end, tail
from channels.types import Address, Button, Outbound, Preview, Step
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.discord_rig import Rig, rig

STOP = (Button("Stop", "stop"),)
POST = r"POST .*/messages$"


def stream(
    r: Rig, receipt: MemoryReceipt | None = None, address: Address | None = None
) -> PreviewStream:
    return r.channel.stream(
        address or r.direct(), receipt or MemoryReceipt(), private=True, reply_to=None
    )


async def test_a_quick_reply_costs_one_message() -> None:
    async with rig(receiving=False, settle=0.3) as r:
        receipt = MemoryReceipt()
        one = stream(r, receipt)
        await one.show(Preview("so far"))
        await one.close()
        await r.channel.send(Outbound(r.direct(), "done"), receipt)
        assert len(r.twin.matching("POST")) == 1


async def test_the_status_becomes_the_answer_in_one_message() -> None:
    async with rig(receiving=False) as r:
        receipt, dm = MemoryReceipt(), r.twin.dm_channel("5")
        one = stream(r, receipt)
        await one.show(
            Preview(status="Looking up prices", steps=(Step("1", "prices"),), buttons=STOP)
        )
        (shown,) = await r.twin.wait_replies(dm)
        assert "prices" in shown.embeds[0]["description"]
        assert shown.buttons == ["Stop"]
        for i in range(20):
            await one.show(Preview(f"word {i}", buttons=STOP))
            await asyncio.sleep(0.02)
        await r.twin.wait_for(lambda: shown.text == "word 19")
        assert len(shown.texts) <= 8
        await one.close()
        assert (receipt.ids, receipt.final) == ((shown.id,), 0)
        await r.channel.send(Outbound(r.direct(), "**done**"), receipt)
        (last,) = r.twin.replies(dm)
        assert (last.id, last.text, last.buttons, last.embeds) == (shown.id, "**done**", [], [])
        assert len(r.twin.matching(POST)) == 1


async def test_a_preview_that_is_due_while_typing_is_on_its_way_is_not_forgotten() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault("typing", delay=0.5)
        one = stream(r)
        await one.show(Preview("so far"))
        await r.twin.wait_replies(r.twin.dm_channel("5"), timeout=3)
        await one.close()


async def test_typing_is_shown_until_something_is_visible_and_ends_with_close() -> None:
    async with rig(receiving=False, typing_every=0.1) as r:
        place = r.twin.world.dm("5")
        one = stream(r)
        await r.twin.wait_for(lambda: len(place.typing) >= 2)
        await one.show(Preview("x"))
        await r.twin.wait_replies(place.id)
        count = len(place.typing)
        await asyncio.sleep(0.25)
        assert len(place.typing) == count
        await one.close()
        calls = len(r.twin.calls)
        await asyncio.sleep(0.25)
        assert len(r.twin.calls) == calls


async def test_nothing_goes_to_a_limited_place_not_even_typing() -> None:
    async with rig(receiving=False, typing_every=0.05) as r:
        r.twin.flood(r.twin.dm_channel("5"), 60)
        one = stream(r)
        for i in range(10):
            await one.show(Preview(f"word {i}" if i > 5 else ""))
            await asyncio.sleep(0.05)
        async with asyncio.timeout(1):
            await one.close()
        assert len(r.twin.matching("channels")) == 1


async def test_show_never_raises() -> None:
    async with rig(receiving=False) as r:
        r.twin.block("5")
        one = stream(r)
        for i in range(5):
            await one.show(Preview(f"word {i}"))
            await asyncio.sleep(0.05)
        await one.close()
        r.twin.fault("POST|PATCH", times=-1, drop="before")
        two = stream(r, address=r.direct("6"))
        for i in range(5):
            await two.show(Preview(f"word {i}"))
            await asyncio.sleep(0.05)
        await two.close()


async def test_a_first_message_that_perhaps_came_is_found_by_its_nonce() -> None:
    async with rig(receiving=False) as r:
        receipt, dm = MemoryReceipt(), r.twin.dm_channel("5")
        r.twin.fault(POST, drop="after")
        one = stream(r, receipt)
        await one.show(Preview("so far"))
        await r.twin.wait_replies(dm)
        await one.close()
        assert len(receipt.ids) == 1
        await r.channel.send(Outbound(r.direct(), "done"), receipt)
        assert [m.text for m in r.twin.replies(dm)] == ["done"]


async def test_also_when_the_network_is_back_only_for_the_answer() -> None:
    async with rig(receiving=False) as r:
        receipt, dm = MemoryReceipt(), r.twin.dm_channel("5")
        r.twin.fault(POST, drop="after", times=2)
        one = stream(r, receipt)
        await one.show(Preview("so far"))
        await r.twin.wait_replies(dm)
        await one.close()
        assert receipt.ids == ()
        await r.channel.send(Outbound(r.direct(), "done", buttons=STOP), receipt)
        (shown,) = r.twin.replies(dm)
        assert (shown.text, shown.buttons) == ("done", ["Stop"])
        assert (receipt.ids, receipt.final) == ((shown.id,), 1)


async def test_the_answer_does_not_wait_for_a_preview_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("channels.discord.stream.PATIENCE", 0.3)
    async with rig(receiving=False, request_timeout=30.0) as r:
        r.twin.fault(POST, delay_after=20.0)
        receipt, dm = MemoryReceipt(), r.twin.dm_channel("5")
        one = stream(r, receipt)
        await one.show(Preview("so far"))
        await r.twin.wait_replies(dm)
        async with asyncio.timeout(4):
            await one.close()
        await r.channel.send(Outbound(r.direct(), "done"), receipt)
        assert [m.text for m in r.twin.replies(dm)] == ["done"]


async def test_a_first_message_on_its_way_at_close_is_in_the_receipt() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(POST, delay_after=0.4)
        receipt, dm = MemoryReceipt(), r.twin.dm_channel("5")
        one = stream(r, receipt)
        await one.show(Preview("so far"))
        await r.twin.wait_replies(dm)
        await one.close()
        assert len(receipt.ids) == 1
        await r.channel.send(Outbound(r.direct(), "done"), receipt)
        assert [m.text for m in r.twin.replies(dm)] == ["done"]


async def test_a_preview_opens_the_thread_and_is_shown_there() -> None:
    async with rig() as r:
        said = r.twin.mention(r.twin.general, "how is AAPL?")
        (got,) = await r.inbound()
        receipt = MemoryReceipt()
        one = r.channel.stream(got.address, receipt, private=False, reply_to=said)
        await one.show(Preview("so far"))
        await r.twin.wait_for(lambda: r.twin.threads(r.twin.general) and r.twin.replies(said))
        await one.close()
        await r.channel.send(Outbound(got.address, "done", reply_to=said), receipt)
        assert [m.text for m in r.twin.replies(said)] == ["done"]
        assert r.twin.threads(r.twin.general)[0].name == "how is AAPL?"


async def test_a_resumed_reply_goes_on_in_its_message() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await r.channel.send(Outbound(r.direct(), "so far"), first)
        receipt = MemoryReceipt(first.ids)
        one = stream(r, receipt)
        await one.show(Preview("so far, and on"))
        (shown,) = r.twin.replies(r.twin.dm_channel("5"))
        await r.twin.wait_for(lambda: shown.text == "so far, and on")
        await one.close()
        assert receipt.ids == first.ids


async def test_a_reply_streamed_past_the_limit_is_split_once() -> None:
    async with rig(receiving=False) as r:
        receipt, text = MemoryReceipt(), ""
        one = stream(r, receipt)
        for i in range(30):
            text += f"paragraph {i} " + "word " * 40 + "\n\n"
            await one.show(Preview(text))
            await asyncio.sleep(0.02)
        await r.twin.wait_replies(r.twin.dm_channel("5"))
        await one.close()
        await r.channel.send(Outbound(r.direct(), text), receipt)
        shown = r.twin.replies(r.twin.dm_channel("5"))
        joined = " ".join(m.text for m in shown)
        assert [joined.count(f"paragraph {i} ") for i in range(30)] == [1] * 30
        assert len(receipt.ids) == receipt.final == len(shown)


async def test_ending_the_channel_ends_its_streams() -> None:
    async with rig() as r:
        one = stream(r)
        await one.show(Preview("x"))
        await r.twin.wait_replies(r.twin.dm_channel("5"))
        await r.stop()
        calls = len(r.twin.calls)
        await one.show(Preview("y"))
        await asyncio.sleep(0.2)
        assert len(r.twin.calls) == calls


def test_steps_are_lines_and_those_of_sub_agents_are_indented() -> None:
    steps = (
        Step("a", "research", "ok"),
        Step("b", "analysis", "running"),
        Step("a1", "market_history", "failed", "GOOG *2012*", parent="a"),
    )
    body = preview_body(Preview("so **far", "Thinking", steps, thinking="hm\nhm"))
    assert body["content"] == "so \\*\\*far"
    assert body["embeds"][0]["description"].splitlines() == [
        "✓ research",
        "\u2003✗ market_history · GOOG \\*2012\\*",
        "⏳ analysis",
        "*Thinking*",
        "> hm",
        "> hm",
    ]
    assert preview_body(Preview()) == {}


def test_a_long_preview_shows_its_end_and_opens_a_cut_fence_again() -> None:
    text = "start\n```py\n" + "\n".join(f"line {i}" for i in range(1000))
    shown = shown_end(text)
    assert shown.startswith("…\n```\nline ")
    assert "line 999" in shown
    assert len(shown) <= 2000
    assert len(shown_end("*" * 5000)) <= 2000
    assert tail("🙂" * 100, 50).count("🙂") <= 25
