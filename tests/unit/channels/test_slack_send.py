"""Sending: every part once, whatever the network and the platform do."""

from typing import Any

import pytest

from channels.errors import (
    Ambiguous,
    BadCredentials,
    ChannelError,
    FloodLimited,
    Gone,
    Refused,
    Unreachable,
)
from channels.types import Address, Attachment, Button, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.slack_rig import DM, Rig, rig, thread

PNG = Attachment("chart.png", "image/png", data=b"\x89PNG-chart", caption="**GOOG** 2012")
TABLE = "Prices:\n\n| day | close |\n|:--|--:|\n| Mon | 10 |\n| Tue | **11** |\n\nThat is all."


async def send(r: Rig, text: str, receipt: MemoryReceipt, to: Address = DM, **more: Any) -> None:
    await r.channel.send(Outbound(to, text, **more), receipt)


def texts(r: Rig, chat: str = "D1") -> list[str]:
    return [p.shown for p in r.twin.replies(chat)]


async def test_markdown_arrives_as_mrkdwn_with_a_plain_text_beside() -> None:
    async with rig(receiving=False) as r:
        receipt = MemoryReceipt()
        await send(r, "**bold** & [a link](https://x.example/?a=1&b=2)\n\n- `1 < 2`", receipt)
        (shown,) = r.twin.replies("D1")
        assert shown.shown == "*bold* &amp; <https://x.example/?a=1&amp;b=2|a link>\n\n• `1 &lt; 2`"
        assert shown.text == "bold &amp; a link (https://x.example/?a=1&amp;b=2)\n\n• 1 &lt; 2"
        assert not shown.unfurl
        assert (receipt.ids, receipt.final) == ((shown.ts,), 1)


async def test_a_reply_goes_into_its_thread() -> None:
    async with rig(receiving=False) as r:
        root = r.twin.mention("C1", "hello")
        await send(r, "hi", MemoryReceipt(), thread(root))
        (shown,) = r.twin.replies("C1")
        assert shown.thread == root


async def test_a_table_is_a_table_and_a_second_one_aligned_text() -> None:
    async with rig(receiving=False) as r:
        await send(r, f"{TABLE}\n\n{TABLE}", MemoryReceipt())
        (shown,) = r.twin.replies("D1")
        kinds = [b["type"] for b in shown.blocks]
        assert kinds == ["section", "table", "section"]
        assert "day\tclose\nMon\t10\nTue\t11" in shown.shown
        assert "```\nday  close\n" in shown.shown


async def test_a_workspace_without_tables_gets_aligned_text_and_is_asked_once() -> None:
    async with rig(receiving=False) as r:
        r.twin.api.tables = False
        for _ in range(2):
            await send(r, TABLE, MemoryReceipt())
        assert all("```\nday  close" in text for text in texts(r))
        assert len(r.twin.matching("chat.postMessage")) == 3


async def test_a_long_code_block_is_split_and_a_resume_sends_nothing_again() -> None:
    async with rig(receiving=False) as r:
        code = "\n".join(f"line {i} = {'x' * 40}" for i in range(400))
        text, receipt = f"Here:\n\n```py\n{code}\n```\n\nEnd.", MemoryReceipt()
        await send(r, text, receipt)
        shown = texts(r)
        assert len(shown) == receipt.final == 3
        joined = "\n".join(shown)
        assert [joined.count(f"{line}\n") for line in code.splitlines()] == [1] * 400
        for post in r.twin.replies("D1"):
            for block in post.blocks:
                assert block["text"]["text"].count("```") % 2 == 0
        await send(r, text, receipt)
        assert len(r.twin.matching("chat.postMessage")) == 3


async def test_blocks_that_are_refused_go_as_plain_text_once() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault("chat.postMessage", status=200, body={"ok": False, "error": "invalid_blocks"})
        await send(r, "*   **bold** <!channel>", MemoryReceipt())
        (shown,) = r.twin.replies("D1")
        assert shown.text == "*   **bold** &lt;!channel&gt;"
        assert len(r.twin.matching("chat.postMessage")) == 2


