"""`swarmgate chat`: through the control socket of a running engine, or, where none runs, by taking the role itself."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from channels.terminal.channel import TerminalChannel
from gateway.control import LINE_LIMIT, decode, place_of

ANSWER_LIMIT_S = 900.0  # longer than any turn may take


class Line(Protocol):
    """A person's end of a chat, near or far."""

    async def say(self, text: str, key: str | None = None) -> object:
        """Say something; returns when it is on its way (far) or durable (near)."""
        ...

    async def press(self, data: str) -> object:
        """Press a button."""
        ...

    def items(self) -> AsyncIterator[Any]:
        """Previews and messages."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class SocketLine:
    """The far end: a running engine's control socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, text: str, key: str | None = None) -> None:
        """See Line."""
        await self._send({"op": "say", "text": text, "key": key})

    async def press(self, data: str) -> None:
        """See Line."""
        await self._send({"op": "press", "data": data})

    async def items(self) -> AsyncIterator[Any]:
        """See Line; ends when the engine stops."""
        while line := await self._reader.readline():
            yield decode(json.loads(line))

    def close(self) -> None:
        """See Line."""
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


@asynccontextmanager
async def near(
    terminal: TerminalChannel, user: str, session: str | None
) -> AsyncIterator[Line]:
    """A line within this process, which has taken the engine role."""
    client = terminal.connect(user, place_of(user, session), None)
    try:
        yield client
    finally:
        client.close()


async def converse(line: Line, *, text: str | None, as_json: bool, files: Path) -> int:
    """One message and its answer, or a dialogue until the end of input. Returns the exit code."""
    from channels.terminal.screen import Screen

    if text is None:
        return await Screen(line, files=files).run()
    return await _once(line, text, as_json=as_json, files=files)


async def _once(line: Line, text: str, *, as_json: bool, files: Path) -> int:
    await line.say(text)
    async with asyncio.timeout(ANSWER_LIMIT_S):
        async for item in line.items():
            if item[0] != "message":
                continue
            _, message_id, out = item
            saved = save(out.attachments, files)
            if as_json:
                body = {"id": message_id, "text": out.text, "files": saved}
                sys.stdout.write(json.dumps(body, ensure_ascii=False) + "\n")
            else:
                sys.stdout.write("\n".join([out.text, *saved]) + "\n")
            return 0
    return 1


def save(attachments: Any, folder: Path) -> list[str]:
    """Write files into a folder; their paths."""
    paths: list[str] = []
    for file in attachments:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / Path(file.name).name
        with contextlib.suppress(OSError):
            path.write_bytes(file.data or b"")
            paths.append(str(path))
    return paths


