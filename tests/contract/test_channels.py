"""One contract for all channels: what the gateway may count on, whatever platform it is."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from channels.base import CanAnswerButtons, CanDownload, CanStream, Channel, HasPulse
from channels.errors import Ambiguous, FloodLimited, Unreachable
from channels.types import Button, Kind, Outbound, Preview, Step
from tests.contract.rigs.base import Rig, sockets
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.contract.rigs.terminal import TerminalRig
from tests.contract.rigs.web import WebRig
from tests.twins.receipt import MemoryReceipt

RIGS: dict[str, type[Rig]] = {
    rig.name: rig for rig in (TelegramRig, SlackRig, DiscordRig, WebRig, TerminalRig)
}
PLATFORMS = ["telegram", "slack", "discord"]
PNG, CSV = b"\x89PNG-chart", b"a,b\n1,2\n"
CHOICES = (Button("Yes", "yes:1", "primary"), Button("No", "no:1", "danger"))


@pytest.fixture(params=list(RIGS))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A channel at its platform; whoever needs updates starts it."""
    async with RIGS[request.param]() as made:
        yield made
    assert made.violations == []


def on(names: list[str]) -> pytest.MarkDecorator:
    """Only at these platforms."""
    return pytest.mark.parametrize("rig", names, indirect=True)


async def send(rig: Rig, text: str, receipt: MemoryReceipt | None = None, **more: Any) -> Any:
    """Send to the private chat, or to another address."""
    receipt = receipt or MemoryReceipt()
    out = Outbound(more.pop("address", None) or rig.address, text, **more)
    await rig.channel.send(out, receipt)
    return receipt


# Signs of life ------------------------------------------------------------------------------------------------------


@on(PLATFORMS)
async def test_a_channel_that_listens_knows_when_it_last_heard_from_its_platform(rig: Rig) -> None:
    assert isinstance(rig.channel, HasPulse)
    assert rig.channel.pulse.age() is None
    await rig.start()
    heard = rig.channel.pulse.age()
    assert heard is not None
    assert 0 <= heard < 10
    await asyncio.sleep(0.05)
    before = rig.channel.pulse.age()
    await rig.say("hello")
    await rig.inbound()
    after = rig.channel.pulse.age()
    assert before is not None
    assert after is not None
    assert after < before + 0.05


# What comes in -------------------------------------------------------------------------------------------------------


async def test_a_message_comes_in_with_its_place_its_author_and_its_key(rig: Rig) -> None:
    assert isinstance(rig.channel, Channel)
    await rig.start()
    await rig.say("hello")
    (got,) = await rig.inbound()
    assert (got.address, got.author.id, got.text) == (rig.address, rig.author, "hello")
    assert (got.kind, got.private, got.addressed) == (Kind.MESSAGE, True, True)
    assert got.key
    assert got.message_id
    assert got.at.tzinfo is not None
    assert got.address.channel == rig.channel.name == rig.name
    assert got.address.account == rig.channel.account


async def test_an_event_that_is_handed_over_twice_has_the_same_key(rig: Rig) -> None:
    await rig.start()
    await rig.say("hello")
    await rig.inbound()
    await rig.again()
    first, second = await rig.inbound(2)
    assert first.key == second.key
    await rig.say("hello")
    assert (await rig.inbound(3))[2].key != first.key


@on([name for name, kind in RIGS.items() if kind.tells])
async def test_the_platform_is_told_only_when_a_message_is_durable(rig: Rig) -> None:
    await rig.start()
    rig.gate.clear()
    await rig.say("hello")
    await rig.begun()
    await asyncio.sleep(0.1)  # an early confirmation would be on its way by now
    assert not rig.told()
    rig.gate.set()
    await rig.until_told()
    assert len(rig.got) == 1


async def test_the_bot_does_not_hear_itself(rig: Rig) -> None:
    await rig.start()
    await send(rig, "from the bot")
    await rig.echo("from the bot")
    await rig.say("from a person")
    assert [i.text for i in await rig.inbound()] == ["from a person"]


@on([*PLATFORMS, "web"])
async def test_a_file_comes_in_and_can_be_fetched(rig: Rig) -> None:
    await rig.start()
    await rig.attach("notes.csv", CSV, "look at this")
    (got,) = await rig.inbound()
    (file,) = got.attachments
    assert (got.text, file.name, file.data) == ("look at this", "notes.csv", None)
    assert isinstance(rig.channel, CanDownload)
    assert await rig.channel.download(file, 1000) == CSV


