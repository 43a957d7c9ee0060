"""Replies in the making: one visible message, however it was shown."""

import asyncio
from typing import Any

import pytest

from channels.errors import FloodLimited
from channels.slack.progress import lines, shown, tail
from channels.types import Address, Button, Outbound, Preview, Step
from tests.twins.receipt import MemoryReceipt
from tests.twins.slack_rules import check_blocks
from tests.unit.channels.slack_rig import DM, Rig, rig, thread

STOP = (Button("Stop", "stop:1"),)
TOOL = Step("t1", "Prices", detail="GOOG")


async def settle(seconds: float = 0.12) -> None:
    """Longer than `settle` and the pace of the rig."""
    await asyncio.sleep(seconds)


def open_stream(
    r: Rig, address: Address, receipt: MemoryReceipt, reply_to: str | None = None
) -> Any:
    private = address.chat.startswith("D")
    return r.channel.stream(address, receipt, private=private, reply_to=reply_to)


async def asked(r: Rig) -> Address:
    """Somebody asks in a channel; the thread."""
    root = r.twin.mention("C1", "hello")
    await r.inbound(2)
    return thread(root)


async def finish(r: Rig, address: Address, receipt: MemoryReceipt, text: str, **more: Any) -> None:
    await r.channel.send(Outbound(address, text, **more), receipt)


async def test_a_quick_answer_costs_one_post() -> None:
    async with rig() as r:
        before = len(r.twin.calls)
        receipt = MemoryReceipt()
        stream = open_stream(r, DM, receipt)
        await stream.show(Preview("The ans"))
        await stream.close()
        await finish(r, DM, receipt, "The answer")
        assert [c.path for c in r.twin.calls[before:]] == ["/api/chat.postMessage"]


async def test_a_native_stream_has_a_stop_button_until_the_answer_is_there() -> None:
    async with rig() as r:
        address, receipt = await asked(r), MemoryReceipt()
        stream = open_stream(r, address, receipt)
        await stream.show(Preview("The answer begins", buttons=STOP))
        (post,) = await r.twin.wait_replies("C1", thread=address.thread)
        assert post.streaming
        assert [b["label"] for b in post.buttons] == ["Stop"]
        r.twin.press("C1", post.ts, "Stop")
        pressed = (await r.inbound(3))[-1]
        assert (pressed.text, pressed.address) == ("stop:1", address)
        await stream.show(Preview("The answer begins, and goes on", buttons=STOP))
        await settle()
        assert len(post.buttons) == 1
        await stream.close()
        await finish(r, address, receipt, "The answer.")
        assert (post.shown, post.buttons) == ("The answer.", [])


async def test_where_streams_take_no_buttons_they_go_without() -> None:
    async with rig() as r:
        r.twin.api.stream_blocks = False
        address, receipt = await asked(r), MemoryReceipt()
        stream = open_stream(r, address, receipt)
        await stream.show(Preview("The answer begins", buttons=STOP))
        (post,) = await r.twin.wait_replies("C1", thread=address.thread)
        assert (post.streaming, post.buttons) == (True, [])
        await stream.close()
        await finish(r, address, receipt, "The answer.")
        assert len(r.twin.replies("C1", address.thread)) == 1


async def test_a_direct_message_shows_one_message_that_is_updated() -> None:
    async with rig() as r:
        receipt = MemoryReceipt()
        stream = open_stream(r, DM, receipt)
        await stream.show(Preview(status="Thinking…", buttons=STOP))
        (post,) = await r.twin.wait_replies("D1")
        assert post.shown == "_Thinking…_"
        assert [b["label"] for b in post.buttons] == ["Stop"]
        await stream.show(Preview(steps=(TOOL,), buttons=STOP))
        await r.twin.wait_for(lambda: post.shown == "⏳ Prices · GOOG")
        await stream.show(Preview("**so** far", buttons=STOP))
        await r.twin.wait_for(lambda: post.shown == "*so* far")
        await stream.close()
        assert receipt.log == [("shown", post.ts, False)]
        await finish(r, DM, receipt, "**so** far, so good")
        assert [p.shown for p in r.twin.replies("D1")] == ["*so* far, so good"]
        assert post.buttons == []
        assert receipt.final == 1


