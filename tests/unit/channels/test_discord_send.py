"""Sending: every part once, whatever the network and the platform do."""

import asyncio
from typing import Any

import pytest

from channels.discord.channel import DiscordChannel
from channels.discord.config import DiscordConfig
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
from tests.twins.discord_state import VOICE
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.discord_rig import Rig, rig

PNG = Attachment("chart.png", "image/png", data=b"\x89PNG-chart")
CSV = Attachment("trades.csv", "text/csv", data=b"a,b")
POST = r"POST .*/messages$"
PATCH = r"PATCH .*/messages/\d+$"


async def send(
    r: Rig, text: str, receipt: MemoryReceipt | None = None, **more: Any
) -> MemoryReceipt:
    receipt = receipt or MemoryReceipt()
    address = more.pop("address", r.direct())
    await r.channel.send(Outbound(address, text, **more), receipt)
    return receipt


def texts(r: Rig, channel: str | None = None) -> list[str]:
    return [m.text for m in r.twin.replies(channel or r.twin.dm_channel("5"))]


async def test_discord_is_told_to_fetch_no_link_of_an_answer() -> None:
    """A preview is a request to whatever address an answer names, words of the chat in it perhaps."""
    async with rig(receiving=False) as r:
        await send(r, "see https://x.example/?q=secret")
        (shown,) = r.twin.replies(r.twin.dm_channel("5"))
        assert shown.body["flags"] & 4  # SUPPRESS_EMBEDS


