"""Voice messages as words, by any endpoint that has OpenAI's `/audio/transcriptions`.

A small call without a stream: plain aiohttp, so that no SDK is loaded for it.
"""

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import aiohttp

from agent_core.errors import ModelTimeout, ModelUnreachable, StreamBroken
from agent_core.models.catalog import usage_of
from agent_core.models.failures import of_status
from agent_core.ports import Heard, Price
from agent_core.types import Usage

OPENAI = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
TOTAL_SECONDS = 90.0  # a voice message of some minutes takes about ten
# The endpoint goes by the ending of the name, and knows these (OpenAI's page on speech to text).
ENDINGS = (".flac", ".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".ogg", ".wav", ".webm")
_BY_TYPE = {
    "ogg": ".ogg",
    "opus": ".ogg",
    "mpeg": ".mp3",
    "mp3": ".mp3",
    "mp4": ".m4a",
    "m4a": ".m4a",
    "x-m4a": ".m4a",
    "wav": ".wav",
    "x-wav": ".wav",
    "wave": ".wav",
    "webm": ".webm",
    "flac": ".flac",
    "x-flac": ".flac",
}


class OpenAITranscriber:
    """ports.Transcriber.

    Args:
        model: its name at the endpoint, such as whisper-1 or gpt-4o-mini-transcribe.
        provider: name of the provider entry, for errors.
        api_key: the key; empty where the endpoint wants none.
        base_url: None for OpenAI's own; usually ends in /v1.
        total: seconds that a whole call may take.
        price: of its tokens, None where it is unknown; called in a thread.
    """

    def __init__(
        self,
        model: str,
        *,
        provider: str,
        api_key: str,
        base_url: str | None = None,
        total: float = TOTAL_SECONDS,
        price: Callable[[], Price | None] = lambda: None,
    ) -> None:
        self._price = price
        self._model = model
        self._provider = provider
        self._key = api_key
        self._url = f"{(base_url or OPENAI).rstrip('/')}/audio/transcriptions"
        self._timeout = aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_SECONDS)
        self._session: aiohttp.ClientSession | None = None

    @property
    def name(self) -> str:
        """See ports.Transcriber."""
        return f"{self._provider}/{self._model}"

    async def price(self) -> Price | None:
        """See ports.Transcriber."""
        return await asyncio.to_thread(self._price)

    async def transcribe(self, data: bytes, name: str, media_type: str) -> Heard:
        """See ports.Transcriber. Raises a ModelError."""
        form = aiohttp.FormData({"model": self._model, "response_format": "json"})
        form.add_field(
            "file", io.BytesIO(data), filename=named(name, media_type), content_type=media_type
        )
        try:
            async with self._ready().post(self._url, data=form) as response:
                body = await response.read()
        except aiohttp.ClientConnectorError as error:
            raise ModelUnreachable(self._provider, type(error).__name__) from error
        except TimeoutError as error:
            raise ModelTimeout(self._provider, "total", self._timeout.total or 0) from error
        except aiohttp.ClientError as error:
            raise StreamBroken(self._provider, type(error).__name__) from error
        if response.status >= 400:
            raise of_status(self._provider, response.status, _said(body), response.headers)
        found = _parsed(body)
        return Heard(_words(self._provider, found), _usage(found, await self.price()))

    async def close(self) -> None:
        """See ports.Transcriber."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _ready(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._session = aiohttp.ClientSession(
                headers=headers, timeout=self._timeout, trust_env=True
            )
        return self._session


def named(name: str, media_type: str) -> str:
    """The name with an ending that the endpoint knows, where the media type tells one."""
    if name.lower().endswith(ENDINGS):
        return name
    kind = media_type.partition(";")[0].partition("/")[2].lower()
    return f"{name}{_BY_TYPE.get(kind, '')}"


def _said(body: bytes) -> str:
    """The message of an error body, for the log."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode("utf-8", "replace")


def _parsed(body: bytes) -> Any:
    """The answer; some servers send plain text whatever was asked for."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _words(provider: str, found: Any) -> str:
    text = found.get("text") if isinstance(found, dict) else found
    if not isinstance(text, str):
        raise StreamBroken(provider, "the transcription has no text")
    return text.strip()


def _usage(found: Any, price: Price | None) -> Usage:
    """What was used, where the answer counts tokens; older models go by the second, for which there is no price."""
    told = found.get("usage") if isinstance(found, dict) else None
    told = told if isinstance(told, dict) else {}
    read, written = told.get("input_tokens"), told.get("output_tokens")
    if not isinstance(read, int) or not isinstance(written, int):
        return Usage(usd=None, usd_uncached=None)
    return usage_of(price, fresh=read, output=written)