async def test_a_thread_gets_a_native_stream_with_steps_as_tasks() -> None:
    async with rig() as r:
        address, receipt = await asked(r), MemoryReceipt()
        stream = open_stream(r, address, receipt)
        await stream.show(Preview(steps=(TOOL,)))
        (post,) = await r.twin.wait_replies("C1")
        assert post.streaming
        assert post.tasks["t1"]["status"] == "in_progress"
        done = Step("t1", "Prices", "ok")
        for end in (8, 20, 30):
            await stream.show(Preview("GOOG rose by **12 %** in 2012"[:end], steps=(done,)))
            await settle()
        assert post.tasks["t1"]["status"] == "complete"
        assert post.text == "GOOG rose by **12 %** in 2012"
        await stream.close()
        assert not post.streaming
        await finish(r, address, receipt, "GOOG rose by **12 %** in 2012")
        (only,) = r.twin.replies("C1")
        assert only.shown == "GOOG rose by *12 %* in 2012"
        (begun,) = r.twin.matching("chat.startStream")
        assert begun.params["recipient_user_id"] == "U1"
        assert begun.params["recipient_team_id"] == "T1"
        assert len(r.twin.matching("chat.appendStream")) == 3


async def test_a_text_that_begins_anew_ends_the_stream_and_stays_one_message() -> None:
    async with rig() as r:
        address, receipt = await asked(r), MemoryReceipt()
        stream = open_stream(r, address, receipt)
        await stream.show(Preview("Let me look at the prices"))
        (post,) = await r.twin.wait_replies("C1")
        await stream.show(Preview("", steps=(TOOL,), buttons=STOP))
        await r.twin.wait_for(lambda: post.shown == "⏳ Prices · GOOG")
        assert [b["label"] for b in post.buttons] == ["Stop"]
        await stream.close()
        await finish(r, address, receipt, "The answer")
        assert [p.shown for p in r.twin.replies("C1")] == ["The answer"]


async def test_a_workspace_without_streams_gets_updates() -> None:
    async with rig() as r:
        r.twin.api.streams = False
        address, receipt = await asked(r), MemoryReceipt()
        stream = open_stream(r, address, receipt)
        await stream.show(Preview("one"))
        (post,) = await r.twin.wait_replies("C1")
        await stream.show(Preview("one two"))
        await r.twin.wait_for(lambda: post.shown == "one two")
        await stream.close()
        await finish(r, address, receipt, "one two three")
        assert [p.shown for p in r.twin.replies("C1")] == ["one two three"]
        assert len(r.twin.matching("chat.startStream")) == 1


async def test_a_thread_whose_asker_is_not_known_any_more_gets_updates() -> None:
    async with rig() as r:
        root = r.twin.say("C1", "from before the restart")
        receipt = MemoryReceipt()
        stream = open_stream(r, thread(root), receipt)
        await stream.show(Preview("one"))
        await r.twin.wait_replies("C1")
        await stream.close()
        assert r.twin.matching("chat.startStream") == []


async def test_an_assistant_thread_says_what_goes_on_without_a_message() -> None:
    async with rig() as r:
        root = r.twin.assistant()
        state = r.twin.state.threads["D1", root]
        r.twin.say("D1", "hello", thread=root)
        await r.inbound()
        address, receipt = thread(root, "D1"), MemoryReceipt()
        stream = open_stream(r, address, receipt)
        await stream.show(Preview(status="Thinking…"))
        await r.twin.wait_for(lambda: state.get("status") == "Thinking…")
        assert r.twin.replies("D1") == []
        await stream.show(Preview("The ans"))
        await r.twin.wait_replies("D1")
        await stream.close()
        await finish(r, address, receipt, "The answer")
        assert [p.shown for p in r.twin.replies("D1")] == ["The answer"]


