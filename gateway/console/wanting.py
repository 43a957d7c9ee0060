"""What a request wants, read from its query, its form or its JSON, and checked. Raises Refused (413, 415, 422)."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from multidict import MultiMapping
from pydantic import ValidationError

from gateway.console.calls import Refused, Wanted

FORM_FIELDS = ("form", "back")  # of the page itself: the proof that it is ours, and where to go on


def from_query(model: type[Wanted], request: web.Request) -> Wanted:
    """The query of an address; empty values count as left out, as forms send them."""
    return _checked(model, _single(request.query, keep_empty=False))


def from_form(model: type[Wanted], form: MultiMapping[Any]) -> Wanted:
    """The fields of a form that a page of ours sent."""
    fields = {k: v for k, v in _single(form, keep_empty=True).items() if k not in FORM_FIELDS}
    return _checked(model, fields)


async def from_json(model: type[Wanted], request: web.Request) -> Wanted:
    """A JSON object; no body at all counts as an empty one."""
    if not request.can_read_body:
        return _checked(model, {}, strict=True)
    if request.content_type != "application/json":
        raise Refused(415, "unsupported_media_type", "The body must be application/json.")
    try:
        body = json.loads(await request.text())
    except web.HTTPRequestEntityTooLarge:
        raise Refused(413, "too_large", "The body is too large.") from None
    except (ValueError, RecursionError, LookupError):  # no JSON, too deep, an unknown charset
        body = None
    if not isinstance(body, dict):
        raise Refused(422, "bad_request", "The body must be a JSON object.")
    return _checked(model, body, strict=True)


def _single(pairs: MultiMapping[Any], *, keep_empty: bool) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in pairs.items():
        if key in values or not isinstance(value, str):
            raise Refused(422, "bad_request", f"{key} must be there once, as text.")
        if value or keep_empty:
            values[key] = value
    return values


def _checked(model: type[Wanted], values: Mapping[str, Any], *, strict: bool = False) -> Wanted:
    if "\0" in json.dumps(values, ensure_ascii=False).replace("\\u0000", "\0"):
        raise Refused(422, "bad_request", "A text must not hold the character U+0000.")
    try:
        return model.model_validate(values, strict=strict)
    except ValidationError as error:
        found = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise Refused(422, "bad_request", "; ".join(found)[:500]) from None
