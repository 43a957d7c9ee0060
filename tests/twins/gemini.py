"""The Gemini API's streamGenerateContent over loopback: SSE, validation of histories, signatures, every bad end.

Known differences from the real thing: tokens are a fourth of the characters; signatures are hashes; nothing is cached
unless a turn's usage says so; no files, no grounding, no live API.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from tests.twins.gemini_rules import encoded, generation, problems, responses_of
from tests.twins.llm_script import Answered, ScriptBook, Turn, digest_of, pieces, stall
from tests.twins.twin import CALL, Twin, reset

Json = dict[str, Any]
FINISH = {"end": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
STATUS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
# The types of cuts that scripts name, as codes.
CODES = {"overloaded_error": 503, "rate_limit_error": 429, "invalid_request_error": 400}


class GeminiTwin(Twin, ScriptBook):
    """The twin. Scripts: see ScriptBook. Address for clients: `url`.

    Attributes:
        models: names that exist (empty: any).
        key: the API key that is accepted (None: any).
        ids: whether calls come with ids (Gemini 3 gives some, 2.5 none).
        thinks: whether the model takes a thinking config.
        disconnects: streams that the client left before their end.
    """

    name = "gemini"

    def __init__(self) -> None:
        Twin.__init__(self)
        ScriptBook.__init__(self)
        self.models: list[str] = []
        self.key: str | None = None
        self.ids = False
        self.thinks = True
        self.disconnects = 0
        self._signed: set[str] = set()

    def add_routes(self, app: web.Application) -> None:
        """Add the API."""
        app.router.add_get("/{version:v1|v1beta}/models", self._list)
        app.router.add_post("/{version:v1|v1beta}/models/{call}", self._stream)

    @property
    def finished(self) -> list[Answered]:
        """The calls whose answers were read to the end."""
        return [a for a in self.answers if a.finished]

    async def _list(self, request: web.Request) -> web.Response:
        names = self.models or ["gemini-2.5-flash"]
        if refused := self._unknown_key(request):
            return refused
        return web.json_response({"models": [{"name": f"models/{n}"} for n in names]})

    def _unknown_key(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("x-goog-api-key", "")
        if given and self.key in {None, given}:
            return None
        reason = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
        }
        return error(400, "API key not valid. Please pass a valid API key.", details=[reason])

    def _refused(self, request: web.Request, body: Json, model: str) -> web.Response | None:
        if refused := self._unknown_key(request):
            return refused
        if request.query.get("alt") != "sse":
            self.violation("a stream was asked for without alt=sse")
        if self.models and model not in self.models:
            text = f"models/{model} is not found for API version v1beta"
            return error(404, text)
        if not self.thinks and (body.get("generationConfig") or {}).get("thinkingConfig"):
            return error(400, "Thinking is not supported by this model.")
        if found := problems(body, model, self._signed):
            self.violations += found
            return error(400, "; ".join(found))
        return None

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        model, _, method = request.match_info["call"].partition(":")
        if method != "streamGenerateContent":
            self.violation(f"unknown method {method}")
            return error(404, "Not Found")
        body = {k: v for k, v in request[CALL].params.items() if k != "alt"}
        if refused := self._refused(request, body, model):
            return refused
        digest = digest_of(body.get("systemInstruction"), body.get("tools"), body["contents"])
        answer = self.choose(history_of(body["contents"]), digest)
        self.changes.notify()
        try:
            return await self._answer(request, body, model, answer)
        except (asyncio.CancelledError, ConnectionError):
            if not answer.finished:
                answer.gone = True
                self.disconnects += 1
            raise
        finally:
            self.changes.notify()

    async def _answer(
        self, request: web.Request, body: Json, model: str, answer: Answered
    ) -> web.StreamResponse:
        turn = answer.turn
        if turn.delay:
            await asyncio.sleep(turn.delay)
        if turn.error:
            status, _, text = turn.error
            return error(status, text, retry_after=turn.retry_after)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for n, chunk in enumerate(self.chunks(body, model, answer)):
            if turn.cut and n >= turn.cut[0]:
                return await self._cut(request, response, turn)
            if turn.gap and n:
                await asyncio.sleep(turn.gap)
            await response.write(frame(chunk))
        if turn.cut:
            return await self._cut(request, response, turn)
        answer.finished = True
        await response.write_eof()
        return response

    async def _cut(
        self, request: web.Request, response: web.StreamResponse, turn: Turn
    ) -> web.StreamResponse:
        assert turn.cut is not None
        match turn.cut[1]:
            case "error":
                code = CODES.get(turn.cut_type, 500)
                await response.write(frame({"error": fault(code, turn.cut_type)}))
            case "drop":
                reset(request)
            case "stall":
                await stall()
            case "eof":
                pass
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response

    def chunks(self, body: Json, model: str, answer: Answered) -> Iterator[Json]:
        """All chunks of an answer; the last has the finish reason."""
        turn = answer.turn
        usage = self._count(body, turn)
        base = {"usageMetadata": usage, "modelVersion": model, "responseId": f"r{answer.n}"}
        if turn.ends == "refusal" and not turn.blocks:
            yield base | {"promptFeedback": {"blockReason": "SAFETY"}}
            return
        yield from (base | extra for extra in turn.extra)
        for part in self._parts(turn, model, answer.n):
            candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
            yield base | {"candidates": [candidate]}
        finish = FINISH[turn.ends]
        if finish == "STOP" and any(malformed(b) for b in turn.blocks):
            finish = "MALFORMED_FUNCTION_CALL"
        end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": finish}
        yield base | {"candidates": [end | {"index": 0}]}

    def _parts(self, turn: Turn, model: str, n: int) -> Iterator[Json]:
        """The parts in order. The signature of some reasoning hangs on the part after it, or on an empty text."""
        signature = ""
        signed_call = False
        for i, block in enumerate(turn.blocks):
            match block["type"]:
                case "thinking":
                    for piece in pieces(whole(block["thinking"]), turn.chunk):
                        yield {"text": piece, "thought": True}
                    signature = self._sign(block["thinking"])
                case "text":
                    texts = pieces(whole(block["text"]), turn.chunk)
                    yield from ({"text": piece} for piece in texts[:-1])
                    yield signed({"text": texts[-1]}, signature)
                    signature = ""
                case "tool_use" if not malformed(block):
                    if not signature and not signed_call and generation(model) >= (3, 0):
                        signature = self._sign("")
                    yield signed({"functionCall": self._call(block, n, i)}, signature)
                    signature, signed_call = "", True
        if signature:
            yield signed({"text": ""}, signature)

    def _call(self, block: Json, n: int, i: int) -> Json:
        call = {"name": block["name"], "args": json.loads(block["raw"] or "{}")}
        id_ = block["id"] or (f"fc{n}_{i}" if self.ids else None)
        return call | ({"id": id_} if id_ else {})

    def _sign(self, text: str) -> str:
        signature = encoded(text)
        self._signed.add(signature)
        return signature

    def _count(self, body: Json, turn: Turn) -> Json:
        prompt = len(json.dumps([body["contents"], body.get("systemInstruction")])) // 4
        said = sum(len(b.get("text") or b.get("raw") or "") for b in turn.blocks) // 4
        thought = sum(len(b.get("thinking") or "") for b in turn.blocks) // 4
        counts = {"promptTokenCount": prompt, "candidatesTokenCount": max(1, said)}
        counts |= ({"thoughtsTokenCount": thought} if thought else {}) | turn.usage
        total = sum(v for k, v in counts.items() if k != "cachedContentTokenCount")
        return counts | {"totalTokenCount": total}


def signed(part: Json, signature: str) -> Json:
    """The part with a signature, where there is one."""
    return part | {"thoughtSignature": signature} if signature else part


def malformed(block: Json) -> bool:
    """Whether a scripted call is one that the API itself cannot read."""
    if block["type"] != "tool_use":
        return False
    try:
        return not isinstance(json.loads(block["raw"] or "{}"), dict)
    except ValueError:
        return True


def whole(text: str) -> str:
    """The text with surrogate halves joined: protobuf strings hold no lone ones."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def frame(data: Json) -> bytes:
    """One server-sent event, with the line ends that Google sends."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode()


def fault(code: int, message: str, details: list[Json] | None = None) -> Json:
    """The `error` object."""
    status = STATUS.get(code, "UNKNOWN")
    return {"code": code, "message": message, "status": status, "details": details or []}


def error(
    code: int,
    message: str,
    *,
    details: list[Json] | None = None,
    retry_after: float | None = None,
) -> web.Response:
    """An error as the API gives it; the wait stands in a detail, not in a header."""
    found = list(details or [])
    if retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        found.append({"@type": kind, "retryDelay": f"{retry_after:g}s"})
    return web.json_response({"error": fault(code, message, found)}, status=code)


def history_of(contents: list[Json]) -> list[tuple[str, str]]:
    """(role, words of a person) of each content."""
    rows = []
    for content in contents:
        role = "assistant" if content["role"] == "model" else "user"
        texts = [p.get("text", "") for p in content["parts"]]
        words = "\n".join(t for t in texts if not t.startswith("<context>"))
        rows.append((role, "" if responses_of(content) or role == "assistant" else words))
    return rows