async def test_a_status_ends_with_a_turn_that_shows_nothing() -> None:
    async with rig() as r:
        root = r.twin.assistant()
        state = r.twin.state.threads["D1", root]
        await r.twin.wait_for(lambda: state.get("prompts"))
        stream = open_stream(r, thread(root, "D1"), MemoryReceipt())
        await stream.show(Preview(status="Thinking…"))
        await r.twin.wait_for(lambda: state.get("status") == "Thinking…")
        await stream.close()
        assert state["status"] == ""


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("trouble", [{"drop": "after"}, {"drop": "before"}])
async def test_a_first_message_of_unknown_fate_is_found_and_finished(
    native: bool, trouble: dict[str, Any]
) -> None:
    async with rig() as r:
        address = await asked(r) if native else DM
        if not native:
            r.twin.say("D1", "hello")
        receipt = MemoryReceipt()
        method = "chat.startStream" if native else "chat.postMessage"
        r.twin.fault(method, **trouble)
        stream = open_stream(r, address, receipt)
        await stream.show(Preview("The ans"))
        await r.twin.wait_call(method)
        await settle()
        await stream.show(Preview("The answ"))
        await settle()
        await stream.close()
        assert receipt.ids == ()
        await finish(r, address, receipt, "The answer")
        assert [p.shown for p in r.twin.replies(address.chat)] == ["The answer"]
        assert len(r.twin.matching(method)) == (1 if native or trouble["drop"] == "after" else 2)


@pytest.mark.parametrize("native", [True, False])
async def test_a_first_message_whose_row_could_not_be_stored_is_still_one(
    native: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig() as r:
        address = await asked(r) if native else DM
        lost = MemoryReceipt()
        lost.fail_next = RuntimeError("the database is away")
        stream = open_stream(r, address, lost)
        await stream.show(Preview("The ans"))
        await r.twin.wait_replies(address.chat)
        await settle()
        await stream.close()
        assert "a Slack task ended badly" in caplog.text
        receipt = MemoryReceipt()  # what the database has: nothing
        await finish(r, address, receipt, "The answer")
        assert [p.shown for p in r.twin.replies(address.chat)] == ["The answer"]


async def test_a_process_that_died_in_a_stream_finishes_its_message() -> None:
    async with rig() as r:
        address, lost = await asked(r), MemoryReceipt()
        asked_at = r.got[-1].message_id
        stream = open_stream(r, address, lost, asked_at)
        await stream.show(Preview("The ans"))
        await r.twin.wait_replies("C1")
        await settle()
        # The new process knows the message (the receipt was stored), or it does not (killed in between).
        again = Rig(r.twin)
        known = MemoryReceipt(lost.ids)
        go_on = open_stream(again, address, known, asked_at)
        await go_on.show(Preview("The answer, once more"))
        (post,) = r.twin.replies("C1")
        await r.twin.wait_for(lambda: post.shown == "The answer, once more")
        await go_on.close()
        assert not post.streaming
        unknown = MemoryReceipt()
        await finish(again, address, unknown, "The answer", id="o1", again=True, reply_to=asked_at)
        await again.stop()
        await stream.close()
        assert [p.shown for p in r.twin.replies("C1")] == ["The answer"]
        assert unknown.ids == (post.ts,)


async def test_an_orphan_stream_is_found_without_any_id() -> None:
    async with rig() as r:
        address, lost = await asked(r), MemoryReceipt()
        asked_at = r.got[-1].message_id
        stream = open_stream(r, address, lost, asked_at)
        await stream.show(Preview("The ans"))
        (post,) = await r.twin.wait_replies("C1")
        again, receipt = Rig(r.twin), MemoryReceipt()
        await finish(again, address, receipt, "The answer", id="o1", again=True, reply_to=asked_at)
        await again.stop()
        assert [(p.ts, p.shown, p.streaming) for p in r.twin.replies("C1")] == [
            (post.ts, "The answer", False)
        ]
        await stream.close()


async def test_a_flood_limit_silences_previews_and_the_answer_comes_after_it() -> None:
    async with rig() as r:
        receipt = MemoryReceipt()
        r.twin.fault(
            "chat.(postMessage|update)",
            status=429,
            headers={"Retry-After": "0.3"},
            body={"ok": False, "error": "ratelimited"},
        )
        stream = open_stream(r, DM, receipt)
        for n in range(5):
            await stream.show(Preview(f"text {n}"))
            await asyncio.sleep(0.04)
        assert len(r.twin.matching("chat.")) == 1
        await stream.close()
        with pytest.raises(FloodLimited):
            await finish(r, DM, receipt, "The answer")
        await asyncio.sleep(0.3)
        await finish(r, DM, receipt, "The answer")
        assert [p.shown for p in r.twin.replies("D1")] == ["The answer"]


async def test_updates_keep_their_pace_and_the_newest_state_wins() -> None:
    async with rig(update_every=0.2) as r:
        receipt = MemoryReceipt()
        stream = open_stream(r, DM, receipt)
        for n in range(40):
            await stream.show(Preview(f"text {n}"))
            await asyncio.sleep(0.01)
        (post,) = await r.twin.wait_replies("D1")
        await r.twin.wait_for(lambda: post.shown == "text 39")
        assert 2 <= len(post.texts) <= 4
        await stream.close()


async def test_a_preview_that_is_refused_leaves_the_answer_alone() -> None:
    async with rig() as r:
        body = {"ok": False, "error": "invalid_arguments"}
        r.twin.fault("chat.postMessage", status=200, body=body)
        receipt = MemoryReceipt()
        stream = open_stream(r, DM, receipt)
        await stream.show(Preview("so far"))
        await settle()
        await stream.show(Preview("so far, so good"))
        await settle()
        await stream.close()
        await finish(r, DM, receipt, "The answer")
        assert [p.shown for p in r.twin.replies("D1")] == ["The answer"]
        assert len(r.twin.matching("chat.postMessage")) == 2


async def test_a_deleted_preview_is_not_brought_back_before_the_answer() -> None:
    async with rig() as r:
        receipt = MemoryReceipt()
        stream = open_stream(r, DM, receipt)
        await stream.show(Preview("one"))
        (post,) = await r.twin.wait_replies("D1")
        await settle()
        r.twin.delete("D1", post.ts)
        await stream.show(Preview("one two"))
        await settle()
        assert r.twin.replies("D1") == []
        await stream.close()
        await finish(r, DM, receipt, "The answer")
        assert [p.shown for p in r.twin.replies("D1")] == ["The answer"]


async def test_a_text_past_the_part_is_held_back_and_split_once() -> None:
    async with rig() as r:
        address, receipt = await asked(r), MemoryReceipt()
        text = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(50))
        stream = open_stream(r, address, receipt)
        for end in range(2000, len(text), 4000):
            await stream.show(Preview(text[:end]))
            await settle(0.07)
        await stream.close()
        assert len(r.twin.replies("C1")) == 1
        await finish(r, address, receipt, text)
        shown_ = r.twin.replies("C1")
        assert len(shown_) == receipt.final == 2
        joined = "\n".join(p.shown for p in shown_)
        assert [joined.count(f"Paragraph {n} ") for n in range(50)] == [1] * 50


