"""Claude, through the `anthropic` SDK.

The SDK knows the address, the headers and the HTTP client; calls go through the latter, and what comes is read as bytes
(see sse.py for why) and folded in anthropic_events.py. Nothing is retried here: FallbackModel knows whether another
provider should answer instead.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_core.errors import ModelAuthRefused, ModelBadRequest, StreamBroken
from agent_core.models.anthropic_events import Fold
from agent_core.models.anthropic_wire import Form, body, thinking_form
from agent_core.models.failures import of_answer, of_transport, transport_errors
from agent_core.models.lazy_packages import Waiting, open_by_name
from agent_core.models.sse import batches
from agent_core.models.stream import StreamLimits, closing, drain, watch
from agent_core.ports import Chunk, ModelInfo, ModelRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from httpx2 import AsyncClient, Response

CONNECT_SECONDS = 10.0
_ABOUT_SIGNATURE = re.compile(r"signature|thinking.{0,40}block", re.IGNORECASE)
_ABOUT_THINKING = re.compile(r"thinking|effort|adaptive|output_config|budget", re.IGNORECASE)


def _status_error(message: str, **_: object) -> Exception:
    """For the SDK's own calls, which nobody makes here: its errors load 300 modules of types."""
    return RuntimeError(message)


# Otherwise spans that nobody records, and errors that have not happened, load most of the SDK's types.
_WAITING = Waiting(
    bodies=frozenset({"lib._tracing._api_call"}),
    instead={"_error_classes": {"make_status_error": _status_error}},
)


def warm() -> None:
    """Import the SDK: a fifth of a second of CPU, so run it in a thread before the first message needs it."""
    open_by_name("anthropic", _WAITING)
    import anthropic

    anthropic.AsyncAnthropic  # noqa: B018 - the SDK fills its namespace lazily
    anthropic.DefaultAioHttpClient  # noqa: B018


# What came together goes together: one step through time-outs and generators for all of it.
_Events = list[dict[str, Any]]


def _life(events: _Events) -> bool:
    return any(
        event.get("type") in ("content_block_delta", "content_block_stop") for event in events
    )


class AnthropicModel:
    """A Model of Anthropic's Messages API.

    Args:
        info: facts; its name is `<provider>/<model>`.
        provider: name of the provider entry, for errors.
        api_key: the key; an empty one is refused without a call.
        base_url: None for Anthropic's own.
        limits: the stream's time-outs.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        provider: str,
        api_key: str,
        base_url: str | None = None,
        limits: StreamLimits | None = None,
    ) -> None:
        self._info = info
        self._provider = provider
        self._key = api_key
        self._base_url = base_url
        self._limits = limits or StreamLimits()
        self._form = Form(thinking_form(info.name))
        self._line: _Line | None = None
        self._making = asyncio.Lock()

    @property
    def info(self) -> ModelInfo:
        """Facts about the model."""
        return self._info

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream one answer; see ports.Model. Raises a ModelError for every bad end."""
        fold = Fold(self._info, self._provider)
        limits = self._limits.within(request.idle)
        events = watch(self._events(request), limits, self._provider, _life)
        async with closing(events) as source:
            async for batch in source:
                for event in batch:
                    chunk = fold.feed(event)
                    if chunk is not None:
                        yield chunk
                if any(event.get("type") == "message_stop" for event in batch):
                    await drain(source)
                    break
        yield fold.finish()

    async def close(self) -> None:
        """Close connections."""
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def _events(self, request: ModelRequest) -> AsyncIterator[_Events]:
        """The events of one answer. What the model is found not to accept is left out and the call made again."""
        form = self._form
        while True:
            try:
                async with closing(self._call(body(request, self._info, form))) as source:
                    async for events in source:
                        yield events
            except ModelBadRequest as error:
                simpler = _simpler(form, error.detail)
                if simpler is None:
                    raise
                form = simpler
            else:
                if form.signed:  # unsigned: a matter of one history, so nothing is remembered
                    self._form = form
                return

    async def _call(self, content: dict[str, Any]) -> AsyncIterator[_Events]:
        started = False
        try:
            line = await self._ready()
            async with aclosing(await line.post(content)) as response:
                if not response.is_success:
                    raise of_answer(
                        self._provider,
                        response.status_code,
                        await response.aread(),
                        response.headers,
                    )
                async for batch in batches(response.aiter_bytes()):
                    if events := [json.loads(data) for name, data in batch if name != "ping"]:
                        started = True
                        yield events
        except ValueError as error:
            raise StreamBroken(self._provider, f"unreadable event: {error}") from error
        except transport_errors() as error:
            known = of_transport(self._provider, error, started=started)
            raise known or StreamBroken(self._provider, type(error).__name__) from error

    async def _ready(self) -> "_Line":
        if not self._key:
            raise ModelAuthRefused(self._provider, "no API key is set")
        async with self._making:  # one for all callers: those that come meanwhile wait for it
            if self._line is None:
                self._line = await self._made()
            return self._line

    async def _made(self) -> "_Line":
        if "anthropic" not in sys.modules:
            await asyncio.to_thread(warm)
        from anthropic import AsyncAnthropic, DefaultAioHttpClient, Timeout

        # Reading has no limit of its own here: `watch` bounds it, and tells the phases apart.
        timeout = Timeout(None, connect=CONNECT_SECONDS)
        # on the HTTP stack that serves and calls everything else here, for half the CPU of the SDK's own
        http = DefaultAioHttpClient(timeout=timeout)
        sdk = AsyncAnthropic(api_key=self._key, base_url=self._base_url, http_client=http)
        return _Line(sdk, http)


class _Line:
    """Where calls go: the SDK's address and headers, and its HTTP client.

    The SDK's own call copies every tool's schema, and builds and checks the same address and headers each time, for
    more CPU than all the rest of the call takes; its retries and errors are ours anyway (FallbackModel, failures.py).
    """

    def __init__(self, sdk: "AsyncAnthropic", http: "AsyncClient") -> None:
        from httpx2 import URL, Headers

        self._sdk = sdk
        self._http = http
        self._url = URL(f"{str(sdk.base_url).rstrip('/')}/v1/messages")
        self._headers = Headers(
            {k: v for k, v in sdk.default_headers.items() if isinstance(v, str)}
        )

    async def post(self, content: dict[str, Any]) -> "Response":
        """The answer, whatever its status, unread; close it. Raises what the transport raises."""
        text = json.dumps(
            content | {"stream": True}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        request = self._http.build_request(
            "POST", self._url, content=text.encode(), headers=self._headers
        )
        return await self._http.send(request, stream=True)

    async def close(self) -> None:
        """Close connections."""
        await self._sdk.close()


def _simpler(form: Form, detail: str) -> Form | None:
    """The form without what a refusal names; None where it names nothing that can be left out."""
    if form.signed and _ABOUT_SIGNATURE.search(detail) and "budget" not in detail:
        return replace(form, signed=False)
    if not _ABOUT_THINKING.search(detail) or form.thinking == "none":
        return None
    return replace(form, thinking="budget" if form.thinking == "adaptive" else "none")
