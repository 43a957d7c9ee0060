"""Previews: drafts in private chats, one edited message in groups, one visible message in the end."""

import asyncio

from channels.base import PreviewStream
from channels.telegram.render import preview_html, tail
from channels.types import Address, Button, Outbound, Preview, Step
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.telegram_rig import CHAT, GROUP, PRIVATE, Rig, rig

G = int(GROUP.chat)
STOP = (Button("Stop", "stop"),)


def private(r: Rig, receipt: MemoryReceipt | None = None) -> PreviewStream:
    return r.channel.stream(PRIVATE, receipt or MemoryReceipt(), private=True, reply_to=None)


def group(r: Rig, receipt: MemoryReceipt, address: Address = GROUP) -> PreviewStream:
    return r.channel.stream(address, receipt, private=False, reply_to=None)


async def test_a_quick_reply_costs_one_call() -> None:
    async with rig(receiving=False, settle=0.3) as r:
        receipt = MemoryReceipt()
        stream = private(r, receipt)
        for i in range(20):
            await stream.show(Preview("word " * i))
        await stream.close()
        await r.channel.send(Outbound(PRIVATE, "done"), receipt)
        await asyncio.sleep(0.4)
        assert [c.path.rsplit("/")[-1] for c in r.twin.calls] == ["sendMessage"]


async def test_a_draft_shows_the_newest_state_and_leaves_nothing() -> None:
    async with rig(receiving=False) as r:
        receipt = MemoryReceipt()
        stream = private(r, receipt)
        for i in range(30):
            await stream.show(Preview("word " * i + "**unfinished"))
            await asyncio.sleep(0.01)
        await stream.show(Preview("the newest"))
        await r.twin.wait_for(lambda: r.twin.draft(CHAT) == "the newest")
        drafts = r.twin.matching("sendMessageDraft")
        assert len(drafts) < 12
        assert len({d.params["draft_id"] for d in drafts}) == 1
        await stream.close()
        assert receipt.ids == ()
        assert r.twin.replies(CHAT) == []
        await r.channel.send(Outbound(PRIVATE, "done"), receipt)
        assert [m.text for m in r.twin.replies(CHAT)] == ["done"]
        assert r.twin.draft(CHAT) is None


async def test_two_replies_have_drafts_of_their_own() -> None:
    async with rig(receiving=False) as r:
        for text in ("a", "b"):
            stream = private(r)
            await stream.show(Preview(text))
            await r.twin.wait_for(lambda text=text: r.twin.draft(CHAT) == text)
            await stream.close()
            await r.channel.send(Outbound(PRIVATE, text), MemoryReceipt())
        assert len({c.params["draft_id"] for c in r.twin.matching("Draft")}) == 2


async def test_typing_is_shown_until_something_is_visible_and_ends_with_close() -> None:
    async with rig(receiving=False, typing_every=0.1) as r:
        stream = private(r)
        await r.twin.wait_for(lambda: len(r.twin.state.chats[CHAT].actions) >= 2)
        await stream.show(Preview("x"))
        await r.twin.wait_for(lambda: r.twin.draft(CHAT))
        count = len(r.twin.state.chats[CHAT].actions)
        await asyncio.sleep(0.25)
        assert len(r.twin.state.chats[CHAT].actions) == count
        await stream.close()
        calls = len(r.twin.calls)
        await asyncio.sleep(0.25)
        assert len(r.twin.calls) == calls


async def test_refused_drafts_are_given_up() -> None:
    async with rig(receiving=False) as r:
        body = {"ok": False, "description": "Bad Request: TEXTDRAFT_PEER_INVALID"}
        r.twin.fault("sendMessageDraft", status=400, body=body)
        stream = private(r)
        for i in range(10):
            await stream.show(Preview(f"word {i}"))
            await asyncio.sleep(0.05)
        await stream.close()
        assert len(r.twin.matching("sendMessageDraft")) == 1
        assert r.twin.replies(CHAT) == []


async def test_nothing_goes_to_a_limited_chat_not_even_typing() -> None:
    async with rig(receiving=False, typing_every=0.05) as r:
        r.twin.flood(CHAT, 60)
        stream = private(r)
        for i in range(10):
            await stream.show(Preview(f"word {i}" if i > 5 else ""))
            await asyncio.sleep(0.05)
        await stream.close()
        assert len(r.twin.calls) == 1


async def test_show_never_raises_and_never_waits_for_the_network() -> None:
    async with rig(receiving=False) as r:
        r.twin.block(CHAT)
        stream = private(r)
        for i in range(5):
            await stream.show(Preview(f"word {i}"))
            await asyncio.sleep(0.05)
        await stream.close()
        r.twin.unblock(CHAT)
        r.twin.fault("Draft|Action", times=-1, drop="before")
        stream = private(r)
        for i in range(5):
            await stream.show(Preview(f"word {i}"))
            await asyncio.sleep(0.05)
        await stream.close()


