"""The terminal: the channel, the screen, and a person at the keyboard."""

import asyncio
import datetime as dt
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from channels.base import CanStream, Channel
from channels.terminal.channel import TerminalChannel, TerminalClient
from channels.terminal.dialogue import Dialogue, lines_of
from channels.terminal.files import save
from channels.terminal.screen import Screen
from channels.types import Address, Attachment, Button, Inbound, Kind, Outbound, Preview, Step
from tests.twins.receipt import MemoryReceipt

PLACE = Address("terminal", "local", "alice.main")
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


class Host:
    """A running channel and what it emitted; `answer` may reply."""

    def __init__(self) -> None:
        self.channel = TerminalChannel(now=lambda: NOW)
        self.got: list[Inbound] = []
        self.answer: Callable[[Inbound], Outbound | None] = lambda _: None

    async def emit(self, message: Inbound) -> None:
        self.got.append(message)
        out = self.answer(message)
        if out is not None:
            await self.channel.send(out, MemoryReceipt())


@asynccontextmanager
async def running() -> AsyncIterator[Host]:
    host = Host()
    ready = asyncio.Event()
    task = asyncio.create_task(host.channel.run(host.emit, ready.set))
    await ready.wait()
    yield host
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def next_item(client: TerminalClient) -> tuple[object, ...]:
    async with asyncio.timeout(5):
        async for item in client.items():
            return item
    raise AssertionError("the chat was closed")


def test_it_is_a_channel_that_streams() -> None:
    channel = TerminalChannel()
    assert isinstance(channel, Channel)
    assert isinstance(channel, CanStream)


async def test_what_is_said_is_emitted() -> None:
    async with running() as host:
        client = host.channel.connect("alice", "alice.main", "zh")
        assert await client.say("hello", "key-1") == "key-1"
        await client.press("stop:9")
    said, pressed = host.got
    assert (said.address, said.key, said.text, said.at) == (PLACE, "key-1", "hello", NOW)
    assert (said.author.id, said.author.language, said.private) == ("alice", "zh", True)
    assert (pressed.kind, pressed.text) == (Kind.BUTTON, "stop:9")
    assert pressed.callback == pressed.key


