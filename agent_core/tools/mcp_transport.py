"""The official `mcp` package, as a client: one connection to one server, by its standard input or by HTTP.

This file and mcp_process.py alone import the package for this. No capability is offered to a server: it can neither ask
the model (sampling), nor the person (elicitation), nor see folders (roots).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_core.tools.mcp import Offer
from agent_core.tools.mcp_answer import Reply
from agent_core.tools.mcp_process import Command, LastWords, piped
from agent_core.tools.spec import ToolFailure
from agent_core.tools.untrusted import one_line

if TYPE_CHECKING:
    from mcp import Client

MOST_BYTES = 8 * 2**20  # of one answer by HTTP
PAGES = 20  # of a list of tools; each is as long as the server likes
LISTING_S = 30.0
CONNECT_S = 10.0
CLIENT = ("swarmgate", "0.1.0")


class Lost(Exception):
    """The connection is gone; the argument says why, in one line."""


@dataclass(frozen=True, slots=True)
class Url:
    """A server that speaks streamable HTTP. Redirects are followed within its own origin only."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Connection:
    """An open connection. Its methods may be called from any task, side by side."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def offers(self) -> list[Offer]:
        """The tools that the server lists now. Raises Lost."""
        from mcp import MCPError
        from pydantic import ValidationError

        found: list[Offer] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(LISTING_S):
                for _ in range(PAGES):
                    page = await self._client.list_tools(cursor=cursor)
                    found += [
                        Offer(t.name, t.description or "", t.input_schema, t.title or "")
                        for t in page.tools
                    ]
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        except TimeoutError:
            raise Lost(f"its tools were not listed within {LISTING_S:g} s") from None
        except ValidationError:
            raise Lost("its list of tools is not as the protocol has it") from None
        except MCPError as error:
            raise Lost(f"its tools cannot be listed: {one_line(str(error), 200)}") from None
        return found

    async def call(
        self, tool: str, args: dict[str, Any], tell: Callable[[str, float | None], None]
    ) -> Reply:
        """See agent_core.tools.mcp.Caller; raises Lost instead of ToolFailure when the connection is gone."""
        from mcp import MCPError
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult
        from pydantic import ValidationError

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            share = min(max(progress / total, 0.0), 1.0) if total else None
            tell(one_line(message or "", 120), share)

        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=args))
        try:
            # not `call_tool`, which judges the answer by a stranger's schema, patterns and all
            result = await self._client.session.send_request(
                request, CallToolResult, progress_callback=heard
            )
        except ValidationError:
            raise ToolFailure("its answer is not as the protocol has it") from None
        except MCPError as error:
            if _is_gone(error):
                raise Lost(one_line(str(error), 200)) from None
            raise ToolFailure(f"it refuses: {one_line(str(error), 300)}") from None
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def watch(self, changed: Callable[[], None]) -> bool:
        """Tell of each change of the list, where the server speaks a version that has to be asked for that.

        Returns when there is nothing more to hear: whether it is worth asking again.
        """
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        try:
            async with self._client.listen(tools_list_changed=True) as events:
                changed()  # what changed before anybody listened is told by nobody
                async for _ in events:
                    changed()
        except SubscriptionLost:
            return True  # such as by a proxy that lets nothing stay open
        except (ListenNotSupportedError, MCPError):
            return False  # older servers tell by themselves; others do not tell at all
        return True


def _is_gone(error: Exception) -> bool:
    from mcp.types import CONNECTION_CLOSED

    code = getattr(error, "code", None)
    # by HTTP a session that the server has forgotten is told in words alone
    return code == CONNECTION_CLOSED or "Session terminated" in str(error)


@asynccontextmanager
async def connected(
    where: Command | Url,
    *,
    changed: Callable[[], None],
    lost: Callable[[], None],
    words: LastWords,
) -> AsyncIterator[Connection]:
    """Connect and shake hands; enter and leave in the same task. Leaving ends a server's process and its children.

    `changed` is called when the server tells that its tools have changed, `lost` when its process has ended;
    `words` gets what a process says last.
    Raises OSError, Lost, or what the package raises (also in groups).
    """
    await asyncio.to_thread(_import)
    from mcp import Client, Implementation
    from mcp.types import ToolListChangedNotification

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    async with AsyncExitStack() as stack:
        transport = _http(where) if isinstance(where, Url) else piped(where, words)
        client = Client(
            _watched(transport, lost),
            message_handler=heard,
            client_info=Implementation(name=CLIENT[0], version=CLIENT[1]),
            cache=None,
        )
        yield Connection(await stack.enter_async_context(client))


def _import() -> None:
    """Half a second of work, not for the loop."""
    import mcp.client.subscriptions  # noqa: F401


@asynccontextmanager
async def _http(where: Url) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    client = httpx2.AsyncClient(
        headers=dict(where.headers),
        timeout=httpx2.Timeout(CONNECT_S, read=None),  # each call has a time of its own
        transport=_bounded(),
    )
    async with (
        client,
        streamable_http_client(
            where.url, http_client=client, max_sse_event_size=MOST_BYTES
        ) as streams,
    ):
        yield streams


def _bounded() -> Any:
    """An HTTP transport that reads no more than MOST_BYTES of an answer that comes in one piece."""
    import httpx2

    class Counted(httpx2.AsyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for chunk in self._inner:
                count += len(chunk)
                if count > MOST_BYTES:
                    raise httpx2.StreamError(f"longer than {MOST_BYTES:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    class Bounded(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if "event-stream" not in response.headers.get("content-type", ""):
                response.stream = Counted(response.stream)
            return response

    return Bounded(trust_env=False)


@asynccontextmanager
async def _watched(transport: Any, ended: Callable[[], None]) -> AsyncIterator[Any]:
    """The transport's streams; `ended` is called when there is nothing more to read."""
    async with transport as (read, write):
        yield _Watched(read, ended), write


class _Watched:
    """A stream of the package's that tells of its end."""

    def __init__(self, inner: Any, ended: Callable[[], None]) -> None:
        self._inner = inner
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        return await self._inner.receive()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "_Watched":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except StopAsyncIteration:
            self._ended()
            raise

    async def __aenter__(self) -> "_Watched":
        await self._inner.__aenter__()
        return self

    def __aexit__(self, *exc: Any) -> Awaitable[bool | None]:
        leaving: Awaitable[bool | None] = self._inner.__aexit__(*exc)
        return leaving
