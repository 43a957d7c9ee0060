"""What the real generateContent API refuses: each of these is an outage in production, so the twin refuses it too."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from tests.twins.llm_script import signature_of

# The placeholder of Google's page on thought signatures, as bytes of the JSON form.
FOREIGN = base64.b64encode(b"skip_thought_signature_validator").decode()
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}\Z")
DATA = {"text", "inlineData", "functionCall", "functionResponse", "fileData"}
Json = dict[str, Any]


def generation(model: str) -> tuple[int, int]:
    """Major and minor number of a model."""
    found = re.search(r"gemini-(\d+)(?:\.(\d+))?", model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def field(value: Json, name: str) -> Any:
    """A field by its JSON name or its proto name: the API takes both, and the SDK sends both (measured)."""
    return value.get(name, value.get(re.sub("[A-Z]", lambda m: "_" + m[0].lower(), name)))


def problems(body: Json, model: str, given: set[str]) -> list[str]:
    """All that is wrong with a request; `given` are the signatures that the twin has handed out."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return ["GenerateContentRequest.contents: contents is not specified"]
    return [
        *_roles(contents),
        *_parts(contents),
        *_turns(contents),
        *_signatures(contents, model, given),
        *_config(body.get("generationConfig") or {}, model),
        *_tools(body.get("tools") or []),
    ]


def calls_of(content: Json) -> list[Json]:
    """The function calls of a content."""
    return [p["functionCall"] for p in content.get("parts") or [] if "functionCall" in p]


def responses_of(content: Json) -> list[Json]:
    """The function responses of a content."""
    return [p["functionResponse"] for p in content.get("parts") or [] if "functionResponse" in p]


def _roles(contents: list[Json]) -> Iterator[str]:
    for i, content in enumerate(contents):
        if content.get("role") not in {"user", "model"}:
            yield f"contents[{i}]: Please use a valid role: user, model."
    if contents[0].get("role") != "user":
        yield "contents: the first content must be the user's"
    if contents[-1].get("role") != "user":
        yield "Please ensure that multiturn requests end with a user role or a function response."


def _parts(contents: list[Json]) -> Iterator[str]:
    for i, content in enumerate(contents):
        parts = content.get("parts") or []
        if not parts:
            yield f"contents[{i}].parts: contents.parts must not be empty."
        for part in parts:
            held = DATA & set(part)
            if len(held) != 1:
                yield f"contents[{i}].parts: required oneof field 'data' must have one initialized field"
            elif not part.get("text", "x") and "thoughtSignature" not in part:
                yield f"contents[{i}].parts: empty text"
            if "inlineData" in part:
                yield from _picture(i, part["inlineData"])


def _picture(i: int, inline: Json) -> Iterator[str]:
    if not field(inline, "mimeType"):
        yield f"contents[{i}].parts: inlineData without mimeType"
    try:
        base64.b64decode(inline.get("data", ""), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        yield f"contents[{i}].parts: Base64 decoding failed"


def _turns(contents: list[Json]) -> Iterator[str]:
    open_: list[Json] = []
    seen: set[str] = set()
    for i, content in enumerate(contents):
        answers = responses_of(content)
        if open_ or answers:
            yield from _answered(i, open_, answers, content)
        open_ = calls_of(content)
        if open_ and (content.get("role") != "model" or i == 0):
            yield f"contents[{i}]: function call turn must come after a user turn or a function response turn."
        for call in open_:
            if not NAME.match(call.get("name", "")):
                yield f"contents[{i}]: invalid function name {call.get('name')!r}"
            if call.get("id") in seen:
                yield f"contents[{i}]: function call id {call['id']} is used twice"
            seen |= {call["id"]} if call.get("id") else set()
    if open_:
        yield "contents: the last function call turn has no function response turn"


def _answered(i: int, calls: list[Json], answers: list[Json], content: Json) -> Iterator[str]:
    if len(calls) != len(answers):
        yield (
            f"contents[{i}]: Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn."
        )
    if len(answers) != len(content.get("parts") or []):
        yield f"contents[{i}]: a function response turn holds other parts too"
    for call, answer in zip(calls, answers, strict=False):
        if call.get("name") != answer.get("name") or call.get("id") != answer.get("id"):
            yield f"contents[{i}]: the response {answer.get('name')} is not in the place of its call"
        if not isinstance(answer.get("response"), dict):
            yield f"contents[{i}]: function_response.response must be a Struct"


def _signatures(contents: list[Json], model: str, given: set[str]) -> Iterator[str]:
    for i, content in enumerate(contents):
        for part in content.get("parts") or []:
            signature = part.get("thoughtSignature")
            if signature is not None and _plain(signature) not in given | {_plain(FOREIGN)}:
                yield f"contents[{i}]: Corrupted thought signature."
        first = next((p for p in content.get("parts") or [] if "functionCall" in p), None)
        if first and generation(model) >= (3, 0) and "thoughtSignature" not in first:
            name = first["functionCall"].get("name")
            yield f"Function call is missing a thought_signature in functionCall parts: {name}, position {i}"


def _plain(signature: str) -> str:
    """The signature in one alphabet: JSON bytes may be standard or URL-safe base64."""
    return signature.replace("-", "+").replace("_", "/")


def encoded(text: str) -> str:
    """The signature of some reasoning as it goes over the wire."""
    return base64.b64encode(signature_of(text).encode()).decode()


def _config(config: Json, model: str) -> Iterator[str]:
    if config.get("maxOutputTokens", 1) < 1:
        yield "generationConfig.maxOutputTokens: must be positive"
    thinking = config.get("thinkingConfig")
    if not thinking:
        return
    if generation(model) < (2, 5):
        yield "Thinking is not supported by this model."
    level = field(thinking, "thinkingLevel")
    if field(thinking, "thinkingBudget") is not None and level:
        yield "You can only set only one of thinking budget and thinking level."
    if level and generation(model) < (3, 0):
        yield "Thinking level is not supported for this model."


def _tools(tools: list[Json]) -> Iterator[str]:
    names = []
    for tool in tools:
        for declared in tool.get("functionDeclarations") or []:
            names.append(declared.get("name", ""))
            if not NAME.match(names[-1]):
                yield f"tools: Invalid function name {names[-1]!r}"
            schema = field(declared, "parametersJsonSchema")
            if not isinstance(schema, dict) or schema.get("type") != "object":
                yield f"tools: parametersJsonSchema of {names[-1]} should be an object"
    if len(set(names)) != len(names):
        yield "tools: Duplicate function declaration found"