async def test_markdown_arrives_as_discord_reads_it_and_pings_nobody() -> None:
    async with rig(receiving=False) as r:
        receipt = await send(
            r, "# T\n**bold** 2 \\* 3 @everyone\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        )
        (shown,) = r.twin.replies(r.twin.dm_channel("5"))
        assert shown.text.startswith("## T\n**bold** 2 \\* 3 @everyone")
        assert "```\na  b\n─  ─\n1  2\n```" in shown.text
        assert r.twin.matching(POST)[0].params["allowed_mentions"]["parse"] == []
        assert (receipt.ids, receipt.final) == ((shown.id,), 1)


async def test_a_long_code_block_is_split_once_and_a_resume_sends_nothing_again() -> None:
    async with rig(receiving=False) as r:
        code = "\n".join(f"line {i} = {'x' * 40}" for i in range(100))
        text = f"Here:\n\n```py\n{code}\n```\n\nEnd."
        receipt = await send(r, text)
        shown = texts(r)
        assert len(shown) == receipt.final >= 3
        assert all(len(part) <= 2000 and part.count("```") == 2 for part in shown)
        assert ["\n".join(shown).count(line + "\n") for line in code.splitlines()] == [1] * 100
        calls = len(r.twin.calls)
        await send(r, text, receipt)
        assert len(r.twin.calls) == calls


async def test_text_that_marking_up_makes_longer_still_fits_and_keeps_all() -> None:
    async with rig(receiving=False) as r:
        text = "\n".join(f"`row {i}` 5 \\* 3 \\_x\\_ [y] \\`z\\`" for i in range(200))
        await send(r, text)
        joined = "\n".join(texts(r))
        assert [joined.count(f"`row {i}`") for i in range(200)] == [1] * 200
        await send(r, "🙂" * 3000, address=r.direct("6"))
        parts = texts(r, r.twin.dm_channel("6"))
        assert "".join(p.partition("\n\n(")[0] for p in parts) == "🙂" * 3000


@pytest.mark.parametrize("drop", ["before", "after"])
@pytest.mark.parametrize("ident", ["turn-7:reply", ""])
async def test_a_send_that_perhaps_happened_is_repeated_into_one_message(
    drop: str, ident: str
) -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(POST, drop=drop)
        receipt = MemoryReceipt()
        with pytest.raises(Ambiguous):
            await send(r, "x", receipt, id=ident)
        assert receipt.ids == ()
        await send(r, "x", receipt, id=ident)
        assert texts(r) == ["x"]
        first, second = r.twin.matching(POST)
        assert first.params["nonce"] == second.params["nonce"]


async def test_a_kill_between_sending_and_knowing_makes_one_message() -> None:
    async with rig(receiving=False) as r:
        await send(r, "x", id="1")
        await r.stop()
        again = Rig(r.twin)
        await send(again, "x", id="1")
        await again.stop()
        assert texts(r) == ["x"]


async def test_the_same_words_twice_are_two_messages() -> None:
    async with rig(receiving=False) as r:
        await send(r, "pong")
        await send(r, "pong")
        await send(r, "pong", id="1")
        await send(r, "pong", id="2")
        assert texts(r) == ["pong"] * 4


async def test_a_timeout_is_ambiguous_and_no_connection_unreachable() -> None:
    async with rig(receiving=False, request_timeout=0.3) as r:
        await send(r, "x")
        r.twin.fault(POST, delay_after=1)
        with pytest.raises(Ambiguous):
            await send(r, "y")
    config = DiscordConfig("abc.def.ghi", api_url="http://127.0.0.1:9/api/v10")
    channel = DiscordChannel(config)
    with pytest.raises(Unreachable) as e:
        await channel.send(Outbound(Address("discord", "1", "2"), "x"), MemoryReceipt())
    assert "ghi" not in str(e.value)
    await channel.close()


async def test_503_is_unreachable_and_nothing_is_sent() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(POST, status=503, body="<html>")
        with pytest.raises(Unreachable):
            await send(r, "x")
        assert texts(r) == []


async def test_a_500_is_tried_again_by_the_library_into_one_message() -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(POST, status=500, body={"message": "500", "code": 0})
        await send(r, "x")
        assert texts(r) == ["x"]


async def test_a_resumed_send_goes_on_with_the_part_that_failed() -> None:
    async with rig(receiving=False) as r:
        text, receipt = "a" * 1900 + "\n\n" + "b" * 1900, MemoryReceipt()
        r.twin.fault(POST, skip=1, status=503)
        with pytest.raises(Unreachable):
            await send(r, text, receipt)
        await send(r, text, receipt)
        assert texts(r) == ["a" * 1900 + "\n\n(1/2)", "b" * 1900 + "\n\n(2/2)"]


async def test_a_preview_is_edited_and_never_sent_again() -> None:
    async with rig(receiving=False) as r:
        first = await send(r, "so far", buttons=(Button("Stop", "stop"),))
        receipt = MemoryReceipt(first.ids)
        r.twin.fault(PATCH, drop="after")
        with pytest.raises(Ambiguous):
            await send(r, "the whole", receipt)
        await send(r, "the whole", receipt)
        (shown,) = r.twin.replies(r.twin.dm_channel("5"))
        assert (shown.text, shown.buttons) == ("the whole", [])
        assert (receipt.ids, receipt.final) == (first.ids, 1)


async def test_a_preview_that_was_deleted_is_sent_anew_and_those_left_over_are_deleted() -> None:
    async with rig(receiving=False) as r:
        ids = [(await send(r, text)).ids[0] for text in ("one", "two", "three")]
        r.twin.delete(ids[0])
        receipt = MemoryReceipt(ids)
        await send(r, "short", receipt)
        assert texts(r) == ["short"]
        assert receipt.final == 3


async def test_a_refused_edit_is_not_answered_with_a_new_send() -> None:
    async with rig(receiving=False) as r:
        first = await send(r, "so far")
        r.twin.flood(r.twin.dm_channel("5"), 30)
        with pytest.raises(FloodLimited):
            await send(r, "the whole", MemoryReceipt(first.ids))
        assert len(r.twin.matching(POST)) == 1


async def test_files_stand_under_the_last_text_with_the_buttons() -> None:
    async with rig(receiving=False) as r:
        await send(r, "Here", attachments=(PNG, CSV), buttons=(Button("Stop", "stop", "danger"),))
        (shown,) = r.twin.replies(r.twin.dm_channel("5"))
        assert [f["filename"] for f in shown.files] == ["chart.png", "trades.csv"]
        assert [f["content_type"] for f in shown.files] == ["image/png", "text/csv"]
        assert (shown.text, shown.buttons) == ("Here", ["Stop"])
        assert r.twin.world.files[shown.files[0]["id"]].data == PNG.data


async def test_a_caption_stands_with_its_file_and_a_preview_takes_files() -> None:
    async with rig(receiving=False) as r:
        first = await send(r, "…")
        chart = Attachment("a.png", "image/png", b"\x89PNG", caption="**GOOG** 2012")
        await send(r, "Here", MemoryReceipt(first.ids), attachments=(CSV, chart))
        one, two = r.twin.replies(r.twin.dm_channel("5"))
        assert (one.text, [f["filename"] for f in one.files]) == ("Here", ["trades.csv"])
        assert (two.text, [f["filename"] for f in two.files]) == ("**GOOG** 2012", ["a.png"])


async def test_twelve_files_are_two_messages_and_one_too_large_leaves_the_text() -> None:
    async with rig(receiving=False) as r:
        many = tuple(Attachment(f"{i}.txt", "text/plain", b"x") for i in range(12))
        await send(r, "Here", attachments=many)
        assert [len(m.files) for m in r.twin.replies(r.twin.dm_channel("5"))] == [10, 2]
        big = Attachment("big.bin", "application/octet-stream", b"x" * (11 * 2**20))
        receipt = MemoryReceipt()
        with pytest.raises(Refused):
            await send(r, "Report", receipt, attachments=(big,), address=r.direct("6"))
        assert texts(r, r.twin.dm_channel("6")) == ["Report"]
        with pytest.raises(Refused, match=r"none\.txt"):
            await send(r, "", attachments=(Attachment("none.txt", "text/plain", b""),))


# Buttons -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "rows", "kind"), [(3, 1, 2), (6, 2, 2), (25, 5, 2), (26, 2, 3), (130, 5, 3)]
)
async def test_many_choices_become_rows_and_then_menus(count: int, rows: int, kind: int) -> None:
    async with rig(receiving=False) as r:
        buttons = tuple(Button(f"Choice {i}", f"c:{i}") for i in range(count))
        await send(r, "Which?", buttons=(*buttons, buttons[0]))
        (shown,) = r.twin.replies(r.twin.dm_channel("5"))
        assert len(shown.body["components"]) == rows
        assert {part["type"] for part in shown.components} == {kind}