async def test_closing_at_once_and_twice_is_fine() -> None:
    async with rig() as r:
        stream = open_stream(r, DM, MemoryReceipt())
        await stream.close()
        await stream.close()
        assert r.twin.matching("chat.") == []


def test_steps_are_a_tree_and_the_newest_when_there_are_too_many() -> None:
    steps = (
        Step("a", "Research", agent="r"),
        Step("b", "Prices", "ok", parent="a"),
        Step("c", "Chart", "failed", "no data"),
    )
    assert lines(steps) == ["⏳ Research", "    ✓ Prices", "✗ Chart · no data"]
    many = tuple(Step(str(n), f"Step {n}") for n in range(30))
    assert lines(many)[:2] == ["…", "⏳ Step 18"]


def test_a_tail_keeps_the_end_and_opens_the_fence_again() -> None:
    text = "intro\n```py\n" + "x = 1\n" * 200
    cut = tail(text, 300)
    assert len(cut) <= 304
    assert cut.startswith("…\n```\n")
    assert cut.endswith("x = 1\n")


@pytest.mark.parametrize("text", ["&" * 9000, "**b**" * 2000, "|a|\n|-|\n" * 900, "<!here>", " "])
def test_any_preview_is_within_the_limits(text: str) -> None:
    steps = tuple(Step(str(n), "&" * 300) for n in range(40))
    content = shown(Preview(text, "&" * 200, steps, "&" * 4000, STOP))
    check_blocks(content.blocks)
    assert 0 < len(content.text) <= 40_000
