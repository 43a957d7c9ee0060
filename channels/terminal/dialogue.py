"""A person at the keyboard: lines go in as messages or button presses, replies come out, Ctrl-C stops the reply."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Protocol, TextIO

from channels.terminal.channel import Item
from channels.terminal.screen import Screen


class Client(Protocol):
    """The person's end of a chat: `TerminalClient`, or one at the far end of the control socket."""

    async def say(self, text: str, key: str | None = None) -> str:
        """Say it; returns its key."""
        ...

    async def press(self, data: str) -> None:
        """Press a button."""
        ...

    def items(self) -> AsyncIterator[Item]:
        """What to show, until the chat is closed."""
        ...


class Dialogue:
    """Joins one client, one screen and lines of input.

    `run` ends with the input (and the reply that is under way then), when the chat is closed, or by an interrupt
    while no reply is under way.
    """

    def __init__(self, client: Client, screen: Screen) -> None:
        self._client = client
        self._screen = screen
        self._answered = asyncio.Event()
        self._answered.set()
        self._ended = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None
        self._prompts = False

    async def run(self, lines: AsyncIterator[str]) -> None:
        """Say each line and show what comes. Cancellation leaves nothing running."""
        await self._with_output(self._read(lines))

    async def ask(self, text: str) -> bool:
        """Say one thing and show its answer; False when the chat was closed, or given up, before it came."""
        await self._with_output(self._say_and_wait(text))
        return self._answered.is_set()

    def interrupt(self) -> None:
        """Ctrl-C: stop the reply under way; without one, or a second time, end the dialogue. Call it on the loop."""
        if self._answered.is_set() or self._stopping:
            self._ended.set()
        else:
            self._stopping = asyncio.create_task(self._stop())

    async def _stop(self) -> None:
        button = self._screen.stop
        if button:
            await self._client.press(button.data)
        else:
            await self._client.say("/stop")

    async def _with_output(self, talk: Coroutine[Any, Any, None]) -> None:
        """Run `talk` while items are shown, until one of them is over or the dialogue was ended."""
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(talk),
            asyncio.create_task(self._show()),
            asyncio.create_task(self._ended.wait()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            if self._stopping:
                tasks.append(self._stopping)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, lines: AsyncIterator[str]) -> None:
        self._prompts = True
        self._screen.prompt()
        async for line in lines:
            text = line.strip()
            if text:
                await self._say(text)
            elif self._answered.is_set():
                self._screen.prompt()
        await self._answered.wait()

    async def _say_and_wait(self, text: str) -> None:
        await self._say(text)
        await self._answered.wait()

    async def _say(self, text: str) -> None:
        self._answered.clear()
        buttons = self._screen.buttons
        if text.isascii() and text.isdigit() and 1 <= int(text) <= len(buttons):
            await self._client.press(buttons[int(text) - 1].data)
        else:
            await self._client.say(text)

    async def _show(self) -> None:
        async for item in self._client.items():
            if item[0] == "preview":
                self._screen.preview(item[1])
            else:
                await self._screen.message(item[1], item[2])
                self._answered.set()
                self._stopping = None
                if self._prompts:
                    self._screen.prompt()


async def lines_of(stream: TextIO) -> AsyncIterator[str]:
    """Lines of a stream as they come, without blocking the loop.

    They are read in a daemon thread, since a read from a keyboard cannot be cancelled: it must not hold up the exit.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def hand_over(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
            loop.call_soon_threadsafe(queue.put_nowait, line)

    def read() -> None:
        with contextlib.suppress(ValueError, OSError):  # the stream was closed
            for line in iter(stream.readline, ""):
                hand_over(line)
        hand_over(None)

    threading.Thread(target=read, name="terminal-input", daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line