# Threads -------------------------------------------------------------------------------------------------------------


async def test_a_thread_is_opened_for_the_first_message_and_named_after_the_request() -> None:
    async with rig() as r:
        said = r.twin.mention(r.twin.general, "how is AAPL doing?\nin detail please")
        (got,) = await r.inbound()
        await send(r, "one", address=got.address, reply_to=said)
        await send(r, "two", address=got.address, reply_to=said)
        (thread,) = r.twin.threads(r.twin.general)
        assert (thread.id, thread.name) == (said, "how is AAPL doing?")
        assert texts(r, said) == ["one", "two"]
        assert texts(r, r.twin.general) == []
        assert len(r.twin.matching("threads$")) == 1
        r.twin.say(said, "and MSFT?")
        assert (await r.inbound(2))[1].address == got.address


async def test_five_mentions_are_answered_in_five_threads() -> None:
    async with rig() as r:
        for i in range(5):
            r.twin.mention(r.twin.general, f"question {i}", user=str(i + 1))
        got = await r.inbound(5)
        await asyncio.gather(*(send(r, f"answer {i.text}", address=i.address) for i in got))
        for inbound in got:
            assert texts(r, str(inbound.address.thread)) == [f"answer {inbound.text}"]


async def test_a_thread_that_exists_already_is_as_good_and_a_restart_finds_its_name() -> None:
    async with rig(receiving=False) as r:
        said = r.twin.mention(r.twin.general, "how is AAPL doing?")
        await send(r, "one", address=r.general(said))
        assert r.twin.threads(r.twin.general)[0].name == "how is AAPL doing?"
        again = Rig(r.twin)
        await send(again, "two", address=r.general(said))
        await again.stop()
        assert texts(r, said) == ["one", "two"]


async def test_sends_at_once_open_one_thread() -> None:
    async with rig(receiving=False) as r:
        said = r.twin.mention(r.twin.general, "q")
        await asyncio.gather(*(send(r, f"{i}", address=r.general(said)) for i in range(3)))
        assert sorted(texts(r, said)) == ["0", "1", "2"]
        assert len(r.twin.matching("threads$")) == 1


@pytest.mark.parametrize("why", ["denied", "voice"])
async def test_where_no_thread_can_be_opened_the_answer_hangs_on_the_question(why: str) -> None:
    async with rig(receiving=False) as r:
        channel = r.twin.new_channel("voice", kind=VOICE) if why == "voice" else r.twin.general
        if why == "denied":
            r.twin.world.channels[channel].denied.add("threads")
        said = r.twin.mention(channel, "q")
        await send(r, "answer", address=Address("discord", r.channel.account, channel, said))
        (shown,) = r.twin.replies(channel)
        assert shown.body["message_reference"]["message_id"] == said


async def test_in_somebodys_thread_the_answer_goes_there() -> None:
    async with rig() as r:
        thread = r.twin.new_thread(r.twin.general)
        said = r.twin.mention(thread, "q")
        (got,) = await r.inbound()
        await send(r, "answer", address=got.address, reply_to=said)
        (shown,) = r.twin.replies(thread)
        assert shown.body["message_reference"]["message_id"] == said
        again = Rig(r.twin)  # after a restart, and unknown to the library
        await send(again, "more", address=got.address)
        await again.stop()
        assert texts(r, thread) == ["answer", "more"]


