"""Gemini, through the `google-genai` SDK (extra `[gemini]`).

The SDK builds the request, signs, sends and reads statuses and events. It runs on an httpx2 client of ours, so that
errors of the transport are those of the other providers, and that a reader who leaves closes the connection at once:
the SDK's nested generators would do so some time later. It retries nothing itself (see fallback.py).
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agent_core.errors import (
    ModelAuthRefused,
    ModelBadRequest,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    StreamBroken,
)
from agent_core.models.failures import of_status, of_transport, transport_errors
from agent_core.models.gemini_events import Fold
from agent_core.models.gemini_wire import Form, config, contents
from agent_core.models.stream import StreamLimits, closing, drain, watch
from agent_core.ports import Chunk, ModelInfo, ModelRequest

if TYPE_CHECKING:
    from google.genai import Client
    from httpx2 import AsyncClient, Response

_ABOUT_THINKING = re.compile(r"thinking|thought", re.IGNORECASE)
_ABOUT_SIGNATURE = re.compile(r"signature", re.IGNORECASE)
_BAD_KEY = re.compile(r"api key (not valid|expired)|API_KEY_INVALID", re.IGNORECASE)
_RETRY_DELAY = re.compile(r"(\d+(?:\.\d+)?)s\Z")

# The responses that the call of this context has opened; our client's hook puts them in.
_OPENED: ContextVar["list[Response] | None"] = ContextVar("opened", default=None)


def warm() -> None:
    """Import the SDK and its client; run it in a thread before the first message needs it."""
    from google.genai import Client, types

    del Client, types


async def _note(response: "Response") -> None:
    opened = _OPENED.get()
    if opened is not None:
        opened.append(response)


def _life(event: Any) -> bool:
    """A chunk with words, reasoning, a call or an end; one with usage alone is none."""
    candidates = event.candidates
    if not candidates:
        return event.prompt_feedback is not None
    return bool(candidates[0].finish_reason or candidates[0].content)


class GeminiModel:
    """A Model of Google's Gemini API.

    Args:
        info: facts; its name is `<provider>/<model>`.
        provider: name of the provider entry, for errors.
        api_key: the key; an empty one is refused without a call.
        base_url: None for Google's own; without the API's version.
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
        self._form = Form()
        self._client: Client | None = None
        self._making = asyncio.Lock()
        self._http: AsyncClient | None = None

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
            async for event in source:
                for chunk in fold.feed(event):
                    yield chunk
            await drain(source)
        yield fold.finish()

    async def close(self) -> None:
        """Close connections."""
        client, self._client = self._client, None
        http, self._http = self._http, None
        if client is not None:
            client.close()
        if http is not None:
            await http.aclose()

    async def _events(self, request: ModelRequest) -> AsyncIterator[Any]:
        """The chunks of one answer. A model that cannot think is asked again without."""
        form = self._form
        try:
            async with closing(self._call(request, form)) as source:
                async for event in source:
                    yield event
        except ModelBadRequest as error:
            about = _ABOUT_THINKING.search(error.detail)
            if not form.thinking or not about or _ABOUT_SIGNATURE.search(error.detail):
                raise
        else:
            return
        async with closing(self._call(request, Form(thinking=False))) as source:
            async for event in source:
                self._form = Form(thinking=False)
                yield event

    async def _call(self, request: ModelRequest, form: Form) -> AsyncIterator[Any]:
        client = await self._ready()
        opened: list[Response] = []
        _OPENED.set(opened)
        started = False
        try:
            stream = await client.aio.models.generate_content_stream(
                model=self._info.name.partition("/")[2],
                contents=contents(request, self._info),  # type: ignore[arg-type]
                config=config(request, self._info, form),  # type: ignore[arg-type]
            )
            async for event in stream:
                started = True
                yield event
        except _api_error() as error:
            raise _of_api(self._provider, error) from error
        except ValueError as error:  # the SDK's own for what is no JSON, and pydantic's
            raise StreamBroken(self._provider, f"unreadable event: {error}"[:500]) from error
        except transport_errors() as error:
            known = of_transport(self._provider, error, started=started)
            raise known or StreamBroken(self._provider, type(error).__name__) from error
        finally:
            for response in opened:
                await response.aclose()

    async def _ready(self) -> "Client":
        if not self._key:
            raise ModelAuthRefused(self._provider, "no API key is set")
        async with self._making:  # one for all callers: those that come meanwhile wait for it
            if self._client is None:
                self._client = await self._made()
            return self._client

    async def _made(self) -> "Client":
        if "google.genai.client" not in sys.modules:
            await asyncio.to_thread(warm)
        return await asyncio.to_thread(self._make)

    def _make(self) -> "Client":
        """The client, which reads certificates: 0.1 s of CPU."""
        import httpx2
        from google.genai import Client, types

        # No limits of its own: `watch` bounds connecting and reading, and tells the phases apart.
        self._http = httpx2.AsyncClient(timeout=None, event_hooks={"response": [_note]})
        options = types.HttpOptions(base_url=self._base_url, httpx_async_client=self._http)
        return Client(vertexai=False, api_key=self._key, http_options=options)


def _api_error() -> type[Exception]:
    from google.genai.errors import APIError

    return APIError


def _of_api(provider: str, error: Any) -> ModelError:
    """The error for an APIError, whether it came as a status or inside the stream."""
    details = error.details if isinstance(error.details, dict) else {}
    inner = details.get("error", details)
    message = f"{error.status or ''} {error.message or error.details}".strip()
    status = error.code if isinstance(error.code, int) else None
    if status is None or status < 400:
        return ModelOverloaded(provider, message[:500])
    if status == 400 and _BAD_KEY.search(f"{message} {inner}"):
        return ModelAuthRefused(provider, message[:500])
    made = of_status(provider, status, message, getattr(error.response, "headers", None))
    if isinstance(made, ModelRateLimited) and made.retry_after is None:
        made.retry_after = _delay(inner)
    return made


def _delay(inner: Any) -> float | None:
    """Seconds of Google's RetryInfo, such as "7s"."""
    for detail in inner.get("details") or () if isinstance(inner, dict) else ():
        delay = _RETRY_DELAY.match(str(detail.get("retryDelay", "")))
        if delay:
            return float(delay[1])
    return None