async def test_everybody_is_never_pinged_by_a_text() -> None:
    async with rig(receiving=False) as r:
        await send(r, "<!channel> <@U1> `<!here>` [x](<!channel>)", MemoryReceipt())
        assert "<!" not in texts(r)[0]  # and the twin would have said so


@pytest.mark.parametrize("place", ["dm", "thread"])
@pytest.mark.parametrize("trouble", [{"drop": "after"}, {"delay_after": 1.0}])
async def test_a_post_of_unknown_fate_is_looked_up_and_never_sent_twice(
    place: str, trouble: dict[str, Any]
) -> None:
    async with rig(receiving=False, read_timeout=0.3) as r:
        to = thread(r.twin.mention("C1", "hi")) if place == "thread" else DM
        r.twin.fault("chat.postMessage", **trouble)
        receipt = MemoryReceipt()
        with pytest.raises(Ambiguous):
            await send(r, "the answer", receipt, to, id="o1")
        await send(r, "the answer", receipt, to, id="o1")
        (shown,) = r.twin.replies(to.chat)
        assert receipt.ids == (shown.ts,)
        assert len(r.twin.matching("chat.postMessage")) == 1


async def test_a_post_that_never_arrived_is_sent_after_a_look() -> None:
    async with rig(receiving=False) as r:
        await send(r, "same words", MemoryReceipt(), id="o0")
        r.twin.fault("chat.postMessage", drop="before")
        receipt = MemoryReceipt()
        with pytest.raises(Ambiguous):
            await send(r, "same words", receipt, id="o1")
        await send(r, "same words", receipt, id="o1")
        assert texts(r) == ["same words"] * 2
        assert len(r.twin.matching("conversations.history")) == 1


async def test_the_second_part_is_looked_up_too() -> None:
    async with rig(receiving=False) as r:
        text, receipt = "a" * 8000 + "\n\n" + "b" * 8000, MemoryReceipt()
        r.twin.fault("chat.postMessage", skip=1, drop="after")
        with pytest.raises(Ambiguous):
            await send(r, text, receipt)
        await send(r, text, receipt)
        assert [post.text[0] for post in r.twin.replies("D1")] == ["a", "b"]
        assert receipt.final == 2


async def test_a_process_that_died_between_post_and_commit_looks_after_its_restart() -> None:
    async with rig(receiving=False) as r:
        await send(r, "the answer", MemoryReceipt(), id="o1")
        again = Rig(r.twin)
        receipt = MemoryReceipt()
        await send(again, "the answer", receipt, id="o1", again=True)
        await send(again, "another", MemoryReceipt(), id="o2", again=True)
        await again.stop()
        assert texts(r) == ["the answer", "another"]
        assert receipt.final == 1


async def test_without_the_scope_to_look_one_duplicate_is_better_than_none() -> None:
    async with rig(receiving=False) as r:
        r.twin.api.missing.add("channels:history")
        r.twin.fault("chat.postMessage", drop="before")
        receipt = MemoryReceipt()
        with pytest.raises(Ambiguous):
            await send(r, "x", receipt)
        await send(r, "x", receipt)
        assert texts(r) == ["x"]


async def test_no_connection_is_unreachable_and_the_token_is_never_told() -> None:
    async with rig(receiving=False, base_url="http://127.0.0.1:9/api/") as r:
        with pytest.raises(Unreachable) as e:
            await send(r, "x", MemoryReceipt())
        assert r.config.bot_token not in str(e.value)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 503, "body": "<html>"}, Unreachable),
        ({"status": 500, "body": "oops"}, Unreachable),
        ({"status": 504, "body": "<html>"}, Ambiguous),
        ({"status": 200, "body": {"ok": False, "error": "fatal_error"}}, Unreachable),
        ({"status": 200, "body": {"ok": False, "error": "is_archived"}}, Gone),
        ({"status": 200, "body": {"ok": False, "error": "token_revoked"}}, BadCredentials),
        ({"status": 200, "body": {"ok": False, "error": "msg_too_long"}}, Refused),
    ],
)
async def test_what_slack_answers_says_what_to_do(
    fault: dict[str, Any], error: type[ChannelError]
) -> None:
    async with rig(receiving=False) as r:
        r.twin.fault("chat.postMessage", **fault)
        with pytest.raises(error):
            await send(r, "x", MemoryReceipt())
        assert texts(r) == []


