"""The life of the connection to one foreign server: kept up by one task, tried again with growing pauses.

A server that is down, or dies, stops nobody: its tools say so, with the cure.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

from agent_core.tools.mcp import Offer
from agent_core.tools.mcp_answer import Reply
from agent_core.tools.mcp_process import Command, LastWords
from agent_core.tools.mcp_transport import Connection, Lost, Url, connected
from agent_core.tools.spec import ToolFailure
from agent_core.tools.untrusted import one_line

log = logging.getLogger(__name__)
HANDSHAKE_S = 60.0  # a server may have to be fetched before it can start
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
STEADY_S = 60.0  # a connection that held so long begins with the first pause again
# Between two cancellations at the stop; ending a process must not be cut off, and takes 6 s at most.
CANCEL_HTTP_S = 1.0
CANCEL_PROCESS_S = 8.0
LISTEN_AGAIN_S = 30.0  # after a server stopped telling of changes
QUIET_S = 1.0  # between two listings, however often a server tells of changes
UNSURE = "Whether the call took effect is unknown: look, or ask the person, before trying again."
CURE = "An operator can mend `mcp.servers.{name}` in the settings; it is tried again by itself."
Heard = Callable[[Sequence[Offer]], Awaitable[None]]


class Link:
    """A server by its name in the settings. `heard` is awaited with its tools after each connection and change.

    `tried` is set once the first attempt has ended, either way. `reason` is why it is down, or was; `words` are the
    last ones of its process, which are for operators alone.
    """

    def __init__(
        self,
        name: str,
        where: Command | Url,
        heard: Heard,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.tried = asyncio.Event()
        self.reason = "it has not answered yet"
        self.words = LastWords()
        self._where = where
        self._heard = heard
        self._sleep = sleep
        self._news: asyncio.Queue[Lost | None] = asyncio.Queue()
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._ends = False

    @property
    def up(self) -> bool:
        """Whether calls can be made now."""
        return self._connection is not None

    def start(self) -> None:
        """Begin to connect; returns at once."""
        self._task = asyncio.create_task(self._keep_up(), name=f"mcp-{self.name}")

    async def stop(self) -> None:
        """Disconnect; a process that was started is ended with its children, within some seconds."""
        self._ends = True
        if (task := self._task) is None:
            return
        patience = CANCEL_HTTP_S if isinstance(self._where, Url) else CANCEL_PROCESS_S
        while not task.done():  # one can be lost where the package cancels scopes of its own
            task.cancel()
            await asyncio.wait([task], timeout=patience)
        self._task = None

    async def call(
        self, tool: str, args: dict[str, Any], progress: Callable[[str, float | None], None]
    ) -> Reply:
        """See agent_core.tools.mcp.Caller."""
        connection, news = self._connection, self._news
        if connection is None:
            cure = CURE.format(name=self.name)
            raise ToolFailure(
                f"The MCP server {self.name} is not connected ({self.reason}). {cure}"
            )
        try:
            return await connection.call(tool, args, progress)
        except Lost as lost:
            news.put_nowait(lost)
            raise ToolFailure(
                f"The connection to the MCP server {self.name} broke ({lost}). {UNSURE}"
            ) from None
        except ToolFailure as failure:
            raise ToolFailure(f"The MCP server {self.name} did not do it: {failure}.") from None

    async def _keep_up(self) -> None:
        pause = FIRST_PAUSE_S
        loop = asyncio.get_running_loop()
        while not self._ends:
            began = loop.time()
            try:
                await self._connect_once()
            except Exception as error:  # noqa: BLE001 - whatever a stranger does must not stop the gateway
                self.reason = why(error)
            finally:
                self._connection = None
                self.tried.set()
            if loop.time() - began > STEADY_S:
                pause = FIRST_PAUSE_S
            said = {"reason": self.reason, "last_words": self.words.line}
            log.warning("mcp_server_down", extra={"server": self.name, **said, "again_s": pause})
            await self._sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _connect_once(self) -> None:
        """Returns never: raises what ended the connection."""
        news: asyncio.Queue[Lost | None] = asyncio.Queue()
        self._news = news
        self.words = LastWords()
        opening = connected(
            self._where,
            changed=lambda: news.put_nowait(None),
            lost=lambda: news.put_nowait(Lost("its process has ended")),
            words=self.words,
        )
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(HANDSHAKE_S):
                connection = await stack.enter_async_context(opening)
            await self._heard(await connection.offers())
            self._connection = connection
            self.tried.set()
            log.info("mcp_server_up", extra={"server": self.name})
            watching = asyncio.create_task(self._watch(connection, news))
            try:
                await self._attend(connection, news)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, connection: Connection, news: "asyncio.Queue[Lost | None]") -> None:
        while await connection.watch(lambda: news.put_nowait(None)):
            await self._sleep(LISTEN_AGAIN_S)

    async def _attend(self, connection: Connection, news: "asyncio.Queue[Lost | None]") -> None:
        while True:
            what = await news.get()
            while what is None and not news.empty():
                what = news.get_nowait()
            if what is not None:
                raise what
            await self._heard(await connection.offers())
            await self._sleep(QUIET_S)


def why(error: BaseException) -> str:
    """An error of a connection in one line; of a group, the first that says something."""
    first = next(_leaves(error))
    if isinstance(first, TimeoutError):
        return f"no answer within {HANDSHAKE_S:g} s"
    if isinstance(first, ModuleNotFoundError):
        return "the package is missing: pip install 'swarmgate[mcp]'"
    if isinstance(first, OSError) and first.strerror:
        return one_line(f"{first.strerror}: {first.filename or ''}".rstrip(": "), 200)
    return one_line(str(first), 300) or type(first).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
