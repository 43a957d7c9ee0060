"""Sending: every part once, whatever the network and the platform do."""

import pytest

from channels.errors import Ambiguous, ChannelError, FloodLimited, Gone, Refused, Unreachable
from channels.telegram.channel import TelegramChannel
from channels.telegram.config import TelegramConfig
from channels.telegram.transport import proxy_for
from channels.types import Attachment, Button, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.telegram_rig import CHAT, GROUP, PRIVATE, Rig, rig

PNG = Attachment("chart.png", "image/png", data=b"\x89PNG-chart", caption="**GOOG** 2012")
G = int(GROUP.chat)


async def send(r: Rig, text: str, receipt: MemoryReceipt, **more: object) -> None:
    await r.channel.send(Outbound(PRIVATE, text, **more), receipt)  # type: ignore[arg-type]


def texts(r: Rig, chat: int = CHAT) -> list[str]:
    return [m.text for m in r.twin.replies(chat)]


async def test_markdown_arrives_as_entities() -> None:
    async with rig(receiving=False) as r:
        receipt = MemoryReceipt()
        await send(r, "**bold** and `1 < 2`", receipt)
        (shown,) = r.twin.replies(CHAT)
        assert shown.text == "bold and 1 < 2"
        assert [e["type"] for e in shown.entities] == ["bold", "code"]
        assert (receipt.ids, receipt.final) == ((str(shown.id),), 1)


async def test_telegram_is_told_to_fetch_no_link_of_an_answer() -> None:
    """A preview is a request to whatever address an answer names, words of the chat in it perhaps."""
    async with rig(receiving=False) as r:
        await send(r, "see https://x.example/?q=secret", MemoryReceipt())
        (call,) = r.twin.matching("sendMessage")
        assert "is_disabled" in str(call)


async def test_a_long_code_block_is_split_once_and_a_resume_sends_nothing_again() -> None:
    async with rig(receiving=False) as r:
        code = "\n".join(f"line {i} = {'x' * 40}" for i in range(200))
        text, receipt = f"Here:\n\n```py\n{code}\n```\n\nEnd.", MemoryReceipt()
        await send(r, text, receipt)
        shown = r.twin.replies(CHAT)
        assert len(shown) == receipt.final == 3
        assert all(any(e["type"] == "pre" for e in m.entities) for m in shown)
        joined = "\n".join(m.text for m in shown)
        assert [joined.count(line) for line in code.splitlines()] == [1] * 200
        await send(r, text, receipt)
        assert len(r.twin.matching("sendMessage")) == 3


async def test_a_text_of_astral_characters_fits_in_utf16() -> None:
    async with rig(receiving=False) as r:
        await send(r, "🙂" * 3000, MemoryReceipt())
        assert "".join(t.partition("\n\n(")[0] for t in texts(r)) == "🙂" * 3000


async def test_markup_that_is_refused_goes_as_plain_text_once() -> None:
    async with rig(receiving=False) as r:
        body = {
            "ok": False,
            "error_code": 400,
            "description": "Bad Request: can't parse entities: x",
        }
        r.twin.fault("sendMessage", status=400, body=body)
        await send(r, "*   **bold**", MemoryReceipt())
        assert texts(r) == ["*   **bold**"]
        first, second = r.twin.matching("sendMessage")
        assert first.params["parse_mode"] == "HTML"
        assert "parse_mode" not in second.params


async def test_a_reset_after_the_send_is_ambiguous_and_one_before_too() -> None:
    async with rig(receiving=False) as r:
        for drop, count in (("before", 0), ("after", 1)):
            r.twin.fault("sendMessage", drop=drop)
            receipt = MemoryReceipt()
            with pytest.raises(Ambiguous):
                await send(r, "x", receipt)
            assert len(texts(r)) == count
            assert receipt.ids == ()
        assert len(r.twin.matching("sendMessage")) == 2  # nothing was sent again by the client


async def test_a_timeout_after_the_send_is_ambiguous() -> None:
    async with rig(receiving=False, read_timeout=0.2) as r:
        r.twin.fault("sendMessage", delay_after=1)
        with pytest.raises(Ambiguous):
            await send(r, "x", MemoryReceipt())


