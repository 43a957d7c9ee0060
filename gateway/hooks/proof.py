"""How a post proves that it comes from who has the hook's secret, and by what a repeated one is known.

Every comparison takes as long for a wrong proof as for the right one.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.settings.hooks import Hook

ID_CHARS = 256
SIGNATURES = 8  # of one post: a sender that changes its secret signs with both
PREFIX = "whsec_"  # before the base64 of a secret (Standard Webhooks)
_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)


class Unproven(Exception):
    """The post does not prove itself; the text is for whoever sets the sender up, and tells nothing of the secret."""


@dataclass(frozen=True, slots=True)
class Post:
    """A post that has proved itself. `text` is its body without a secret in it.

    `id` knows it again: for ever where it is the sender's own id or signed content, else (`brief`) within the window.
    """

    id: str
    text: str
    brief: bool = False


def proven(hook: Hook, headers: Mapping[str, str], body: bytes, now: float) -> Post:
    """The post. `now` in Unix seconds. Raises Unproven."""
    ways = {"standard": _standard, "github": _github, "bearer": _bearer, "body": _in_body}
    return ways[hook.auth](hook, headers, body, now)


def signature(secret: str, post_id: str, stamp: str, body: bytes) -> str:
    """`v1,<base64>` of HMAC-SHA256 over `<id>.<timestamp>.<body>`, as Standard Webhooks has it."""
    signed = hmac.digest(_key(secret), f"{post_id}.{stamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(signed).decode()}"


def _key(secret: str) -> bytes:
    if secret.startswith(PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def _standard(hook: Hook, headers: Mapping[str, str], body: bytes, now: float) -> Post:
    post_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    given = headers.get("webhook-signature", "").split()[:SIGNATURES]
    if not (0 < len(post_id) <= ID_CHARS and stamp.isdecimal() and stamp.isascii() and given):
        raise Unproven("webhook-id, webhook-timestamp and webhook-signature are needed")
    if abs(now - int(stamp[:15])) > hook.window_s:
        raise Unproven("the timestamp is too old, or a clock is wrong")
    wanted = signature(hook.secret.get_secret_value(), post_id, stamp, body)
    if not _any_same(given, wanted):
        raise Unproven("the signature is wrong")
    return Post(f"i:{_digest(post_id.encode())}", _text(body))


def _github(hook: Hook, headers: Mapping[str, str], body: bytes, now: float) -> Post:
    given = headers.get("X-Hub-Signature-256", "")
    wanted = hmac.new(hook.secret.get_secret_value().encode(), body, "sha256").hexdigest()
    if not _any_same([given], f"sha256={wanted}"):
        raise Unproven("X-Hub-Signature-256 is missing or wrong")
    return Post(f"d:{_digest(body)}", _text(body))  # its delivery id is not signed


def _bearer(hook: Hook, headers: Mapping[str, str], body: bytes, now: float) -> Post:
    found = _BEARER.fullmatch(headers.get("Authorization", "").strip())
    if found is None or not _any_same([found[1]], hook.secret.get_secret_value()):
        raise Unproven("Authorization: Bearer <secret of the hook> is needed")
    post_id = headers.get("webhook-id", "")
    if 0 < len(post_id) <= ID_CHARS:
        return Post(f"i:{_digest(post_id.encode())}", _text(body))
    return Post(f"d:{_digest(body)}", _text(body), brief=True)


def _in_body(hook: Hook, headers: Mapping[str, str], body: bytes, now: float) -> Post:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    given = data.pop("token", None) if isinstance(data, dict) else None
    if not isinstance(given, str) or not _any_same([given], hook.secret.get_secret_value()):
        raise Unproven("the field `token` of a JSON object must hold the secret of the hook")
    text = json.dumps(data, ensure_ascii=False)
    return Post(f"d:{_digest(text.encode())}", text, brief=True)


def _any_same(given: list[str], wanted: str) -> bool:
    same = [hmac.compare_digest(one.encode(errors="replace"), wanted.encode()) for one in given]
    return any(same)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace").replace("\x00", "\ufffd")
