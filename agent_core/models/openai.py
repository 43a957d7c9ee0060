"""OpenAI, and any endpoint that speaks its chat-completions API, through the `openai` SDK.

Endpoints differ in what they take. What one refuses is left out, one thing at a time, and remembered (PRV-2).
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_core.errors import ModelAuthRefused, ModelBadRequest, StreamBroken
from agent_core.models.failures import of_sdk, transport_errors
from agent_core.models.lazy_packages import open_by_name
from agent_core.models.openai_events import Fold, names_parameter
from agent_core.models.openai_wire import DROPPABLE, LIMITS, Manner, body
from agent_core.models.sse import frames
from agent_core.models.stream import StreamLimits, closing, drain, watch
from agent_core.ports import Chunk, ModelInfo, ModelRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI

CONNECT_SECONDS = 10.0
_DONE = "[DONE]"
_NO_KEY = "none"  # local servers want a header and read nothing in it


def warm() -> None:
    """Import the SDK and its client; run it in a thread before the first message needs it."""
    open_by_name("openai")
    from openai import AsyncOpenAI
    from openai.resources.chat import AsyncCompletions

    del AsyncOpenAI, AsyncCompletions


def _life(event: dict[str, Any] | None) -> bool:
    """A chunk with words, reasoning or a piece of a call; the empty head with the role is none."""
    if event is None:
        return True
    choices = event.get("choices")
    delta = (choices[0].get("delta") or {}) if choices else {}
    return any(v for k, v in delta.items() if k != "role")


class OpenAIModel:
    """A Model of any OpenAI-compatible endpoint.

    Args:
        info: facts; its name is `<provider>/<model>`.
        provider: name of the provider entry, for errors.
        api_key: the key; empty is allowed with a `base_url` alone (local servers).
        base_url: None for OpenAI's own; usually ends in /v1.
        limits: the stream's time-outs.
        options: further parameters of each request, such as frequency_penalty.
        max_retries: of the SDK, before the first byte.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        provider: str,
        api_key: str,
        base_url: str | None = None,
        limits: StreamLimits | None = None,
        options: Mapping[str, Any] | None = None,
        max_retries: int = 0,
    ) -> None:
        self._info = info
        self._provider = provider
        self._key = api_key
        self._base_url = base_url
        self._limits = limits or StreamLimits()
        self._max_retries = max_retries
        own = base_url is None or "api.openai.com" in base_url
        limit = "max_completion_tokens" if own else "max_tokens"
        self._manner = Manner(limit, options=dict(options or {}))
        self._proven = False
        self._client: AsyncOpenAI | None = None
        self._making = asyncio.Lock()

    @property
    def info(self) -> ModelInfo:
        """Facts about the model."""
        return self._info

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream one answer; see ports.Model. Raises a ModelError for every bad end."""
        fold = Fold(request, self._info, self._provider)
        limits = self._limits.within(request.idle)
        events = watch(self._events(request), limits, self._provider, _life)
        async with closing(events) as source:
            async for event in source:
                if event is None:
                    fold.done()
                    await drain(source)
                    break
                for chunk in fold.feed(event):
                    yield chunk
        for chunk in fold.rest():
            yield chunk
        yield fold.finish()

    async def close(self) -> None:
        """Close connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _events(self, request: ModelRequest) -> AsyncIterator[dict[str, Any] | None]:
        """The events of one answer, None for `[DONE]`. Refused parameters are left out, and the call made again."""
        manner = self._manner
        refusal: ModelBadRequest | None = None
        unnamed: Iterator[Manner] | None = None
        while True:
            try:
                async with closing(self._call(body(request, self._info, manner))) as source:
                    async for event in source:
                        self._manner, self._proven = manner, True
                        yield event
            except ModelBadRequest as error:
                refusal = refusal or error
                simpler = simpler_for(manner, error.detail, request)
                if simpler is None and not self._proven:
                    unnamed = unnamed or _one_less(manner, request)
                    simpler = next(unnamed, None)
                if simpler is None:
                    raise refusal from None
                manner = simpler
            else:
                return

    async def _call(self, content: dict[str, Any]) -> AsyncIterator[dict[str, Any] | None]:
        client = await self._ready()
        started = False
        try:
            async with client.chat.completions.with_streaming_response.create(
                **content, stream=True
            ) as response:
                if "application/json" in response.headers.get("content-type", ""):
                    yield json.loads(await response.read())
                    yield None
                    return
                async for _, data in frames(response.iter_bytes()):
                    started = True
                    yield None if data.strip() == _DONE else json.loads(data)
        except ValueError as error:
            raise StreamBroken(self._provider, f"unreadable event: {error}") from error
        except (*transport_errors(), _sdk_error()) as error:
            known = of_sdk(self._provider, error, started=started)
            raise known or StreamBroken(self._provider, type(error).__name__) from error

    async def _ready(self) -> "AsyncOpenAI":
        if not self._key and self._base_url is None:
            raise ModelAuthRefused(self._provider, "no API key is set")
        async with self._making:  # one for all callers: those that come meanwhile wait for it
            if self._client is None:
                self._client = await self._made()
            return self._client

    async def _made(self) -> "AsyncOpenAI":
        if "openai.resources.chat" not in sys.modules:
            await asyncio.to_thread(warm)
        from openai import AsyncOpenAI, Timeout

        return AsyncOpenAI(
            api_key=self._key or _NO_KEY,
            base_url=self._base_url,
            max_retries=self._max_retries,
            timeout=Timeout(None, connect=CONNECT_SECONDS),
        )


def _sdk_error() -> type[Exception]:
    from openai import OpenAIError

    return OpenAIError


def _sent(manner: Manner, request: ModelRequest) -> set[str]:
    """The parameters of DROPPABLE that this request carries."""
    sent = {"stream_options", *manner.options}
    if request.tools:
        sent.add("tool_choice")
    if request.effort:
        sent.add("reasoning_effort")
    return sent - manner.dropped


def simpler_for(manner: Manner, detail: str, request: ModelRequest) -> Manner | None:
    """The manner without what a refusal names; None where it names nothing that can be left out."""
    if "reasoning_content" in detail and manner.reasoning == "kept":
        absent = "missing" in detail.lower() or "required" in detail.lower()
        return replace(manner, reasoning="always" if absent else "never")
    if manner.limit and names_parameter(detail, manner.limit):
        swapped = f"{manner.limit}!" in manner.dropped
        other = None if swapped else LIMITS[manner.limit]
        return replace(manner, limit=other, dropped=manner.dropped | {f"{other}!"})
    for parameter in sorted(_sent(manner, request)):
        if names_parameter(detail, parameter):
            return replace(manner, dropped=manner.dropped | {parameter})
    return None


def _one_less(manner: Manner, request: ModelRequest) -> Iterator[Manner]:
    """Manners with one parameter less each time, for a refusal that names none.

    Tried only until the endpoint has answered once: later, an unnamed refusal is about the content.
    """
    for parameter in DROPPABLE:
        if parameter in _sent(manner, request):
            manner = replace(manner, dropped=manner.dropped | {parameter})
            yield manner