async def test_no_connection_is_unreachable_and_the_token_is_never_told() -> None:
    async with rig(receiving=False) as r:
        config = TelegramConfig(r.twin.token, "http://127.0.0.1:9/bot")
        channel = TelegramChannel(config)
        with pytest.raises(Unreachable) as e:
            await channel.send(Outbound(PRIVATE, "x"), MemoryReceipt())
        await channel.close()
        assert r.twin.token not in str(e.value)


def test_the_proxy_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert proxy_for("https://api.telegram.org/bot") == "http://proxy.example:3128"
    assert proxy_for("https://127.0.0.1/bot") is None


@pytest.mark.parametrize(
    ("status", "error"), [(502, Unreachable), (500, Unreachable), (504, Ambiguous)]
)
async def test_server_errors(status: int, error: type[ChannelError]) -> None:
    async with rig(receiving=False) as r:
        r.twin.fault("sendMessage", status=status, body="<html>")
        with pytest.raises(error):
            await send(r, "x", MemoryReceipt())


async def test_a_resumed_send_goes_on_with_the_part_that_failed() -> None:
    async with rig(receiving=False) as r:
        text, receipt = "a" * 4000 + "\n\n" + "b" * 4000, MemoryReceipt()
        r.twin.fault("sendMessage", skip=1, status=500)
        with pytest.raises(Unreachable):
            await send(r, text, receipt)
        await send(r, text, receipt)
        assert texts(r) == ["a" * 4000 + "\n\n(1/2)", "b" * 4000 + "\n\n(2/2)"]


async def test_a_preview_is_edited_and_never_sent_again() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "so far", first)
        receipt = MemoryReceipt(first.ids)
        r.twin.fault("editMessageText", drop="after")
        with pytest.raises(Ambiguous):
            await send(r, "the whole", receipt)
        await send(r, "the whole", receipt)  # "message is not modified" is success
        assert texts(r) == ["the whole"]
        assert (receipt.ids, receipt.final) == (first.ids, 1)


async def test_a_preview_that_was_deleted_is_sent_anew() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "so far", first)
        r.twin.delete(CHAT, int(first.ids[0]))
        receipt = MemoryReceipt(first.ids)
        await send(r, "the whole", receipt)
        assert texts(r) == ["the whole"]
        assert receipt.final == 1


async def test_a_refused_edit_is_not_answered_with_a_new_send() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "so far", first)
        r.twin.flood(CHAT, 30)
        with pytest.raises(FloodLimited):
            await send(r, "the whole", MemoryReceipt(first.ids))
        assert len(r.twin.matching("sendMessage")) == 1


async def test_previews_beyond_the_reply_are_deleted() -> None:
    async with rig(receiving=False) as r:
        ids = []
        for text in ("one", "two", "three"):
            one = MemoryReceipt()
            await send(r, text, one)
            ids += one.ids
        receipt = MemoryReceipt(ids)
        await send(r, "short", receipt)
        assert texts(r) == ["short"]
        assert receipt.final == 3


async def test_files_follow_the_text_and_the_buttons_stand_last() -> None:
    async with rig(receiving=False) as r:
        table = Attachment("trades.csv", "text/csv", data=b"a,b")
        receipt = MemoryReceipt()
        out = {"attachments": (PNG, table), "buttons": (Button("Stop", "stop"),)}
        await send(r, "Here", receipt, **out)
        shown = r.twin.replies(CHAT)
        assert [m.kind for m in shown] == ["text", "photo", "document"]
        assert [len(m.buttons) for m in shown] == [0, 0, 1]
        assert shown[1].text == "GOOG 2012"
        assert shown[2].body["document"]["file_name"] == "trades.csv"
        assert r.twin.state.files[shown[1].file_id or ""].data == PNG.data
        assert receipt.final == 3


async def test_a_preview_turns_into_a_file_where_there_is_no_text() -> None:
    async with rig(receiving=False) as r:
        first = MemoryReceipt()
        await send(r, "⏳ chart", first)
        await send(r, "", MemoryReceipt(first.ids), attachments=(PNG,))
        assert [(m.kind, m.text) for m in r.twin.replies(CHAT)] == [("photo", "GOOG 2012")]


