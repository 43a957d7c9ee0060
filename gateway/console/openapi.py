"""The API's own description (OpenAPI 3.1), made of the same declarations that check its requests."""

import re
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from gateway.console.calls import Action, View

Json = dict[str, Any]
_REF = "#/components/schemas/{model}"
_SAID = {
    401: "No valid token and no log-in.",
    403: "The role does not include this, or a page of another site asks.",
    404: "There is nothing under this address.",
    409: "It is not as it was when it was read, or was done before.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "The request is not as described here.",
    429: "Too many wrong tokens from this address.",
    500: "Something broke; the log has the details, under the id of this answer.",
    503: "The database does not answer: ask again.",
}


def document(views: list[View], actions: list[Action]) -> Json:
    """The whole document."""
    inputs: list[tuple[int, JsonSchemaMode, TypeAdapter[Any]]] = []
    for view in views:
        inputs.append((id(view), "validation", TypeAdapter(view.query)))
        inputs.append((id(view), "serialization", TypeAdapter(view.answer)))
    for action in actions:
        inputs.append((id(action), "validation", TypeAdapter(action.body)))
        inputs.append((id(action), "serialization", TypeAdapter(action.answer)))
    schemas, shared = TypeAdapter.json_schemas(inputs, ref_template=_REF)
    defs: Json = shared.get("$defs", {})
    paths: dict[str, Json] = {}
    for view in views:
        query = _resolved(schemas[id(view), "validation"], defs)
        paths.setdefault(view.path, {})["get"] = _get(
            view, query, schemas[id(view), "serialization"]
        )
    for action in actions:
        body = _resolved(schemas[id(action), "validation"], defs)
        paths.setdefault(action.path, {})["post"] = _post(
            action, body, schemas[id(action), "serialization"]
        )
    return _whole(paths, defs)


def _whole(paths: dict[str, Json], defs: Json) -> Json:
    error = {
        "type": "object",
        "required": ["error", "message"],
        "properties": {
            "error": {"type": "string"},
            "message": {"type": "string"},
            "id": {"type": "string", "description": "Of a failure: the log says more under it."},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Swarmgate",
            "version": "1",
            "description": "What the operators' console shows and does. Roles: viewer, operator, admin.",
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**defs, "Refusal": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _get(view: View, query: Json, answer: Json) -> Json:
    required = set(query.get("required", ()))
    asked = [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in query.get("properties", {}).items()
    ]
    return {
        "operationId": _name("get", view.path),
        "summary": view.title,
        "description": f"Needs the role {view.role}.",
        "parameters": [*_braces(view.path), *asked],
        "responses": _responses(answer, _errors(view.path, (422,))),
    }


def _post(action: Action, body: Json, answer: Json) -> Json:
    return {
        "operationId": _name("post", action.path),
        "summary": action.title,
        "description": f"Needs the role {action.role}.",
        "parameters": _braces(action.path),
        "requestBody": {
            "required": bool(body.get("required")),
            "content": {"application/json": {"schema": body}},
        },
        "responses": _responses(answer, _errors(action.path, (413, 415, 422, *action.errors))),
    }


def _errors(path: str, also: tuple[int, ...]) -> list[int]:
    return sorted({401, 403, 429, 500, 503, *also, *((404,) if "{" in path else ())})


def _responses(answer: Json, errors: list[int]) -> Json:
    refused = {"application/json": {"schema": {"$ref": _REF.format(model="Refusal")}}}
    made: Json = {
        "200": {"description": "Done.", "content": {"application/json": {"schema": answer}}}
    }
    return made | {str(s): {"description": _SAID[s], "content": refused} for s in errors}


def _braces(path: str) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _name(method: str, path: str) -> str:
    words = re.findall(r"\w+", path)
    return method + "".join(word.capitalize() for word in words)


def _resolved(schema: Json, defs: Json) -> Json:
    """A query's own schema, which stands in the shared part."""
    ref = schema.get("$ref")
    found: Json = defs[ref.rpartition("/")[2]] if ref else schema
    return found