async def test_a_group_sees_one_message_that_is_edited() -> None:
    async with rig(receiving=False) as r:
        receipt = MemoryReceipt()
        stream = group(r, receipt)
        await stream.show(Preview("one", buttons=STOP))
        (shown,) = await r.twin.wait_replies(G)
        assert shown.buttons[0]["text"] == "Stop"
        while not receipt.ids:
            await asyncio.sleep(0.01)
        assert (receipt.ids, receipt.final) == ((str(shown.id),), 0)
        for i in range(20):
            await stream.show(Preview(f"one {i}", buttons=STOP))
            await asyncio.sleep(0.02)
        await r.twin.wait_for(lambda: shown.text == "one 19")
        assert shown.buttons
        assert len(shown.texts) <= 8
        await stream.close()
        await r.channel.send(Outbound(GROUP, "**done**"), receipt)
        (last,) = r.twin.replies(G)
        assert (last.id, last.text, last.buttons) == (shown.id, "done", [])
        assert len(r.twin.matching("sendMessage$")) == 1


async def test_a_topic_gets_its_typing_and_its_message() -> None:
    async with rig(receiving=False) as r:
        thread = r.twin.topic(G)
        receipt = MemoryReceipt()
        address = Address("telegram", "777", str(G), str(thread))
        stream = group(r, receipt, address)
        await r.twin.wait_call("sendChatAction")
        await stream.show(Preview("so far"))
        await r.twin.wait_replies(G, thread=thread)
        await stream.close()
        await r.channel.send(Outbound(address, "done"), receipt)
        assert [m.text for m in r.twin.replies(G, thread)] == ["done"]
        assert r.twin.state.chats[G].actions[0] == ("typing", thread)


async def test_a_first_message_on_its_way_at_close_is_in_the_receipt() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault("sendMessage$", delay_after=0.4)
        receipt = MemoryReceipt()
        stream = group(r, receipt)
        await stream.show(Preview("so far"))
        await r.twin.wait_replies(G)
        await stream.close()
        assert len(receipt.ids) == 1
        await r.channel.send(Outbound(GROUP, "done"), receipt)
        assert [m.text for m in r.twin.replies(G)] == ["done"]


async def test_the_answer_does_not_wait_for_a_draft_that_hangs() -> None:
    async with rig(receiving=False, read_timeout=30.0) as r:
        r.twin.fault("sendMessageDraft", hang=True)
        stream = private(r)
        await stream.show(Preview("so far"))
        await r.twin.wait_call("sendMessageDraft", answered=False)
        async with asyncio.timeout(4):
            await stream.close()


async def test_a_resumed_reply_goes_on_in_its_message() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await r.channel.send(Outbound(GROUP, "so far"), first)
        receipt = MemoryReceipt(first.ids)
        stream = group(r, receipt)
        await stream.show(Preview("so far, and on"))
        await r.twin.wait_for(lambda: r.twin.replies(G)[0].text == "so far, and on")
        await stream.close()
        assert len(r.twin.replies(G)) == 1
        assert receipt.ids == first.ids


async def test_a_reply_streamed_past_the_limit_is_split_once() -> None:
    async with rig(receiving=False) as r:
        receipt = MemoryReceipt()
        stream = group(r, receipt)
        text = ""
        for i in range(30):
            text += f"paragraph {i} " + "word " * 60 + "\n\n"
            await stream.show(Preview(text))
            await asyncio.sleep(0.02)
        await r.twin.wait_replies(G)
        await stream.close()
        await r.channel.send(Outbound(GROUP, text), receipt)
        joined = " ".join(m.text for m in r.twin.replies(G))
        assert [joined.count(f"paragraph {i} ") for i in range(30)] == [1] * 30
        assert len(receipt.ids) == receipt.final == len(r.twin.replies(G)) == 3


async def test_ending_the_channel_ends_its_streams() -> None:
    async with rig() as r:
        await r.ready.wait()
        stream = private(r)
        await stream.show(Preview("x"))
        await r.twin.wait_for(lambda: r.twin.draft(CHAT))
        await r.stop()
        calls = len(r.twin.calls)
        await stream.show(Preview("y"))
        await asyncio.sleep(0.2)
        assert len(r.twin.calls) == calls


def test_steps_are_lines_and_those_of_sub_agents_are_indented() -> None:
    steps = (
        Step("a", "research", "ok"),
        Step("b", "analysis", "running"),
        Step("a1", "market history", "failed", "GOOG <2012>", parent="a"),
        Step("a2", "market history", "ok", parent="a"),
    )
    assert preview_html(Preview("so **far", "Thinking", steps)).splitlines() == [
        "✓ research",
        "  ✗ market history · GOOG &lt;2012&gt;",
        "  ✓ market history",
        "⏳ analysis",
        "<i>Thinking</i>",
        "",
        "so **far",
    ]
    assert preview_html(Preview()) == ""


def test_a_long_preview_shows_its_end_and_opens_a_cut_fence_again() -> None:
    text = "start\n```py\n" + "\n".join(f"line {i}" for i in range(1000))
    short = tail(text, 500)
    assert short.startswith("…\n```\nline ")
    assert short.endswith("line 999")
    assert len(short) <= 520
    assert tail("🙂" * 100, 50).count("🙂") <= 25