async def test_a_press_comes_in_with_its_data_and_is_answered(rig: Rig) -> None:
    await rig.start()
    receipt = await send(rig, "Go on?", buttons=CHOICES)
    (shown,) = await rig.seen(1)
    assert shown.buttons == ("Yes", "No")
    await rig.press("Yes")
    (got,) = await rig.inbound()
    assert (got.kind, got.text, got.author.id) == (Kind.BUTTON, "yes:1", rig.author)
    assert got.address == rig.address
    assert got.callback
    if rig.name != "terminal":  # a person at a terminal sees what was pressed
        assert got.message_id == receipt.ids[0]
        assert isinstance(rig.channel, CanAnswerButtons)
        await rig.channel.answer(got.callback)
        await rig.answered()
        await rig.channel.answer(got.callback)  # a repeated one is ignored


# What goes out -------------------------------------------------------------------------------------------------------


async def test_a_reply_is_one_message_and_its_receipt_keeps_it_one(rig: Rig) -> None:
    await rig.start()
    receipt = await send(rig, "the answer", id="r1")
    (shown,) = await rig.seen(1)
    assert (shown.text, receipt.ids, receipt.final) == ("the answer", (shown.id,), 1)
    posted = rig.posted()
    await send(rig, "the answer", receipt, id="r1")
    assert rig.visible() == [shown]
    assert rig.posted() == posted
    assert receipt.log == [("shown", shown.id, True)]