async def test_a_picture_the_platform_cannot_read_goes_as_a_file() -> None:
    async with rig(receiving=False) as r:
        await send(r, "", MemoryReceipt(), attachments=(Attachment("a.png", "image/png", b"no"),))
        assert [m.kind for m in r.twin.replies(CHAT)] == ["document"]


async def test_a_caption_over_the_limit_goes_on_in_a_message() -> None:
    async with rig(receiving=False) as r:
        caption = " ".join(f"word{i}" for i in range(300))
        file = Attachment("a.png", "image/png", b"\x89PNG", caption=caption)
        await send(r, "", MemoryReceipt(), attachments=(file,))
        assert " ".join(texts(r)).split() == caption.split()


async def test_an_empty_file_is_refused_for_good() -> None:
    async with rig(receiving=False) as r:
        with pytest.raises(Refused, match=r"a\.png"):
            await send(r, "", MemoryReceipt(), attachments=(Attachment("a.png", "image/png"),))


async def test_a_closed_chat_is_gone() -> None:
    async with rig(receiving=False) as r:
        r.twin.block(CHAT)
        with pytest.raises(Gone):
            await send(r, "x", MemoryReceipt())
        with pytest.raises(Gone):
            await r.channel.send(
                Outbound(PRIVATE.__class__("telegram", "777", "999"), "x"), MemoryReceipt()
            )


async def test_a_group_that_moved_gets_the_message_at_its_new_id() -> None:
    async with rig(receiving=False) as r:
        r.twin.migrate(G, -200)
        await r.channel.send(Outbound(GROUP, "one"), MemoryReceipt())
        await r.channel.send(Outbound(GROUP, "two"), MemoryReceipt())
        assert texts(r, -200) == ["one", "two"]
        assert len(r.twin.matching("sendMessage")) == 3


async def test_in_groups_the_first_part_replies_even_if_the_question_was_deleted() -> None:
    async with rig(receiving=False) as r:
        thread = r.twin.topic(G)
        from channels.types import Address

        topic = Address("telegram", "777", str(G), str(thread))
        said = r.twin.say(G, "?", user=7, thread=thread)
        await r.channel.send(Outbound(topic, "answer", reply_to=str(said)), MemoryReceipt())
        r.twin.delete(G, said)
        await r.channel.send(Outbound(topic, "again", reply_to=str(said)), MemoryReceipt())
        first, second = r.twin.replies(G, thread)
        assert first.body["reply_to_message"]["message_id"] == said
        assert "reply_to_message" not in second.body


async def test_a_limited_chat_waits_and_others_go_on() -> None:
    async with rig(receiving=False) as r:
        r.twin.say(6, "hi")
        r.twin.flood(CHAT, 60)
        with pytest.raises(FloodLimited) as limited:
            await send(r, "x", MemoryReceipt())
        assert 59 <= limited.value.retry_after <= 61
        with pytest.raises(FloodLimited):
            await send(r, "x", MemoryReceipt())
        assert len(r.twin.matching("sendMessage")) == 1  # the gate answered the second time
        other = PRIVATE.__class__("telegram", "777", "6")
        await r.channel.send(Outbound(other, "y"), MemoryReceipt())
        assert texts(r, 6) == ["y"]


async def test_a_reply_without_anything_to_see_sends_nothing() -> None:
    async with rig(receiving=False) as r:
        await send(r, " \n", MemoryReceipt())
        assert r.twin.calls == []


async def test_text_that_renders_to_nothing_arrives_as_it_stands() -> None:
    async with rig(receiving=False) as r:
        await send(r, "```\n```", MemoryReceipt())
        assert len(texts(r)) == 1


async def test_a_picture_above_the_limit_of_photos_goes_as_a_document() -> None:
    """Bot API: sendPhoto takes 10 MB, sendDocument 50 MB; a caption has 1,024 UTF-16 units."""
    async with rig(receiving=False) as r:
        big = Attachment(
            "chart.png", "image/png", b"\x89PNG" + bytes(12 * 2**20), caption="😀" * 600
        )
        receipt = MemoryReceipt()
        await r.channel.send(Outbound(PRIVATE, "", (big,)), receipt)
        document, rest = r.twin.replies(CHAT)
        assert document.kind == "document"
        assert len(document.text.encode("utf-16-le")) // 2 <= 1024
        assert (document.text + rest.text).count("😀") == 600
