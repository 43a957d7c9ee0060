"""The chat-completions API over loopback, with knobs for the ways in which compatible servers differ.

Known differences from the real thing: tokens are a fourth of the characters; no logprobs, no n > 1, no responses API.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from tests.twins.llm_script import Answered, ScriptBook, Turn, digest_of, pieces, stall
from tests.twins.twin import CALL, Twin, reset

STOPS = {
    "end": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
# By the ending of the name, whatever the media type: the API's page on speech to text.
HEARD = (".flac", ".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".ogg", ".wav", ".webm")


class OpenAITwin(Twin, ScriptBook):
    """The twin. Scripts: see ScriptBook. Address for clients: `url + "/v1"`.

    Attributes:
        models: names that exist (empty: any).
        key: the API key that is accepted (None: any).
        refuses: parameters that are answered with 400, named in the message unless `unnamed`.
        usage, done, finish, index: whether the stream has usage, `[DONE]`, a finish reason, indexes of calls.
        whole_arguments: arguments in one piece; `later_ids`: the id in every piece of a call.
        reasoning: field of reasoning deltas.
        needs_reasoning: calls must come back with reasoning_content, as DeepSeek's thinking mode demands.
        plain: answers come as one JSON body though a stream was asked for.
        hears: what is heard in voice messages.
    """

    name = "openai"

    def __init__(self) -> None:
        Twin.__init__(self)
        ScriptBook.__init__(self)
        self.models: list[str] = []
        self.key: str | None = None
        self.refuses: list[str] = []
        self.unnamed = False
        self.usage = True
        self.done = True
        self.finish = True
        self.index = True
        self.whole_arguments = False
        self.later_ids = False
        self.reasoning = "reasoning_content"
        self.needs_reasoning = False
        self.plain = False
        self.hears = "hello"
        self.disconnects = 0

    def add_routes(self, app: web.Application) -> None:
        """Add the API."""
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/audio/transcriptions", self._hear)

    @property
    def finished(self) -> list[Answered]:
        """The calls whose answers were read to the end."""
        return [a for a in self.answers if a.finished]

    async def _models(self, request: web.Request) -> web.Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.key is not None and given != self.key:
            return error(401, "Incorrect API key provided", code="invalid_api_key")
        rows = [
            {"id": n, "object": "model", "created": 1, "owned_by": "twin"}
            for n in self.models or ["twin-model"]
        ]
        return web.json_response({"object": "list", "data": rows})

    async def _hear(self, request: web.Request) -> web.Response:
        call = request[CALL]
        if refused := self._refused(request, call.params):
            return refused
        file = call.files.get("file")
        if file is None or not call.params.get("model"):
            self.violation("a transcription without file or model")
            return error(400, "Missing required parameter: 'file'", param="file")
        if not file.name.endswith(HEARD):
            return error(400, f"Invalid file format. Supported formats: {HEARD}", param="file")
        if not file.data:
            return error(400, "Audio file might be corrupted or unsupported.", param="file")
        return web.json_response({"text": self.hears})

    def _refused(self, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not given or (self.key is not None and given != self.key):
            return error(401, "Incorrect API key provided", code="invalid_api_key")
        if self.models and body.get("model") not in self.models:
            text = f"The model `{body.get('model')}` does not exist"
            return error(404, text, code="model_not_found")
        for name in self.refuses:
            if name in body:
                text = "Bad request" if self.unnamed else f"Unsupported parameter: '{name}'"
                return error(400, text, param=None if self.unnamed else name)
        if self.needs_reasoning:
            for i, m in enumerate(body["messages"]):
                if m.get("tool_calls") and "reasoning_content" not in m:
                    return error(400, f"Missing `reasoning_content` field in message {i}")
        return None

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = request[CALL].params
        if refused := self._refused(request, body):
            return refused
        if found := list(problems(body)):
            self.violations += found
            return error(400, "; ".join(found))
        digest = digest_of(body.get("tools"), body["messages"])
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
            return error(status, text, code=kind, retry_after=turn.retry_after)
        if self.plain or not body.get("stream"):
            answer.finished = True
            return web.json_response(self._whole(body, answer))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for n, chunk in enumerate(self._chunks(body, answer)):
            if turn.cut and n >= turn.cut[0]:
                return await self._cut(request, response, turn)
            if turn.gap and n:
                await asyncio.sleep(turn.gap)
            await response.write(frame(chunk))
        answer.finished = True
        if self.done:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _cut(
        self, request: web.Request, response: web.StreamResponse, turn: Turn
    ) -> web.StreamResponse:
        assert turn.cut is not None
        match turn.cut[1]:
            case "error":
                fault = {"message": turn.cut_type.replace("_", " "), "type": turn.cut_type}
                await response.write(frame({"error": fault}))
            case "drop":
                reset(request)
            case "stall":
                await stall()
            case "eof":
                pass
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response

    def _base(self, body: dict[str, Any], answer: Answered, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{answer.n}",
            "object": kind,
            "created": 1,
            "model": body["model"],
        }

    def _count(self, body: dict[str, Any], turn: Turn) -> dict[str, Any]:
        read = len(json.dumps(body["messages"])) // 4
        written = sum(len(json.dumps(b)) for b in turn.blocks) // 4
        usage = {"prompt_tokens": read, "completion_tokens": written} | turn.usage
        details = {"cached_tokens": usage.pop("cached_tokens", 0)}
        total = usage["prompt_tokens"] + usage["completion_tokens"]
        return usage | {"total_tokens": total, "prompt_tokens_details": details}

    def _whole(self, body: dict[str, Any], answer: Answered) -> dict[str, Any]:
        turn = answer.turn
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if calls := [b for b in turn.blocks if b["type"] == "tool_use"]:
            message["tool_calls"] = [call_of(b, i, answer.n, b["raw"]) for i, b in enumerate(calls)]
        choice = {"index": 0, "message": message, "finish_reason": STOPS[turn.ends]}
        usage = self._count(body, turn)
        return self._base(body, answer, "chat.completion") | {"choices": [choice], "usage": usage}

    def _chunks(self, body: dict[str, Any], answer: Answered) -> Iterator[dict[str, Any]]:
        turn = answer.turn
        base = self._base(body, answer, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
            return base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        yield chunk({"role": "assistant", "content": ""})
        yield from (base | extra for extra in turn.extra)
        place = 0
        for block in turn.blocks:
            match block["type"]:
                case "text":
                    yield from (chunk({"content": p}) for p in pieces(block["text"], turn.chunk))
                case "thinking":
                    parts = pieces(block["thinking"], turn.chunk)
                    yield from (chunk({self.reasoning: p}) for p in parts)
                case "tool_use":
                    for piece in self._call_pieces(block, place, answer.n, turn.chunk):
                        yield chunk({"tool_calls": [piece]})
                    place += 1
        if self.finish:
            yield chunk({}, STOPS[turn.ends])
        if self.usage and (body.get("stream_options") or {}).get("include_usage"):
            yield base | {"choices": [], "usage": self._count(body, turn)}

    def _call_pieces(
        self, block: dict[str, Any], place: int, n: int, size: int
    ) -> Iterator[dict[str, Any]]:
        if self.whole_arguments:
            piece = call_of(block, place, n, block["raw"])
            yield piece if self.index else {k: v for k, v in piece.items() if k != "index"}
            return
        first = call_of(block, place, n, "")
        for i, part in enumerate(["", *pieces(block["raw"], size)]):
            piece = first if i == 0 else {"index": place, "function": {"arguments": part}}
            if i and self.later_ids:
                piece = piece | {"id": first["id"]}
            yield piece if self.index else {k: v for k, v in piece.items() if k != "index"}


def call_of(block: dict[str, Any], place: int, n: int, arguments: str) -> dict[str, Any]:
    """A call in wire form."""
    return {
        "index": place,
        "id": block["id"] or f"call_{n}_{place}",
        "type": "function",
        "function": {"name": block["name"], "arguments": arguments},
    }


def frame(data: dict[str, Any]) -> bytes:
    """One chunk. Lone surrogates stay escaped, as JSON writers of other languages leave them."""
    return f"data: {json.dumps(data)}\n\n".encode()


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    retry_after: float | None = None,
) -> web.Response:
    """An error as the API gives it."""
    kind = "invalid_request_error" if status == 400 else code or "server_error"
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return web.json_response(body, status=status, headers=headers)


def history_of(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """(role, words of a person) of each message."""
    return [(m["role"], words_of(m) if m["role"] == "user" else "") for m in messages]


def words_of(message: dict[str, Any]) -> str:
    """The words without context blocks."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n\n".join(p.get("text", "") for p in content)
    return content.partition("</context>")[2] if content.startswith("<context>") else content


def problems(body: dict[str, Any]) -> Iterator[str]:
    """What the real API refuses in a request."""
    messages = body.get("messages")
    if not messages:
        yield "messages: at least one is required"
        return
    waiting: list[str] = []
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"messages.{i}: tool message without a preceding tool_call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"messages.{i}: tool_call_ids without response messages: {waiting}"
            waiting = []
        if message["role"] in {"user", "system"} and not message.get("content"):
            yield f"messages.{i}: content is required"
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or []
            if not message.get("content") and not calls:
                yield f"messages.{i}: assistant message needs content or tool_calls"
            waiting = [c["id"] for c in calls]
            yield from _arguments(i, calls)
    if waiting:
        yield f"messages: the last calls have no results: {waiting}"


def _arguments(i: int, calls: list[dict[str, Any]]) -> Iterator[str]:
    for call in calls:
        try:
            json.loads(call["function"]["arguments"])
        except ValueError:
            yield f"messages.{i}: arguments of {call['function']['name']} are not JSON"
