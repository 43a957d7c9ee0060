"""`swarmgate chat`: through the control socket of a running engine, or, where none runs, by taking the role itself."""

import asyncio
import json
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from channels.terminal.channel import TerminalChannel
from channels.terminal.dialogue import Client, Dialogue, lines_of
from channels.terminal.files import save
from channels.terminal.screen import Screen
from gateway.control import LINE_LIMIT, decode, place_of

ANSWER_LIMIT_S = 900.0  # longer than any turn may take


class SocketLine:
    """The far end: a running engine's control socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, text: str, key: str | None = None) -> str:
        """Say something; returns its key when it is on its way."""
        key = key or uuid.uuid4().hex
        await self._send({"op": "say", "text": text, "key": key})
        return key

    async def press(self, data: str) -> None:
        """Press a button."""
        await self._send({"op": "press", "data": data})

    async def items(self) -> AsyncIterator[Any]:
        """Previews and messages; ends when the engine stops."""
        while line := await self._reader.readline():
            yield decode(json.loads(line))

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def _send(self, data: dict[str, Any]) -> None:
        self._writer.write(json.dumps(data, ensure_ascii=False).encode() + b"\n")
        await self._writer.drain()


async def dial(path: Path, user: str, session: str | None) -> SocketLine | None:
    """The running engine, or None when nobody answers."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=LINE_LIMIT)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    line = SocketLine(reader, writer)
    await line._send({"op": "chat", "user": user, "session": session})  # noqa: SLF001 - our own first word
    return line


@contextmanager
def near(terminal: TerminalChannel, user: str, session: str | None) -> Iterator[Client]:
    """A line within this process, which has taken the engine role."""
    client = terminal.connect(user, place_of(user, session), None)
    try:
        yield client
    finally:
        client.close()


async def converse(line: Client, *, text: str | None, as_json: bool, files: Path) -> int:
    """One message and its answer, or a dialogue until the end of input. Returns the exit code."""
    if text is not None and as_json:
        return await _once(line, text, files)
    dialogue = Dialogue(line, Screen(sys.stdout, files))
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, dialogue.interrupt)
    if text is not None:
        return 0 if await dialogue.ask(text) else 1
    await dialogue.run(lines_of(sys.stdin))
    return 0


async def _once(line: Client, text: str, files: Path) -> int:
    """One message, and what comes of it as JSON lines: `preview` events, then one `message`.

    The message names the paths of its files.
    """
    await line.say(text)
    async with asyncio.timeout(ANSWER_LIMIT_S):
        async for item in line.items():
            if item[0] == "preview":
                _print({"event": "preview", **asdict(item[1])})
                continue
            _, message_id, out = item
            saved = [str(save(files, f.name, f.data or b"")) for f in out.attachments]
            buttons = [{"label": b.label, "data": b.data} for b in out.buttons]
            body = {"id": message_id, "text": out.text, "files": saved, "buttons": buttons}
            _print({"event": "message", **body})
            return 0
    return 1


def _print(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    sys.stdout.flush()
