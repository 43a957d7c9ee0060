"""Anthropic's Messages API over loopback: streaming, validation of histories, prefix caching, every bad end.

Known differences from the real thing: tokens are a fourth of the characters; signatures are hashes; no batches, files
or server tools; `thinking` is answered only where the script has some.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from tests.twins.anthropic_cache import PrefixCache
from tests.twins.anthropic_rules import problems
from tests.twins.llm_script import (
    Answered,
    ScriptBook,
    Turn,
    digest_of,
    pieces,
    say,
    stall,
)
from tests.twins.twin import CALL, Twin, reset

STOPS = {"end": "end_turn"}
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
Event = tuple[str, dict[str, Any]]


class AnthropicTwin(Twin, ScriptBook):
    """The twin. Scripts: see ScriptBook. Address: `url`.

    Attributes:
        models: names that exist (empty: any); others are answered 404.
        key: the API key that is accepted (None: any but an empty one).
        cache: the prefix cache.
        disconnects: streams that the client left before their end.
        peers: where each call came from, as (address, port).
    """

    name = "anthropic"

    def __init__(self) -> None:
        Twin.__init__(self)
        ScriptBook.__init__(self)
        self.models: list[str] = []
        self.key: str | None = None
        self.cache = PrefixCache()
        self.disconnects = 0
        self.peers: list[tuple[str, int]] = []

    def add_routes(self, app: web.Application) -> None:
        """Add the API."""
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count)
        app.router.add_get("/v1/models", self._models)

    @property
    def finished(self) -> list[Answered]:
        """The calls whose answers were read to the end."""
        return [a for a in self.answers if a.finished]

    # API ---------------------------------------------------------------------------------------------------------

    def _refused(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "")
        if not given or (self.key is not None and self.key not in given):
            return error(401, "invalid x-api-key")
        if not request.headers.get("anthropic-version"):
            self.violation("no anthropic-version header")
            return error(400, "anthropic-version: header is required")
        return None

    async def _models(self, request: web.Request) -> web.Response:
        names = self.models or ["claude-sonnet-5-5"]
        rows = [
            {
                "type": "model",
                "id": n,
                "display_name": n,
                "created_at": "2026-01-01T00:00:00Z",
            }
            for n in names
        ]
        body = {"data": rows, "has_more": False, "first_id": names[0], "last_id": names[-1]}
        return self._refused(request) or web.json_response(body)

    async def _count(self, request: web.Request) -> web.Response:
        body = request[CALL].params
        return self._refused(request) or web.json_response({"input_tokens": tokens_of(body)})

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = request[CALL].params
        if request.transport is not None:
            self.peers.append(request.transport.get_extra_info("peername"))
        if refused := self._refused(request):
            return refused
        if self.models and body.get("model") not in self.models:
            return error(404, f"model: {body.get('model')}")
        if found := problems(body):
            self.violations += found
            return error(400, "; ".join(found))
        digest = digest_of(body.get("system"), body.get("tools"), bare(body["messages"]))
        answer = self.choose(history_of(body["messages"]), digest)
        self.changes.notify()
        try:
            return await self._answer(request, body, answer)
        except (asyncio.CancelledError, ConnectionError):
            if not answer.finished:
                answer.gone = True
                self.disconnects += 1
            raise
        finally:
            self.changes.notify()

    async def _answer(
        self, request: web.Request, body: dict[str, Any], answer: Answered
    ) -> web.StreamResponse:
        turn = answer.turn
        if turn.delay:
            await asyncio.sleep(turn.delay)
        if turn.error:
            status, kind, text = turn.error
            return error(status, text, kind=kind, retry_after=turn.retry_after)
        usage = self.cache.read(body) | turn.usage
        message = message_of(body["model"], answer.n, usage)
        if not body.get("stream"):
            answer.finished = True
            return web.json_response(whole(message, turn, answer.n))
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream", "request-id": f"req_{answer.n}"}
        )
        await response.prepare(request)
        for n, (name, data) in enumerate(events_of(message, turn, answer.n)):
            if turn.cut and n >= turn.cut[0]:
                return await self._cut(request, response, turn)
            if turn.gap and name == "content_block_delta":
                await asyncio.sleep(turn.gap)
            await response.write(frame(name, data))
        answer.finished = True
        await response.write_eof()
        return response

    async def _cut(
        self, request: web.Request, response: web.StreamResponse, turn: Turn
    ) -> web.StreamResponse:
        assert turn.cut is not None
        match turn.cut[1]:
            case "error":
                fault = {"type": turn.cut_type, "message": turn.cut_type.replace("_", " ")}
                await response.write(frame("error", {"type": "error", "error": fault}))
            case "drop":
                reset(request)
            case "stall":
                await stall()
            case "eof":
                pass
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response


def error(
    status: int, message: str, *, kind: str = "", retry_after: float | None = None
) -> web.Response:
    """An error as the API gives it."""
    body = {
        "type": "error",
        "error": {"type": kind or ERRORS.get(status, "api_error"), "message": message},
        "request_id": "req_0",
    }
    headers = {"request-id": "req_0"}
    if retry_after is not None:
        headers["retry-after"] = f"{retry_after:g}"
    return web.json_response(body, status=status, headers=headers)


def frame(name: str, data: dict[str, Any]) -> bytes:
    """One server-sent event; a lone surrogate stays escaped, as no UTF-8 can hold it."""
    try:
        body = json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        body = json.dumps(data).encode()
    return b"event: %s\ndata: %s\n\n" % (name.encode(), body)


def message_of(model: str, n: int, usage: dict[str, Any]) -> dict[str, Any]:
    """The empty message that a stream begins with."""
    return {
        "id": f"msg_{n:06}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def blocks_of(turn: Turn, n: int) -> list[dict[str, Any]]:
    """The turn's blocks with ids; a refusal has none."""
    if turn.ends == "refusal":
        return []
    return [
        b | {"id": b["id"] or f"toolu_{n:06}_{i}"} if b["type"] == "tool_use" else b
        for i, b in enumerate(turn.blocks or [say("")])
    ]


