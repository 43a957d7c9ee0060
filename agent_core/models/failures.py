"""What went wrong in a model call, as one of our errors: the one place that knows HTTP statuses and transports.

The SDKs run on httpx2, and once a stream has begun its exceptions come raw (measured: a reset is
`httpx2.RemoteProtocolError`, a stall `httpx2.ReadTimeout`, none an SDK's exception). Details are kept for logs;
people are told kinds, never these texts.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from agent_core.errors import (
    ContextTooLong,
    ModelAuthRefused,
    ModelBadRequest,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    StreamBroken,
)

_TOO_LONG = re.compile(
    r"prompt is too long|context[ _]length|context window|maximum context|too many (input )?tokens"
    r"|exceeds? (the )?(model'?s? )?(max|maximum|available) (context|input|tokens|model length)"
    r"|input token count.{0,40}exceeds|input (is )?too long|request_too_large|exceed_context_size",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(
    r"model.{0,80}(not found|does not exist|not exist|unknown|not supported)|unknown model|invalid model",
    re.IGNORECASE | re.DOTALL,
)
# The `type` (Anthropic) or `code` (OpenAI and compatible) of an error that comes inside a stream, as a status.
_TYPES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_DETAIL = 500
_REFUSED = frozenset({401, 402, 403})
_BAD = frozenset({400, 413, 422})


def of_status(
    provider: str, status: int, message: str, headers: Mapping[str, str] | None = None
) -> ModelError:
    """The error for an answer with this HTTP status.

    402 (no money left) counts as a refused key: waiting does not mend it, and the operator must act.
    """
    detail = f"{status} {message}"[:_DETAIL]
    if status in _REFUSED:
        return ModelAuthRefused(provider, detail)
    if status == 404:
        return ModelUnknown(provider, detail)
    if status in _BAD:
        return _bad_request(provider, status, message, detail)
    if status == 429:
        return ModelRateLimited(provider, detail, retry_after(headers or {}))
    if status in {408, 409, 425} or status >= 500:
        return ModelOverloaded(provider, detail)
    return ModelBadRequest(provider, detail)


def of_answer(provider: str, status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
    """The error for an answer of this HTTP status whose body tells more, as JSON or in words."""
    try:
        read: object = json.loads(body)
    except ValueError:
        read = None
    inner = _inner(read)
    words = _told(inner) if isinstance(inner, dict) else body.decode(errors="replace").strip()
    return of_status(provider, status, words, headers)


def _bad_request(provider: str, status: int, message: str, detail: str) -> ModelError:
    if status == 413 or _TOO_LONG.search(message):
        return ContextTooLong(provider, detail)
    if _UNKNOWN_MODEL.search(message):
        return ModelUnknown(provider, detail)
    return ModelBadRequest(provider, detail)


def of_event(provider: str, error: object) -> ModelError:
    """The error for an `error` object that came inside a stream whose HTTP status was 200."""
    fields = error if isinstance(error, dict) else {"message": str(error)}
    message = str(fields.get("message") or fields)
    for key in ("type", "code", "status"):
        value = fields.get(key)
        status = value if isinstance(value, int) else _TYPES.get(str(value))
        if status is not None and status >= 400:
            return of_status(provider, status, message)
    return ModelOverloaded(provider, message[:_DETAIL])


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks to wait; None where it says nothing usable (an HTTP date included)."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            continue
    return None


def transport_errors() -> tuple[type[Exception], ...]:
    """What httpx2 raises, for an `except` clause."""
    import httpx2

    return (httpx2.HTTPError, httpx2.StreamError)


def of_sdk(provider: str, error: Exception, *, started: bool) -> ModelError | None:
    """The error for an exception of an SDK or of its transport; None for anything that is neither.

    Args:
        provider: name of the provider entry.
        error: what was raised.
        started: whether the stream had begun; a lost connection is then a broken stream.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        response: Any = getattr(error, "response", None)
        if status < 400:  # an error event: the SDK reports the stream's own status
            return of_event(provider, _inner(getattr(error, "body", None)))
        return of_status(provider, status, _message(error), getattr(response, "headers", None))
    names = {c.__name__ for c in type(error).__mro__}
    if "APITimeoutError" in names:
        return _timed_out(provider, error.__cause__ or error, started=started)
    if "APIConnectionError" in names:
        kind = StreamBroken if started else ModelUnreachable
        return kind(provider, f"{type(error.__cause__ or error).__name__}"[:_DETAIL])
    return of_transport(provider, error, started=started)


def of_transport(provider: str, error: Exception, *, started: bool) -> ModelError | None:
    """The error for a raw transport exception; None for anything else."""
    import httpx2

    if isinstance(error, httpx2.TimeoutException):
        return _timed_out(provider, error, started=started)
    if isinstance(error, httpx2.HTTPError | httpx2.StreamError):
        kind = StreamBroken if started else ModelUnreachable
        return kind(provider, f"{type(error).__name__}: {error}"[:_DETAIL])
    return None


def _timed_out(provider: str, error: BaseException, *, started: bool) -> ModelError:
    import httpx2

    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return ModelUnreachable(provider, type(error).__name__)
    return ModelTimeout(provider, "idle" if started else "first_token", 0)


def _message(error: Exception) -> str:
    inner = _inner(getattr(error, "body", None))
    told = _told(inner) if isinstance(inner, dict) else ""
    return told or str(getattr(error, "message", error))


def _told(inner: Mapping[str, Any]) -> str:
    """What the `error` object of a body says; empty where it has no message."""
    if not inner.get("message"):
        return ""
    return f"{inner['message']} ({inner.get('param') or inner.get('type') or inner.get('code')})"


def _inner(body: object) -> object:
    """The `error` object of a body, or the body."""
    if isinstance(body, dict):
        return body.get("error", body)
    return body
