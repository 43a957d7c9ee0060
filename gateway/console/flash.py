"""What came of an action, for the page that is seen next: in a cookie, so that any replica can tell it.

The cookie is signed with the log-in's own proof: nobody else can put words into the console. A page that only looks
whether its content has changed (`LIVE`) takes nothing, or it would take the words from the page they are meant for.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from gateway.console.visitor import Visitor
from gateway.http.cookie import CookieOf

LIVE = "X-Console-Live"  # sent by static/live.js
LONGEST = 2_400  # bytes of words: browsers drop a cookie of more than 4,096
SECONDS = 60  # a page that does not come by then is not the one


@dataclass(frozen=True, slots=True)
class Told:
    """Words about an action, and how it went."""

    tone: Literal["good", "bad"]
    said: str


class Flash:
    """Keeps words from one answer to the next request of the same log-in."""

    def __init__(self, public_url: str | None) -> None:
        self._cookie = CookieOf("swarmgate-console-told", public_url)

    def tell(
        self, request: web.Request, response: web.StreamResponse, who: Visitor, told: Told
    ) -> None:
        """Send the words along with a redirect; what is too long is cut."""
        raw = told.said.encode()
        cut = raw if len(raw) <= LONGEST else raw[:LONGEST] + "…".encode()
        said = json.dumps([told.tone, cut.decode(errors="ignore")], ensure_ascii=False)
        body = urlsafe_b64encode(said.encode()).decode()
        self._cookie.put(request, response, f"{body}.{_proof(who, body)}", SECONDS)

    def told(self, request: web.Request, who: Visitor) -> Told | None:
        """The words for this page, if there are any."""
        body, _, proof = request.cookies.get(self._cookie.name(request), "").partition(".")
        right = hmac.compare_digest(_proof(who, body).encode(), proof.encode(errors="replace"))
        if LIVE in request.headers or not right:
            return None
        return Told(*json.loads(urlsafe_b64decode(body)))

    def forget(self, request: web.Request, response: web.StreamResponse) -> None:
        """With the page that tells them: once is enough."""
        self._cookie.drop(request, response)


def _proof(who: Visitor, body: str) -> str:
    words = f"told {body}".encode(errors="replace")
    return hmac.new(who.form.encode(), words, hashlib.sha256).hexdigest()