async def test_saying_waits_for_the_channel() -> None:
    host = Host()
    client = host.channel.connect("alice", "alice.main", None)
    saying = asyncio.create_task(client.say("early"))
    await asyncio.sleep(0)
    assert not saying.done()
    task = asyncio.create_task(host.channel.run(host.emit, lambda: None))
    await saying
    assert [message.text for message in host.got] == ["early"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_reply_reaches_everybody_in_the_chat() -> None:
    async with running() as host:
        here = [host.channel.connect("alice", "alice.main", None) for _ in range(2)]
        there = host.channel.connect("bob", "bob.main", None)
        receipt, out = MemoryReceipt(), Outbound(PLACE, "hi")
        await host.channel.send(out, receipt)
        for client in here:
            assert await next_item(client) == ("message", receipt.ids[0], out)
        there.close()
        assert [item async for item in there.items()] == []
        assert (len(receipt.ids), receipt.final) == (1, 1)


async def test_a_reply_sent_again_is_shown_once() -> None:
    async with running() as host:
        client = host.channel.connect("alice", "alice.main", None)
        receipt = MemoryReceipt()
        for _ in range(2):
            await host.channel.send(Outbound(PLACE, "hi"), receipt)
        client.close()
        client.close()
        assert [item[0] async for item in client.items()] == ["message"]
        assert len(receipt.ids) == 1


async def test_a_message_that_says_something_else_now_is_shown_again() -> None:
    """A decided question: the channel cannot edit, so its buttons go with a new message."""
    async with running() as host:
        client = host.channel.connect("alice", "alice.main", None)
        first = MemoryReceipt()
        await host.channel.send(Outbound(PLACE, "may I?", buttons=(Button("Yes", "ok:1"),)), first)
        await host.channel.send(Outbound(PLACE, "may I? Approved."), MemoryReceipt(first.ids))
        client.close()
        items = [item async for item in client.items()]
        assert [item[2].text for item in items] == ["may I?", "may I? Approved."]
        assert items[1][2].buttons == ()


async def test_with_nobody_there_a_reply_is_sent_all_the_same() -> None:
    async with running() as host:
        receipt = MemoryReceipt()
        await host.channel.send(Outbound(PLACE, "hi"), receipt)
        assert receipt.final == 1


async def test_previews_give_way_to_newer_ones() -> None:
    async with running() as host:
        client = host.channel.connect("alice", "alice.main", None)
        receipt = MemoryReceipt()
        stream = host.channel.stream(PLACE, receipt, private=True, reply_to=None)
        for text in ("a", "ab", "abc"):
            await stream.show(Preview(text=text))
        assert await next_item(client) == ("preview", Preview(text="abc"))
        late = host.channel.connect("alice", "alice.main", None)
        assert await next_item(late) == ("preview", Preview(text="abc"))
        await stream.close()
        await stream.show(Preview(text="too late"))
        later = host.channel.connect("alice", "alice.main", None)
        later.close()
        assert [item async for item in later.items()] == []
        assert list(receipt.ids) == []


def screen(folder: Path, **options: object) -> tuple[Screen, io.StringIO]:
    output = io.StringIO()
    return Screen(output, folder, **options), output  # type: ignore[arg-type]


def bare(text: str) -> str:
    """Without colours; lines that were erased are gone."""
    for code in ("\x1b[2m", "\x1b[0m"):
        text = text.replace(code, "")
    return "\n".join(line.rsplit("\r\x1b[K", 1)[-1] for line in text.split("\n"))


async def test_only_new_text_is_printed_and_the_final_message_not_again(tmp_path: Path) -> None:
    view, output = screen(tmp_path, live=True)
    for text in ("AAPL", "AAPL rose", "AAPL rose **3%**"):
        view.preview(Preview(text=text))
    out = Outbound(PLACE, "AAPL rose **3%**.\n\nMore.")
    await view.message("1", out)
    await view.message("1", out)
    assert output.getvalue() == "AAPL rose **3%**.\n\nMore.\n"


async def test_steps_have_lines_of_their_own(tmp_path: Path) -> None:
    view, output = screen(tmp_path, live=True)
    running_step = Step("a", "research", agent="research")
    inner = Step("b", "get_market_history", detail="AAPL", parent="a")
    view.preview(Preview(text="Let me look.", status="thinking"))
    view.preview(Preview(status="working", steps=(running_step,)))
    view.preview(Preview(steps=(running_step, inner)))
    view.preview(
        Preview(
            steps=(
                Step("a", "research", "ok"),
                Step("b", "get_market_history", "failed", "AAPL", None, "a"),
            )
        )
    )
    await view.message("1", Outbound(PLACE, "Done."))
    assert bare(output.getvalue()).splitlines() == [
        "Let me look.",
        "… research",
        "  … get_market_history AAPL",
        "✓ research",
        "  ✗ get_market_history AAPL",
        "Done.",
    ]


async def test_a_reset_starts_a_new_line(tmp_path: Path) -> None:
    view, output = screen(tmp_path, live=True)
    view.preview(Preview(text="first try"))
    view.preview(Preview(text="second"))
    await view.message("1", Outbound(PLACE, "second try"))
    assert output.getvalue() == "first try\nsecond try\n"


async def test_a_pipe_gets_final_messages_only(tmp_path: Path) -> None:
    view, output = screen(tmp_path)
    view.preview(Preview(text="AA", status="thinking", steps=(Step("a", "tool"),)))
    view.prompt()
    await view.message("1", Outbound(PLACE, "**AAPL** rose"))
    assert output.getvalue() == "**AAPL** rose\n"


@pytest.mark.parametrize(("language", "word"), [("en", "saved: "), ("zh", "已保存：")])
async def test_files_are_saved_and_named(tmp_path: Path, language: str, word: str) -> None:
    view, output = screen(tmp_path / "out", language=language)
    chart = Attachment("../chart.png", "image/png", b"png", caption="AAPL 2012")
    await view.message("1", Outbound(PLACE, "See:", (chart,)))
    path = tmp_path / "out" / "chart.png"
    assert path.read_bytes() == b"png"
    assert output.getvalue() == f"See:\nAAPL 2012\n{word}{path}\n"


async def test_a_full_disk_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    view, output = screen(tmp_path / "file")
    await view.message("1", Outbound(PLACE, "See:", (Attachment("a.png", "image/png", b"x"),)))
    assert "a.png could not be saved: " in output.getvalue()


async def test_a_reply_cannot_drive_the_terminal(tmp_path: Path) -> None:
    view, output = screen(tmp_path, live=True)
    view.preview(Preview(text="a\x1b[2Jb\x1b]0;title\x07c\x9b31m"))
    await view.message("1", Outbound(PLACE, "a\x1b[2Jb\x1b]0;title\x07c\x9b31m!"))
    assert output.getvalue() == "abc31m!\n"


def test_files_of_one_name_are_both_kept(tmp_path: Path) -> None:
    first = save(tmp_path, "chart.png", b"1")
    assert save(tmp_path, "chart.png", b"1") == first
    assert save(tmp_path, "chart.png", b"2").name == "chart-2.png"
    assert save(tmp_path, "..", b"3").name == "file"
    assert save(tmp_path, "a/../../b\\c\n.txt", b"4").parent == tmp_path


async def typed(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


def echo(message: Inbound) -> Outbound:
    return Outbound(message.address, f"{message.kind}: {message.text}")


async def test_lines_are_said_and_answered(tmp_path: Path) -> None:
    async with running() as host:
        host.answer = echo
        view, output = screen(tmp_path)
        client = host.channel.connect("alice", "alice.main", None)
        await Dialogue(client, view).run(typed("hello\n", "\n", "world\n"))
        client.close()
    assert [message.text for message in host.got] == ["hello", "world"]
    assert output.getvalue().startswith("message: hello\n")


async def test_one_question_gets_its_answer(tmp_path: Path) -> None:
    async with running() as host:
        host.answer = echo
        view, output = screen(tmp_path, live=True)
        client = host.channel.connect("alice", "alice.main", None)
        assert await Dialogue(client, view).ask("hello")
        client.close()
    assert output.getvalue() == "message: hello\n"


async def test_a_number_presses_a_button(tmp_path: Path) -> None:
    async with running() as host:
        view, output = screen(tmp_path)
        client = host.channel.connect("alice", "alice.main", None)
        choices = (Button("Approve", "yes:1"), Button("Deny", "no:1"))
        await view.message("0", Outbound(PLACE, "Buy?", buttons=choices))
        host.answer = echo
        await Dialogue(client, view).run(typed("2"))
        client.close()
    assert "[1] Approve  [2] Deny" in output.getvalue()
    assert (host.got[0].kind, host.got[0].text) == (Kind.BUTTON, "no:1")


async def test_a_number_is_an_answer_where_only_a_dialog_would_open(tmp_path: Path) -> None:
    async with running() as host:
        view, output = screen(tmp_path)
        client = host.channel.connect("alice", "alice.main", None)
        fill = Button("Fill in", "fill:1", dialog_only=True)
        await view.message("0", Outbound(PLACE, "How many?", buttons=(fill,)))
        host.answer = echo
        await Dialogue(client, view).run(typed("1"))
        client.close()
    assert "Fill in" not in output.getvalue()
    assert (host.got[0].kind, host.got[0].text) == (Kind.MESSAGE, "1")


async def test_an_interrupt_stops_the_reply_and_a_second_one_the_dialogue(tmp_path: Path) -> None:
    async with running() as host:
        view, _ = screen(tmp_path, live=True)
        client = host.channel.connect("alice", "alice.main", None)
        dialogue = Dialogue(client, view)
        asking = asyncio.create_task(dialogue.ask("long question"))
        stream = host.channel.stream(PLACE, MemoryReceipt(), private=True, reply_to=None)
        await stream.show(Preview(text="Well", buttons=(Button("Stop", "stop:4", "danger"),)))
        async with asyncio.timeout(5):
            while view.stop is None:
                await asyncio.sleep(0)
            dialogue.interrupt()
            while len(host.got) < 2:
                await asyncio.sleep(0)
        assert [message.text for message in host.got] == ["long question", "stop:4"]
        dialogue.interrupt()
        assert not await asking
        client.close()


async def test_an_interrupt_without_a_reply_ends_the_dialogue(tmp_path: Path) -> None:
    async with running() as host:
        view, _ = screen(tmp_path)
        client = host.channel.connect("alice", "alice.main", None)
        dialogue = Dialogue(client, view)

        async def silent() -> AsyncIterator[str]:
            await asyncio.Event().wait()
            yield ""

        talking = asyncio.create_task(dialogue.run(silent()))
        await asyncio.sleep(0)
        dialogue.interrupt()
        async with asyncio.timeout(5):
            await talking
        client.close()


async def test_input_is_read_line_by_line() -> None:
    assert [line async for line in lines_of(io.StringIO("a\nb"))] == ["a\n", "b"]
