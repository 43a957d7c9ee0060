"""The control socket: a 0600 Unix socket in `data_dir`, through which `swarmgate chat` talks to the running engine.

JSON lines both ways. The client begins with {"op": "chat", "user", "session", "language"}, then
sends {"op": "say", "text", "key"} and {"op": "press", "data"}; the server sends {"preview": …} and
{"id", "message": …}. {"op": "resend", "ids"} instead sends replies that were made ready again, and is
answered by {"taken": how many}; {"op": "decide", "id", "verdict", "who"} decides an approval, and is answered
by {"done": …, "said": …}; {"op": "tasks"} has the background tasks agree with their rows, and is
answered by {"looks": true}. Whoever can open the socket owns the process, so the socket's mode is the
access control.
"""

import asyncio
import base64
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from channels.terminal.channel import TerminalChannel, TerminalClient
from channels.types import Address, Attachment, Button, Field, Form, Outbound, Preview, Step

log = logging.getLogger(__name__)
LINE_LIMIT = 64 * 1024 * 1024  # bytes; charts travel as base64


Json = dict[str, Any]
# Given a question's number, "approved" or "denied", and a name: whether that was done, and what is to be said.
Decide = Callable[[int, str, str], Awaitable[tuple[bool, str]]]


async def _none(_: Sequence[int]) -> int:
    return 0


async def _nobody(_number: int, _verdict: str, _who: str) -> tuple[bool, str]:
    return False, "nothing can be decided here"


def _nothing() -> None:
    return


class ControlServer:
    """Serves the socket.

    A stale one of a dead process is replaced.
    """

    def __init__(
        self,
        path: Path,
        terminal: TerminalChannel,
        resend: Callable[[Sequence[int]], Awaitable[int]] = _none,
        decide: Decide = _nobody,
        look: Callable[[], None] = _nothing,
    ) -> None:
        self._path = path
        self._resend = resend
        self._decide = decide
        self._look = look
        self._terminal = terminal
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. The caller's umask must be 077 at this moment at the latest.

        Of several gateways with one data folder, the first one does; the others leave it to that one.
        """
        if await self._is_served():
            log.info("control_elsewhere", extra={"path": str(self._path)})
            return
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(
            self._accept, path=str(self._path), limit=LINE_LIMIT
        )
        self._path.chmod(0o600)

    async def _is_served(self) -> bool:
        try:
            _, writer = await asyncio.open_unix_connection(str(self._path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        return True

    async def stop(self) -> None:
        """Close every connection. May be called without `start`."""
        if self._server is None:
            return
        self._server.close()
        for task in list(self._clients):
            task.cancel()
        if self._clients:
            await asyncio.wait(self._clients)
        self._path.unlink(missing_ok=True)
        self._server = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this callback in a task
        self._clients.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, ValueError) as e:
            log.info("control_closed", extra={"reason": str(e)})
        finally:
            self._clients.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await _read(reader)
        if first is None:
            return
        if first.get("op") != "chat":
            answer = await self._once(first)
            if answer is not None:
                writer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
                await writer.drain()
            return
        chat = place_of(str(first["user"]), first.get("session"))
        client = self._terminal.connect(str(first["user"]), chat, first.get("language"))
        out = asyncio.create_task(_send_items(client, writer))
        try:
            while (line := await _read(reader)) is not None:
                if line.get("op") == "say":
                    await client.say(str(line["text"]), line.get("key"))
                elif line.get("op") == "press":
                    await client.press(str(line["data"]))
        finally:
            out.cancel()
            await asyncio.wait([out])
            client.close()

    async def _once(self, asked: Json) -> Json | None:
        """What is asked and answered in one line each; None for what is not known."""
        match asked.get("op"):
            case "resend":
                return {"taken": await self._resend([int(number) for number in asked["ids"]])}
            case "decide":
                done, said = await self._decide(
                    int(asked["id"]), str(asked["verdict"]), str(asked["who"])
                )
                return {"done": done, "said": said}
            case "tasks":
                self._look()
                return {"looks": True}
            case _:
                return None


def place_of(user: str, session: str | None) -> str:
    """The chat of a person's terminal session; two people never share one."""
    return f"{user}.{session or 'main'}"


async def _read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    line = await reader.readline()
    return json.loads(line) if line.strip() else None


async def _send_items(client: TerminalClient, writer: asyncio.StreamWriter) -> None:
    async for item in client.items():
        writer.write(json.dumps(encode(item), ensure_ascii=False).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await writer.drain()


def encode(item: tuple[Any, ...]) -> dict[str, Any]:
    """A terminal item as JSON."""
    if item[0] == "preview":
        return {"preview": asdict(item[1])}
    out = asdict(item[2])
    for file in out["attachments"]:
        file["data"] = base64.b64encode(file["data"] or b"").decode()
    return {"id": item[1], "message": out}


def decode(data: dict[str, Any]) -> tuple[Any, ...]:
    """What `encode` made."""
    if "preview" in data:
        fields = data["preview"]
        return (
            "preview",
            Preview(
                text=fields["text"],
                status=fields["status"],
                steps=tuple(Step(**step) for step in fields["steps"]),
                thinking=fields["thinking"],
                buttons=tuple(_button(button) for button in fields["buttons"]),
                usage=fields["usage"],
            ),
        )
    fields = data["message"]
    files = tuple(
        Attachment(**file | {"data": base64.b64decode(file["data"])})
        for file in fields["attachments"]
    )
    out = Outbound(
        address=Address(**fields["address"]),
        text=fields["text"],
        attachments=files,
        buttons=tuple(_button(button) for button in fields["buttons"]),
        reply_to=fields["reply_to"],
        silent=fields["silent"],
    )
    return ("message", data["id"], out)


def _button(fields: dict[str, Any]) -> Button:
    form = fields.pop("form")
    if form is None:
        return Button(**fields)
    lines = tuple(Field(**field) for field in form.pop("fields"))
    return Button(**fields, form=Form(**form, fields=lines))