def whole(message: dict[str, Any], turn: Turn, n: int) -> dict[str, Any]:
    """The answer without a stream."""
    content = []
    for block in blocks_of(turn, n):
        if block["type"] == "tool_use":
            rest = {k: v for k, v in block.items() if k != "raw"}
            content.append(rest | {"input": json.loads(block["raw"])})
        else:
            content.append(block)
    stop = STOPS.get(turn.ends, turn.ends)
    usage = message["usage"] | {"output_tokens": output_of(turn)}
    return message | {"content": content, "stop_reason": stop, "usage": usage}


def output_of(turn: Turn) -> int:
    """Tokens written: a fourth of the characters."""
    size = sum(len(b.get("text") or b.get("thinking") or b.get("raw") or "") for b in turn.blocks)
    return turn.usage.get("output_tokens", max(1, size // 4))


def events_of(message: dict[str, Any], turn: Turn, n: int) -> Iterator[Event]:
    """All events of a stream, in the API's order."""
    yield "message_start", {"type": "message_start", "message": message}
    for extra in turn.extra:
        yield extra.get("type", "extra"), extra
    yield "ping", {"type": "ping"}
    for index, block in enumerate(blocks_of(turn, n)):
        yield from block_events(index, block, turn.chunk)
    usage = {k: v for k, v in message["usage"].items() if isinstance(v, int)}
    delta = {"stop_reason": STOPS.get(turn.ends, turn.ends), "stop_sequence": None}
    usage |= {"output_tokens": output_of(turn)}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def block_events(index: int, block: dict[str, Any], chunk: int) -> Iterator[Event]:
    """Start, deltas and stop of one block."""

    def delta(**fields: Any) -> Event:
        return "content_block_delta", {
            "type": "content_block_delta",
            "index": index,
            "delta": fields,
        }

    start, deltas = block, list[Event]()
    match block["type"]:
        case "text":
            start = {"type": "text", "text": ""}
            deltas = [delta(type="text_delta", text=p) for p in pieces(block["text"], chunk)]
        case "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            parts = pieces(block["thinking"], chunk)
            deltas = [delta(type="thinking_delta", thinking=p) for p in parts]
            deltas.append(delta(type="signature_delta", signature=block["signature"]))
        case "tool_use":
            start = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
            parts = ["", *pieces(block["raw"], chunk)]
            deltas = [delta(type="input_json_delta", partial_json=p) for p in parts]
    yield (
        "content_block_start",
        {"type": "content_block_start", "index": index, "content_block": start},
    )
    yield from deltas
    yield "content_block_stop", {"type": "content_block_stop", "index": index}


def words_of(content: Any) -> str:
    """A person's words in a message: texts without context blocks and tool results."""
    if isinstance(content, str):
        return content
    texts = [b["text"] for b in content if b.get("type") == "text"]
    return "\n".join(t for t in texts if not t.startswith("<context>"))


def history_of(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """(role, words) of each message."""
    return [(m["role"], words_of(m["content"])) for m in messages]


def bare(messages: list[dict[str, Any]]) -> Any:
    """The messages without cache marks, which move from call to call."""
    text = json.dumps(messages, sort_keys=True)
    return json.loads(text, object_hook=_unmarked)


def _unmarked(value: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k != "cache_control"}


def tokens_of(value: object) -> int:
    """Tokens of JSON: a fourth of its characters."""
    return len(json.dumps(value, ensure_ascii=False)) // 4