@on(PLATFORMS)
async def test_a_send_goes_on_with_the_part_that_failed(rig: Rig) -> None:
    assert rig.limit is not None
    text = "\n\n".join(letter * (rig.limit * 3 // 5) for letter in "abc")
    rig.fail(skip=1)
    receipt = MemoryReceipt()
    with pytest.raises(Unreachable):
        await send(rig, text, receipt, id="r1")
    done = receipt.final
    assert done == len(receipt.ids) == 1
    await send(rig, text, receipt, id="r1")
    joined = "".join(m.text for m in rig.visible())
    assert [joined.count(letter) for letter in "abc"] == [rig.limit * 3 // 5] * 3
    assert receipt.final == len(rig.visible())


async def test_a_preview_becomes_the_reply_and_leaves_nothing(rig: Rig) -> None:
    await rig.start()
    receipt = MemoryReceipt()
    assert isinstance(rig.channel, CanStream)
    stream = rig.channel.stream(rig.address, receipt, private=True, reply_to=None)
    step = Step("1", "Prices of GOOG")
    stop = (Button("Stop", "stop:1", "danger"),)
    async with asyncio.timeout(8):
        words = 0
        while not (rig.preview() or rig.visible()):
            words += 1
            text = "half " * words
            await stream.show(Preview(text, "looking up", steps=(step,), buttons=stop))
            await asyncio.sleep(0.05)
    await stream.close()
    await send(rig, "the whole", receipt, id="r1")
    async with asyncio.timeout(8):
        while [m.text for m in rig.visible()] != ["the whole"]:
            await asyncio.sleep(0.01)
    (shown,) = rig.visible()
    assert (shown.buttons, receipt.ids, receipt.final) == ((), (shown.id,), 1)
    assert rig.preview() == ""
    await stream.close()
    await stream.show(Preview("too late"))
    await send(rig, "another")
    assert [m.text for m in await rig.seen(2)] == ["the whole", "another"]
    assert rig.preview() == ""


async def test_a_preview_with_nothing_to_show_leaves_nothing(rig: Rig) -> None:
    await rig.start()
    receipt = MemoryReceipt()
    assert isinstance(rig.channel, CanStream)
    stream = rig.channel.stream(rig.address, receipt, private=True, reply_to=None)
    await stream.close()
    await asyncio.sleep(0.2)
    assert (rig.visible(), rig.preview(), receipt.ids) == ([], "", ())


def long_text() -> tuple[str, list[str]]:
    """Paragraphs, a fence and a table, each over every platform's limit, with a word of its own in each line."""
    prose = "\n\n".join(f"Paragraph p{i:03}: {'lorem ipsum ' * 20}end." for i in range(60))
    code = "\n".join(f"value_c{i:03} = {'x' * 50}" for i in range(250))
    rows = "\n".join(f"| t{i:03} | {i * 7} | {'word ' * 4}|" for i in range(250))
    table = f"| key | number | note |\n|:--|--:|---|\n{rows}"
    marks = [f"p{i:03}" for i in range(60)] + [f"c{i:03}" for i in range(250)]
    marks += [f"t{i:03}" for i in range(250)]
    return f"{prose}\n\n```python\n{code}\n```\n\nThen:\n\n{table}\n\nThat is z000.", [
        *marks,
        "z000",
    ]


async def test_a_long_text_arrives_whole_in_parts_within_the_limit(rig: Rig) -> None:
    await rig.start()
    text, marks = long_text()
    receipt = await send(rig, text, id="r1")
    shown = await rig.seen(len(receipt.ids))
    if rig.limit is not None:
        assert len(shown) > 1
        assert all(len(m.text.encode("utf-16-le")) // 2 <= rig.limit for m in shown)
    joined = "\n".join(m.text for m in shown)
    found = re.findall(r"(?<![a-z0-9])(?:value_)?([pctz]\d{3})(?![a-z0-9])", joined)
    assert found == marks
    if rig.name in {"slack", "discord"}:
        assert all(m.text.count("```") % 2 == 0 for m in shown)
    assert [m.id for m in shown] == list(receipt.ids)


@on(["telegram", "slack"])
async def test_formatting_that_is_refused_goes_as_plain_text_once(rig: Rig) -> None:
    rig.refuse_markup()
    receipt = await send(rig, "see **this** first")
    (shown,) = rig.visible()
    assert shown.text == "see **this** first"
    assert (receipt.final, rig.posted()) == (1, 2)


async def test_files_are_visible_with_the_text(rig: Rig) -> None:
    await rig.start()
    chart = rig.file("chart.png", "image/png", PNG, caption="GOOG 2012")
    table = rig.file("trades.csv", "text/csv", CSV)
    receipt = await send(rig, "Here:", attachments=(chart, table), buttons=CHOICES, id="r1")
    shown = await rig.seen(len(receipt.ids))
    assert sorted(f for m in shown for f in m.files) == sorted((PNG, CSV))
    assert next(m.text for m in shown if m.text).startswith("Here:")
    assert [b for m in shown for b in m.buttons] == ["Yes", "No"]
    assert receipt.final == len(receipt.ids)
    posted = rig.posted()
    await send(rig, "Here:", receipt, attachments=(chart, table), buttons=CHOICES, id="r1")
    assert (rig.visible(), rig.posted()) == (shown, posted)


# What goes wrong -----------------------------------------------------------------------------------------------------


@on(PLATFORMS)
async def test_a_flood_limit_says_how_long_and_other_places_go_on(rig: Rig) -> None:
    rig.flood(60)
    for _ in range(2):
        with pytest.raises(FloodLimited) as limited:
            await send(rig, "x")
        assert 58 <= limited.value.retry_after <= 61
    assert rig.posted() == 1  # the second time the gate knew
    await send(rig, "y", address=rig.elsewhere())
    assert [m.text for m in rig.visible(rig.elsewhere())] == ["y"]
    assert rig.visible() == []


async def test_a_lost_answer_makes_no_second_message_where_that_can_be_known(rig: Rig) -> None:
    await rig.start()
    receipt = MemoryReceipt()
    rig.lose_answer(receipt)
    with pytest.raises((Ambiguous, ConnectionResetError)) as lost:
        await send(rig, "the answer", receipt, id="r1")
    if rig.name in PLATFORMS:
        assert isinstance(lost.value, Ambiguous)
    await send(rig, "the answer", receipt, id="r1")
    await rig.seen(1)
    assert [m.text for m in rig.visible()] == ["the answer"] * (1 if rig.keyed else 2)
    assert receipt.final == 1


async def test_stopped_and_started_five_times_there_is_one_consumer(rig: Rig) -> None:
    for _ in range(5):
        await rig.start()
        await rig.stop()
    await rig.start()
    await rig.say("hello")
    await rig.inbound()
    await send(rig, "answer")
    await rig.seen(1)
    await asyncio.sleep(0.1)
    assert [i.text for i in rig.got] == ["hello"]
    assert rig.consumers() == 1


async def test_a_cancelled_channel_leaves_no_task_and_no_socket(rig: Rig) -> None:
    tasks, open_before = asyncio.all_tasks(), sockets()
    await rig.start()
    await rig.say("hello")
    await rig.inbound()
    stream = rig.channel.stream(rig.address, MemoryReceipt(), private=True, reply_to=None)  # type: ignore[attr-defined]
    await stream.show(Preview("half"))
    await send(rig, "answer")
    await rig.cancel()
    async with asyncio.timeout(5):
        while left := {t for t in asyncio.all_tasks() - tasks if not ours(t)}:
            await asyncio.wait(left, timeout=0.05)
        while rig.name in PLATFORMS and sockets() - open_before:
            await asyncio.sleep(0.02)


def ours(task: asyncio.Task[Any]) -> bool:
    """Whether it belongs to the test's side: the twins' connections and the rigs' own readers."""
    code = getattr(task.get_coro(), "cr_code", None)
    name = code.co_filename if code else ""
    return "/tests/" in name or "aiohttp/web_protocol" in name