async def test_a_flood_limit_closes_its_chat_and_no_other() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(
            "chat.postMessage",
            status=429,
            headers={"Retry-After": "18"},
            body={"ok": False, "error": "ratelimited"},
        )
        receipt = MemoryReceipt()
        for _ in range(2):
            with pytest.raises(FloodLimited) as e:
                await send(r, "x", receipt)
            assert 17 < e.value.retry_after <= 18
        await r.channel.react(DM, "1.2", "done")
        await send(r, "y", MemoryReceipt(), Address("slack", "T1.U0BOT", "D2"))
        assert len(r.twin.calls) == 2


async def test_a_closed_place_is_gone_and_others_go_on() -> None:
    async with rig(receiving=False) as r:
        root = r.twin.mention("C1", "hi")
        r.twin.archive("C1")
        with pytest.raises(Gone, match="is_archived"):
            await send(r, "x", MemoryReceipt(), thread(root))
        r.twin.channel("C2", bot=False)
        with pytest.raises(Gone, match="not_in_channel"):
            await send(r, "x", MemoryReceipt(), Address("slack", "T1.U0BOT", "C2"))
        with pytest.raises(Gone, match="channel_not_found"):
            await send(r, "x", MemoryReceipt(), Address("slack", "T1.U0BOT", "C3"))
        await send(r, "y", MemoryReceipt())
        assert texts(r) == ["y"]


async def test_a_missing_scope_is_named_with_where_to_click(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with rig(receiving=False) as r:
        r.twin.api.missing.add("chat:write")
        with pytest.raises(Refused, match=r"chat:write.*Reinstall"):
            await send(r, "x", MemoryReceipt())
        assert "slack_missing_scope" in caplog.text


# Previews ------------------------------------------------------------------------------------------------------------


async def test_a_preview_is_edited_and_never_sent_again() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "so far", first, buttons=(Button("Stop", "stop:1"),))
        receipt = MemoryReceipt(first.ids)
        await send(r, "the answer", receipt)
        (shown,) = r.twin.replies("D1")
        assert (shown.shown, shown.buttons) == ("the answer", [])
        assert receipt.final == 1


async def test_a_preview_that_was_deleted_is_sent_anew_and_a_refused_edit_is_not() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "so far", first)
        r.twin.delete("D1", first.ids[0])
        await send(r, "the answer", MemoryReceipt(first.ids))
        assert texts(r) == ["the answer"]
        kept = r.twin.replies("D1")[0].ts
        body = {"ok": False, "error": "edit_window_closed"}
        r.twin.fault("chat.update", status=200, body=body)
        with pytest.raises(Refused):
            await send(r, "another", MemoryReceipt([kept]))
        assert texts(r) == ["the answer"]


async def test_an_edit_of_unknown_fate_is_made_again() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "so far", first)
        r.twin.fault("chat.update", drop="after")
        receipt = MemoryReceipt(first.ids)
        with pytest.raises(Ambiguous):
            await send(r, "the answer", receipt)
        await send(r, "the answer", receipt)
        assert texts(r) == ["the answer"]


async def test_a_preview_too_many_is_taken_away() -> None:
    async with rig(receiving=False) as r:
        one, two = MemoryReceipt(), MemoryReceipt()
        await send(r, "a", one)
        await send(r, "b", two)
        receipt = MemoryReceipt([*one.ids, *two.ids])
        await send(r, "all", receipt)
        assert texts(r) == ["all"]
        assert receipt.final == 2
