"""Buttons, files and marks."""

from typing import Any

import pytest

from channels.errors import ChannelError, Refused
from channels.types import Address, Attachment, Button, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.slack_rig import DM, Rig, rig, thread

PNG = Attachment("chart.png", "image/png", data=b"\x89PNG-chart", caption="**GOOG** 2012")


async def send(r: Rig, text: str, receipt: MemoryReceipt, to: Address = DM, **more: Any) -> None:
    await r.channel.send(Outbound(to, text, **more), receipt)


async def test_buttons_stand_under_the_last_text_five_a_row() -> None:
    async with rig(receiving=False) as r:
        three = tuple(Button(f"B{n}", f"pick:{n}") for n in range(3))
        await send(r, "choose", MemoryReceipt(), buttons=(*three, Button("No", "no", "danger")))
        (shown,) = r.twin.replies("D1")
        assert [b["label"] for b in shown.buttons] == ["B0", "B1", "B2", "No"]
        assert shown.buttons[-1]["element"]["style"] == "danger"


async def test_many_choices_are_a_menu() -> None:
    async with rig(receiving=False) as r:
        many = tuple(Button(f"Session {n}", f"resume:{n}") for n in range(120))
        await send(r, "which?", MemoryReceipt(), buttons=many)
        (shown,) = r.twin.replies("D1")
        assert len(shown.buttons) == 100
        assert shown.buttons[0]["element"]["type"] == "static_select"


async def test_buttons_alone_are_a_message() -> None:
    async with rig(receiving=False) as r:
        await send(r, "", MemoryReceipt(), buttons=(Button("Yes", "y"), Button("No", "n")))
        (shown,) = r.twin.replies("D1")
        assert shown.text == "Yes · No"


async def test_a_text_a_chart_and_buttons() -> None:
    async with rig(receiving=False) as r:
        root = r.twin.mention("C1", "hi")
        receipt = MemoryReceipt()
        more: dict[str, Any] = {"attachments": (PNG,), "buttons": (Button("Again", "again"),)}
        await send(r, "Here:", receipt, thread(root), **more)
        text, chart = r.twin.replies("C1", root)
        assert [b["label"] for b in text.buttons] == ["Again"]
        assert (chart.text, chart.thread) == ("*GOOG* 2012", root)
        (file,) = r.twin.state.files.values()
        assert (file.data, chart.files[0]["name"]) == (PNG.data, "chart.png")
        assert receipt.final == 2
        await send(r, "Here:", receipt, thread(root), **more)
        assert len(r.twin.replies("C1")) == 2


@pytest.mark.parametrize("step", ["getUploadURLExternal", "/upload/", "completeUploadExternal"])
async def test_a_file_of_unknown_fate_is_there_once(step: str) -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(step, drop="after")
        receipt = MemoryReceipt()
        with pytest.raises(ChannelError):
            await send(r, "Here:", receipt, attachments=(PNG,))
        await send(r, "Here:", receipt, attachments=(PNG,))
        assert [bool(p.files) for p in r.twin.replies("D1")] == [False, True]


async def test_a_large_report_is_uploaded_whole() -> None:
    async with rig(receiving=False) as r:
        report = Attachment("report.pdf", "application/pdf", data=b"%PDF" + b"x" * 3 * 2**20)
        await send(r, "", MemoryReceipt(), attachments=(report,))
        (file,) = r.twin.state.files.values()
        assert file.data == report.data


async def test_a_file_is_found_after_a_restart() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "Here:", first, attachments=(PNG,), id="o1")
        receipt = MemoryReceipt(first.ids[:1], 1)  # killed before the second was stored
        await send(r, "Here:", receipt, attachments=(PNG,), id="o1", again=True)
        assert len(r.twin.replies("D1")) == 2
        assert receipt.final == 2


async def test_a_file_without_bytes_is_refused() -> None:
    async with rig(receiving=False) as r:
        with pytest.raises(Refused, match="empty"):
            await send(r, "", MemoryReceipt(), attachments=(Attachment("a.txt", "text/plain"),))


async def test_the_login_page_is_not_taken_for_the_file() -> None:
    async with rig() as r:
        r.twin.upload("D1", b"%PDF", "a.pdf", "application/pdf")
        (file,) = (await r.inbound())[0].attachments
        r.twin.api.missing.add("files:read")
        with pytest.raises(Refused, match="files:read"):
            await r.channel.download(file, 100)


@pytest.mark.parametrize(
    ("file", "word"),
    [
        (Attachment("a", "text/plain", ref="https://evil.example/a"), "not a file that Slack"),
        (Attachment("a", "text/plain", ref="http://files.slack.com/a"), "not a file that Slack"),
        (Attachment("a", "text/plain"), "not a file that Slack"),
        (Attachment("a", "text/plain", ref="F1", size=101), "the limit is 100"),
    ],
)
async def test_the_token_goes_to_slack_only_and_limits_hold(file: Attachment, word: str) -> None:
    async with rig(receiving=False) as r:
        with pytest.raises(Refused, match=word):
            await r.channel.download(file, 100)
        assert r.twin.calls == []


async def test_a_file_that_is_longer_than_it_says_is_cut_off() -> None:
    async with rig() as r:
        r.twin.upload("D1", b"x" * 500, "a.txt")
        (file,) = (await r.inbound())[0].attachments
        lying = Attachment(file.name, file.media_type, ref=file.ref, size=5)
        with pytest.raises(Refused, match="more than 100"):
            await r.channel.download(lying, 100)


# Marks ---------------------------------------------------------------------------------------------------------------


async def test_marks_replace_each_other_and_failures_do_not_matter() -> None:
    async with rig() as r:
        ts = r.twin.say("D1", "hello")
        post = r.twin.state.room("D1").posts[ts]
        for mark, emoji in (
            ("received", "eyes"),
            ("received", "eyes"),
            ("done", "white_check_mark"),
        ):
            await r.channel.react(DM, ts, mark)  # type: ignore[arg-type]
            assert post.reactions == {("U0BOT", emoji)}
        await r.channel.react(DM, ts, None)
        assert post.reactions == set()
        await r.channel.react(DM, "1.2", "done")


async def test_a_mark_of_before_a_restart_is_replaced() -> None:
    async with rig(receiving=False) as r:
        ts = r.twin.say("D1", "hello")
        await r.channel.react(DM, ts, "received")
        again = Rig(r.twin)
        await again.channel.react(DM, ts, "failed")
        await again.stop()
        assert r.twin.state.room("D1").posts[ts].reactions == {("U0BOT", "x")}