async def test_a_thread_that_was_put_away_is_taken_up_and_a_locked_one_is_gone() -> None:
    async with rig(receiving=False) as r:
        said = r.twin.mention(r.twin.general, "q")
        first = await send(r, "so far", address=r.general(said))
        r.twin.archive(said)
        await send(r, "done", MemoryReceipt(first.ids), address=r.general(said))
        assert texts(r, said) == ["done"]
        r.twin.archive(said, locked=True)
        with pytest.raises(Gone):
            await send(r, "more", address=r.general(said))
        with pytest.raises(Gone):
            await send(r, "other", MemoryReceipt(first.ids), address=r.general(said))


# What is closed, and what waits ---------------------------------------------------------------------------------------


async def test_a_closed_place_is_gone_and_others_go_on() -> None:
    async with rig(receiving=False) as r:
        r.twin.block("5")
        with pytest.raises(Gone, match="50007"):
            await send(r, "x")
        r.twin.remove(r.twin.general)
        with pytest.raises(Gone, match="10003"):
            await send(r, "x", address=r.general())
        other = r.twin.new_channel("other")
        r.twin.world.channels[other].denied.add("send")
        with pytest.raises(Gone, match="Send Messages"):
            await send(r, "x", address=Address("discord", r.channel.account, other))
        r.twin.kick()
        with pytest.raises(Gone, match="50001"):
            await send(r, "x", address=Address("discord", r.channel.account, other))
        await send(r, "y", address=r.direct("6"))
        assert texts(r, r.twin.dm_channel("6")) == ["y"]


async def test_a_limited_place_waits_and_others_go_on() -> None:
    async with rig(receiving=False) as r:
        r.twin.flood(r.twin.dm_channel("5"), 60)
        with pytest.raises(FloodLimited) as limited:
            await send(r, "x")
        assert 58 <= limited.value.retry_after <= 61
        with pytest.raises(FloodLimited):
            await send(r, "x")
        assert len(r.twin.matching(POST)) == 1  # the gate answered the second time
        await send(r, "y", address=r.direct("6"))
        assert texts(r, r.twin.dm_channel("6")) == ["y"]


async def test_a_ban_of_the_proxy_before_discord_is_a_flood_too() -> None:
    async with rig(receiving=False) as r:
        r.twin.flood_fault(POST, 149.0, via=False)
        with pytest.raises(FloodLimited) as limited:
            await send(r, "x")
        assert limited.value.retry_after == 150


async def test_the_window_of_a_channel_is_kept_without_a_429() -> None:
    async with rig(receiving=False) as r:
        for i in range(12):
            await send(r, f"{i}")
        assert texts(r) == [f"{i}" for i in range(12)]
        assert {c.status for c in r.twin.matching(POST)} == {200}


async def test_an_answer_that_used_the_window_up_is_known_at_once_and_a_long_window_refuses_nobody() -> (
    None
):
    async with rig(receiving=False, patience=0.5) as r:
        r.twin.rest.windows.seconds = 30.0
        for i in range(5):
            async with asyncio.timeout(1):
                await send(r, f"{i}")
        with pytest.raises(FloodLimited) as limited:
            await send(r, "5")
        assert limited.value.retry_after > 25


async def test_calls_at_once_take_their_turns_in_a_window_of_one() -> None:
    async with rig(receiving=False) as r:
        r.twin.rest.windows.limit, r.twin.rest.windows.seconds = 1, 0.2
        async with asyncio.timeout(5):
            await asyncio.gather(*(send(r, f"{i}") for i in range(4)))
        assert sorted(texts(r)) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [(401, 0, BadCredentials), (400, 50035, Refused), (413, 40005, Refused), (403, 50013, Gone)],
)
async def test_refusals_are_told_apart(status: int, code: int, error: type[ChannelError]) -> None:
    async with rig(receiving=False) as r:
        r.twin.fault(POST, status=status, body={"message": "no", "code": code})
        with pytest.raises(error):
            await send(r, "x")


async def test_a_reply_without_anything_to_see_sends_nothing() -> None:
    async with rig(receiving=False) as r:
        await send(r, " \n")
        assert r.twin.calls == []
        await send(r, "```\n```")
        assert len(texts(r)) == 1


async def test_marks_replace_each_other() -> None:
    async with rig() as r:
        said = r.twin.mention(r.twin.general, "q")
        (got,) = await r.inbound()
        stored = r.twin.world.find(said)[1]
        seen = []
        for mark in ("received", "waiting", "done", None):
            await r.channel.react(got.address, said, mark)  # type: ignore[arg-type]
            seen.append(list(stored.reactions))
        assert seen == [["👀"], ["⏳"], ["✅"], []]
        await r.channel.react(got.address, said, "received")
        again = Rig(r.twin)
        await again.channel.react(got.address, said, "done")
        await again.stop()
        assert list(stored.reactions) == ["✅"]
        r.twin.delete(said)
        await r.channel.react(got.address, said, "done")  # a mark is never vital
