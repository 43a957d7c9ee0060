"""A foreign MCP server as a process of ours: its pipes as the package's streams, bounded lines, and its end.

The package has such a transport as well. It reads lines of any length, and lets a server's own children live on when
the server ends by itself: both are why this one is here.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from agent_core.tools.untrusted import one_line

LINE_BYTES = 8 * 2**20  # of one message, a picture in it included
WORDS_CHARS = 300
GRACE_S = 2.0  # after its input has ended, and once more after SIGTERM


@dataclass(frozen=True, slots=True)
class Command:
    """A server that is started here. It sees `env` and PATH, HOME and the like, nothing else of our environment."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None


@dataclass(slots=True)
class LastWords:
    """The last line that a process wrote to standard error, for those who look why it ended."""

    line: str = ""


@asynccontextmanager
async def piped(where: Command, words: LastWords) -> AsyncIterator[tuple[Any, Any]]:
    """Start the process; the streams are what the package's client takes. Leaving ends it and all its children.

    Raises OSError when it cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment

    process = await asyncio.create_subprocess_exec(
        where.command,
        *where.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=get_default_environment() | dict(where.env),
        cwd=where.cwd,
        start_new_session=True,  # a group of its own, which can be ended as a whole
        limit=LINE_BYTES,
    )
    heard, read = anyio.create_memory_object_stream[Any](0)
    write, to_say = anyio.create_memory_object_stream[Any](0)
    tasks = [
        asyncio.create_task(_read(process, heard)),
        asyncio.create_task(_write(process, to_say)),
        asyncio.create_task(_listen(process, words)),
    ]
    try:
        yield read, write
    finally:
        for stream in (heard, read, write, to_say):
            stream.close()
        await _end(process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(process: asyncio.subprocess.Process, heard: Any) -> None:
    """Hand on what it says. Its end, or a line that is too long, ends the stream."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    assert process.stdout is not None  # noqa: S101 - it was started with pipes
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError), heard:
        async for line in process.stdout:  # ValueError: longer than LINE_BYTES
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as error:  # no message: the client's to judge
                await heard.send(error)
            else:
                await heard.send(SessionMessage(message))


async def _write(process: asyncio.subprocess.Process, to_say: Any) -> None:
    assert process.stdin is not None  # noqa: S101 - it was started with pipes
    with suppress(OSError):  # it has gone, which the reader notices
        async for item in to_say:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _listen(process: asyncio.subprocess.Process, words: LastWords) -> None:
    """Read standard error to its end, in pieces, since nobody bounds its lines."""
    assert process.stderr is not None  # noqa: S101 - it was started with pipes
    rest = b""
    while piece := await process.stderr.read(65_536):
        *lines, rest = (rest + piece).split(b"\n")
        rest = rest[-WORDS_CHARS:]
        for line in lines:
            if said := one_line(line[-WORDS_CHARS:].decode("utf-8", "replace"), WORDS_CHARS):
                words.line = said


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, wait, then end its whole group, also what it left behind."""
    if process.stdin is not None:
        process.stdin.close()
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if await _is_over(process):
            break
        _signal(process, sign)
    _signal(process, signal.SIGKILL)
    await _is_over(process)


async def _is_over(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    except TimeoutError:
        return process.returncode is not None  # its children may still hold the pipes
    return True


def _signal(process: asyncio.subprocess.Process, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)
